//! The host as commands start, find and end it, and the folders it keeps its files in.

use super::support::{Host, Outcome, Profile, wait_for};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn without_a_host_status_says_so_and_shutdown_has_nothing_to_do() {
    let profile = Profile::new();
    let status = profile.run(&["--json", "status"]);
    assert!(status.error(1, "no_host")["hint"].as_str().unwrap().contains("hermes-tui serve"), "{status:?}");
    let shutdown = profile.run(&["shutdown"]);
    assert!(shutdown.code == 0 && shutdown.out.contains("nothing to shut down"), "{shutdown:?}");
    assert_eq!(profile.run(&["--json", "shutdown"]).json()["running"], false);
    assert!(fs::read_dir(profile.path()).unwrap().next().is_none(), "asking left something behind");
}

#[test]
fn a_command_that_needs_a_host_starts_one_that_outlives_it() {
    let profile = Profile::new();
    let list = profile.run(&["--json", "env", "list"]);
    // Whatever others run on this machine, nothing is of this profile yet.
    let listed = list.json()["environments"].as_array().unwrap().clone();
    assert!(listed.iter().all(|env| env["origin"] != "managed"), "{list:?}");
    let status = profile.run(&["--json", "status"]).json();
    let pid = status["pid"].as_u64().unwrap();
    assert_ne!(pid, u64::from(std::process::id()));
    assert_eq!(status["socket"], profile.socket().display().to_string());
    // It left the session of this terminal: its session is its own.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!(fields[3], pid.to_string());
    assert_eq!(profile.run(&["--json", "status"]).json()["pid"], pid, "another command found another host");

    assert_eq!(mode(&profile.path().join("run")), 0o700);
    assert_eq!(mode(&profile.socket()), 0o600);
    assert_eq!(mode(&profile.path().join("data")), 0o700);
    assert!(!profile.path().join("home").exists(), "something was written outside of the profile");

    let shutdown = profile.run(&["shutdown"]);
    assert_eq!((shutdown.code, shutdown.err.as_str()), (0, ""), "{shutdown:?}");
    wait_for("the end of the host", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
    assert!(!profile.socket().exists());
    assert_eq!(profile.run(&["status"]).code, 1);
}

#[test]
fn a_relative_profile_and_configuration_mean_the_same_to_the_host_that_is_started() {
    let profile = Profile::new();
    fs::write(profile.path().join("own.toml"), "theme = \"mono\"\n").unwrap();
    let run = |args: &[&str]| {
        let mut command = profile.command(args);
        let output = command.env("HTUI_HOME", "here").current_dir(profile.path()).output().unwrap();
        Outcome::of(output)
    };
    let list = run(&["--config", "own.toml", "env", "list"]);
    assert_eq!(list.code, 0, "{list:?}");
    let socket = profile.path().join("here/run/host.sock");
    assert_eq!(run(&["--json", "status"]).json()["socket"], socket.display().to_string());
    assert_eq!(run(&["shutdown"]).code, 0);
}

#[test]
fn files_left_behind_in_any_shape_are_deleted_and_the_host_lives_on() {
    let profile = Profile::new();
    let made = profile.run(&["--json", "env", "new", "messy"]).json();
    let folder = profile.path().join("data/envs").join(made["environment"]["id"].as_str().unwrap());
    let (home, outer) = (folder.join("home"), folder.join("workspace/outer"));
    symlink(profile.path(), home.join("link")).unwrap();
    // Together longer than any path may be.
    for _ in 0..900 {
        fs::create_dir(&outer).unwrap();
        if let Err(error) = fs::rename(home.join("deep"), outer.join("deep")) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
        fs::rename(&outer, home.join("deep")).unwrap();
    }
    fs::create_dir_all(home.join("closed/in")).unwrap();
    fs::set_permissions(home.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let pid = profile.run(&["--json", "status"]).json()["pid"].clone();
    assert!(profile.run(&["--json", "env", "show", "messy"]).json()["environment"]["disk_bytes"].is_u64());
    assert_eq!(profile.run(&["env", "rm", "messy", "--data", "--yes"]).code, 0);
    wait_for("the end of the files", || (!folder.exists()).then_some(()));
    assert_eq!(profile.run(&["--json", "status"]).json()["pid"], pid);
}

#[test]
fn a_second_host_on_one_profile_is_refused_and_names_the_first() {
    let profile = Profile::new();
    let first = profile.serve();
    let second = profile.run(&["--json", "serve"]);
    let error = second.error(1, "failed");
    assert!(error["message"].as_str().unwrap().contains(&format!("pid {}", first.0.id())), "{second:?}");
    assert!(error["hint"].as_str().unwrap().contains("hermes-tui shutdown"), "{second:?}");
    assert_eq!(profile.run(&["--json", "status"]).json()["pid"], first.0.id());
    let other = Profile::new();
    let _other_host = other.serve();
    assert_eq!(profile.run(&["--json", "status"]).json()["pid"], first.0.id());
}

#[test]
fn a_host_that_was_killed_is_replaced() {
    let profile = Profile::new();
    let mut first = profile.serve();
    let dead = first.0.id();
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    assert!(profile.socket().exists(), "a killed host cannot remove its socket");
    let status = profile.run(&["--json", "status"]);
    status.error(1, "no_host");
    assert_eq!(profile.run(&["env", "list"]).code, 0);
    assert_ne!(profile.run(&["--json", "status"]).json()["pid"], dead);
}

#[test]
fn an_environment_whose_files_were_deleted_ends_with_its_processes() {
    let profile = Profile::new();
    let made = profile.run(&["--json", "env", "new", "lost"]).json();
    let sandbox = made["environment"]["sandbox"]["id"].as_str().unwrap().to_owned();
    let processes = || {
        let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = all.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.contains(&sandbox)).count()
    };
    assert!(processes() > 0);
    fs::remove_dir_all(profile.path().join("data/envs")).unwrap();
    assert_eq!(profile.run(&["env", "rm", "lost", "--yes"]).code, 0);
    wait_for("the end of its processes", || (processes() == 0).then_some(()));
}

#[test]
fn a_host_with_no_place_left_says_so_to_commands() {
    let profile = Profile::new();
    let _host = profile.serve();
    let connect = || std::os::unix::net::UnixStream::connect(profile.socket()).unwrap();
    let others: Vec<_> = (0..300).map(|_| connect()).collect();
    let list = profile.run(&["--json", "env", "list"]);
    let error = list.error(1, "failed");
    assert!(error["message"].as_str().unwrap().contains("256 connections"), "{list:?}");
    drop(others);
    wait_for("a free place", || (profile.run(&["env", "list"]).code == 0).then_some(()));
}

#[test]
fn a_host_whose_socket_is_gone_is_named() {
    let profile = Profile::new();
    let host = profile.serve();
    fs::remove_file(profile.socket()).unwrap();
    let list = profile.run(&["--json", "env", "list"]);
    let error = list.error(1, "no_host");
    assert!(error["message"].as_str().unwrap().contains(&format!("(pid {}) does not answer", host.0.id())), "{list:?}");
}

#[test]
fn every_signal_that_asks_for_an_end_ends_the_host_in_order() {
    use nix::sys::signal::{Signal, kill};
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        let profile = Profile::new();
        let mut host = profile.serve();
        // It answers, so its handlers are set.
        assert_eq!(profile.run(&["status"]).code, 0);
        kill(nix::unistd::Pid::from_raw(host.0.id() as i32), signal).unwrap();
        assert_eq!(host.0.wait().unwrap().code(), Some(0), "{signal}");
        assert!(!profile.socket().exists());
    }
}

