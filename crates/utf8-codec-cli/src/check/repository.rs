//! The paths of annotations: relative to the root of the repository, as GitHub and other readers of SARIF expect them.

use std::path::{self, Component, Path, PathBuf};
use std::{env, fs};

use crate::files::is_standard;

/// Converts paths for annotations.
///
/// A path is relative to `GITHUB_WORKSPACE`, otherwise to the root of the git working tree that contains the current
/// directory or, if the file is not in it, that contains the file, and otherwise to the current directory. The path of a
/// file outside all of these is absolute. There is no `.`, `..` or empty component.
#[derive(Debug, Default)]
pub(super) struct Repository {
    roots: Option<Vec<PathBuf>>,
    /// The last path and its result: a file usually has several annotations.
    last: Option<(PathBuf, PathBuf)>,
}

impl Repository {
    pub(super) fn relative(&mut self, path: &Path) -> &Path {
        let roots = self.roots.get_or_insert_with(|| roots(env::var_os("GITHUB_WORKSPACE").map(Into::into)));
        let last = match self.last.take() {
            // The comparison of paths by components takes longer.
            Some(last) if last.0.as_os_str() == path.as_os_str() => last,
            _ => (path.to_owned(), relative(path, roots)),
        };
        &self.last.insert(last).1
    }
}

/// Returns the directories to which paths are relative, the preferred one first.
fn roots(workspace: Option<PathBuf>) -> Vec<PathBuf> {
    let working_tree = env::current_dir().ok().and_then(|here| working_tree(&here).map(Path::to_owned));
    let given = workspace.filter(|root| root.is_absolute()).into_iter().chain(working_tree);
    // A root may be a path through a symbolic link.
    given.flat_map(|root| [fs::canonicalize(&root).ok(), Some(root)]).flatten().collect()
}

/// Returns the root of the git working tree that contains a directory or file. In a submodule and in a linked working
/// tree, `.git` is a file.
fn working_tree(path: &Path) -> Option<&Path> {
    path.ancestors().find(|directory| directory.join(".git").exists())
}

fn relative(path: &Path, roots: &[PathBuf]) -> PathBuf {
    if is_standard(path) {
        return path.to_owned();
    }
    let real = real(path);
    // The path without resolved links is for a file that a link inside the repository leads to. `..` after a link would
    // be removed with the link.
    let given =
        path::absolute(path).ok().filter(|_| !path.components().any(|part| part == Component::ParentDir));
    let places = || real.iter().chain(&given);
    let below = |root: &Path| places().find_map(|place| place.strip_prefix(root).ok());
    // The file system is searched for another root only if the file is below none of these: all threads wait for the report.
    let inside = roots
        .iter()
        .find_map(|root| below(root))
        .or_else(|| real.as_deref().and_then(working_tree).and_then(below))
        .or_else(|| env::current_dir().ok().as_deref().and_then(below));
    match inside {
        Some(inside) if inside.as_os_str().is_empty() => ".".into(),
        // `components` removes `//`.
        Some(inside) => inside.components().collect(),
        None => places().next().map_or(path, PathBuf::as_path).to_owned(),
    }
}

/// Returns the absolute path with all symbolic links resolved, except that of the file itself, whose annotation belongs
/// to the link.
fn real(path: &Path) -> Option<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Some(fs::canonicalize(parent).ok()?.join(name))
        }
        _ => fs::canonicalize(path).ok(),
    }
}
