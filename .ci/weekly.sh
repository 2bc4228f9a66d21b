# The steps of the weekly workflow, which take long or need much. `.ci/run` includes this file.

needs+=(
    [clients]='curl npm' [containers]='curl ip=iproute2 iptables podman podman=aardvark-dns podman=netavark'
    [detection]='npm uchardet' [engines_all]='curl dh_nginx=nginx-dev dh_nginx=libclang-dev nginx nginx=libnginx-mod-stream openssl uwsgi_python3=uwsgi-plugin-python3'
    [growth]=valgrind [load]='haproxy nginx=libnginx-mod-stream socat' [mojibake]=npm
    [neon]='aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu qemu-aarch64=qemu-user'
    [program]='chromium haproxy promtool=prometheus systemd-analyze=systemd' [wasm]='node=nodejs'
)

# Installs packages of Python in `target/python`.
python_with() {
    [ -x target/python/bin/pip ] || python3 -m venv target/python
    target/python/bin/pip install --quiet --disable-pip-version-check "$@"
}

# The example servers with real clients: curl, ws under Node, requests, websockets, and the classes of Autobahn's cases for WebSocket
# frames. The verdicts on messages of protobuf are compared with those of Python's reader.
step_clients() {
    npm install --silent --no-audit --no-fund --prefix target/node ws@8.18.3
    python_with protobuf==6.33.0 requests==2.32.5 websockets==15.0.1
    cargo build --workspace --all-features --examples
    python3 crates/integration/tests/clients/clients.py target/debug/examples target/node/node_modules target/python/bin/python
    UTF8_CODEC_PROTOBUF=$PWD/target/python/bin/python UTF8_CODEC_REQUIRED=protobuf \
        cargo test -p integration --test programs protobuf
}

# Builds the deployment files of the engines with Podman and runs them under load. Prints SKIPPED if Podman cannot run here.
step_containers() {
    python_with pyyaml==6.0.3 podman-compose==1.6.0
    PATH=$PWD/target/python/bin:$PATH timeout 1500 engines/deploy/try
}

# `detect` on texts in legacy encodings, beside other detectors: docs/detecting.md.
step_detection() {
    cargo build -p utf8-codec-cli
    python_with chardetng-py==0.3.5 charset-normalizer==3.5.3
    target/python/bin/python -B crates/utf8-codec-cli/tests/corpora/detection.py target/debug/utf8-codec
}

# All rows with all versions of Envoy and with Debian's nginx, the filter for WebAssembly, and the deployment files.
step_engines_all() {
    rustup target add wasm32-wasip1
    (cd engines/wasm && RUSTFLAGS='-C target-feature=+simd128' cargo clippy --locked --target wasm32-wasip1 -- -D warnings)
    engines/nginx/build --quiet
    (
        cd engines/nginx
        NGINX_BUILD_DIR=$(realpath target/nginx-*/objs) cargo clippy --release --locked --features panic-on-marker -- -D warnings
    )
    cargo build -p utf8-codec-cli
    engines/test
    python_with pyyaml==6.0.3 kubernetes-validate==1.37.0
    target/python/bin/python -B engines/deploy/check
}

# The exhaustive tests of the kernels, and a link that fails if a function can panic: docs/verification.md.
step_exhaustive() {
    cargo test --release -p utf8-codec-kernels --all-features --lib --test exhaustive -- --ignored
    rustup target add thumbv7m-none-eabi
    (
        cd crates/kernels/tests/no_panic
        # Without the start code of the C library, of which only `memcpy` and similar functions are needed.
        local output link=(-C link-arg=-nostartfiles -C link-arg=-lc)
        cargo rustc --release -- "${link[@]}"
        cargo build --release --target thumbv7m-none-eabi
        output=$(cargo rustc --release --features panic -- "${link[@]}" 2>&1 || true)
        grep -q 'undefined.*a_function_of_this_program_can_panic' <<<"$output"
    )
}