#[test]
fn many_commands_at_once_start_one_host() {
    let profile = Profile::new();
    let spawn = |_| profile.command(&["env", "list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let all: Vec<_> = (0..4).map(spawn).collect();
    for child in all {
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let pid = profile.run(&["--json", "status"]).json()["pid"].as_u64().unwrap();
    // Those that came too late look for a moment whether the first one stays.
    wait_for("one host", || {
        let hosts = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|entry| {
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let ours = format!("HTUI_HOME={}\0", profile.path().display());
            environ.windows(ours.len()).any(|w| w == ours.as_bytes()) && line.windows(6).any(|w| w == b"serve\0")
        });
        let hosts: Vec<String> = hosts.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        (hosts == [pid.to_string()]).then_some(())
    });
}

#[test]
fn a_runtime_folder_that_others_could_use_is_refused() {
    type Trap<'a> = (&'a str, &'a dyn Fn(&Path));
    let traps: [Trap<'_>; 3] = [
        ("symbolic link", &|run| {
            fs::create_dir(run.with_file_name("elsewhere")).unwrap();
            symlink(run.with_file_name("elsewhere"), run).unwrap();
        }),
        ("other users", &|run| {
            fs::create_dir(run).unwrap();
            fs::set_permissions(run, fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("belongs to user 12345", &|run| {
            fs::create_dir(run).unwrap();
            std::os::unix::fs::chown(run, Some(12345), None).unwrap();
        }),
    ];
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    // Only the superuser can give a folder away.
    for (words, set) in traps.iter().take(if root { 3 } else { 2 }) {
        let profile = Profile::new();
        set(&profile.path().join("run"));
        for args in [["serve"].as_slice(), &["env", "list"]] {
            let outcome = profile.run(args);
            assert!(outcome.code == 1 && outcome.err.contains(words), "{outcome:?}");
        }
        assert!(!profile.path().join("run/host.sock").exists());
    }
}

#[test]
fn a_deep_profile_has_a_socket_all_the_same() {
    let profile = Profile::new();
    let deep = profile.path().join("d".repeat(100)).join("e".repeat(100));
    let session = profile.path().join("session");
    fs::create_dir(&session).unwrap();
    let run = |args: &[&str]| {
        let output = profile.command(args).env("HTUI_HOME", &deep).env("XDG_RUNTIME_DIR", &session).output().unwrap();
        Outcome::of(output)
    };
    let child = profile
        .command(&["serve"])
        .env("HTUI_HOME", &deep)
        .env("XDG_RUNTIME_DIR", &session)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let host = Host(child);
    let status = wait_for("the host", || Some(run(&["--json", "status"])).filter(|status| status.code == 0));
    assert_eq!(status.json()["pid"], host.0.id());
    let socket = status.json()["socket"].as_str().unwrap().to_owned();
    assert!(socket.len() < 104 && Path::new(&socket).starts_with(&session), "{socket}");
    // Also from where the session's runtime folder is not known.
    let elsewhere = profile.command(&["--json", "status"]).env("HTUI_HOME", &deep).output().unwrap();
    assert_eq!(Outcome::of(elsewhere).json()["pid"], host.0.id());
}

#[test]
fn a_profile_whose_folders_cannot_be_made_says_which_and_why() {
    let profile = Profile::new();
    let file = profile.path().join("a-file");
    fs::write(&file, "").unwrap();
    for place in [file.join("here"), PathBuf::from("/proc/here")] {
        for args in [["--json", "env", "list"].as_slice(), &["--json", "serve"]] {
            let outcome = Outcome::of(profile.command(args).env("HTUI_HOME", &place).output().unwrap());
            let error = outcome.error(1, "failed");
            let message = error["message"].as_str().unwrap();
            let start = format!("cannot use the folders of this profile: {}", place.display());
            assert!(message.starts_with(&start), "{args:?}: {error}");
            assert!(error["hint"].as_str().unwrap().contains("HTUI_HOME"), "{error}");
        }
    }
}

#[test]
fn the_screen_needs_a_terminal() {
    let outcome = Profile::new().run(&["--json"]);
    assert!(outcome.error(2, "usage")["message"].as_str().unwrap().contains("terminal"));
}
