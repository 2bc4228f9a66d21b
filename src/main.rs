//! The `utf8-codec` command.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
