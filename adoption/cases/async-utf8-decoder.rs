use async_utf8_decoder::Utf8Decoder;
use futures::executor::block_on;
use futures::{StreamExt, TryStreamExt, stream};

fn decoder(reads: &'static [&'static [u8]]) -> Utf8Decoder<impl futures::io::AsyncRead + Unpin> {
    let reads = stream::iter(reads.iter().map(|read| Ok::<_, std::io::Error>(read)));
    Utf8Decoder::new(reads.into_async_read())
}

#[test]
fn the_end_is_reported_once() {
    let mut decoder = decoder(&[b"caf\xC3"]);
    assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "caf");
    assert!(block_on(decoder.next()).unwrap().is_err());
    assert!(block_on(decoder.next()).is_none());
}

#[test]
fn no_text_is_lost_before_or_after_an_error() {
    let mut decoder = decoder(&[b"ab\xFFcd", b"ef"]);
    assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "ab");
    let error = block_on(decoder.next()).unwrap().unwrap_err();
    assert!(error.to_string().contains("byte 2"), "{error}");
    assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "cd");
    assert_eq!(block_on(decoder.next()).unwrap().unwrap(), "ef");
    assert!(block_on(decoder.next()).is_none());
}
