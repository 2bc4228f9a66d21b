"""Podman in namespaces and folders of its own, and stand-ins for the base images where their registry cannot be reached."""

import contextlib
import ctypes
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from . import programs
from .programs import Unavailable

INSIDE = "UTF8_CODEC_INSIDE_NAMESPACES"
CLONE_NEWNET = 0x40000000
# `volumes` is used for the build only. Without cgroups, because there may be none that can be written.
CONTAINERS_CONF = """\
[containers]
cgroups = "disabled"
log_driver = "k8s-file"
volumes = {volumes}
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "/run/podman/tmp"
[network]
network_config_dir = "/run/podman/networks"
"""
STORAGE_CONF = """\
[storage]
driver = "{driver}"
graphroot = "{folder}/storage"
runroot = "/run/podman/storage"
"""


def enter_namespaces():
    """Starts this program again in namespaces of its own: every process ends with it, and no mount outlives it."""
    if os.environ.get(INSIDE):
        return
    for name in ("podman", "unshare", "ip", "iptables"):
        if not shutil.which(name):
            raise Unavailable(f"{name} is not installed")
    if os.geteuid() != 0:
        raise Unavailable("only root can make the namespaces")
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*command, "true"], capture_output=True, timeout=20).returncode != 0:
        raise Unavailable(f"{' '.join(command)} is not permitted")
    os.environ[INSIDE] = "1"
    os.execvp(command[0], [*command, sys.executable, "-B", *sys.argv])


def leave_network():
    """From here on, all traffic of this process and of its children is in a network without a way out."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise Unavailable(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=20)


def private_run():
    """`/run` of its own, for the locks, sockets and namespaces of Podman, without the cgroup that crun rejects."""
    resolver = Path("/etc/resolv.conf").resolve()
    text = resolver.read_bytes() if resolver.exists() else None
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True, timeout=20)
    if text is not None and resolver.is_relative_to("/run"):
        resolver.parent.mkdir(parents=True, exist_ok=True)
        resolver.write_bytes(text)
    if os.path.ismount("/sys/fs/cgroup/unified"):
        subprocess.run(["umount", "/sys/fs/cgroup/unified"], capture_output=True, timeout=20)


class Podman:
    """Podman with storage in a folder, which is deleted at the end."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.environment = {**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")}
        self.environment["CONTAINERS_STORAGE_CONF"] = str(self.folder / "storage.conf")

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        private_run()
        self.configure([])
        for driver in ("overlay", "vfs"):
            self.clean()
            (self.folder / "storage.conf").write_text(STORAGE_CONF.format(driver=driver, folder=self.folder))
            done = self.run("info", check=False)
            if done.returncode == 0:
                return self
        raise Unavailable(f"podman info: {done.stderr.strip()[-300:]}")

    def __exit__(self, *_):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            # A container on which others depend is only removed after them.
            for _ in range(4):
                if self.run("rm", "--all", "--force", "--time", "0", check=False, timeout=60).returncode == 0:
                    break
        self.clean()

    def clean(self):
        shutil.rmtree(self.folder / "storage", ignore_errors=True)

    def configure(self, volumes):
        (self.folder / "containers.conf").write_text(CONTAINERS_CONF.format(volumes=json.dumps(volumes)))

    def run(self, *arguments, check=True, timeout=120):
        return self.execute(["podman", *map(str, arguments)], check, timeout)

    def execute(self, command, check=True, timeout=120):
        """Runs a command that uses Podman. Its output goes to files, because the servers that it starts keep a pipe open."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=timeout, env=self.environment
            ).returncode
            out.seek(0)
            err.seek(0)
            done = subprocess.CompletedProcess(command, code, out.read(), err.read())
        if check and code != 0:
            raise AssertionError(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()[-1500:]}")
        return done

    def serve(self):
        """Starts the interface of Docker, for a Compose that is a client of it."""
        socket = Path("/run/podman/podman.sock")
        command = ["podman", "system", "service", "--time", "0", f"unix://{socket}"]
        subprocess.Popen(command, stderr=subprocess.DEVNULL, env=self.environment)
        self.environment |= {"DOCKER_HOST": f"unix://{socket}", "COMPOSE_DOCKER_CLI_BUILD": "0"}
        for _ in range(100):
            if socket.exists():
                return
            time.sleep(0.1)
        raise AssertionError("podman system service does not start")

    def pull(self, image):
        try:
            return self.run("pull", "--quiet", image, check=False, timeout=600).returncode == 0
        except subprocess.TimeoutExpired:
            return False


# The stand-ins.


def entries(folders=(), links=(), texts=(), files=()):
    """An archive of a root folder."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in folders:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(entry)
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for name, text in texts:
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
        for name, path in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o755
            with path.open("rb") as file:
                tar.addfile(entry, file)
    return archive.getvalue()


