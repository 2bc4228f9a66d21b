//! `Utf8Codec` and `Utf8LinesCodec` in `Framed` and `FramedRead` of tokio-util.

use futures::{SinkExt, StreamExt};
use tokio_test::io::Builder;
use tokio_util::codec::{Framed, FramedRead};
use utf8_codec::codec::{FailFast, Utf8Codec, Utf8LinesCodec};
use utf8_codec::{BomPolicy, ErrorKind, LineEnding, TextDecoder, Utf8Error};

use crate::lines::expected_lines;
use crate::support::some_partitions;
use crate::text::{Item, item, run};

#[tokio::test]
async fn an_ill_formed_line_does_not_end_the_session() {
    let input = b"good 1\nb\xFFd\ngood 2\nbad again \xED\xA0\x80\nlast";
    let io = input.chunks(1).fold(&mut Builder::new(), |io, byte| io.read(byte)).build();
    let mut lines = FramedRead::new(io, Utf8LinesCodec::new());
    let mut items = Vec::new();
    while let Some(line) = lines.next().await {
        items.push(item(line.expect("no error of the transport")));
    }
    assert_eq!(items, expected_lines(input, LineEnding::LfOrCrLf, usize::MAX));
    assert_eq!(items.len(), 5);
}

#[tokio::test]
async fn a_codec_that_fails_fast_ends_the_stream() {
    let mut lines = FramedRead::new(&b"good 1\nb\xFFd\ngood 2\n"[..], FailFast::new(Utf8LinesCodec::new()));
    assert_eq!(lines.next().await.unwrap().unwrap(), "good 1");
    let error = Utf8Error::find(&lines.next().await.unwrap().unwrap_err()).unwrap();
    assert_eq!((error.offset, error.kind, error.len), (8, ErrorKind::InvalidLead, 1));
    assert!(lines.next().await.is_none());
}

#[tokio::test]
async fn an_error_of_the_transport_is_returned_and_no_bytes_are_lost() {
    let broken = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "reset");
    let io = Builder::new().read(b"a\xC3").read_error(broken).read(b"\xA9\n").build();
    let mut lines = FramedRead::new(io, Utf8LinesCodec::new());
    let error = lines.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(lines.next().await.is_none());
    assert_eq!(lines.next().await.unwrap().unwrap().unwrap(), "aé");
}

#[tokio::test]
async fn the_bom_policy_applies_to_a_bom_in_chunks_of_one_byte() {
    let cases: [(BomPolicy, &[u8], Vec<Item>); 8] = [
        (BomPolicy::Keep, b"\xEF\xBB\xBFa\n", vec![Item::Text("\u{FEFF}a".into())]),
        (
            BomPolicy::Strip,
            b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n",
            ["a", "\u{FEFF}b"].map(|l| Item::Text(l.into())).into(),
        ),
        (BomPolicy::Strip, b"a\n", vec![Item::Text("a".into())]),
        (BomPolicy::Require, b"\xEF\xBB\xBFa\n", vec![Item::Text("a".into())]),
        (
            BomPolicy::Require,
            b"a\nb\n",
            vec![
                Item::IllFormed { offset: 0, kind: ErrorKind::MissingBom, len: 0, rejected: b"a".into() },
                Item::Text("b".into()),
            ],
        ),
        (
            BomPolicy::Require,
            b"",
            vec![Item::IllFormed { offset: 0, kind: ErrorKind::MissingBom, len: 0, rejected: b"".into() }],
        ),
        (
            BomPolicy::Reject,
            b"\xEF\xBB\xBFa\nb\n",
            vec![
                Item::IllFormed {
                    offset: 0,
                    kind: ErrorKind::UnexpectedBom,
                    len: 3,
                    rejected: b"\xEF\xBB\xBFa".into(),
                },
                Item::Text("b".into()),
            ],
        ),
        (BomPolicy::Reject, b"a\n", vec![Item::Text("a".into())]),
    ];
    for (bom, input, expected) in cases {
        some_partitions(input, 20, |chunks| {
            let codec = Utf8LinesCodec::with_decoder(TextDecoder::new().with_bom_policy(bom));
            assert_eq!(run(codec, chunks), expected, "{bom:?} {chunks:02X?}");
        });
    }
    for chunks in [&[&b"\xEF\xBB\xBFa"[..]][..], &[b"\xEF", b"\xBB", b"\xBF", b"a"]] {
        let codec = Utf8Codec::with_decoder(TextDecoder::new().with_bom_policy(BomPolicy::Strip));
        assert_eq!(run(codec, chunks), [Item::Text("a".into())]);
    }
}

#[tokio::test]
async fn framed_writes_lines_and_into_parts_returns_undecoded_bytes() {
    let io = Builder::new().read("ja\nbin\u{E4}r".as_bytes()).write(b"ok\n").build();
    let mut framed = Framed::new(io, Utf8LinesCodec::new());
    assert_eq!(framed.next().await.unwrap().unwrap().unwrap(), "ja");
    framed.send("ok").await.unwrap();
    assert_eq!(&framed.into_parts().read_buf[..], "bin\u{E4}r".as_bytes());
}