# Four times the input takes less than five times the instructions, for every consumer and every hostile input.
step_growth() {
    benches/growth/count
}

# The short form of the load and fault suite of the proxy, which fails if a connection or a byte is lost. The benchmark of ratios
# compiles.
step_load() {
    (cd benches/load && cargo run --release -- --quick)
    (cd benches/ratios && cargo check)
}

# Compares `MessageValidator` with other readers on generated mail. Prints SKIPPED for Go if it is not installed.
step_mail_readers() {
    local newest=()
    [ "$(rustc --version | cut -d. -f2)" -lt 98 ] || newest=(--features mail-parser-1)
    (cd crates/integration/mail_readers && cargo run --release "${newest[@]}")
}

# Builds with the compiler of `rust-version`, and with the oldest versions of direct dependencies that the manifests allow.
step_minimal() {
    rustup toolchain install "$msrv" --profile minimal
    cargo "+$msrv" check --target-dir target/second --workspace --all-features
    nightly
    # The published packages without dev-dependencies, which raise the versions of others. The sources are links.
    local manifest folder
    for manifest in Cargo.toml crates/*/Cargo.toml; do
        ! grep -q '^publish = false$' "$manifest" || continue
        folder=$(dirname "$manifest")
        mkdir -p "target/minimal/$folder"
        ln -sfn "$PWD/$folder"/{README.md,build.rs,src} "target/minimal/$folder"
        sed '/^\[.*dev-dependencies\]$/,/^$/d; /^\[\[\(bench\|example\|test\)\]\]$/,/^$/d' "$manifest" >"target/minimal/$manifest"
    done
    (
        cd target/minimal
        cargo "+$NIGHTLY" update -Z direct-minimal-versions
        cargo check --workspace --all-features
        rustup toolchain install "$core_msrv" --profile minimal
        cargo "+$core_msrv" check "${core[@]}" --all-features
        rm Cargo.lock
    )
}

# All tests under Miri.
step_miri_all() {
    nightly miri rust-src
    .ci/miri --all
}

# The rule `mojibake` on the text of packages in hundreds of languages, correct and broken, beside ftfy: docs/mojibake.md.
step_mojibake() {
    cargo build -p utf8-codec-cli
    python_with ftfy==6.3.1
    target/python/bin/python -B crates/utf8-codec-cli/tests/corpora/mojibake.py target/debug/utf8-codec
}

# NEON under emulation: the tests, and the instruction counts compared with those of simdutf8 and of the portable kernel.
step_neon() {
    rustup target add aarch64-unknown-linux-gnu
    RUSTFLAGS='-A warnings -C debug-assertions' CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
        cargo test --release --target aarch64-unknown-linux-gnu --target-dir target/second --lib \
        -p utf8-codec-kernels -p utf8-codec -p utf8-codec-encodings -p utf8-codec-mail
    benches/instructions/count_neon
}

# Two nodes with the filter behind a front proxy. One is killed under load, and drained.
step_nodes() {
    engines/nodes
}

# The gateway on Pingora, as a program between a client and a server.
step_pingora() {
    python_with cmake
    local -x PATH=$PWD/target/python/bin:$PATH
    (cd engines/pingora && cargo clippy --locked --all-targets -- -D warnings && cargo test --locked)
}

# The installed program as its users meet it: on a terminal, in SARIF, completions, manual pages and pre-commit hooks, on its admin
# page in Chromium, as a systemd unit, beside HAProxy and Prometheus. Its picture in docs/check.svg is current.
step_program() {
    CARGO_TARGET_DIR=target cargo install --locked --path crates/utf8-codec-cli --root target/installed --force
    local program=$PWD/target/installed/bin/utf8-codec unit=docs/deploy/utf8-codec-proxy.service
    local run='cargo run --release -p utf8-codec-cli -- proxy'
    grep -qxF "$run" README.md
    # shellcheck disable=SC2086
    python3 crates/utf8-codec-cli/tests/installed/proxy.py $run
    python3 crates/utf8-codec-cli/tests/installed/terminal.py "$program"
    python3 crates/utf8-codec-cli/tests/installed/admin_page.py "$program"
    python3 crates/utf8-codec-cli/tests/installed/operating.py "$program"
    python3 crates/utf8-codec-cli/tests/installed/screenshot.py "$program" --check
    grep -q '^ExecStart=/usr/local/bin/utf8-codec ' "$unit"
    sed "s|/usr/local/bin/utf8-codec|$program|" "$unit" >target/utf8-codec-proxy.service
    cp "${unit%service}socket" target/
    systemd-analyze verify target/utf8-codec-proxy.service target/utf8-codec-proxy.socket
    # The crate contains the schema of SARIF.
    mkdir -p target/sarif/src
    touch target/sarif/src/lib.rs
    printf '[package]\nname = "sarif"\nedition = "2024"\n[workspace]\n[dependencies]\nserde-sarif = "=0.8.0"\n' >target/sarif/Cargo.toml
    cargo vendor --quiet --manifest-path target/sarif/Cargo.toml target/sarif/vendor >/dev/null
    python_with jsonschema maturin==1.14.1 pre-commit prek
    rm -rf target/wheels
    # As release.yml does.
    target/python/bin/maturin build --release --locked --manifest-path crates/utf8-codec-cli/Cargo.toml --compatibility linux --out target/wheels
    target/python/bin/python crates/utf8-codec-cli/tests/installed/check.py "$program" target/sarif/vendor/serde-sarif/src/schema.json target/wheels target/python/bin
}

# The code of docs/recipes.md and docs/migrating.md that needs clients of databases, brokers and HTTP.
step_recipes() {
    (cd crates/integration/recipes && cargo test)
    # The settings in docs/migrating.md forbid the call.
    rm -rf target/clippy_toml
    mkdir -p target/clippy_toml/src
    sed -n '/^```toml$/,/^```$/{/^```/!p}' docs/migrating.md >target/clippy_toml/clippy.toml
    printf '[package]\nname = "old"\nedition = "2024"\n[workspace]\n' >target/clippy_toml/Cargo.toml
    echo 'pub fn old(read: &[u8]) -> String { String::from_utf8_lossy(read).into_owned() }' >target/clippy_toml/src/lib.rs
    local warnings
    warnings=$(cargo clippy --manifest-path target/clippy_toml/Cargo.toml 2>&1)
    grep -qF 'use of a disallowed method `std::string::String::from_utf8_lossy`' <<<"$warnings"
    grep -qF 'utf8_codec::from_utf8_lossy(read)' <<<"$warnings"
}

# Two builds of the program are identical.
step_reproducible() {
    .ci/reproducible
}

# Licenses, sources, bans and advisories of all dependencies (deny.toml).
step_supply_chain() {
    [ -x target/tools/bin/cargo-deny ] || cargo install --locked --debug --root target/tools cargo-deny@0.20.2
    local -x PATH=$PWD/target/tools/bin:$PATH
    cargo deny --workspace check licenses bans sources
    if cargo deny fetch db; then
        cargo deny --workspace check advisories
    else
        echo "SKIPPED: advisories, because the database cannot be reached"
    fi
}

# The kernels of WebAssembly under Node, each as the only one.
step_wasm() {
    rustup target add wasm32-wasip1
    local -x CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/crates/kernels/tests/node_wasi.mjs"
    local kernel
    for kernel in simd128 portable; do
        RUSTFLAGS="-A warnings -C target-feature=+simd128 --cfg utf8_codec_kernel=\"$kernel\"" \
            cargo test --release -p utf8-codec-kernels --features base64,transcode --target wasm32-wasip1 --target-dir target/second --lib
    done
}
