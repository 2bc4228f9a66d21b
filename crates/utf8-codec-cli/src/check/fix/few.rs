//! The errors of a scan, for a report after a fix.

use std::io::{self, Read};

use crate::check::checks::Checks;
use crate::check::diagnostic::{Diagnostic, Event};
use crate::check::scan::scan;

/// The maximum number of errors in memory. If there are more, the content is scanned again.
pub(super) const MAX: usize = 256;

/// The errors, in memory if they are few.
#[derive(Debug, Default)]
pub(super) struct Few {
    errors: Vec<Diagnostic>,
    /// Whether there are others.
    is_incomplete: bool,
}

impl Few {
    /// Nothing is known about the errors.
    pub(super) fn unknown() -> Self {
        Self { errors: Vec::new(), is_incomplete: true }
    }

    pub(super) fn push(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX {
            self.errors.push(error);
        } else {
            self.is_incomplete = true;
        }
    }

    /// Reports the errors. `content`, `checks` and `skip_binary` are those of the scan.
    pub(super) fn report(
        self,
        content: &mut dyn Read,
        checks: &Checks,
        skip_binary: bool,
        report: &mut dyn FnMut(Event),
    ) -> io::Result<()> {
        let each = &mut |error| report(Event::Diagnostic(error));
        if self.is_incomplete {
            scan(content, checks, skip_binary, each)?;
        } else {
            self.errors.into_iter().for_each(each);
        }
        Ok(())
    }
}
