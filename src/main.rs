//! The command `hermes-tui`.

use std::process::ExitCode;

fn main() -> ExitCode {
    hermes_tui::cli::main()
}
