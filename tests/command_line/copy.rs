//! `cp` with real sandboxes: what is copied, what is refused, and that no half of anything stays.

use super::support::{Outcome, Profile, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A profile with an environment `e`, a folder here, and where the environment's workspace is here.
struct World {
    profile: Profile,
    here: PathBuf,
    there: PathBuf,
}

impl World {
    fn new() -> Self {
        let profile = Profile::new();
        let made = profile.run(&["--json", "env", "new", "e", "--persistent"]).json();
        let id = made["environment"]["id"].as_str().unwrap().to_owned();
        let (here, there) = (profile.path().join("here"), profile.path().join("data/envs").join(id).join("workspace"));
        fs::create_dir(&here).unwrap();
        Self { profile, here, there }
    }

    fn cp(&self, from: &str, to: &str) -> Outcome {
        let mut command = self.profile.command(&["cp", from, to]);
        Outcome::of(command.current_dir(&self.here).output().unwrap())
    }

    /// It copies, and says this.
    fn copies(&self, from: &str, to: &str, said: &str) {
        let outcome = self.cp(from, to);
        assert_eq!((outcome.code, outcome.err.as_str(), outcome.out.trim_end()), (0, "", said), "{from} {to}");
    }

    /// It fails with these words and leaves nothing behind.
    fn fails(&self, from: &str, to: &str, words: &[&str]) {
        let outcome = self.cp(from, to);
        assert_eq!(outcome.code, 1, "{from} {to}: {outcome:?}");
        assert!(words.iter().all(|word| outcome.err.contains(word)), "{words:?}: {outcome:?}");
        assert!(outcome.err.contains("hint: "), "{outcome:?}");
        self.is_clean();
    }

    fn is_clean(&self) {
        for folder in [&self.here, &self.there] {
            assert_eq!(left(folder), Vec::<PathBuf>::new());
        }
    }

    /// Runs a script inside.
    fn inside(&self, script: &str) -> String {
        let run = self.profile.run(&["exec", "e", "--", "sh", "-c", script]);
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    }

    /// Begins a copy of a stream that does not end, and waits until it has begun inside.
    fn endless(&self, to: &str) -> Child {
        let mut child =
            self.profile.command(&["cp", "-", to]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(&vec![b'x'; 1 << 20]).unwrap();
        wait_for("the first bytes inside", || {
            let begun = left(&self.there);
            begun.iter().any(|folder| fs::metadata(folder.join("data")).is_ok_and(|data| data.len() > 0)).then_some(())
        });
        child
    }
}

/// Folders of copies that are under way.
fn left(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with(".hermes-tui-cp-") {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            found.extend(left(&entry.path()));
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_is_the_same_on_the_other_side_and_back() {
    let world = World::new();
    // Every byte, more than one piece of it.
    let bytes: Vec<u8> = (0..700_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(world.here.join("f"), &bytes).unwrap();
    fs::set_permissions(world.here.join("f"), fs::Permissions::from_mode(0o750)).unwrap();
    world.copies("f", "e:", "copied 1 file (683.6 KiB) to e:f");
    world.copies("f", "e:/workspace/g h", "copied 1 file (683.6 KiB) to e:/workspace/g h");
    assert_eq!((mode(&world.there.join("f")), mode(&world.there.join("g h"))), (0o750, 0o750));
    world.copies("e:g h", "back", "copied 1 file (683.6 KiB) to back");
    assert!(fs::read(world.here.join("back")).unwrap() == bytes);
    assert_eq!(mode(&world.here.join("back")), 0o750);
    // What is there is replaced at once, and a name that looks like a flag is a name.
    fs::write(world.here.join("-n"), "new").unwrap();
    world.copies("./-n", "e:f", "copied 1 file (3 B) to e:f");
    world.copies("./-n", "e:", "copied 1 file (3 B) to e:-n");
    world.copies("e:-n", "back", "copied 1 file (3 B) to back");
    assert_eq!((read(world.there.join("f")), read(world.here.join("back"))), ("new".to_owned(), "new".to_owned()));
    world.is_clean();
}

#[test]
fn a_folder_comes_with_modes_and_links_and_fills_up_what_is_there() {
    let world = World::new();
    let src = world.here.join("src");
    fs::create_dir_all(src.join("deep/empty")).unwrap();
    fs::write(src.join("deep/run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(src.join("deep/run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(src.join("deep/empty"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(src.join(".hidden"), "h").unwrap();
    symlink("/etc/nothing", src.join("absolute")).unwrap();
    symlink("deep/run", src.join("relative")).unwrap();
    world.copies("src", "e:new", "copied 2 files, 2 folders, 2 links (11 B) to e:new");
    world.copies("src", "e:", "copied 2 files, 2 folders, 2 links (11 B) to e:src");
    for name in ["new", "src"] {
        let there = world.there.join(name);
        assert_eq!((mode(&there.join("deep/run")), mode(&there.join("deep/empty"))), (0o755, 0o700));
        assert_eq!(read(there.join(".hidden")), "h");
        assert_eq!(fs::read_link(there.join("absolute")).unwrap(), Path::new("/etc/nothing"));
    }
    // Again: what is there stays, what is the same is replaced.
    world.inside("cd src && echo own > own && echo old > deep/run");
    world.copies("src", "e:", "copied 2 files, 2 folders, 2 links (11 B) to e:src");
    assert_eq!(
        (read(world.there.join("src/own")), read(world.there.join("src/deep/run"))),
        ("own\n".into(), "#!/bin/sh\n".into())
    );
    world.copies("e:src", "out", "copied 3 files, 2 folders, 2 links (15 B) to out");
    assert_eq!((mode(&world.here.join("out/deep/run")), mode(&world.here.join("out/deep/empty"))), (0o755, 0o700));
    assert_eq!(fs::read_link(world.here.join("out/relative")).unwrap(), Path::new("deep/run"));
    // What is in it, into what is there, both ways.
    fs::write(world.here.join("out/mine"), "m").unwrap();
    world.copies("e:src/.", "out", "copied 3 files, 2 folders, 2 links (15 B) to out");
    assert_eq!((read(world.here.join("out/mine")), read(world.here.join("out/own"))), ("m".into(), "own\n".into()));
    world.copies("out/.", "e:/workspace", "copied 4 files, 2 folders, 2 links (16 B) to e:/workspace");
    assert_eq!(read(world.there.join("mine")), "m");
    world.is_clean();
}

#[test]
fn a_stream_is_a_file_on_either_side() {
    let world = World::new();
    let sent = "a\0b".repeat(200_000);
    let mut child =
        world.profile.command(&["cp", "-", "e:from"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let out = Outcome::of(child.wait_with_output().unwrap());
    assert_eq!((out.code, out.out.as_str()), (0, "copied 1 file (585.9 KiB) to e:from\n"), "{out:?}");
    let back = world.cp("e:from", "-");
    assert!(back.code == 0 && back.out == sent && back.err.is_empty());
    let folder = world.cp("e:.", "-");
    assert!(folder.code == 2 && folder.err.contains("cannot write a folder to standard output"), "{folder:?}");
    world.fails("-", "e:.", &["is a folder, and a file cannot take its place"]);
}

#[test]
fn json_counts_what_was_copied_and_names_what_was_not() {
    let world = World::new();
    world.inside("mkdir d && echo x > d/f && mkfifo d/pipe");
    let mut command = world.profile.command(&["--json", "cp", "e:d", "d"]);
    let reply = Outcome::of(command.current_dir(&world.here).output().unwrap()).json();
    let counts = json!([reply["files"], reply["folders"], reply["links"], reply["bytes"]]);
    assert_eq!((counts, &reply["to"]), (json!([1, 0, 0, 2]), &json!("d")), "{reply}");
    assert_eq!(reply["skipped"], json!(["pipe"]), "{reply}");
    let text = world.cp("e:d", "d2");
    assert!(text.code == 0 && text.err.contains("left out") && text.err.contains("pipe"), "{text:?}");
}

#[test]
fn what_cannot_be_copied_says_why_and_changes_nothing() {
    let world = World::new();
    fs::create_dir_all(world.here.join("d/sub")).unwrap();
    fs::write(world.here.join("d/sub/f"), "f").unwrap();
    fs::write(world.here.join("f"), "f").unwrap();
    world.fails("nothing", "e:", &["cannot read nothing", "No such file"]);
    world.fails("e:nothing", ".", &["cannot copy e:nothing", "no such file or folder"]);
    world.fails("e:/../../nothing", ".", &["no such file or folder"]);
    world.fails("f", "e:no/where", &["there is no folder ./no"]);
    world.fails("f", "e:no/", &["there is no such folder"]);
    world.fails("e:/etc/passwd", "no/where", &["cannot copy to no: there is no such folder"]);
    world.fails("f", "nobody:", &["nobody"]);
    world.fails("e:/dev/null", "null", &["neither a file nor a folder"]);
    world.inside("mkdir -p g/sub/f; echo kept > g/other; echo file > file; mkdir f");
    // Deep inside, and found before anything is moved.
    world.fails("d/.", "e:g", &["g/sub/f is a folder, and a file cannot take its place"]);
    world.fails("d", "e:file", &["file is no folder, and a folder cannot take its place"]);
    world.fails("f", "e:/workspace", &["/workspace/f is a folder"]);
    assert_eq!(world.inside("find g | sort; cat g/other file"), "g\ng/other\ng/sub\ng/sub/f\nkept\nfile\n");
    world.fails("e:g/.", "d", &["d/sub/f is no folder, and a folder cannot take its place"]);
    world.fails("e:g", "f", &["f is no folder, and a folder cannot take its place"]);
    assert!(!world.here.join("d/other").exists());
    for (from, to) in [("f", "g"), ("e:f", "e:g"), ("-", "-")] {
        assert_eq!(world.cp(from, to).code, 2, "{from} {to}");
    }
}

#[test]
fn no_link_inside_leads_to_files_of_this_machine() {
    let world = World::new();
    let secret = world.profile.path().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "secret").unwrap();
    symlink(&secret, world.there.join("folder")).unwrap();
    symlink(secret.join("key"), world.there.join("file")).unwrap();
    world.fails("e:file", ".", &["a link that leads nowhere"]);
    world.fails("e:folder/key", ".", &["no such file"]);
    fs::write(world.here.join("f"), "f").unwrap();
    world.fails("f", "e:folder/planted", &["there is no folder"]);
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
    // As links they are copied as they are.
    world.copies("e:.", "all", "copied 0 files, 2 links (0 B) to all");
    assert_eq!(fs::read_link(world.here.join("all/folder")).unwrap(), secret);
    // And no later copy goes through one that an earlier one brought.
    world.inside("rm folder; mkdir folder; echo planted > folder/planted");
    world.fails("e:.", "all/.", &["all/./folder is no folder, and a folder cannot take its place"]);
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
}

#[test]
fn a_copy_that_is_cut_off_leaves_what_was_there() {
    let world = World::new();
    world.inside("echo before > kept; head -c 3000000 /dev/zero > big");
    let mut child = world.endless("e:kept");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    world.is_clean();
    let mut child = world.endless("e:kept");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(read(world.there.join("kept")), "before\n");
    wait_for("what was begun to be cleared away or left alone", || {
        let run = world.profile.run(&["--json", "env", "show", "e"]).json();
        run["environment"]["holders"].as_array().unwrap().is_empty().then_some(())
    });
    assert_eq!(read(world.there.join("kept")), "before\n");

    // No room here: the system refuses what goes beyond a limit as it refuses what a full disk cannot take.
    fs::write(world.here.join("big"), "before").unwrap();
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" cp e:big .";
    let mut command = std::process::Command::new("sh");
    let template = world.profile.command(&[]);
    command.args(["-c", script, env!("CARGO_BIN_EXE_hermes-tui")]).env_clear().current_dir(&world.here);
    command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let full = Outcome::of(command.output().unwrap());
    assert!(full.code == 1 && full.err.contains("cannot write ./big: File too large"), "{full:?}");
    assert_eq!(read(world.here.join("big")), "before");
    assert_eq!(left(&world.here), Vec::<PathBuf>::new());
}

#[test]
fn what_is_copied_is_a_command_by_its_name_and_kept_nowhere() {
    let world = World::new();
    fs::write(world.here.join("f"), "only for who copies it\n").unwrap();
    world.copies("f", "e:", "copied 1 file (23 B) to e:f");
    world.copies("e:f", "g", "copied 1 file (23 B) to g");
    world.inside("echo kept beside it");
    let journal = || {
        let read = |file: &str| fs::read(world.profile.path().join("data").join(file)).unwrap_or_default();
        String::from_utf8_lossy(&[read("journal.db"), read("journal.db-wal")].concat()).into_owned()
    };
    let all = wait_for("the journal to know the last command", || {
        Some(journal()).filter(|all| all.contains("kept beside it\n"))
    });
    assert!(all.contains("cp f e:") && all.contains("cp e:f g"));
    assert!(!all.contains("only for who copies it"));
}
