//! The exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any thread exists: the process outside a sandbox forks and must be alone.
    #[cfg(target_os = "linux")]
    {
        let args: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        if args.get(1).is_some_and(|verb| verb == "__sandbox") {
            let code = hermes_tui::backend::local::sandbox_main(&args[2..]);
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
    }
    hermes_tui::cli::main()
}
