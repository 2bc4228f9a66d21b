//! `utf8-codec completions` and `utf8-codec man`: generated files for packages of the program.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::outcome::{CommandResult, CommandStatus, cannot_write};

/// Print a completion script for a shell
///
/// For bash: `utf8-codec completions bash > ~/.local/share/bash-completion/completions/utf8-codec`.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    shell: Shell,
}

/// Print the manual page of the program or of a subcommand
///
/// To display it: `utf8-codec man | man -l -`.
#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// The subcommand
    command: Option<String>,
}

impl CompletionsArgs {
    pub(super) fn run<C: CommandFactory>(self) -> CommandResult {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut C::command(), "utf8-codec", &mut script);
        io::stdout().write_all(&script).map_err(cannot_write)?;
        Ok(CommandStatus::Success)
    }
}

impl ManArgs {
    pub(super) fn run<C: CommandFactory>(self) -> CommandResult {
        let mut command = C::command();
        command.build();
        let command = match &self.command {
            None => command,
            Some(name) => {
                let found =
                    command.find_subcommand(name).ok_or_else(|| format!("there is no command {name}"))?;
                found.clone().name(format!("utf8-codec-{name}").leak() as &str)
            }
        };
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(cannot_write)?;
        io::stdout().write_all(&page).map_err(cannot_write)?;
        Ok(CommandStatus::Success)
    }
}
