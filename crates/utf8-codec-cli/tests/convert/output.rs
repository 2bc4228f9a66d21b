//! `convert --output` replaces the output file atomically. The owner and the mode of the old file are kept.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::support::program::{Directory, PROGRAM, program, run, stderr};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
}

/// Converts `text` to `output`. Asserts success.
fn convert(text: &str, output: &Path) {
    let ended = run(program(&["convert", "-o"]).arg(output), text.as_bytes());
    assert!(ended.status.success(), "{}", stderr(&ended));
    assert_eq!(stderr(&ended), "");
}

/// Converts to `output`. Asserts an error that contains `why`, and that the directory did not change.
fn is_rejected(directory: &Directory, output: &Path, why: &str) {
    let before = directory.names();
    let ended = run(program(&["convert", "-o"]).arg(output), b"new");
    assert_eq!(ended.status.code(), Some(2), "{}", stderr(&ended));
    assert!(stderr(&ended).contains(why), "{}", stderr(&ended));
    assert_eq!(stderr(&ended).lines().count(), 1);
    assert_eq!(directory.names(), before);
}

/// Starts a conversion that waits for more input. When this returns, its temporary file exists.
fn started(directory: &Directory, command: &mut Command) -> (Child, std::process::ChildStdin) {
    let before = directory.names().len();
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // This is more than the capacity of a pipe. When the write returns, the program has read input and created the
    // file.
    stdin.write_all(&vec![b'a'; 1 << 20]).expect("it reads");
    assert_eq!(directory.names().len(), before + 1);
    (child, stdin)
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

#[test]
fn other_users_cannot_read_the_output_before_it_is_complete() {
    for existing in [None, Some(0o666)] {
        let directory = Directory::new();
        let output = directory.path("out");
        if let Some(mode) = existing {
            directory.write("out", "old");
            set_mode(&output, mode);
        }
        let (child, stdin) = started(&directory, program(&["convert", "-o"]).arg(&output));
        let names = directory.names();
        let temporary = names.iter().find(|name| *name != "out").expect("a temporary file");
        assert_eq!(mode(&directory.path(temporary)), 0o600);
        drop(stdin);
        assert!(child.wait_with_output().expect("it ends").status.success());
        assert_eq!(directory.names(), ["out"]);
        assert_eq!(mode(&output), existing.unwrap_or(0o644));
    }
}

#[test]
fn the_mode_of_a_new_file_respects_the_umask() {
    for (umask, expected) in [("022", 0o644), ("027", 0o640), ("077", 0o600), ("000", 0o666)] {
        let directory = Directory::new();
        let script = format!("umask {umask}; exec \"$0\" convert -o \"$1\"");
        let ended = run(Command::new("sh").args(["-c", &script, PROGRAM]).arg(directory.path("out")), b"new");
        assert!(ended.status.success(), "{}", stderr(&ended));
        assert_eq!(mode(&directory.path("out")), expected, "umask {umask}");
    }
}

/// A default access control list takes the place of the umask.
#[cfg(target_os = "linux")]
#[test]
fn a_new_file_has_the_permissions_that_open_gives() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    use rustix::io::Errno;

    // Version 2: a tag, permissions and an identifier for the owner, user 1000, the group, the mask and others.
    let entries =
        [(1, 7, u32::MAX), (2, 6, 1000), (4, 0, u32::MAX), (0x10, 6, u32::MAX), (0x20, 0, u32::MAX)];
    let list = entries.iter().flat_map(|&(tag, mode, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &mode.to_le_bytes(), &id.to_le_bytes()].concat()
    });
    let list: Vec<u8> = 2_u32.to_le_bytes().into_iter().chain(list).collect();
    let directory = Directory::new();
    match setxattr(directory.root(), "system.posix_acl_default", &list, XattrFlags::empty()) {
        // The file system has none.
        Err(Errno::NOTSUP) => return,
        set => set.expect("an attribute"),
    }
    convert("new", &directory.path("out"));
    directory.write("other", "new");
    let list_of = |name: &str| {
        let mut value = vec![0; 256];
        let len = getxattr(directory.path(name), "system.posix_acl_access", &mut value[..]).expect("a list");
        value.truncate(len);
        value
    };
    assert_eq!((mode(&directory.path("out")), mode(&directory.path("other"))), (0o660, 0o660));
    assert_eq!(list_of("out"), list_of("other"));
    assert_eq!(directory.names(), ["other", "out"]);
}

