#!/usr/bin/env python3
"""Writes the first inputs and the dictionary of each fuzz target: `seeds.py FOLDER TARGET...`.

The inputs are FOLDER/seeds/TARGET/*, the dictionaries FOLDER/TARGET.dictionary. An input is 8 bytes of settings (`src/lib.rs`) and
a stream of bytes; those of `content_type` have no settings. What is under "text" is for every target.
"""

import sys
from pathlib import Path

LANGUAGES = "Ein naïver Übersetzer, Ωμέγα, Привет, 日本語, 한국어, हिन्दी, العربية, 🦀👩\u200D👩\u200D👧 e\u0301\n"

SEEDS = {
    "text": {
        "annex-r": (
            "0400000301000000",
            b"\xC0\x80\nA\xC3A\n\xE5\x8D\n\x8D\x81\x8D\n\xF8\x81\x81\x81\x81\n\xFC\x81\x81\x81\x81\x81\n\xDF\xC0\xEF\x80",
        ),
        "ascii-then-error": ("0100000801000000", b"x" * 130 + b"\xE2\x82" + b"y" * 70 + b"\xFF"),
        "edges": (
            "0100000301000000",
            "\x00\x7F\u0080߿ࠀ\u0FFFက쿿퀀\uD7FF\uE000\uFFFD\uFFFE\uFFFF𐀀\U0003FFFF\U00040000\U000FFFFF\U00100000\U0010FFFF",
        ),
        "empty": ("0000000301000000", ""),
        "languages-0": ("0000000101000000", LANGUAGES * 4),
        "lines": ("0100000201030000", "one\r\ntwo\rthree\n\nfünf\r\n\u00A0\x00end"),
        "rfc3629-1": ("0000000001000000", "A≢Α."),
        "rfc3629-2": ("0100000101000000", "한국어"),
        "rfc3629-3": ("0200000201000000", "日本語"),
        "rfc3629-4": ("0300000301000000", "\uFEFF𣎴"),
        "rfc3629-bom-reject": ("0003000301000000", "\uFEFF𣎴"),
        "rfc3629-bom-require": ("0002000301000000", "A≢Α."),
        "rfc3629-bom-strip": ("0101000301000000", "\uFEFF𣎴"),
        "stress-continuations": ("0000000001000000", bytes(range(0x80, 0xC0))),
        "stress-cut": ("0200000201000000", b"\xC0\n\xE0\x80\n\xF0\x80\x80\n\xDF\n\xEF\xBF\n\xF7\xBF\xBF"),
        "stress-cut-joined": ("0300000301000000", b"\xC0\xE0\x80\xF0\x80\x80\xDF\xEF\xBF\xF7\xBF\xBF"),
        "stress-fe-ff": ("0400000401000000", b"\xFE\xFF\xFE\xFE\xFF\xFF"),
        "stress-lonely-leads": ("0100000101000000", b"".join(bytes([lead, 0x20]) for lead in range(0xC0, 0x100))),
        "stress-long-forms": (
            "0600000601000000",
            b"\xF8\x88\x80\x80\x80\n\xFC\x84\x80\x80\x80\x80\n\xFB\xBF\xBF\xBF\xBF\n"
            b"\xFD\xBF\xBF\xBF\xBF\xBF\n\xF4\x90\x80\x80\n\xF7\xBF\xBF\xBF",
        ),
        "stress-noncharacters": (
            "0100000901000000",
            "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)) + "\uFDD0\uFDEF",
        ),
        "stress-overlong": (
            "0500000501000000",
            b"\xC0\xAF\n\xE0\x80\xAF\n\xF0\x80\x80\xAF\n\xC1\xBF\n\xE0\x9F\xBF\n\xF0\x8F\xBF\xBF\n"
            b"\xC0\x80\n\xE0\x80\x80\n\xF0\x80\x80\x80",
        ),
        "stress-pairs": (
            "0000000801000000",
            b"\xED\xA0\x80\xED\xB0\x80\n\xED\xA0\x80\xED\xBF\xBF\n\xED\xAF\xBF\xED\xB0\x80\n\xED\xAF\xBF\xED\xBF\xBF",
        ),
        "stress-surrogates": (
            "0700000701000000",
            b"\xED\xA0\x80\n\xED\xAD\xBF\n\xED\xAE\x80\n\xED\xAF\xBF\n\xED\xB0\x80\n\xED\xBE\x80\n\xED\xBF\xBF",
        ),
        "utf16": ("0000000201060000", LANGUAGES.encode("utf-16-le") + b"\x00\xD8"),
        "utf32": ("0000000201080000", LANGUAGES.encode("utf-32-le")),
    },
    "body": {
        "form": (
            "0000000401030000",
            b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nna\xC3\xAFve\r\n"
            b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n"
            b"Content-Type: image/png\r\n\r\n\xFF\xFE\r\n--b--\r\n",
        ),
        "form-replace": (
            "0100000101030000",
            b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nna\xC3ve\r\n"
            b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n"
            b"Content-Type: image/png\r\n\r\n\xFF\xFE\r\n--b--\r\n",
        ),
        "urlencoded": ("0000000201020000", "a=%C3%A9&b=%e2%82%AC+x&c=%zz%C3"),
        "urlencoded-replace": ("0100000201020000", b"a=%C3&b=\xC3%A9%F0%9F%98%80"),
    },
    "codecs": {
        "lines": ("0100000301030200", b"a\r\nbb\r\rccc\n\xFF\xFE\r\n\xE2\x82"),
    },
    "content_type": {
        "0": ("", "text/plain; charset=utf-8"),
        "1": ("", "multipart/form-data; boundary=\"a\\\"b c\""),
    },
    "detect": {
        "designations": ("0000000201000000", "old\x1B%Gnew\x1B%/Ix\x1B%@\x1B%%G"),
        "fallback": ("0000000201010300", b"caf\xE9\ncaf\xC3\xA9\nlong line \xFF\n"),
    },
    "filter": {
        "lines": ("0000000301020100", b"kurz\r\nzu lange Zeile\n\xFF\n\xFC\n"),
    },
    "framing": {
        "content-length": (
            "0000000401020500",
            "Content-Length: 5\r\n\r\nhelloContent-Type: x; charset=utf-8\r\nContent-Length: 0\r\n\r\n",
        ),
        "cri": ("0000000301040400", b"t stdout P gr\xC3\nt stderr F x\nt stdout F:a \xBCn\nbad\nt stdout P end"),
        "json-sequence": ("0000000301030500", "\x1E{\"a\":1}\n\x1E[2]\n\x1Etrunc"),
        "syslog": ("0000000301000500", "11 <13>hello é3 abc"),
        "syslog-message": (
            "0000000301050400",
            b"<34>1 - host su - ID47 [a@1 b=\"\xC3\xA9\\]\"][c] \xEF\xBB\xBFtext",
        ),
        "syslog-lines": ("0000000301010500", "<13>one\n5 <1>ab<13>two\n"),
    },
    "json": {
        "claude-code-1709": ("0000000100000000", "{\"type\":\"text\",\"text\":\"\\uD83D\"}"),
        "claude-code-2108": (
            "0000000207010000",
            "{\"content\":\"cut \\ud83c\\udf89 and \\ud83c\",\"next\":\"\\\\ud83c\"}",
        ),
        "devlake-5244-jsonb": ("0000000401010100", "{\"title\":\"a\\u0000b\",\"path\":\"C:\\users\\u12\"}"),
        "opencode-13988": ("0100000309010000", b"data: {\"delta\":\"\\uDE00\xF0\x9F\x98\"}\n\n"),
        "pairs": ("0700000003020300", "[\"\\uD83D\\uDE00\",\"\\uD83D\\uD83D\\uDE00\\uDE00\",\"\\\\\\uD83D\\\\uDE00\"]"),
    },
    "layers": {
        "coded": ("0000000301000000", "a\napplication/json\ngzip\n{\"a\":1}"),
        "form": (
            "0000000301020000",
            b"a=%FF\nmultipart/form-data; boundary=b\nh\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n"
            b"\r\nna\xC3\xAFve\r\n--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n"
            b"Content-Type: image/png\r\n\r\n\xFF\xFE\r\n--b--\r\n",
        ),
        "ill-formed": ("0000000301020000", b"\ntext/html\n\nab\xFF"),
        "text": ("0000000301000000", "q=%C3%A9\ntext/plain; charset=utf-8\n\nnaïve"),
    },
    "locate": {
        "newlines": ("0100000101030000", "a\r\nb\rc\n\n🦀é\r\r\n"),
    },
    "message": {
        "multipart": (
            "0000000301000000",
            "From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"x\"\r\n"
            "\r\npre\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n"
            "\r\ncaf=C3=A9 =E2=82\r\n=AC\r\n--x\r\nContent-Type: message/rfc822\r\n"
            "\r\nSubject: =?utf-8?B?w6k=?=\r\nContent-Transfer-Encoding: base64\r\n"
            "\r\nw6nigqw=\r\n--x--\r\npost\r\n",
        ),
        "nested": (
            "0000000301000000",
            "Content-Type: multipart/a; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/b; boundary=ab\r\n"
            "\r\n--ab\r\n\r\nx\r\n--ab--\r\n--a--\r\n",
        ),
        "odd": (
            "0000000301000000",
            b"Content-Type: text/plain (c); charset*0=ut; charset*1=f-8\nContent-Type: text/html\n folded\n\n--\xFF\r\n",
        ),
        "small-limits": (
            "0100000301020303",
            "From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"x\"\r\n"
            "\r\npre\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n"
            "\r\ncaf=C3=A9 =E2=82\r\n=AC\r\n--x\r\nContent-Type: message/rfc822\r\n"
            "\r\nSubject: =?utf-8?B?w6k=?=\r\nContent-Transfer-Encoding: base64\r\n"
            "\r\nw6nigqw=\r\n--x--\r\npost\r\n",
        ),
    },
    "operations": {
        "mixed": (
            "0101000203010203",
            b"Ein na\xC3\xAFver \xC3\x9Cbersetzer, \xCE\xA9\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1, \xD0\x9F\xD1\x80\xD0\xB8\xD0"
            b"\xB2\xD0\xB5\xD1\x82, \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E, \xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4, \xE0\xA4"
            b"\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80, \xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8"
            b"\xD9\x8A\xD8\xA9, \xF0\x9F\xA6\x80\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 "
            b"e\xCC\x81\n\r\n\xFF\xE2\x82Ein na\xC3\xAFver \xC3\x9Cbersetzer, \xCE\xA9\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1, "
            b"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E, \xED\x95\x9C\xEA"
            b"\xB5\xAD\xEC\x96\xB4, \xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80, \xD8\xA7"
            b"\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8\xD9\x8A\xD8\xA9, \xF0\x9F\xA6\x80\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91"
            b"\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 e\xCC\x81\n\r\n\xFF\xE2\x82Ein na\xC3\xAFver \xC3\x9Cbersetzer, \xCE\xA9"
            b"\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1, \xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xE6\x97\xA5\xE6\x9C"
            b"\xAC\xE8\xAA\x9E, \xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4, \xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D"
            b"\xE0\xA4\xA6\xE0\xA5\x80, \xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8\xD9\x8A\xD8\xA9, \xF0\x9F\xA6\x80\xF0"
            b"\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 e\xCC\x81\n"
            b"\r\n\xFF\xE2\x82",
        ),
    },
    "protobuf": {
        "connect": ("0000000000000200", b"\x00\x00\x00\x00\x03\n\x01a\x02\x00\x00\x00\x03{\xFF}"),
        "cut-character": ("0000000000000000", b"\n\x0C0123456789\xE2\x82"),
        "field-100": ("0000000000000000", b"\xA2\x06\x02\xC3("),
        "group-and-unknown": ("0000000000000000", b"\x1B\n\x02x\xFF\x1C \xFF\x01-\xFF\xFF\xFF\xFF"),
        "grpc": ("0000000000000000", b"\x00\x00\x00\x00\x04\n\x02a\xFF\x01\x00\x00\x00\x02\xFF\xFF"),
        "grpc-web": ("0000000000000100", b"\x00\x00\x00\x00\x03\n\x01\xFF\x80\x00\x00\x00\x02a:"),
        "one-bad-attribute": ("0000000000000000", b"\x12\x19\x12\x11\n\thost.name\n\x04caf\xE9\x12\x04\n\x02ok"),
        "surrogate-halves": ("0000000000000000", b"\n\x06\xED\xA0\xBD\xED\xB8\x80"),
    },
    "sse": {
        "events": (
            "0100000301030300",
            "\uFEFFevent: add\ndata: 73857293\nid: 1\n\ndata\r\rdata:a\r\ndata: é\r\n: comment\nretry: 10\n\n",
        ),
        "limits": (
            "0100000301010100",
            "data: 123456789\n\ndata:1\ndata:22222222222222222222\n\nid:a\x00\nevent:x\ndata:\n\n",
        ),
    },
    "subset": {
        "ranges": (
            "0100000301080000",
            "\x00\x7F\u0080߿ࠀ\u0FFFက쿿퀀\uD7FF\uE000\uFFFD\uFFFE\uFFFF𐀀\U0003FFFF\U00040000\U000FFFFF\U00100000\U0010FFFF",
        ),
    },
    "transcode": {
        "0": (
            "0000000301000600",
            b"Ein na\xC3\xAFver \xC3\x9Cbersetzer, \xCE\xA9\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1, \xD0\x9F\xD1\x80\xD0\xB8\xD0"
            b"\xB2\xD0\xB5\xD1\x82, \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E, \xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4, \xE0\xA4"
            b"\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80, \xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8"
            b"\xD9\x8A\xD8\xA9, \xF0\x9F\xA6\x80\xF0\x9F\x91\xA9\xE2\x80\x8D\xED\xA0\xBD\xED\xB8\x80\x80",
        ),
        "1": (
            "0100000301060001",
            b"E\x00i\x00n\x00 \x00n\x00a\x00\xEF\x00v\x00e\x00r\x00 \x00\xDC\x00b\x00e\x00r\x00s\x00e\x00t\x00z\x00e\x00r"
            b"\x00,\x00 \x00\xA9\x03\xBC\x03\xAD\x03\xB3\x03\xB1\x03,\x00 \x00\x1F\x04@\x048\x042\x045\x04B\x04,\x00 \x00"
            b"\xE5e,g\x9E\x8A,\x00 \x00\\\xD5m\xAD\xB4\xC5,\x00 \x009\t?\t(\tM\t&\t@\t,\x00 \x00'\x06D\x069\x061\x06\xED"
            b"\xA0\xBD\xED\xB8\x80\x80",
        ),
        "2": (
            "0200000301020302",
            b"Ein na\xC3\xAFver \xC3\x9Cbersetzer, \xCE\xA9\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1, \xD0\x9F\xD1\x80\xD0\xB8\xD0"
            b"\xB2\xD0\xB5\xD1\x82, \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E, \xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4, \xE0\xA4"
            b"\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80, \xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8"
            b"\xD9\x8A\xD8\xA9, \xF0\x9F\xA6\x80\xF0\x9F\x91\xA9\xE2\x80\x8D\xED\xA0\xBD\xED\xB8\x80\x80",
        ),
        "3": (
            "0300000301030903",
            b"Ein na\xC3\xAFver \xC3\x9Cbersetzer, \xCE\xA9\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1, \xD0\x9F\xD1\x80\xD0\xB8\xD0"
            b"\xB2\xD0\xB5\xD1\x82, \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E, \xED\x95\x9C\xEA\xB5\xAD\xEC\x96\xB4, \xE0\xA4"
            b"\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80, \xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8"
            b"\xD9\x8A\xD8\xA9, \xF0\x9F\xA6\x80\xF0\x9F\x91\xA9\xE2\x80\x8D\xED\xA0\xBD\xED\xB8\x80\x80",
        ),
        "iso-2022-kr": ("0100000301380000", b"\x1B$)Ca\x0EGQ1[\x0F. \x0EI!\n0!\x0E0"),
        "utf-7": ("01000003010C0000", b"1 +- 1 +ZeVnLIqe-+2D0-+3pk-+AOl-+AO +2D0-+!\xFF+2D3emQ"),
    },
    "transfer": {
        "base64-0": ("0000000301040000", "w6nigqzwn5iA\r\nYQ==\r\nYg=="),
        "qp-0": ("0000000201030000", "caf=C3=A9 =\r\n=3D\r\n=zz =E2=82"),
        "qp-1": ("0000000201030000", "line  \r\n=20\r\n\r\n"),
        "qp-space-at-limit": ("000000ffff030000", b"caf=C3=A9 =7aCA3\x00=82\xFC\x84\x80\x80\x80\x80"),
    },
    "unwrap": {
        "dots": ("0000000000000000", "a\r\n..b\r\n.\r.\n\r\n.\r\nQUIT"),
        "folds": ("0000000000000000", b"SUMMARY:Caf\xC3\r\n \xA9\n\t!\r\r\n\r\n x\r\n"),
    },
    "websocket": {
        "client": (
            "0000020507020000",
            b"\x01\x837\xFA!=P\x88\xE2\x89\x817\xFA!=G\x80\x827\xFA!=\x8B\x94\x81\x847\xFA!=T\x9BG\xD4\x88\x857\xFA!=4"
            b"\x12CDR",
        ),
        "compressed": (
            "0101020103020000",
            b"A\x02\xFF\xFF\x00\x01\xFF\x80\x00\x82\x7F\x00\x00\x00\x00\x00\x01\x00\x00",
        ),
        "inflated": (
            "0101020103020000",
            b"\xC1\x07\xF2H\xCD\xC9\xC9\x07\x00A\x02\xF2\x00\x80\x03\x11\x00\x00\xC1\x03\xFA\x0F\x00",
        ),
        "server": (
            "0100020301020100",
            b"\x01\x02\xE2\x82\x80\x02\xACx\x81~\x01\x00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xFF\x88\x02\x03\xE8",
        ),
    },
}