def libraries(program):
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, timeout=20, check=True).stdout
    return {Path(word) for word in listed.split() if word.startswith("/")}


ROOT = ("usr", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "sys", "dev", "run")


def imported(podman, archive, image, *changes):
    path = podman.folder / "image.tar"
    path.write_bytes(archive)
    podman.run("import", *[word for change in changes for word in ("--change", change)], path, image)
    path.unlink()


def envoy_image(podman, image, version):
    """Envoy, bash, its libraries and what the hook needs, from this machine. Runs as the user 101, as the original does."""
    commands = [Path(shutil.which(name)).resolve() for name in ("bash", "sleep")]
    files = {"usr/local/bin/envoy": programs.envoy(version)} | {f"usr/bin/{path.name}": path for path in commands}
    needed = set.union(*map(libraries, files.values()))
    needed |= {path.parent / "libgcc_s.so.1" for path in needed if path.name == "libc.so.6"}
    # `/lib` is a link to `usr/lib`, here and there.
    files |= {"usr/" + str(path).removeprefix("/usr").lstrip("/"): path for path in needed}
    archive = entries(
        folders=ROOT,
        links=[(name, f"usr/{name}") for name in ("bin", "lib", "lib64")],
        texts=[("etc/passwd", "root:x:0:0::/:/bin/bash\nenvoy:x:101:101::/:/bin/bash\n"), ("etc/group", "envoy:x:101:\n")],
        files=[(name, path.resolve()) for name, path in files.items()],
    )
    path = "/usr/local/bin:/usr/bin:/bin"
    imported(podman, archive, image, "USER 101", f"ENV PATH={path}", 'CMD ["envoy", "-c", "/etc/envoy/envoy.yaml"]')


def rust_image(podman, image, cargo, manifest):
    """The compiler, linker and headers of this machine, mounted. Returns the mounts; the crates are fetched before."""
    if not shutil.which("cargo"):
        raise Unavailable("cargo is not installed")
    environment = {**os.environ, "CARGO_HOME": str(cargo)}
    subprocess.run(
        ["cargo", "fetch", "--locked", "--quiet", "--manifest-path", str(manifest)], check=True, timeout=300, env=environment
    )
    command = ["rustc", "--print", "sysroot"]
    sysroot = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    links = [(name, f"usr/{name}") for name in ("bin", "lib", "lib64")]
    folders = ["etc", "etc/alternatives", "tmp", "proc", "sys", "dev", "run", "usr", "cargo", "toolchain"]
    settings = ["PATH=/toolchain/bin:/usr/bin:/bin", "CARGO_HOME=/cargo", "CARGO_NET_OFFLINE=true", "CARGO_INCREMENTAL=0"]
    imported(podman, entries(folders=folders, links=links), image, *[f"ENV {one}" for one in settings])
    mounts = ["/usr:/usr:ro", "/etc/alternatives:/etc/alternatives:ro", f"{sysroot}:/toolchain:ro", f"{cargo}:/cargo"]
    return [mount for mount in mounts if Path(mount.split(":")[0]).exists()]