#[test]
fn a_file_with_other_hard_links_is_not_replaced() {
    let directory = Directory::new();
    let file = directory.write("file", "old");
    fs::hard_link(&file, directory.path("link")).expect("a link");
    is_rejected(&directory, &file, "it has 2 hard links, and the others would keep the old content");
    assert_eq!((directory.read("file"), directory.read("link")), (b"old".to_vec(), b"old".to_vec()));
}

#[test]
fn mode_and_symbolic_link_are_kept() {
    let directory = Directory::new();
    let (file, link) = (directory.write("file", "old"), directory.path("link"));
    set_mode(&file, 0o6750);
    let before = fs::metadata(&file).expect("a file");
    symlink("file", &link).expect("a link");
    convert("new", &link);
    assert_eq!(directory.read("file"), b"new");
    let after = fs::metadata(&file).expect("a file");
    assert_ne!(after.ino(), before.ino(), "it was replaced");
    assert_eq!((after.uid(), after.gid(), after.mode()), (before.uid(), before.gid(), before.mode()));
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    // A link to a file that does not exist, through a second link in another directory.
    fs::create_dir(directory.path("sub")).expect("a directory");
    symlink("../absent", directory.path("sub/two")).expect("a link");
    symlink("sub/two", directory.path("one")).expect("a link");
    convert("new", &directory.path("one"));
    assert_eq!(directory.read("absent"), b"new");
    assert!(fs::symlink_metadata(directory.path("one")).expect("a link").is_symlink());
}

#[test]
#[ignore = "only root can give files away"]
fn root_keeps_the_owner() {
    let directory = Directory::new();
    let file = directory.write("file", "old");
    chown(&file, Some(12_345), Some(54_321)).expect("root may");
    // The mode is set after the owner, because a change of owner resets the set-user-ID bit.
    set_mode(&file, 0o6750);
    convert("new", &file);
    assert_eq!(directory.read("file"), b"new");
    let after = fs::metadata(&file).expect("a file");
    assert_eq!((after.uid(), after.gid(), after.mode() & 0o7777), (12_345, 54_321, 0o6750));
}

#[test]
#[ignore = "only root can give files away"]
fn root_has_an_error_for_an_owner_that_cannot_be_kept() {
    let directory = Directory::new();
    let file = directory.write("file", "old");
    set_mode(directory.root(), 0o777);
    set_mode(&file, 0o666);
    chown(&file, Some(12_345), Some(65_534)).expect("root may");
    // The other user may have no access to the directory of the program.
    let copy = std::env::temp_dir().join(format!("utf8-codec-program-{}", std::process::id()));
    fs::copy(PROGRAM, &copy).expect("a copy");
    set_mode(&copy, 0o755);
    let ended = run(Command::new(&copy).uid(65_534).gid(65_534).args(["convert", "-o"]).arg(&file), b"new");
    fs::remove_file(copy).expect("a copy");
    assert_eq!(ended.status.code(), Some(2), "{}", stderr(&ended));
    let why = "the file belongs to user 12345 and group 65534, which cannot be kept: Operation not permitted";
    assert!(stderr(&ended).contains(why), "{}", stderr(&ended));
    assert_eq!((directory.read("file"), directory.names()), (b"old".to_vec(), vec!["file".to_owned()]));
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let directory = Directory::new();
    let file = directory.write("file", "old");
    set_mode(&file, 0o444);
    is_rejected(&directory, &file, "the file is read-only");
    assert_eq!((directory.read("file"), mode(&file)), (b"old".to_vec(), 0o444));
}

#[test]
fn a_loop_of_symbolic_links_is_an_error() {
    let directory = Directory::new();
    symlink("b", directory.path("a")).expect("a link");
    symlink("a", directory.path("b")).expect("a link");
    is_rejected(&directory, &directory.path("a"), "ymbolic links");
    assert!(fs::symlink_metadata(directory.path("a")).expect("a link").is_symlink());
}

#[test]
fn a_directory_or_a_missing_directory_is_an_error() {
    let directory = Directory::new();
    fs::create_dir(directory.path("directory")).expect("a directory");
    is_rejected(&directory, &directory.path("directory"), "directory");
    is_rejected(&directory, &directory.path("absent/file"), "No such file or directory");
    is_rejected(&directory, &directory.path(".."), "directory");
}

#[test]
fn a_name_may_have_the_maximum_length() {
    let directory = Directory::new();
    for length in [250, 255] {
        let name = "n".repeat(length);
        convert("new", &directory.path(&name));
        assert_eq!(directory.read(&name), b"new");
    }
}