WORDS = {
    "text": (
        "\x7F", "\u0080", "\u0085", "߿", "ࠀ", "\u2028", "\uD7FF", "\uE000", "\uFDD0", "\uFEFF", "\uFFFD", "\uFFFF", "𐀀",
        "💩", "\U0010FFFF", b"\xC0\x80", b"\xC1\xBF", b"\xE0\x9F\xBF", b"\xED\xA0\x80", b"\xED\xA0\xBD\xED\xB2\xA9",
        b"\xED\xBF\xBF", b"\xF0\x8F\xBF\xBF", b"\xF4\x90\x80\x80", b"\xF8\x88\x80\x80\x80", b"\xFC\x84\x80\x80\x80\x80",
        b"\xFE\xFF", b"\xFF\xFE\x00\x00", b"\xE2\x82", b"\xF0\x9F\x92", "\x00", "\r\n",
        "abcdefghijklmnopqrstuvwxyzabcdef", "abcdefghijklmnopqrstuvwxyzabcdefabcdefghijklmnopqrstuvwxyzabcdef",
    ),
    "body": (
        "&", "=", "+", "%C3%A9", "%F0%9F%92%A9", "%ED%A0%80", "%C3", "_charset_", "--b\r\n", "\r\n--b", "\r\n--b--",
        "----=_b--", "Content-Disposition: form-data; name=\"a\"", "; filename=\"a\"", "; filename*=utf-8''a",
        "Content-Type: text/plain", "; charset=iso-8859-1", "Content-Transfer-Encoding: binary", "\r\n\r\n",
    ),
    "content_type": (
        "text/plain", "multipart/form-data", "application/json", "; ", "charset", "=utf-8", "=\"utf-8\"",
        "unicode-1-1-utf-8", "charset*=", "charset*0=", "charset*0*=", "charset*1=", "utf-8''", "''", "%C3%A9", "%u",
        "boundary=", "name*=", "\"", "\\\"", "(", ")", "=?utf-8?Q?a?=", "\r\n ",
    ),
    "detect": (
        "\x1B%G", "\x1B%@", "\x1B%/G", "\x1B%/H", "\x1B%/I", "\x1B\x00%\x00G\x00", "\x00\x1B\x00%\x00G",
        "\x00\x00\x00\x1B\x00\x00\x00%\x00\x00\x00G", "+ACI-", b"\xFE\xFF", b"\x00\x00\xFE\xFF", b"\xFF\xFE\x00\x00",
    ),
    "framing": (
        "3:abc,", "0:,", "99999999999999999999", "4 abcd", "Content-Length: ", "content-length:4",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8", "\r\n\r\n", "\x1E", "\x1E{}\n", "<34>1 ", "\n",
        "t stdout P ", "t stderr F ", "<34>1 - - - - - ", "[a b=\"", "\"]", "\\]", "\uFEFF",
    ),
    "json": (
        "\\u", "\\uD83D", "\\uDE00", "\\u0000", "\\\\",
    ),
    "layers": (
        "a=b&c=d", "%C3%A9", "%ED%A0%80", "%FF", "\n", "text/plain", "text/plain; charset=utf-8",
        "; charset=iso-8859-1", "application/json", "application/grpc", "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b", "\r\n--b\r\n", "\r\n--b--", "Content-Disposition: form-data; name=a", "gzip",
        "identity", "bytes 0-1/2", "xn--",
    ),
    "message": (
        "From: ", "Subject: ", "\r\n", "\r\n\r\n", "\r\n ", "MIME-Version: 1.0", "Content-Type: ",
        "text/plain; charset=utf-8", "text/plain; charset=us-ascii", "multipart/mixed; boundary=b",
        "multipart/digest; boundary=\"b\"", "message/rfc822", "message/global", "message/partial", "\r\n--b\r\n",
        "\r\n--b--\r\n", "Content-Transfer-Encoding: ", "base64", "quoted-printable", "8bit", "7bit", "binary",
        "=?utf-8?Q?=C3=A9?=", "=?utf-8?B?w6k=?=", "=?iso-8859-1?Q?=E9?=",
        "Content-Disposition: attachment; filename*=utf-8''%C3%A9", "; filename*0*=utf-8''%C3", "; filename*1=a",
        "=C3=A9", "=\r\n", "w6k=",
    ),
    "sse": (
        "data: ", "data:", "data\n", "event: a", "id: 1", "id: \x00", "retry: 100", "retry: 99999999999999999999", ": ",
        "\n\n", "\r\r", "\r\n\r\n", "\uFEFF",
    ),
    "transfer": (
        "=C3=A9", "=c3", "=\r\n", "= \r\n", " \r\n", "=0D=0A", "w6k=", "4oKs", "8J+SqQ==", "7aCA", "==", "====", "\r\n",
        "----",
    ),
    "websocket": (
        b"\x81\x05", "\x01\x03", "\x00\x01", b"\x80\x00", b"\x89\x00", b"\x8A\x00", b"\x88\x02\x03\xE8", b"\x88\x00",
        b"\xC1\x01", b"\xC1\x07\xF2H\xCD\xC9\xC9\x07\x00", b"\x82~\x00~", b"\x82\x7F\x00\x00\x00\x00\x00\x01\x00\x00", b"\x81\x857\xFA!=",
    ),
}


def to_bytes(value):
    return value.encode() if isinstance(value, str) else value


def main():
    folder = Path(sys.argv[1])
    for target in sys.argv[2:]:
        seeds = folder / "seeds" / target
        seeds.mkdir(parents=True, exist_ok=True)
        for name, (settings, stream) in (SEEDS["text"] | SEEDS.get(target, {})).items():
            (seeds / name).write_bytes(bytes.fromhex(settings) + to_bytes(stream))
        words = map(to_bytes, WORDS["text"] + WORDS.get(target, ()))
        lines = ('"' + "".join(f"\\x{byte:02X}" for byte in word) + '"\n' for word in words)
        (folder / f"{target}.dictionary").write_text("".join(lines))


if __name__ == "__main__":
    main()
