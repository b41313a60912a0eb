//! Attempts made by this very test program inside a sandbox, where it is shown through a mount.

// Only raw system calls show what the filter does; no safe wrapper makes them with wrong arguments.
#![allow(unsafe_code)]

use super::host::{Host, mount};
use hermes_tui::domain::{CallId, EnvSpec, SandboxId};
use nix::libc;
use std::collections::BTreeMap;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use tokio::io::AsyncReadExt;

/// Where it is shown.
const SHOWN: &str = "/opt/attempts";
/// Words for the attempts, each as `verb` or `verb:argument`.
const ATTEMPTS: &str = "HTUI_TEST_ATTEMPTS";

/// Shows this program inside.
pub fn show(spec: &mut EnvSpec) {
    let program = std::env::current_exe().expect("this program");
    mount(spec, program.display().to_string(), SHOWN, true);
}

/// Makes attempts inside, and returns what came of each: `done`, or the name of the error.
pub async fn attempt(host: &Host, sandbox: &SandboxId, attempts: &[String]) -> BTreeMap<String, String> {
    use hermes_tui::backend::{Backend, ExecSpec};
    let argv = [SHOWN, "--exact", "inside::attempts", "--nocapture", "--test-threads=1"];
    let spec = ExecSpec {
        call: CallId::new("attempts"),
        argv: argv.iter().map(|one| (*one).to_owned()).collect(),
        env: vec![(ATTEMPTS.into(), attempts.join(" "))],
        cwd: None,
    };
    let mut link = host.backend.exec(sandbox.clone(), spec).await.expect("runs");
    let mut text = String::new();
    link.stdout.read_to_string(&mut text).await.expect("reads");
    let mut errors = String::new();
    link.stderr.read_to_string(&mut errors).await.expect("reads");
    assert_eq!(link.exit.await, 0, "{text}{errors}");
    let came: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("came of "))
        .filter_map(|line| line.split_once(" = "))
        .map(|(what, result)| (what.to_owned(), result.to_owned()))
        .collect();
    assert_eq!(came.len(), attempts.len(), "{text}{errors}");
    came
}

/// Runs inside only.
#[test]
fn attempts() {
    let Ok(attempts) = std::env::var(ATTEMPTS) else { return };
    println!();
    for what in attempts.split(' ') {
        let (verb, argument) = what.split_once(':').unwrap_or((what, ""));
        let result = match perform(verb, argument) {
            Ok(()) => "done".to_owned(),
            Err(error) => nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0)).to_string(),
        };
        let name = result.split(':').next().unwrap_or_default().to_owned();
        println!("came of {what} = {name}");
    }
}

fn perform(verb: &str, argument: &str) -> io::Result<()> {
    let number = || argument.parse::<i64>().map_err(io::Error::other);
    match verb {
        "unix" => UnixStream::connect(argument).map(drop),
        "abstract" => UnixStream::connect_addr(&SocketAddr::from_abstract_name(argument)?).map(drop),
        "tcp" => std::net::TcpStream::connect(argument).map(drop),
        "kill" => call(libc::SYS_kill, [number()?, 0, 0, 0]),
        "tiocsti" => {
            let byte = b'x';
            call(libc::SYS_ioctl, [0, libc::TIOCSTI as i64, (&raw const byte) as i64, 0])
        }
        "tiocsti-high" => {
            // The kernel looks at the lower half of the request only; a filter must too.
            let byte = b'x';
            call(libc::SYS_ioctl, [0, libc::TIOCSTI as i64 | 1 << 32, (&raw const byte) as i64, 0])
        }
        "unshare-user" => call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0]),
        "unshare-mount" => call(libc::SYS_unshare, [libc::CLONE_NEWNS.into(), 0, 0, 0]),
        "clone-user" => call(libc::SYS_clone, [i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD), 0, 0, 0]),
        "clone3" => call(libc::SYS_clone3, [0, 0, 0, 0]),
        "setns" => call(libc::SYS_setns, [0, 0, 0, 0]),
        "mount" => {
            let (kind, target) = (c"tmpfs".as_ptr() as i64, c"/tmp".as_ptr() as i64);
            call(libc::SYS_mount, [kind, target, kind, 0])
        }
        "chroot" => call(libc::SYS_chroot, [c"/tmp".as_ptr() as i64, 0, 0, 0]),
        "keyctl" => call(libc::SYS_keyctl, [0, -3, 0, 0]),
        "bpf" => call(libc::SYS_bpf, [0, 0, 0, 0]),
        "perf" => call(libc::SYS_perf_event_open, [0, 0, 0, 0]),
        "io_uring" => call(libc::SYS_io_uring_setup, [1, 0, 0, 0]),
        "userfaultfd" => call(libc::SYS_userfaultfd, [0, 0, 0, 0]),
        "vsock" => call(libc::SYS_socket, [libc::AF_VSOCK.into(), libc::SOCK_STREAM.into(), 0, 0]),
        "packet" => call(libc::SYS_socket, [libc::AF_PACKET.into(), libc::SOCK_RAW.into(), 0, 0]),
        "ptrace-first" => call(libc::SYS_ptrace, [libc::PTRACE_SEIZE.into(), 1, 0, 0]),
        "setuid" => call(libc::SYS_setuid, [0, 0, 0, 0]),
        "read" => std::fs::read(argument).map(drop),
        "list" => std::fs::read_dir(argument).map(drop),
        other => Err(io::Error::other(format!("no attempt is named {other}"))),
    }
}

fn call(number: i64, a: [i64; 4]) -> io::Result<()> {
    // SAFETY: attempts that are expected to be refused; their pointers are valid for the call.
    let result = unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], 0i64) };
    if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
