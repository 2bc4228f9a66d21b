use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result};

/// A server that sends these parts and then keeps the connection open.
struct Live(VecDeque<&'static [u8]>);

impl Read for Live {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let part = self.0.pop_front().ok_or(ErrorKind::WouldBlock)?;
        buffer[..part.len()].copy_from_slice(part);
        Ok(part.len())
    }
}

fn first_read(parts: &[&'static [u8]]) -> Result<Vec<u8>> {
    let body = ureq::Body::builder().mime_type("text/plain").reader(Live(parts.iter().copied().collect()));
    let mut reader = body.into_with_config().lossy_utf8(true).reader();
    let mut buffer = [0; 64];
    reader.read(&mut buffer).map(|read| buffer[..read].to_vec())
}

#[test]
fn text_that_has_arrived_is_returned_at_once() {
    assert_eq!(first_read(&[b"hi"]).unwrap(), b"hi");
}

#[test]
fn only_an_unfinished_character_is_held() {
    assert_eq!(first_read(&[b"caf\xC3"]).unwrap(), b"caf");
    assert_eq!(first_read(&[b"\xC3", b"\xA9!"]).unwrap(), "é!".as_bytes());
    assert_eq!(first_read(&[b"a\xFFb"]).unwrap(), b"a?b");
}
