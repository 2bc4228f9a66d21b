//! A mail filter between two LMTP (RFC 2033) or SMTP (RFC 5321) servers that only forwards text in UTF-8.
//!
//! Commands and replies are forwarded. A message is checked while it is forwarded. Its final dot is sent only if there
//! was no error. Otherwise the upstream connection is dropped, and the client receives the part and the offset of each
//! error. Memory is constant for messages of any size.
//!
//! Without arguments it starts on a free port with its own upstream and client, and exits. With `--listen ADDR
//! [--upstream ADDR]` it serves; without an upstream it accepts mail and discards it.

use core::net::SocketAddr;
use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use utf8_codec::Utf8Decoder;
use utf8_codec_mail::unwrap::DotUnstuffer;
use utf8_codec_mail::{MessageValidator, MessageVerdict};

/// The maximum length of a command or reply line (RFC 5321 §4.5.3.1 requires 512; extensions add to that).
const MAX_LINE: u64 = 4096;

/// Adds the dots again. The forwarded bytes are made from the checked text, so the upstream receives the same message.
fn stuff(text: &[u8], at_line_start: &mut bool) -> Vec<u8> {
    let mut wire = Vec::with_capacity(text.len() + 1);
    for &byte in text {
        if *at_line_start && byte == b'.' {
            wire.push(b'.');
        }
        wire.push(byte);
        *at_line_start = byte == b'\n';
    }
    wire
}

/// Reads a line without its terminator. Returns `None` at the end of the stream.
async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    reader.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    match line.strip_suffix(b"\n") {
        Some(text) => Ok(Some(text.strip_suffix(b"\r").unwrap_or(text).to_vec())),
        None if line.is_empty() => Ok(None),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end")),
    }
}

/// Reads the lines of a reply.
async fn reply(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    loop {
        let line = line(reader).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let more = line.get(3) == Some(&b'-') && lines.len() < 100;
        lines.push(line);
        if !more {
            return Ok(lines);
        }
    }
}

fn code(reply: &[Vec<u8>]) -> &[u8] {
    reply.last().and_then(|line| line.get(..3)).unwrap_or_default()
}

/// A connection to the upstream.
struct Upstream(BufReader<TcpStream>);

impl Upstream {
    async fn connect(addr: SocketAddr) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let mut upstream = Self(BufReader::new(TcpStream::connect(addr).await?));
        let greeting = reply(&mut upstream.0).await?;
        Ok((upstream, greeting))
    }

    async fn ask(&mut self, command: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.write_all(&[command, b"\r\n"].concat()).await?;
        reply(&mut self.0).await
    }
}

/// The session of one client.
struct Session {
    client: BufReader<TcpStream>,
    addr: SocketAddr,
    upstream: Upstream,
    /// The last greeting of the client, which is repeated on a new connection to the upstream.
    hello: Vec<u8>,
    /// The number of recipients that the upstream accepted. LMTP replies to DATA for each of them (RFC 2033 §4.2).
    recipients: usize,
}

