"""The program behind FastCGI, SCGI and uwsgi: it responds with the lengths that it was told, and with what it can read."""

import base64
import json


def application(environment, start):
    length = environment.get("CONTENT_LENGTH", "")
    body = environment["wsgi.input"].read(int(length or 0))
    lengths = [environment.get(name, length) for name in ("CONTENT_LENGTH", "HTTP_CONTENT_LENGTH", "X_LENGTH")]
    start("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"lengths": lengths, "body": base64.b64encode(body).decode()}).encode()]
