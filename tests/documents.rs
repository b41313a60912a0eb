//! The documents and the shape of the source are true: layers, map, README commands, generated text.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each layer and those it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("term", &["domain"]),
    ("config", &["domain", "term"]),
    ("app", &["domain", "term", "config"]),
    ("ui", &["domain", "term", "config", "app"]),
    ("pty", &["domain"]),
    ("hermes", &["domain"]),
    ("backend", &["domain", "pty", "hermes"]),
    ("runtime", &["domain", "term", "config", "app", "ui", "pty", "hermes", "backend"]),
    ("api", &["domain", "term", "config", "app", "ui", "pty", "hermes", "backend", "runtime"]),
    ("cli", &["domain", "term", "config", "app", "ui", "pty", "hermes", "backend", "runtime", "api"]),
];

/// Crates that would bring a clock, files or tasks into a layer below the line.
const ABOVE_THE_LINE: &[&str] = &["tokio", "bollard", "portable_pty", "rusqlite", "nix", "libc", "tracing"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Source without comments and without its test module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn layer_files(layer: &str) -> Vec<PathBuf> {
    let files = rust_files(&root().join("src").join(layer));
    assert!(!files.is_empty(), "layer {layer} has no files");
    files
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn arrows_between_layers_only_point_down() {
    let mut wrong = Vec::new();
    for (layer, may_use) in LAYERS {
        for file in layer_files(layer) {
            let code = code(&file);
            for (other, _) in LAYERS {
                let uses = [format!("crate::{other}::"), format!("crate::{other};"), format!("crate::{{{other}")];
                if other != layer && !may_use.contains(other) && uses.iter().any(|u| code.contains(u.as_str())) {
                    wrong.push(format!("{} uses {other}", shown(&file)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that point up:\n{}", wrong.join("\n"));
}

#[test]
fn layers_below_the_line_have_no_clock_files_or_tasks() {
    let mut wrong = Vec::new();
    for layer in ["domain", "term", "config", "app", "ui"] {
        for file in layer_files(layer) {
            let code = code(&file);
            let crates = ABOVE_THE_LINE.iter().map(|name| format!("{name}::"));
            let std = ["std::fs", "std::env", "std::net", "SystemTime::now", "Instant::now", "std::thread"];
            for word in crates.chain(std.map(str::to_owned)) {
                let whole = |i: usize| !code[..i].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if code.match_indices(&word).any(|(i, _)| whole(i)) {
                    wrong.push(format!("{} names {word}", shown(&file)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not deterministic:\n{}", wrong.join("\n"));
}

#[test]
fn only_the_screen_names_the_emulator() {
    for file in rust_files(&root().join("src")) {
        if code(&file).contains("alacritty_terminal") {
            assert!(shown(&file).starts_with("src/term/screen"), "{} names the emulator", shown(&file));
        }
    }
}

#[test]
fn unsafe_stands_only_where_the_kernel_is_spoken_to() {
    for file in rust_files(&root().join("src")) {
        let name = shown(&file);
        if code(&file).contains("unsafe {") {
            assert!(name.starts_with("src/backend/local") || name.starts_with("src/pty"), "unsafe in {name}");
        }
    }
}

/// The first sentence of a file's documentation.
fn purpose(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let paragraph: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//! ")).collect();
    let paragraph = paragraph.join(" ");
    assert!(!paragraph.is_empty(), "{} does not say what it is for", shown(path));
    let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(first, _)| first);
    sentence.trim_end_matches('.').replace(['[', ']'], "").replace('|', "\\|")
}

#[test]
fn the_map_is_fresh() {
    let mut map = String::new();
    for (layer, _) in LAYERS.iter().rev() {
        map += &format!("\n### {layer}\n\n| file | what it is for |\n| --- | --- |\n");
        for file in layer_files(layer) {
            map += &format!("| `{}` | {} |\n", shown(&file).trim_start_matches("src/"), purpose(&file));
        }
    }
    let document = read("ARCHITECTURE.md");
    let (before, rest) = document.split_once("<!-- map -->\n").expect("a map");
    let (old, after) = rest.split_once("\n<!-- end of map -->").expect("an end of the map");
    if std::env::var_os("HTUI_REWRITE").is_some() {
        let new = format!("{before}<!-- map -->\n{map}\n<!-- end of map -->{after}");
        fs::write(root().join("ARCHITECTURE.md"), new).unwrap();
    } else {
        assert!(old == map, "the map in ARCHITECTURE.md is stale: HTUI_REWRITE=1 cargo test --test documents");
    }
}

#[test]
fn the_readme_has_the_two_commands_and_the_check_runs_one_of_them() {
    let readme = read("README.md");
    let commands: Vec<_> = readme.lines().filter_map(|line| line.strip_prefix("    cargo ")).collect();
    assert_eq!(commands, ["run", "test"]);
    let check = read(".ci/run");
    assert!(check.lines().any(|line| line == "cargo test"), ".ci/run does not call the README's test command");
}

#[test]
fn every_verb_of_the_program_is_in_the_readme() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hermes-tui")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let readme = read("README.md");
    let verbs: Vec<_> = help
        .lines()
        .skip_while(|line| !line.starts_with("Verbs:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("    "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() > 5, "verbs not found in:\n{help}");
    for verb in verbs {
        assert!(readme.contains(&format!("hermes-tui {verb}")), "README does not show: hermes-tui {verb}");
    }
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut broken = BTreeMap::new();
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] {
        let text = read(document);
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !root().join(target).exists() {
                broken.insert(target.to_owned(), document);
            }
        }
    }
    assert!(broken.is_empty(), "broken links: {broken:?}");
}

#[test]
fn no_text_is_half_merged() {
    let begins = ["<<<<<<< ", ">>>>>>> "];
    let mut files: Vec<PathBuf> =
        ["src", "tests", "benches"].iter().flat_map(|dir| rust_files(&root().join(dir))).collect();
    for folder in [".", "docs", "assets"] {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.is_file()));
    }
    for path in files {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let line = text.lines().position(|line| begins.iter().any(|mark| line.starts_with(mark)));
        assert_eq!(line, None, "{}", path.display());
    }
}
