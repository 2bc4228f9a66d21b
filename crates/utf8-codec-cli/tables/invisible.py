"""Prints the tables of the rule `invisible`: `invisible.py DIRECTORY > crates/utf8-codec-cli/src/check/invisible/tables.rs`.

DIRECTORY has the Unicode Character Database, as /usr/share/unicode of the Debian package `unicode-data`.
"""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])


def rows(name):
    for line in (root / name).read_text().splitlines():
        fields = [field.strip() for field in line.split("#")[0].split(";")]
        if len(fields) > 1:
            yield fields


def points(name, *values, column=1):
    """The code points whose property has one of the values."""
    found = set()
    for fields in rows(name):
        if fields[column] in values:
            first, _, last = fields[0].partition("..")
            found |= set(range(int(first, 16), int(last or first, 16) + 1))
    return found


scripts = {fields[1]: set() for fields in rows("Scripts.txt")}
for script in scripts:
    scripts[script] = points("Scripts.txt", script)
names = {fields[1]: fields[2] for fields in rows("PropertyValueAliases.txt") if fields[0] == "sc"}
for fields in rows("ScriptExtensions.txt"):
    for script in fields[1].split():
        scripts[names[script]] |= points("ScriptExtensions.txt", fields[1])


def of_scripts_with(some):
    """The code points of the scripts of some characters."""
    return set().union(*(all for name, all in scripts.items() if name not in ("Common", "Inherited") and all & some))


joining = points("extracted/DerivedJoiningType.txt", "R", "L", "D")
joining |= points("IndicSyllabicCategory.txt", "Virama", "Pure_Killer", "Invisible_Stacker")
emoji = points("emoji/emoji-data.txt", "Emoji", "Extended_Pictographic")
ideographs = points("PropList.txt", "Ideographic")
# Planes 2 and 3 are reserved for ideographs (UAX #11).
ideographs |= set(range(0x20000, 0x2FFFE)) | set(range(0x30000, 0x3FFFE))
varied = {int(row[0].split()[0], 16) for row in rows("StandardizedVariants.txt")}
right_to_left = points("extracted/DerivedBidiClass.txt", "R", "AL")
assigned = {point for group in scripts.values() for point in group}


def table(name, comment, wanted, near=0):
    """Prints ranges. A gap of unassigned code points, or one of less than `near`, does not split a range."""
    ranges = []
    for point in sorted(wanted - set(range(0x80))):
        gap = range(ranges[-1][1] + 1, point) if ranges else None
        if gap is not None and len(gap) < 130 and (len(gap) < near or assigned.isdisjoint(gap)):
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    print(f"\n/// {comment}\n#[rustfmt::skip]\npub(super) const {name}: &[(u32, u32)] = &[")
    line = "   "
    for first, last in ranges:
        entry = f" (0x{first:X}, 0x{last:X}),"
        if len(line + entry) > 108:
            print(line)
            line = "   "
        line += entry
    print(f"{line}\n];")


version = re.search(r"-([\d.]+)\.txt", (root / "Scripts.txt").read_text())[1]
print(f"//! Ranges of code points for the rule `invisible`, from Unicode {version}, made by `tables/invisible.py`.")
table("JOINING", "Scripts (and ScriptExtensions) with letters that join (DerivedJoiningType) or a virama (IndicSyllabicCategory).", of_scripts_with(joining))
table("WITHOUT_SPACES", "Scripts in which words are not separated by spaces (LineBreak: SA).", of_scripts_with(points("LineBreak.txt", "SA")))
table("RIGHT_TO_LEFT", "Text from right to left (DerivedBidiClass: R, AL, and marks between them).", right_to_left - {0x200F}, near=64)
table("EMOJI", "Emoji and pictographs (emoji-data: Emoji, Extended_Pictographic), without `#`, `*` and digits.", emoji)
table("IDEOGRAPHS", "Ideographs (PropList: Ideographic), and the planes that are reserved for them.", ideographs)
table("VARIED", "Other characters with variants (StandardizedVariants), and those between them.", varied - emoji - ideographs, near=64)
