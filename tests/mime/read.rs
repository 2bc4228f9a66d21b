//! `MessageValidator::read`: a reader that fails, and a future that is dropped.

use std::io;

use futures::FutureExt;
use tokio_test::io::Builder;
use utf8_codec::mime::MessageValidator;
use utf8_codec::{ErrorKind, Utf8Error};

const MESSAGE: &[u8] = b"Content-Type: text/plain; charset=utf-8\r\n\r\n\xF0\x9F\x92\xA9 \xED\xA0\x80";

#[tokio::test]
async fn an_error_of_the_reader_loses_nothing() {
    let mut mock = Builder::new();
    for byte in MESSAGE.chunks(1) {
        mock.read(byte).read_error(io::ErrorKind::TimedOut.into());
    }
    let (mut reader, mut validator, mut errors) = (mock.build(), MessageValidator::new(), 0);
    // `Mock` returns an error only if nothing else shares its `Arc`.
    drop(mock);
    let verdict = loop {
        match validator.read(&mut reader).await {
            Ok(verdict) => break verdict,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::TimedOut),
        }
        errors += 1;
    };
    assert_eq!((errors, verdict.bytes), (MESSAGE.len(), MESSAGE.len() as u64));
    assert_eq!(verdict, MessageValidator::new().read(&mut &MESSAGE[..]).await.unwrap());
    assert_eq!(verdict.first_error().unwrap().1.offset, 48);
}

#[tokio::test]
async fn an_interrupted_read_is_repeated() {
    let mut reader = Builder::new().read_error(io::ErrorKind::Interrupted.into()).read(MESSAGE).build();
    let verdict = MessageValidator::new().read(&mut reader).await.unwrap();
    let (_, error) = verdict.first_error().unwrap();
    assert_eq!(error.utf8_error(), Some(Utf8Error::new(5, ErrorKind::Surrogate, 1)));
}

#[tokio::test]
async fn a_dropped_future_loses_nothing() {
    let (mut writer, mut reader) = tokio::io::duplex(1);
    let mut validator = MessageValidator::new();
    for byte in MESSAGE.chunks(1) {
        tokio::io::AsyncWriteExt::write_all(&mut writer, byte).await.unwrap();
        assert!(validator.read(&mut reader).now_or_never().is_none(), "the reader is pending");
    }
    drop(writer);
    let verdict = validator.read(&mut reader).await.unwrap();
    assert_eq!((verdict.bytes, verdict.parts[0].characters), (MESSAGE.len() as u64, Some(2)));
}