#[test]
fn a_pipe_or_a_device_is_written_to_directly() {
    let directory = Directory::new();
    let fifo = directory.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let reader = Command::new("cat").arg(&fifo).stdout(Stdio::piped()).spawn().expect("cat");
    convert("through a pipe", &fifo);
    assert_eq!(reader.wait_with_output().expect("it ends").stdout, b"through a pipe");
    assert_eq!(directory.names(), ["fifo"]);
    convert("nowhere", Path::new("/dev/null"));
    assert!(!fs::metadata("/dev/null").expect("a device").is_file());
}

/// Stdout is a file with content, opened with and without `O_APPEND`.
#[test]
fn a_path_to_stdout_writes_to_the_open_file() {
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        for append in [true, false] {
            let directory = Directory::new();
            let log = directory.write("log", "before\n");
            let mut stdout = OpenOptions::new().write(true).append(append).open(&log).expect("a file");
            stdout.seek(SeekFrom::End(0)).expect("a file");
            let child = program(&["convert", "-o", output])
                .stdin(File::open(directory.write("in", "converted\n")).expect("a file"))
                .stdout(stdout.try_clone().expect("a handle"))
                .spawn();
            assert!(child.expect("the program starts").wait().expect("it ends").success());
            stdout.write_all(b"after\n").expect("a file");
            assert_eq!(directory.read("log"), b"before\nconverted\nafter\n", "{output}");
            assert_eq!(directory.names(), ["in", "log"]);
        }
    }
}

#[test]
fn a_path_to_another_descriptor_writes_to_the_open_file() {
    for redirection in ["3>>", "3>"] {
        let directory = Directory::new();
        let script = format!(
            "exec {redirection} log; echo before >&3; \"$0\" convert -o /dev/fd/3 || exit; echo after >&3"
        );
        let mut shell = Command::new("sh");
        let ended: Output =
            run(shell.args(["-c", &script, PROGRAM]).current_dir(directory.root()), b"converted\n");
        assert!(ended.status.success(), "{}", stderr(&ended));
        assert_eq!(directory.read("log"), b"before\nconverted\nafter\n", "{redirection}");
        assert_eq!(directory.names(), ["log"]);
    }
    let ended = run(&mut program(&["convert", "-o", "/dev/fd/99"]), b"");
    assert_eq!(ended.status.code(), Some(2));
    assert_eq!(stderr(&ended).lines().count(), 1);
}

#[test]
fn a_signal_removes_the_temporary_file() {
    for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1)] {
        let directory = Directory::new();
        let output = directory.write("out", "old");
        // SIGHUP may be ignored in the tests, as under `nohup`.
        let mut command = Command::new("env");
        if cfg!(target_os = "linux") {
            command.arg("--default-signal");
        }
        let (child, stdin) = started(&directory, command.args([PROGRAM, "convert", "-o"]).arg(&output));
        kill(&child, signal);
        let ended = child.wait_with_output().expect("it ends");
        drop(stdin);
        // A shell shows 128 more.
        assert_eq!(ended.status.signal(), Some(number), "{signal}");
        assert_eq!(stderr(&ended), "utf8-codec: interrupted\n", "{signal}");
        assert_eq!((directory.names(), directory.read("out")), (vec!["out".to_owned()], b"old".to_vec()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let directory = Directory::new();
    let mut shell = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" convert -o \"$1\"";
    let (child, stdin) = started(&directory, shell.args(["-c", script, PROGRAM]).arg(directory.path("out")));
    kill(&child, "-HUP");
    drop(stdin);
    assert!(child.wait_with_output().expect("it ends").status.success());
    assert_eq!(directory.names(), ["out"]);
}

/// The content is flushed before the directory.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "requires strace"]
fn file_and_directory_are_flushed_to_the_disk() {
    let directory = Directory::new();
    let (trace, output) = (directory.path("trace"), directory.path("out"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", "trace=fsync,rename,renameat,renameat2,openat", "-o"]).arg(&trace);
    let ended = run(strace.args([PROGRAM, "convert", "-o"]).arg(&output), b"new");
    assert!(ended.status.success(), "{}", stderr(&ended));
    let trace = String::from_utf8(directory.read("trace")).expect("UTF-8");
    let find = |what: &[&str]| {
        trace.lines().position(|line| what.iter().all(|what| line.contains(what))).unwrap_or_else(|| {
            panic!("{what:?} is not in {trace}");
        })
    };
    let created = find(&[".part\"", "O_EXCL", "0600"]);
    let content = find(&["fsync(", ".part>"]);
    let renamed = find(&["rename", ".part\""]);
    let name = find(&["fsync(", &format!("<{}>", directory.root().display())]);
    assert!(created < content && content < renamed && renamed < name, "{trace}");
}