impl Session {
    async fn run(client: TcpStream, addr: SocketAddr) -> io::Result<()> {
        let mut client = BufReader::new(client);
        let (upstream, greeting) = match Upstream::connect(addr).await {
            Ok(connected) => connected,
            Err(error) => {
                client.write_all(b"421 4.4.1 the upstream does not answer\r\n").await?;
                return Err(error);
            }
        };
        let mut session = Self { client, addr, upstream, hello: Vec::new(), recipients: 0 };
        session.answer(&greeting).await?;
        loop {
            match line(&mut session.client).await {
                Ok(Some(command)) if session.command(&command).await? => {}
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return session.say("500 5.5.2 the line has no end".into()).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn answer(&mut self, lines: &[Vec<u8>]) -> io::Result<()> {
        let mut wire = lines.join(&b"\r\n"[..]);
        wire.extend_from_slice(b"\r\n");
        self.client.write_all(&wire).await
    }

    async fn say(&mut self, text: String) -> io::Result<()> {
        self.answer(&[text.into_bytes()]).await
    }

    /// Processes one command. Returns whether there may be more.
    async fn command(&mut self, command: &[u8]) -> io::Result<bool> {
        let mut decoder = Utf8Decoder::new();
        if let Err(error) = decoder.validate(command).and_then(|()| decoder.finish()) {
            // Possibly an address of SMTPUTF8 (RFC 6531).
            self.say(format!("501 5.5.2 {error}")).await?;
            return Ok(true);
        }
        if command.iter().any(u8::is_ascii_control) {
            // The upstream might treat a control character as a space or a line break and find another command.
            self.say("500 5.5.2 control characters in a command".into()).await?;
            return Ok(true);
        }
        let verb = command.split(|&byte| byte == b' ').next().unwrap_or_default().to_ascii_uppercase();
        match &verb[..] {
            b"DATA" => self.data().await?,
            // The filter could not check messages sent with these commands.
            b"BDAT" | b"STARTTLS" | b"AUTH" => self.say("502 5.5.1 not through this filter".into()).await?,
            b"EHLO" | b"LHLO" | b"HELO" => {
                let mut lines = self.upstream.ask(command).await?;
                self.hello = command.to_vec();
                self.recipients = 0;
                let last = lines.len().saturating_sub(1);
                lines = lines
                    .into_iter()
                    .enumerate()
                    .filter(|(i, l)| *i == 0 || passes(l))
                    .map(|(_, l)| l)
                    .collect();
                if let Some(line) = lines.last_mut().filter(|line| last > 0 && line.len() > 3) {
                    line[3] = b' ';
                }
                self.answer(&lines).await?;
            }
            _ => {
                let lines = self.upstream.ask(command).await?;
                match &verb[..] {
                    b"RCPT" if code(&lines).starts_with(b"2") => self.recipients += 1,
                    b"MAIL" | b"RSET" => self.recipients = 0,
                    _ => {}
                }
                self.answer(&lines).await?;
            }
        }
        Ok(verb != b"QUIT")
    }

    async fn data(&mut self) -> io::Result<()> {
        let go_ahead = self.upstream.ask(b"DATA").await?;
        self.answer(&go_ahead).await?;
        if code(&go_ahead) != b"354" {
            return Ok(());
        }
        let replies = if self.hello.to_ascii_uppercase().starts_with(b"LHLO") { self.recipients } else { 1 };
        self.recipients = 0;
        let (mut dots, mut validator, mut at_line_start) =
            (DotUnstuffer::new(), MessageValidator::new(), true);
        let mut ended = None;
        while ended.is_none() {
            let chunk = self.client.fill_buf().await?;
            if chunk.is_empty() {
                // The upstream has received no final dot, so it discards the message.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut text = Vec::with_capacity(chunk.len());
            ended = dots.feed_with(chunk, |_, part| text.extend_from_slice(part));
            let taken = ended.unwrap_or(chunk.len());
            self.client.consume(taken);
            validator.push(&text);
            // Programs differ in whether a single CR or LF ends a line, so it may hide a second message.
            if validator.is_ok() && dots.first_bare_break().is_none() {
                self.upstream.0.write_all(&stuff(&text, &mut at_line_start)).await?;
            }
        }
        let verdict = validator.finish();
        if verdict.is_ok() && dots.first_bare_break().is_none() {
            self.upstream.0.write_all(b".\r\n").await?;
            for _ in 0..replies {
                let lines = reply(&mut self.upstream.0).await?;
                self.answer(&lines).await?;
            }
            return Ok(());
        }
        // Without a final dot the upstream discards the message.
        self.upstream = Upstream::connect(self.addr).await?.0;
        if !self.hello.is_empty() {
            self.upstream.ask(&self.hello).await?;
        }
        let rejection = if dots.first_bare_break().is_some() {
            vec![b"554 5.6.0 a bare CR or LF".to_vec()]
        } else {
            rejection(&verdict)
        };
        for _ in 0..replies {
            self.answer(&rejection).await?;
        }
        Ok(())
    }
}

/// Whether an extension may be offered. Extensions that would bypass the filter may not.
fn passes(line: &[u8]) -> bool {
    let keyword = line.get(4..).unwrap_or_default().split(|&byte| byte == b' ').next().unwrap_or_default();
    ![&b"CHUNKING"[..], b"BINARYMIME", b"STARTTLS", b"AUTH"].iter().any(|no| keyword.eq_ignore_ascii_case(no))
}

/// Returns the ill-formed parts, then the well-formed ones.
fn rejection(verdict: &MessageVerdict) -> Vec<Vec<u8>> {
    let bad = verdict.parts.iter().filter_map(|part| {
        let error = part.errors().first()?;
        Some(format!("part {}: {error}", part.path))
    });
    let good = verdict.notable().filter(|part| part.is_ok()).map(|part| format!("part {}: good", part.path));
    let texts: Vec<_> = bad.chain(good).take(20).collect();
    let last = texts.len().saturating_sub(1);
    let line = |(i, text): (usize, &String)| {
        let separator = if i == last { ' ' } else { '-' };
        format!("554{separator}5.6.0 {text}").into_bytes()
    };
    texts.iter().enumerate().map(line).collect()
}

/// Filters every connection to the upstream.
pub async fn filter(listener: TcpListener, upstream: SocketAddr) -> io::Result<()> {
    loop {
        let (client, peer) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = Session::run(client, upstream).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

/// The messages that an upstream accepted.
pub type Inbox = Arc<Mutex<Vec<Vec<u8>>>>;

/// An upstream that accepts every message.
pub async fn take_all(listener: TcpListener, inbox: Inbox) -> io::Result<()> {
    loop {
        let (client, _) = listener.accept().await?;
        let inbox = inbox.clone();
        tokio::spawn(async move { take_from(BufReader::new(client), &inbox).await });
    }
}

async fn take_from(mut client: BufReader<TcpStream>, inbox: &Inbox) -> io::Result<()> {
    client.write_all(b"220 upstream\r\n").await?;
    let (mut lmtp, mut recipients) = (false, 0);
    while let Some(command) = line(&mut client).await? {
        let verb = command.get(..4).unwrap_or_default().to_ascii_uppercase();
        let answer = match &verb[..] {
            b"EHLO" | b"LHLO" => {
                lmtp = verb == b"LHLO";
                "250-upstream\r\n250-8BITMIME\r\n250-CHUNKING\r\n250-ENHANCEDSTATUSCODES\r\n250 SMTPUTF8\r\n"
                    .into()
            }
            b"RCPT" => {
                recipients += 1;
                "250 2.1.5 ok\r\n".into()
            }
            b"DATA" => {
                client.write_all(b"354 go ahead\r\n").await?;
                let (mut dots, mut message, mut ended) = (DotUnstuffer::new(), Vec::new(), None);
                while ended.is_none() {
                    let chunk = client.fill_buf().await?;
                    if chunk.is_empty() {
                        return Ok(());
                    }
                    ended = dots.feed_with(chunk, |_, part| message.extend_from_slice(part));
                    let taken = ended.unwrap_or(chunk.len());
                    client.consume(taken);
                }
                inbox.lock().expect("no panic").push(message);
                "250 2.0.0 taken\r\n".repeat(if lmtp { core::mem::take(&mut recipients) } else { 1 })
            }
            b"QUIT" => return client.write_all(b"221 2.0.0 bye\r\n").await,
            _ => "250 2.0.0 ok\r\n".into(),
        };
        client.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// Runs a filter on `addr`, in front of `upstream` or of its own upstream.
async fn serve(addr: &str, upstream: Option<SocketAddr>) -> io::Result<()> {
    let listener = TcpListener::bind(addr).await?;
    println!("listening on {}", listener.local_addr()?);
    let upstream = match upstream {
        Some(upstream) => upstream,
        None => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let addr = listener.local_addr()?;
            tokio::spawn(take_all(listener, Inbox::default()));
            addr
        }
    };
    filter(listener, upstream).await
}

/// A multipart message. The second one that is sent has an unpaired surrogate in its second part.
const GOOD: &str = "Subject: smörgås\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
    --b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n..dots, é\r\n.\r\n\
    --b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n7Z+/\r\n--b--\r\n";

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--listen", addr] => return Ok(serve(addr, None).await?),
        ["--listen", addr, "--upstream", upstream] => return Ok(serve(addr, Some(upstream.parse()?)).await?),
        _ => return Err("usage: [--listen ADDR [--upstream ADDR]]".into()),
    }

    let inbox = Inbox::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = listener.local_addr()?;
    tokio::spawn(take_all(listener, inbox.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = BufReader::new(TcpStream::connect(listener.local_addr()?).await?);
    tokio::spawn(filter(listener, upstream));
    client.get_ref().set_nodelay(true)?;
    assert_eq!(code(&reply(&mut client).await?), b"220");

    let bad = GOOD.replace("7Z+/", "b2jtoIA=");
    for message in [GOOD, &bad, GOOD] {
        for (command, expected) in [
            ("LHLO client", "250"),
            ("MAIL FROM:<smörgås@example.org> BODY=8BITMIME SMTPUTF8", "250"),
            ("RCPT TO:<a@example.org>", "250"),
            ("RCPT TO:<b@example.org>", "250"),
            ("DATA", "354"),
        ] {
            client.write_all(format!("{command}\r\n").as_bytes()).await?;
            let lines = reply(&mut client).await?;
            assert_eq!(code(&lines), expected.as_bytes(), "{command}");
            assert!(lines.iter().all(|line| !line.ends_with(b"CHUNKING")), "the filter could not check it");
        }
        // Three bytes at a time, so that dots and characters are split at many positions.
        let wire = [&stuff(message.as_bytes(), &mut true)[..], b".\r\n"].concat();
        for bytes in wire.chunks(3) {
            client.write_all(bytes).await?;
        }
        for recipient in ["a", "b"] {
            let lines = reply(&mut client).await?;
            println!("{recipient}: {}", String::from_utf8_lossy(&lines.join(&b" / "[..])));
            if message == GOOD {
                assert_eq!(lines, [b"250 2.0.0 taken"]);
            } else {
                let offset = bad.find("jtoIA=").expect("the symbol with the first bits of ED");
                let text = format!(
                    "554-5.6.0 part 2: ill-formed UTF-8 at byte {offset} (decoded byte 2, Surrogate, 1 byte)"
                );
                assert_eq!(lines, [text.as_bytes(), b"554 5.6.0 part 1: good"]);
            }
        }
    }
    // A single command for the filter, but two commands for some upstreams.
    for command in ["DATA\t", "NOOP\rDATA"] {
        client.write_all(format!("{command}\r\n").as_bytes()).await?;
        assert_eq!(code(&reply(&mut client).await?), b"500", "{command:?}");
    }
    client.write_all(b"QUIT\r\n").await?;
    assert_eq!(code(&reply(&mut client).await?), b"221");
    assert_eq!(
        *inbox.lock().expect("no panic"),
        [GOOD.as_bytes(), GOOD.as_bytes()],
        "only the good ones arrived"
    );
    Ok(())
}
