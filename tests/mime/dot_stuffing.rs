//! Dot-stuffing in the example `lmtp_filter`.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/lmtp_filter.rs"]
mod lmtp_filter;

use lmtp_filter::Dots;

use crate::support::{every_partition, some_partitions};

/// Returns the text, whether there was a bare CR or LF, and whether the final dot was found.
fn unstuff(chunks: &[&[u8]]) -> (Vec<u8>, bool, bool) {
    let (mut dots, mut text) = (Dots::default(), Vec::new());
    for (i, chunk) in chunks.iter().enumerate() {
        if let Some(taken) = dots.unstuff(chunk, &mut text) {
            assert!(taken == chunk.len() && chunks[i + 1..].concat().is_empty(), "nothing follows it");
            return (text, dots.bare, true);
        }
    }
    (text, dots.bare, false)
}

#[test]
fn dot_stuffing_is_removed_for_every_partition() {
    for (wire, text) in [
        (&b".\r\n"[..], &b""[..]),
        (b"a\r\n.\r\n", b"a\r\n"),
        (b"..\r\n.\r\n", b".\r\n"),
        (b"...a\r\n.\r\n", b"..a\r\n"),
        (b"a.\r\n.\r\n", b"a.\r\n"),
    ] {
        every_partition(wire, |chunks| {
            assert_eq!(unstuff(chunks), (text.to_vec(), false, true), "{chunks:?}")
        });
    }
    // Sequences that only some programs read as the end of a message (CVE-2023-51764) are text, and are reported.
    for wire in [&b"a\n.\nb\r\n.\r\n"[..], b"a\r.\rb\r\n.\r\n", b"a\r\n.\nb\r\n.\r\n", b"a\n.\r\nb\r\n.\r\n"]
    {
        some_partitions(wire, 20, |chunks| {
            let (text, bare, ended) = unstuff(chunks);
            assert!(bare && ended && text.ends_with(b"b\r\n"), "{chunks:?}");
        });
    }
}
