//! Globs of files that are not read.

use std::io;
use std::path::{self, Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::{directory_of, resolved};

/// Globs as in `.gitignore`, relative to a directory.
#[derive(Clone, Debug)]
pub(super) struct Exclude {
    root: PathBuf,
    globs: Gitignore,
    /// Those that match in every directory, for files outside `root`.
    anywhere: Gitignore,
}

impl Exclude {
    /// Parses globs that are relative to the canonical path `root`.
    pub(super) fn new(root: &Path, globs: &[String]) -> Result<Self, String> {
        let anywhere = globs.iter().filter(|glob| !is_anchored(glob));
        Ok(Self { root: root.to_owned(), globs: parse(globs.iter())?, anywhere: parse(anywhere)? })
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
        // Links in a path are kept, because a glob may name them, but `..` after a link leads to another directory.
        let has_parent = absolute.components().any(|part| part == Component::ParentDir);
        let resolved = match path.file_name() {
            _ if !has_parent => Ok(absolute),
            Some(name) => resolved(directory_of(path)).map(|directory| directory.join(name)),
            None => resolved(path),
        };
        resolved.is_ok_and(|resolved| self.matches_resolved(&resolved, is_directory))
    }

    /// [`matches`](Self::matches) for an absolute path without `..`.
    pub(super) fn matches_resolved(&self, path: &Path, is_directory: bool) -> bool {
        if let Ok(below) = path.strip_prefix(&self.root) {
            return self.globs.matched_path_or_any_parents(below, is_directory).is_ignore();
        }
        // The names of the directories that contain both say nothing about the file.
        let common = path.components().zip(self.root.components()).take_while(|(a, b)| a == b).count();
        let names = path.components().skip(common).filter(|part| matches!(part, Component::Normal(_)));
        self.anywhere.matched_path_or_any_parents(names.collect::<PathBuf>(), is_directory).is_ignore()
    }
}

fn parse<'g>(globs: impl Iterator<Item = &'g String>) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    for glob in globs {
        builder.add_line(None, glob).map_err(|error| error.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}

/// Whether a glob matches only at one place below the directory of the globs: one with `/` at the start or in the middle.
fn is_anchored(glob: &str) -> bool {
    let glob = glob.strip_prefix('!').unwrap_or(glob);
    !glob.starts_with("**/") && glob.trim_end_matches('/').contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_gitignore() {
        let globs = ["*.min.js", "/vendor/", "docs/**/old", "!keep.min.js", "**/gen/"].map(str::to_owned);
        let exclude = Exclude::new(Path::new("/all/gen/root"), &globs).expect("they are valid");
        for (path, is_excluded) in [
            ("/all/gen/root/a.min.js", true),
            ("/all/gen/root/sub/./a.min.js", true),
            ("/all/gen/root/sub/keep.min.js", false),
            ("/all/gen/root/vendor/deep/a.c", true),
            ("/all/gen/root/sub/vendor/a.c", false),
            ("/all/gen/root/docs/a/b/old/text", true),
            ("/elsewhere/a.min.js", true),
            ("/elsewhere/a.js", false),
            // Outside the directory.
            ("/vendor/a.c", false),
            ("/all/gen/docs/a/old", false),
            ("/all/gen/other/a.c", false),
            ("/all/gen/other/gen/a.c", true),
            // Neither directory exists.
            ("/all/gen/root/sub/../vendor/a.c", true),
            ("/all/gen/root/../vendor/a.c", false),
        ] {
            assert_eq!(exclude.matches(Path::new(path), false), is_excluded, "{path}");
        }
        // A file is not a directory.
        assert!(!exclude.matches(Path::new("/all/gen/root/vendor"), false));
        assert!(exclude.matches(Path::new("/all/gen/root/vendor"), true));
        assert!(Exclude::new(Path::new("/"), &["[z-a]".to_owned()]).is_err());
    }
}
