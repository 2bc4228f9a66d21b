//! Globs of files that are not read.

use std::io;
use std::path::{self, Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Globs as in `.gitignore`, relative to a directory.
#[derive(Clone, Debug)]
pub(super) struct Exclude {
    root: PathBuf,
    globs: Gitignore,
}

impl Exclude {
    /// Parses globs that are relative to the absolute path `root`.
    pub(super) fn new(root: &Path, globs: &[String]) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        for glob in globs {
            builder.add_line(None, glob).map_err(|error| error.to_string())?;
        }
        Ok(Self { root: root.to_owned(), globs: builder.build().map_err(|error| error.to_string())? })
    }

    /// Parses globs that are relative to the current directory.
    pub(super) fn here(globs: &[String]) -> Result<Self, String> {
        let here = std::env::current_dir().map_err(|error: io::Error| format!("cannot read .: {error}"))?;
        Self::new(&here, globs)
    }

    /// Whether a file or directory, or a directory that contains it, is excluded.
    pub(super) fn matches(&self, path: &Path, is_directory: bool) -> bool {
        if self.globs.is_empty() {
            return false;
        }
        let Ok(absolute) = path::absolute(path) else { return false };
        let below = absolute.strip_prefix(&self.root).unwrap_or(&absolute);
        // Outside the directory, only globs that match anywhere can match.
        let names = below.components().filter(|part| matches!(part, Component::Normal(_)));
        let below: PathBuf = names.collect();
        self.globs.matched_path_or_any_parents(below, is_directory).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_gitignore() {
        let globs = ["*.min.js", "/vendor/", "docs/**/old", "!keep.min.js"].map(str::to_owned);
        let exclude = Exclude::new(Path::new("/root"), &globs).expect("they are valid");
        for (path, is_excluded) in [
            ("/root/a.min.js", true),
            ("/root/sub/./a.min.js", true),
            ("/root/sub/keep.min.js", false),
            ("/root/vendor/deep/a.c", true),
            ("/root/sub/vendor/a.c", false),
            ("/root/docs/a/b/old/text", true),
            ("/elsewhere/a.min.js", true),
            ("/elsewhere/a.js", false),
        ] {
            assert_eq!(exclude.matches(Path::new(path), false), is_excluded, "{path}");
        }
        // A file is no directory.
        assert!(!exclude.matches(Path::new("/root/vendor"), false));
        assert!(exclude.matches(Path::new("/root/vendor"), true));
        assert!(Exclude::new(Path::new("/"), &["[z-a]".to_owned()]).is_err());
    }
}
