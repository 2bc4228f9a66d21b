// Runs a program for `wasm32-wasip1` under Node: a runner for cargo.
//
//     CARGO_TARGET_WASM32_WASIP1_RUNNER='node --no-warnings crates/kernels/tests/node_wasi.mjs' cargo test --target wasm32-wasip1

import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [program, ...rest] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...rest], env: process.env, preopens: {} });
const module = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
