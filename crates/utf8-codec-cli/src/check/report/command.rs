//! The command that fixes a file.

use std::path::Path;

use crate::check::diagnostic::Summary;
use crate::escape;
use crate::walk::Input;

/// Returns the arguments of the command that fixes a file, if there is one.
pub(super) fn command_for(input: &Input, summary: &Summary) -> Option<String> {
    let file = shell_word(&input.path);
    summary.command(Some(file.as_str()).filter(|_| !input.is_stdin))
}

/// Returns a file name quoted for a shell. A name that cannot be printed becomes `FILE`. A name that starts with `-` would
/// be an option.
pub(super) fn shell_word(path: &Path) -> String {
    match path.to_str() {
        Some(name) if name.starts_with('-') && name != "-" => shell_word(&Path::new(".").join(name)),
        Some(name) if escape::text(name) != name => "FILE".to_owned(),
        Some(name) if name.chars().all(|c| c.is_alphanumeric() || "./_-+@%:,=".contains(c)) => {
            name.to_owned()
        }
        Some(name) => format!("'{}'", name.replace('\'', r"'\''")),
        None => "FILE".to_owned(),
    }
}
