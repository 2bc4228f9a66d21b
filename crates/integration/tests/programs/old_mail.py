"""Prints messages with a part in UTF-7 and one in ISO-2022-KR, with the text that Python decodes, one JSON object per line."""

import base64, email, json, quopri, random

SEED, MESSAGES = 2152, 150
rng = random.Random(SEED)
LETTERS = {
    "utf-7": ["hello ", "caf\u00e9", "\u65e5\u672c\u8a9e", "\U0001f4a9", "\u0391\u03b8", "+", "-", "\\~", "\r\n", "+-", "A"],
    "iso-2022-kr": ["hello ", "\ud55c\uae00", "\uac00", "\u3131", "+", "-", "\r\n", "A", " \u3000"],
}
BAD = {"utf-7": [b"+AOl-", b"+AO-", b"\xff", b"+AOkA!"], "iso-2022-kr": [b"\xff", b"\x1b(X"]}


def transfer(body):
    encoding = rng.choice(["8bit", "quoted-printable", "base64"])
    if encoding == "base64":
        body = base64.encodebytes(body)
    elif encoding == "quoted-printable":
        body = quopri.encodestring(body)
    return encoding, body


def entity(charset):
    name = rng.choice({"utf-7": ["utf-7", "UTF7", "unicode-1-1-utf-7"], "iso-2022-kr": ["iso-2022-kr", "csISO2022KR"]}[charset])
    body = "".join(rng.choice(LETTERS[charset]) for _ in range(rng.randrange(30))).encode(charset)
    if rng.random() < 0.3:
        body += rng.choice(BAD[charset])
    encoding, wire = transfer(body)
    header = "Content-Type: text/plain; charset=%s\r\nContent-Transfer-Encoding: %s\r\n\r\n" % (name, encoding)
    return header.encode() + wire, encoding, wire


for _ in range(MESSAGES):
    charsets = ["utf-7", "iso-2022-kr"]
    parts = [entity(charset) for charset in charsets]
    message = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"".join(b"--b\r\n" + part + b"\r\n" for part, *_ in parts) + b"--b--\r\n"
    found = []
    for part, charset, (_, encoding, wire) in zip(email.message_from_bytes(message).get_payload(), charsets, parts):
        body = part.get_payload(decode=True)
        try:
            text = body.decode(charset)
        except UnicodeDecodeError:
            text = None
        found.append({"encoding": encoding, "body": wire.hex(), "text": text})
    print(json.dumps({"message": message.hex(), "parts": found}))
