//! A small MQTT 3.1.1 broker that checks every string: a frame codec for the packets, and the decoder of this crate for
//! the text inside. MQTT requires a server to close the connection on ill-formed UTF-8 and on U+0000 (MQTT-1.5.3-1,
//! -2).
//!
//! It sends a message back to the client that published it, if that client has a subscription. Without arguments it
//! starts on a free port with its own client, and exits. `--listen ADDR` prints the messages until it is interrupted:
//!
//! ```sh
//! cargo run --example mqtt_broker -- --listen 127.0.0.1:1883
//! mosquitto_pub -p 1883 -t "$(printf 'stra\303\237e')" -m hallo
//! ```

use core::error::Error;
use std::io::{self, Write as _};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Decoder, Encoder, Framed};
use utf8_codec::{Subset, TextDecoder, Utf8Error};

/// The strings of MQTT: every character except U+0000.
const STRING: TextDecoder = TextDecoder::new().with_subset(&Subset::MQTT_5);
const MAX_PACKET: usize = 64 * 1024;

/// A control packet: the first byte of its header, and the bytes after the length.
#[derive(Debug, PartialEq, Eq)]
struct Packet {
    header: u8,
    body: Bytes,
}

/// The codec for packets (section 2.2): a byte, a length of 1 to 4 bytes with 7 bits in each, the body.
struct PacketCodec;

fn invalid(what: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Decoder for PacketCodec {
    type Item = Packet;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Packet>> {
        let mut length = 0;
        for (i, &byte) in src.iter().skip(1).take(4).enumerate() {
            length |= usize::from(byte & 0x7F) << (7 * i);
            if byte & 0x80 != 0 {
                continue;
            }
            if length > MAX_PACKET {
                return Err(invalid("the packet is too long"));
            }
            if src.len() < 2 + i + length {
                return Ok(None);
            }
            let header = src.get_u8();
            src.advance(1 + i);
            return Ok(Some(Packet { header, body: src.split_to(length).freeze() }));
        }
        if src.len() > 4 { Err(invalid("the length has more than 4 bytes")) } else { Ok(None) }
    }
}

impl Encoder<Packet> for PacketCodec {
    type Error = io::Error;

    fn encode(&mut self, packet: Packet, dst: &mut BytesMut) -> io::Result<()> {
        dst.put_u8(packet.header);
        let mut length = packet.body.len();
        while length > 0x7F {
            dst.put_u8(length as u8 & 0x7F | 0x80);
            length >>= 7;
        }
        dst.put_u8(length as u8);
        dst.extend_from_slice(&packet.body);
        Ok(())
    }
}

/// Removes a number of 2 bytes from the front.
fn number(body: &mut Bytes) -> io::Result<u16> {
    body.try_get_u16().map_err(|_| invalid("the packet is cut off"))
}

/// Removes a string from the front: a length of 2 bytes, then UTF-8.
fn string(body: &mut Bytes) -> io::Result<String> {
    let length = usize::from(number(body)?);
    if body.len() < length {
        return Err(invalid("the string is cut off"));
    }
    let string = body.split_to(length);
    Ok(STRING.decode(&string).map_err(|error: Utf8Error| invalid(error))?.into_owned())
}

/// Serves one client.
async fn converse(socket: TcpStream) -> io::Result<()> {
    let mut packets = Framed::new(socket, PacketCodec);
    let mut is_subscribed = false;
    while let Some(packet) = packets.next().await {
        let Packet { header, mut body } = packet?;
        let packet = Packet { header, body: body.clone() };
        let answer = match header >> 4 {
            // CONNECT, answered with CONNACK (accepted).
            1 => {
                let protocol = string(&mut body)?;
                println!("connected: {}", protocol.escape_debug());
                Some((0x20, Bytes::from_static(&[0, 0])))
            }
            // PUBLISH: the topic, a packet identifier if the quality of service is not 0, and the message.
            3 => {
                let topic = string(&mut body)?;
                let id = if header & 0x06 == 0 { None } else { Some(number(&mut body)?) };
                // The protocol allows any bytes in a message; this broker requires text.
                let message = TextDecoder::new().decode(&body).map_err(invalid)?.into_owned();
                println!("message: {}: {}", topic.escape_debug(), message.escape_debug());
                if is_subscribed && id.is_none() {
                    packets.send(packet).await?;
                }
                id.map(|id| (0x40, Bytes::copy_from_slice(&id.to_be_bytes())))
            }
            // SUBSCRIBE, answered with SUBACK (quality of service 0).
            8 => {
                let id = number(&mut body)?;
                println!("subscribed: {}", string(&mut body)?.escape_debug());
                is_subscribed = true;
                Some((0x90, Bytes::from([&id.to_be_bytes()[..], &[0]].concat())))
            }
            // PINGREQ, answered with PINGRESP.
            12 => Some((0xD0, Bytes::new())),
            // DISCONNECT.
            14 => break,
            _ => return Err(invalid("the packet type is not supported")),
        };
        if let Some((header, body)) = answer {
            packets.send(Packet { header, body }).await?;
        }
    }
    Ok(())
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = converse(socket).await {
                println!("closed: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (address, is_demonstration) = match &arguments[..] {
        [] => ("127.0.0.1:0", true),
        [flag, address] if flag == "--listen" => (&address[..], false),
        _ => return Err("usage: mqtt_broker [--listen ADDR]".into()),
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut out = io::stdout();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    if is_demonstration {
        tokio::spawn(serve(listener));
        return demonstrate(TcpStream::connect(address).await?).await;
    }
    Ok(serve(listener).await?)
}

/// Returns the encoding of a string.
fn bytes_of(string: &[u8]) -> Vec<u8> {
    [&(string.len() as u16).to_be_bytes()[..], string].concat()
}

async fn demonstrate(socket: TcpStream) -> Result<(), Box<dyn Error>> {
    let mut packets = Framed::new(socket, PacketCodec);
    let connect = [bytes_of(b"MQTT"), b"\x04\x02\0\x3C".to_vec(), bytes_of(b"client")].concat();
    packets.send(Packet { header: 0x10, body: connect.into() }).await?;
    let accepted = packets.next().await.ok_or("the broker closed the connection")??;
    assert_eq!(accepted, Packet { header: 0x20, body: Bytes::from_static(&[0, 0]) });

    let subscribe = [b"\0\x07".to_vec(), bytes_of("stra\u{DF}e".as_bytes()), vec![0]].concat();
    packets.send(Packet { header: 0x82, body: subscribe.into() }).await?;
    let subscribed = packets.next().await.ok_or("the broker closed the connection")??;
    assert_eq!(subscribed, Packet { header: 0x90, body: Bytes::from_static(&[0, 7, 0]) });

    let publish: Bytes = [bytes_of("stra\u{DF}e".as_bytes()), "na\u{EF}ve \u{1F980}".into()].concat().into();
    packets.send(Packet { header: 0x30, body: publish.clone() }).await?;
    let message = packets.next().await.ok_or("the broker closed the connection")??;
    assert_eq!(message, Packet { header: 0x30, body: publish });

    // A topic in Latin-1 ends the session.
    packets.send(Packet { header: 0x30, body: bytes_of(b"stra\xDFe").into() }).await?;
    assert!(packets.next().await.is_none());
    packets.get_mut().shutdown().await?;
    println!("a message was returned, and a topic in Latin-1 ended the session");
    Ok(())
}
