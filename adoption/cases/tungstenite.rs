use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result, Write};

use tungstenite::protocol::Role;
use tungstenite::{Error, WebSocket};

/// A peer that sends these parts, one for each read, and then keeps the connection open.
struct Peer(VecDeque<Vec<u8>>);

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let part = self.0.pop_front().ok_or(ErrorKind::WouldBlock)?;
        buffer[..part.len()].copy_from_slice(&part);
        Ok(part.len())
    }
}

impl Write for Peer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

fn error(role: Role, parts: &[&[u8]]) -> Error {
    let peer = Peer(parts.iter().map(|part| part.to_vec()).collect());
    WebSocket::from_raw_socket(peer, role, None).read().unwrap_err()
}

#[track_caller]
fn assert_ill_formed(error: Error, offset: &str) {
    assert!(matches!(&error, Error::Utf8(_)), "{error:?}");
    assert!(error.to_string().contains(offset), "{error}");
}

#[test]
fn an_ill_formed_byte_is_rejected_before_the_rest_of_its_frame_arrives() {
    // Autobahn 6.4.3: F4 90 80 80 would be U+110000. Only 12 of 20 bytes arrive.
    assert_ill_formed(error(Role::Client, &[b"\x81\x14", "κόσμε".as_bytes(), b"\xF4\x90"]), "byte 10");
}

#[test]
fn an_ill_formed_byte_in_a_masked_continuation_frame_is_rejected() {
    let mask = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().zip(b"mask".iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
    };
    let first = [b"\x01\x84mask", &mask(b"abc\xED")[..]].concat();
    let start = mask(b"\x9F\xBFdef\xC0");
    let second = [b"\x80\x94mask", &start[..3]].concat();
    assert_ill_formed(error(Role::Server, &[&first, &second, &start[3..]]), "byte 9");
}

#[test]
fn the_error_of_a_fragmented_message_has_its_offset() {
    assert_ill_formed(error(Role::Client, &[b"\x01\x03abc", b"\x80\x03de\xFF"]), "byte 5");
    assert_ill_formed(error(Role::Client, &[b"\x01\x03abc", b"\x80\x03d\xE2\x82"]), "byte 4");
}
