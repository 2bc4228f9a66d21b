//! Values that several subcommands take.

use clap::ValueEnum;
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, TextDecoder};

/// What to do about ill-formed input and about the BOM. Flattened into every subcommand that decodes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Policies {
    /// What becomes of ill-formed sequences
    #[arg(long, value_name = "POLICY", default_value = "strict")]
    on_error: OnError,
    /// What becomes of a BOM at the start of a stream [default: keep, but strip where a BOM names the encoding]
    #[arg(long, value_name = "POLICY")]
    bom: Option<Bom>,
}

impl Policies {
    pub(super) fn on_error(self) -> ErrorPolicy {
        self.on_error.into()
    }

    /// The policy that was asked for.
    pub(super) fn bom(self) -> Option<BomPolicy> {
        self.bom.map(Into::into)
    }

    /// A decoder with these policies.
    pub(super) fn decoder(self) -> TextDecoder {
        TextDecoder::new().on_error(self.on_error.into()).bom(self.bom().unwrap_or_default())
    }
}

/// [`ErrorPolicy`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnError {
    /// It is an error
    Strict,
    /// U+FFFD for each ill-formed sequence
    Replace,
    /// `?` for each byte: the length stays
    Substitute,
    /// `\xNN` for each byte
    Escape,
    /// Each byte is a character of ISO 8859-1
    Latin1,
    /// Each byte is a character of windows-1252
    #[value(name = "windows-1252")]
    Windows1252,
    /// It vanishes. Dangerous: what stood apart is joined
    Skip,
}

impl From<OnError> for ErrorPolicy {
    fn from(on_error: OnError) -> Self {
        match on_error {
            OnError::Strict => Self::Strict,
            OnError::Replace => Self::Replace,
            OnError::Substitute => Self::Substitute(Ascii::QUESTION_MARK),
            OnError::Escape => Self::Escape,
            OnError::Latin1 => Self::Latin1,
            OnError::Windows1252 => Self::Windows1252,
            OnError::Skip => Self::Skip,
        }
    }
}

/// [`BomPolicy`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Bom {
    /// It is text
    Keep,
    /// It is left out
    Strip,
    /// A stream without it is an error; it is left out
    Require,
    /// A stream with it is an error
    Reject,
}

impl From<Bom> for BomPolicy {
    fn from(bom: Bom) -> Self {
        match bom {
            Bom::Keep => Self::Keep,
            Bom::Strip => Self::Strip,
            Bom::Require => Self::Require,
            Bom::Reject => Self::Reject,
        }
    }
}
