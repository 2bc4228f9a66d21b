"""Reads messages in hexadecimal, one per line, and writes the leaves that Python's `email` finds in each, as JSON."""

import email, json, sys


def leaves(part):
    if part.is_multipart():
        for child in part.get_payload():
            yield from leaves(child)
    else:
        encoding = str(part.get("Content-Transfer-Encoding", ""))
        # Without this field, `get_payload` returns the body in the transfer encoding.
        del part["Content-Transfer-Encoding"]
        yield [part.get_content_type(), part.get_content_charset(""), encoding, part.get_payload(decode=True).hex()]


for line in sys.stdin:
    found, error = [], None
    try:
        found.extend(leaves(email.message_from_bytes(bytes.fromhex(line))))
    except Exception as exception:
        # `email` documents no exceptions, but raises some.
        error = repr(exception)
    print(json.dumps({"leaves": found, "error": error}))
