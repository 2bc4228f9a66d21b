use futures::io::Cursor;
use soketto::connection::{Builder, Error, Mode};

/// Returns the first message of a peer that sends these frames.
async fn message(frames: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let socket = Cursor::new(frames.concat());
    let (_, mut receiver) = Builder::new(socket, Mode::Client).finish();
    let mut message = Vec::new();
    receiver.receive_data(&mut message).await.map(|_| message)
}

#[tokio::test]
async fn ill_formed_text_is_rejected_with_its_offset() {
    assert_eq!(message(&[b"\x01\x02a\xC3", b"\x80\x02\xA9b"]).await.unwrap(), "aéb".as_bytes());
    assert_eq!(message(&[b"\x82\x02a\xFF"]).await.unwrap(), b"a\xFF", "a binary message");
    for (frames, offset) in [
        (&[&b"\x81\x03ab\xFF"[..]][..], "byte 2"),
        (&[b"\x01\x02a\xC3", b"\x80\x02bc"], "byte 1"),
        (&[b"\x01\x02ab", b"\x80\x02c\xF0"], "byte 3"),
    ] {
        let error = message(frames).await.unwrap_err();
        assert!(error.to_string().contains(offset), "{error}");
    }
}

#[tokio::test]
async fn an_ill_formed_frame_is_rejected_before_the_next_frame_arrives() {
    let error = message(&[b"\x01\x02a\xC0"]).await.unwrap_err();
    assert!(matches!(error, Error::Utf8(_)), "{error:?}");
}
