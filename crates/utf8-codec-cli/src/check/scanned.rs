//! The result of a scan of a part of a file, and the combination of these results.

use utf8_codec::locate::Locator;

use super::diagnostic::{Diagnostic, FileStatus, ILL_FORMED, Summary};
use crate::guess::Guess;
use crate::guess::evidence::EncodingEvidence;

/// The result of a scan of a file or a part of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scanned {
    pub(super) summary: Summary,
    pub(super) evidence: Box<EncodingEvidence>,
    /// The lines and columns of the part.
    pub(super) locator: Locator,
    /// The length of the first line in characters, if it ends in the part.
    pub(super) first_line: Option<u64>,
    pub(super) is_utf_8: bool,
}

impl Scanned {
    /// Converts the location of an error in the next part to the location in the file. The scan of a part counts lines
    /// and columns from the start of the part.
    pub(super) fn locate(&self, diagnostic: &mut Diagnostic) {
        let (end, location) = (self.locator.location(), &mut diagnostic.location);
        if location.line == 0 {
            location.columns += end.columns;
        }
        location.line += end.line;
    }

    /// Appends the result of the next part.
    pub(super) fn join(&mut self, next: &Self) {
        let column = self.locator.location().columns.characters;
        let (summary, more) = (&mut self.summary, &next.summary);
        if let Some(rest) = next.first_line {
            summary.longest_line = summary.longest_line.max(column + rest);
        }
        summary.longest_line = summary.longest_line.max(more.longest_line);
        summary.bytes += more.bytes;
        summary.characters += more.characters;
        summary.errors += more.errors;
        summary.has_no_command |= more.has_no_command;
        for &(name, count) in &more.kinds {
            summary.add(name, count);
        }
        self.evidence.join(&next.evidence);
        self.locator.join(&next.locator);
    }

    /// Returns the summary of the file.
    pub(super) fn finish(self) -> Summary {
        let Self { mut summary, evidence, locator, first_line, is_utf_8 } = self;
        if !matches!(summary.end, FileStatus::Checked) {
            return summary;
        }
        let end = locator.location();
        summary.lines = end.line + u64::from(end.columns.bytes > 0);
        let last_line = end.columns.characters;
        summary.longest_line = summary.longest_line.max(first_line.unwrap_or(0)).max(last_line);
        if is_utf_8 {
            let is_ill_formed = summary.has(ILL_FORMED);
            let declared = evidence.declared.as_ref().filter(|_| is_ill_formed);
            summary.reading = declared.map(|declared| evidence.reading(declared));
            let guess = evidence.guess(summary.reading);
            summary.guess = guess.filter(|guess| is_ill_formed || *guess == Guess::Binary);
            summary.is_utf_8 = true;
            summary.is_foreign = evidence.is_foreign();
            summary.is_mixed = evidence.contradicts_declaration();
            // In a file that is mostly UTF-8, the conversion of the whole file would turn that text into mojibake.
            let is_other = summary.is_foreign && !summary.is_mixed;
            if is_ill_formed && is_other && summary.guess.is_none() {
                summary.candidates = evidence.candidates();
            }
            summary.declared = evidence.declared;
        }
        summary
    }
}
