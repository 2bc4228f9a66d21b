use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result};

use encoding_rs_io::DecodeReaderBytes;

/// A reader that returns these parts and would block between them.
struct Live(VecDeque<&'static [u8]>);

impl Read for Live {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let part = match self.0.pop_front() {
            Some(part) if !part.is_empty() => part,
            Some(_) => return Err(ErrorKind::WouldBlock.into()),
            None => return Ok(0),
        };
        buffer[..part.len()].copy_from_slice(part);
        Ok(part.len())
    }
}

/// Returns the result of each read, or `None` if it would block.
fn reads(parts: &[&'static [u8]]) -> Vec<Option<Vec<u8>>> {
    let mut reader = DecodeReaderBytes::new(Live(parts.iter().copied().collect()));
    let mut reads = Vec::new();
    loop {
        let mut buffer = [0; 64];
        match reader.read(&mut buffer) {
            Ok(0) => return reads,
            Ok(read) => reads.push(Some(buffer[..read].to_vec())),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                reads.push(None);
            }
        }
    }
}

#[test]
fn a_byte_that_does_not_start_a_bom_is_returned_at_once() {
    assert_eq!(reads(&[b"y", b"", b"es"]), [Some(b"y".to_vec()), None, Some(b"es".to_vec())]);
}

#[test]
fn a_bom_is_found_after_a_read_error_inside_it() {
    assert_eq!(reads(&[b"\xFF", b"", b"\xFE", b"a", b"\0"]), [None, Some(b"a".to_vec())]);
    assert_eq!(reads(&[b"\xEF\xBB", b"", b"\xBF", b"a\xFF"]), [None, Some("a\u{FFFD}".into())]);
}
