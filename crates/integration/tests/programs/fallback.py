"""Writes 400 lines, each in UTF-8 or in the code page of the first argument, in pieces, to both pipes. Writes their text to the file
of the second argument, one JSON string on each line. Ends with the status 7."""

import json
import random
import sys

codec, path = sys.argv[1:3]
words = {"cp866": "Привет мир ёж", "cp932": "テスト ｶﾅ 表示", "cp936": "汉字 编码 你好", "cp949": "한글 시험 똠"}[codec].split()
rng = random.Random(54)
output, expected = bytearray(), []
for number in range(400):
    text = " ".join(rng.choice(words) for _ in range(rng.randrange(1, 20))) + f" {number}"
    encoded = text.encode("utf-8" if rng.random() < 0.5 else codec)
    output += encoded + rng.choice([b"\n", b"\r\n"])
    expected.append(text)
with open(path, "w", encoding="ascii") as file:
    file.writelines(json.dumps(text) + "\n" for text in expected)
while output:
    size = rng.randrange(1, 200)
    for pipe in (sys.stdout.buffer, sys.stderr.buffer):
        pipe.write(output[:size])
        pipe.flush()
    del output[:size]
sys.exit(7)
