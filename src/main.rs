//! The exit code.

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // Before any thread exists: the process outside a sandbox forks and must be alone.
    #[cfg(target_os = "linux")]
    if args.get(1).is_some_and(|verb| verb == "__sandbox") {
        std::process::exit(hermes_tui::backend::local::sandbox_main(&args[2..]));
    }
}
