use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder, LinesCodec};

#[test]
fn a_line_feed_inside_a_line_is_not_written() {
    let mut codec = LinesCodec::new();
    let mut buffer = BytesMut::new();
    assert!(codec.encode("PRIVMSG #a :hi\nQUIT", &mut buffer).is_err());
    assert!(buffer.is_empty());
}

#[test]
fn the_error_of_an_ill_formed_line_has_its_offset_in_the_stream() {
    let mut codec = LinesCodec::new();
    let mut buffer = BytesMut::from(&b"good\nba\xFFd\ngood\n"[..]);
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap(), "good");
    let error = codec.decode(&mut buffer).unwrap_err();
    assert!(error.to_string().contains("byte 7"), "{error}");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap(), "good");
}
