//! The host under a service manager: it says when it is ready, and ends in order when it is told to.

use super::support::{Host, Profile};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

const UNIT: &str = include_str!("../../assets/hermes-tui.service");

fn unit(key: &str) -> &'static str {
    let start = format!("{key}=");
    UNIT.lines().find_map(|line| line.strip_prefix(start.as_str())).unwrap_or_else(|| panic!("no {key} in the unit"))
}

/// What arrives within the time that the unit gives for a start or an end.
fn told(manager: &UnixDatagram) -> String {
    let seconds = unit("TimeoutStopSec").parse().unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(seconds))).unwrap();
    let mut bytes = [0; 4096];
    let length = manager.recv(&mut bytes).expect("a word from the host");
    String::from_utf8(bytes[..length].to_vec()).unwrap()
}

#[test]
fn it_says_that_it_is_ready_and_ends_in_order_in_time() {
    assert_eq!(unit("Type"), "notify");
    assert!(unit("ExecStart").ends_with("hermes-tui serve"), "{UNIT}");
    let profile = Profile::new();
    let path = profile.path().join("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    let child = profile.command(&["serve"]).env("NOTIFY_SOCKET", &path).spawn().unwrap();
    let mut host = Host(child);
    let ready = told(&manager);
    assert!(ready.lines().any(|line| line == "READY=1"), "{ready}");
    assert!(ready.lines().any(|line| line == format!("MAINPID={}", host.0.id())), "{ready}");
    // At once: who is told that it is ready may connect.
    assert_eq!(profile.run(&["env", "new", "a"]).code, 0);
    kill(Pid::from_raw(i32::try_from(host.0.id()).unwrap()), Signal::SIGTERM).unwrap();
    let stopping = told(&manager);
    assert!(stopping.lines().any(|line| line == "STOPPING=1"), "{stopping}");
    assert_eq!(host.0.wait().unwrap().code(), Some(0));
    assert!(!profile.socket().exists());
    let list = profile.run(&["--json", "env", "list"]).json();
    let a = list["environments"].as_array().unwrap().iter().find(|env| env["name"] == "a").unwrap();
    assert_eq!(a["phase"], "stopped", "{list}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_without_a_file_is_taken_too_and_a_wrong_one_harms_nothing() {
    use std::os::linux::net::SocketAddrExt;
    let profile = Profile::new();
    let name = format!("htui-{}", profile.path().file_name().unwrap().to_string_lossy());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let manager = UnixDatagram::bind_addr(&address).unwrap();
    let _host = Host(profile.command(&["serve"]).env("NOTIFY_SOCKET", format!("@{name}")).spawn().unwrap());
    assert!(told(&manager).contains("READY=1"));

    let other = Profile::new();
    let _other_host = Host(other.command(&["serve"]).env("NOTIFY_SOCKET", "/nonexistent/socket").spawn().unwrap());
    super::support::wait_for("an answer", || (other.run(&["status"]).code == 0).then_some(()));
}
