//! `util`: what is made from the definition of the commands (manual, completions), the schema of the protocol, and what shells load to mark prompts.

use super::complete::VARIABLE;
use super::context::Context;
use super::output::{self, Failure, Printer, print_json};
use crate::api::{ApiError, ErrorCode};
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use clap_complete::env::Shells;
use clap_mangen::Man;
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the program is called.
const NAME: &str = "hermes-tui";
/// The schema as the repository has it.
const PROTOCOL: &str = include_str!("../../assets/protocol.schema.json");

/// What shells load to mark prompts.
const INTEGRATIONS: [(&str, &str); 3] = [
    ("bash", include_str!("../../assets/shell/integration.bash")),
    ("zsh", include_str!("../../assets/shell/integration.zsh")),
    ("fish", include_str!("../../assets/shell/integration.fish")),
];

#[derive(Subcommand, Debug)]
pub(super) enum Util {
    /// Print the manual page; with --dir a page for each verb
    Man {
        /// Write the pages into this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Print what a shell loads to complete verbs, flags and the names of environments
    #[command(after_help = "bash: echo 'source <(hermes-tui util completions bash)' >>~/.bashrc\n\
                            zsh:  echo 'source <(hermes-tui util completions zsh)' >>~/.zshrc\n\
                            fish: hermes-tui util completions fish >~/.config/fish/completions/hermes-tui.fish")]
    Completions {
        /// Which shell
        #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"]))]
        shell: String,
    },
    /// Print what a shell loads to tell where prompts, commands and their output begin and end
    #[command(after_help = "in a sandbox, for its next shells:\n\
                            hermes-tui util shell-integration bash | hermes-tui exec ENV --shell 'cat >>~/.bashrc;\n\
                            \x20 grep -qs bashrc ~/.profile || echo \". ~/.bashrc\" >>~/.profile'\n\n\
                            Then Ctrl+B ( goes to the prompt before, in copy mode [ and ] go on, a marks the output of a\n\
                            command, and the frame shows which commands failed.")]
    ShellIntegration {
        /// Which shell
        #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"]))]
        shell: String,
    },
    /// Print the JSON Schema of the socket's messages and of what --json prints
    Protocol,
}

pub(super) fn run(context: &Context, verb: Util) -> Result<u8, Failure> {
    match verb {
        Util::Man { dir: Some(dir) } => pages(context, &dir),
        Util::Man { dir: None } => {
            let mut page = Vec::new();
            Man::new(super::command()).render(&mut page)?;
            text(context, &page)
        }
        Util::Completions { shell } => {
            let mut script = Vec::new();
            if let Some(known) = Shells::builtins().completer(&shell) {
                known.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
            }
            text(context, &script)
        }
        Util::ShellIntegration { shell } => {
            let script = INTEGRATIONS.iter().find(|(name, _)| *name == shell).map_or("", |(_, script)| script);
            text(context, script.as_bytes())
        }
        Util::Protocol => {
            Printer::new().line(PROTOCOL.trim_end())?;
            Ok(0)
        }
    }
}

fn text(context: &Context, bytes: &[u8]) -> Result<u8, Failure> {
    let text = String::from_utf8_lossy(bytes);
    if context.json {
        print_json(&json!({"schema": 1, "text": text}))?;
    } else {
        Printer::new().line(text.trim_end_matches('\n'))?;
    }
    Ok(0)
}

fn pages(context: &Context, dir: &Path) -> Result<u8, Failure> {
    let written = fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(super::command(), dir))
        .and_then(|()| names(dir));
    let files = written.map_err(|error| {
        let message = format!("cannot write the manual pages to {}: {error}", dir.display());
        ApiError::new(ErrorCode::Failed, message, "name a folder that can be written")
    })?;
    if context.json {
        print_json(&json!({"schema": 1, "dir": dir, "files": files}))?;
    } else {
        let dir = output::plain(&dir.display().to_string());
        Printer::new().line(&format!("{} manual pages are in {dir}", files.len()))?;
    }
    Ok(0)
}

/// The pages of this program in a folder.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let all = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut all: Vec<String> = all.collect::<io::Result<_>>()?;
    all.retain(|name| name.starts_with(NAME) && name.ends_with(".1"));
    all.sort();
    Ok(all)
}
