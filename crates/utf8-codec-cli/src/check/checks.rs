//! The settings of the scan of one file.

use core::num::NonZeroUsize;
use std::io::{self, Read, Seek};

use utf8_codec::BomPolicy;
use utf8_codec_media::declared::DocumentKind;

use super::rules::Rule;
use crate::charset::NamedEncoding;
use crate::guess::mojibake::Survey;

/// What a scan of a file checks, and how it reports.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    pub(super) encoding: NamedEncoding,
    pub(super) bom: BomPolicy,
    /// Whether the start and the characters of the file also decide: a BOM before `#!` is an error, and
    /// [`BomPolicy::Require`] has an effect only on files with characters beyond ASCII and without `#!`.
    pub(super) bom_by_content: bool,
    /// The kind of the file by its extension, for declarations of an encoding.
    pub(super) kind: Option<DocumentKind>,
    /// Whether the file is JSON with comments, for its escapes.
    pub(super) has_comments: bool,
    /// Whether the file is text, if this does not depend on what it contains.
    pub(super) is_text: Option<bool>,
    /// Why `--fix` does not change the file.
    pub(super) kept: Option<String>,
    /// The rule under which a BOM error is reported.
    pub(super) bom_rule: Rule,
    pub(super) rules: Vec<Rule>,
    /// The evidence of the file for the rule `mojibake`.
    pub(super) survey: Survey,
    pub(super) max_errors: Option<NonZeroUsize>,
    /// Whether the scan ends at the first error.
    pub(super) is_verdict: bool,
    /// Whether a diagnostic contains the line and the bytes around the error.
    pub(super) wants_context: bool,
    /// Whether lines and characters of the whole input are counted, not only those before an error.
    pub(super) wants_counts: bool,
    /// Whether they are also counted as in the family of ISO/IEC 2022, as long as there is only ASCII.
    pub(super) counts_iso_2022: bool,
}

impl Checks {
    /// Only the encoding is checked.
    pub(super) fn new(encoding: NamedEncoding) -> Self {
        Self {
            encoding,
            bom: BomPolicy::Keep,
            bom_by_content: false,
            kind: None,
            has_comments: false,
            is_text: None,
            kept: None,
            bom_rule: Rule::Bom,
            rules: Vec::new(),
            survey: Survey::default(),
            max_errors: None,
            is_verdict: false,
            wants_context: false,
            wants_counts: false,
            counts_iso_2022: false,
        }
    }

    /// Returns the settings with the survey of a file, if a rule needs one.
    pub(super) fn surveyed<F: Read + Seek>(mut self, file: &mut F) -> io::Result<Self> {
        if self.needs_survey() {
            self.survey = Survey::of(file)?;
        }
        Ok(self)
    }

    pub(super) fn needs_survey(&self) -> bool {
        self.rules.contains(&Rule::Mojibake)
    }

    pub(super) fn needs_words(&self) -> bool {
        self.rules.iter().any(|rule| rule.needs_words())
    }
}
