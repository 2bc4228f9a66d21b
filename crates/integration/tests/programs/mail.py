"""Prints random messages and bodies with the output of Python's own decoders, one JSON object per line."""

import base64, email, email.policy, io, json, quopri, random
from email.header import Header
from email.message import Message

SEED, MESSAGES, BODIES = 2045, 40, 400
rng = random.Random(SEED)
LETTERS = ["hello ", "caf\u00e9 ", "\u65e5\u672c\u8a9e", "\U0001f4a9", "\u0391\u03b8\u03ae\u03bd\u03b1 ", "=", "\n", ". ", "From ", "--b", " \n"]
BAD = [b"\xed\xa0\x80", b"\xff", b"\xc3", b"\xe2\x82", b"\xc0\xaf", b"\xf4\x90\x80\x80"]


def random_bytes(bad):
    text = "".join(rng.choice(LETTERS) for _ in range(rng.randrange(14))).encode()
    if bad:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(BAD) + text[at:]
    return text


def leaf():
    part = Message()
    charset = rng.choice(["utf-8", "UTF8", "unicode-1-1-utf-8"])
    part["Content-Type"] = 'text/%s; charset="%s"' % (rng.choice(["plain", "html"]), charset)
    body = random_bytes(rng.random() < 0.3)
    encoding = rng.choice(["7bit", "8bit", "binary", "quoted-printable", "base64"])
    if encoding == "7bit":
        encoded = bytes(byte for byte in body if byte < 0x80)
    elif encoding == "quoted-printable":
        encoded = quopri.encodestring(body)
    elif encoding == "base64":
        width = rng.choice([1, 3, 4, 57])
        encoded = base64.b64encode(body)
        encoded = b"".join(encoded[i:i + width] + b"\n" for i in range(0, len(encoded), width))
    else:
        encoded = body
    part["Content-Transfer-Encoding"] = encoding if rng.random() < 0.8 else encoding.upper()
    part.set_payload(encoded.decode("ascii", "surrogateescape"))
    return part


def entity(depth):
    kind = rng.random() if depth < 4 else 1
    if kind < 0.5:
        part = Message()
        part["Content-Type"] = "multipart/" + rng.choice(["mixed", "alternative", "related"])
        part.set_payload([entity(depth + 1) for _ in range(1 + rng.randrange(3))])
        if rng.random() < 0.3:
            part.preamble, part.epilogue = "caf\n--", "end\n"
        return part
    if kind < 0.6 and depth > 0:
        part = Message()
        part["Content-Type"] = "message/rfc822"
        part.set_payload([message(depth + 1)])
        return part
    return leaf()


def message(depth):
    made = entity(depth)
    if rng.random() < 0.5:
        made["Subject"] = Header("".join(rng.choice(LETTERS).strip() for _ in range(20)), "utf-8")
    return made


def leaves(part, path, is_message):
    """Yields the text parts with their IMAP numbers."""
    if part.get_content_maintype() == "multipart":
        for number, child in enumerate(part.get_payload(), 1):
            yield from leaves(child, path + [number], False)
        return
    path = path + [1] if is_message else path
    if part.get_content_type() == "message/rfc822":
        yield from leaves(part.get_payload()[0], path, True)
    else:
        yield path, part


def verdict(path, part):
    decoded = part.get_payload(decode=True)
    made = {
        "path": ".".join(map(str, path)),
        "type": part.get_content_type(),
        "encoding": part["Content-Transfer-Encoding"].lower(),
        "bytes": len(decoded),
        "error": None,
        "characters": None,
        "lines": len(decoded.split(b"\n")) - decoded.endswith(b"\n") - (not decoded),
    }
    try:
        made["characters"] = len(decoded.decode("utf-8"))
    except UnicodeDecodeError as error:
        made["error"] = error.start
    return made


for _ in range(MESSAGES):
    ending = rng.choice(["\n", "\r\n"])
    policy = email.policy.compat32.clone(linesep=ending, mangle_from_=False)
    bytes_of = message(0).as_bytes(policy=policy)
    parsed = email.message_from_bytes(bytes_of)
    parts = [verdict(path, part) for path, part in leaves(parsed, [], True)]
    print(json.dumps({"message": bytes_of.hex(), "parts": parts}))

# The C helper of the module keeps white space at the end of lines. Rule 3 of RFC 2045 removes it.
quopri.a2b_qp = None
for _ in range(BODIES):
    parts = ["=", "=C3=A9", "=c3=\n=a9", "= \t\n", "text", "0", "x \n", "\t", "\n", "\u00e9"]
    body = "".join(rng.choice(parts) for _ in range(rng.randrange(12)))+ "x\n"
    # Python drops one `=` of two.
    while "==" in body:
        body = body.replace("==", "=")
    decoded = io.BytesIO()
    quopri.decode(io.BytesIO(body.encode()), decoded)
    print(json.dumps({"encoding": "quoted-printable", "body": body.encode().hex(), "decoded": decoded.getvalue().hex()}))
    symbols = base64.b64encode(rng.randbytes(rng.randrange(40))).decode()
    body = "".join(symbol + rng.choice(["", "", "", "\r\n", " ", "-", "\u00e9"]) for symbol in symbols)
    decoded = base64.b64decode(body.encode())
    print(json.dumps({"encoding": "base64", "body": body.encode().hex(), "decoded": decoded.hex()}))
