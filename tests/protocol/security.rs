//! The socket is the user's own: nobody else gets as far as it, and who does is sent away.

use crate::common::{EXE, Profile, skip, text};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folder_and_socket_are_closed_to_others() {
    let profile = Profile::serving();
    let socket = profile.socket().unwrap();
    assert_eq!((mode(socket.parent().unwrap()), mode(&socket)), (0o700, 0o600));
    assert_eq!(fs::metadata(&socket).unwrap().uid(), nix::unistd::geteuid().as_raw());
}

#[test]
fn another_user_who_gets_as_far_as_the_socket_is_sent_away_with_a_word() {
    if !nix::unistd::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root with setpriv can run as another user");
    }
    let profile = Profile::serving();
    let socket = profile.socket().unwrap();
    // A program that the other user may run, wherever the repository lies.
    let program = profile.path().join("hermes-tui");
    fs::copy(EXE, &program).unwrap();
    open(&program, 0o755);
    let as_other = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(args);
        command.env_clear().envs(profile.variables()).output().unwrap()
    };
    let far = as_other(&["status"]);
    assert_eq!(far.status.code(), Some(1), "{}", text(&far));

    open(profile.path(), 0o755);
    open(socket.parent().unwrap(), 0o755);
    open(&socket, 0o666);
    let near = as_other(&["status"]);
    assert_eq!(near.status.code(), Some(5), "{}", text(&near));
    assert!(text(&near).contains("you are user 65534"), "{}", text(&near));
    assert!(profile.run(&["status"]).status.success(), "its own user is served");
}
