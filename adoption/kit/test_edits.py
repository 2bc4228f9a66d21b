"""Tests of the scripted edits: `python3 -m unittest kit.test_edits` in this folder."""

import unittest

from .edits import EditError, apply

SOURCE = r"""
/// Doc } of the first.
#[inline]
pub(crate) const fn first<'a>(text: &'a str) -> Result<&'a str, ()> {
    let brace = '}'; // }
    let strings = ("}", r#"}"#, b"\"}", b'}', '\'');
    Ok(text)
}

impl<'a> Second<'a> {
    fn first(&self) -> u8 {
        1
    }
}

struct Third(u8);

fn last() {}
"""


class Edits(unittest.TestCase):
    def test_a_body_ends_at_its_own_brace(self):
        edited = apply(SOURCE, {"inside": "impl<'a> Second", "body": "fn first", "with": "        2\n"})
        self.assertEqual(edited, SOURCE.replace("        1\n", "        2\n"))

    def test_an_item_goes_with_its_attributes_and_comments(self):
        edited = apply(SOURCE, {"item": "fn first<", "with": ""})
        self.assertTrue(edited.startswith("\n\nimpl<'a> Second"), edited)

    def test_an_item_without_braces_ends_at_its_semicolon(self):
        self.assertNotIn("Third", apply(SOURCE, {"item": "struct Third"}))
        self.assertIn("fn last() {}", apply(SOURCE, {"item": "struct Third"}))

    def test_words_that_are_not_there_once_are_an_error(self):
        for edit in [{"item": "fn first"}, {"line": "nowhere"}, {"text": "Second<'a>", "inside": "fn last"}]:
            with self.assertRaises(EditError):
                apply(SOURCE, edit)

    def test_lines_and_places_between_them(self):
        numbers = "one\n  two\n    three\n  four\n"
        self.assertEqual(apply(numbers, {"lines": ["two", "  four"], "with": "2\n"}), "one\n2\n")
        self.assertEqual(apply(numbers, {"line": "three"}), "one\n  two\n  four\n")
        self.assertEqual(apply(numbers, {"after": "one", "with": "1\n"}), "one\n1\n  two\n    three\n  four\n")
        self.assertEqual(apply(numbers, {"before": "four", "with": "4\n"}), "one\n  two\n    three\n4\n  four\n")
        self.assertEqual(apply("a b a", {"text": "a", "all": True, "with": "c"}), "c b c")


if __name__ == "__main__":
    unittest.main()
