//! From the making of a sandbox to its end.

use super::host::{Host, attach, lives, mark, mount, read_until, session, type_line, until, with_mark};
use futures_util::StreamExt;
use hermes_tui::backend::{Backend, BackendEvent, ExecSpec};
use hermes_tui::domain::{CallId, FailureKind, Origin, SandboxState, Size, Span};
use std::fs;
use std::time::Duration;
use tokio::io::AsyncReadExt;

fn exec(name: &str, script: &str) -> ExecSpec {
    let argv = vec!["sh".into(), "-c".into(), script.into()];
    ExecSpec { call: CallId::new(name), argv, env: Vec::new(), cwd: None }
}

fn mounts() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    table.lines().map(str::to_owned).collect()
}

/// Control groups of one sandbox, wherever they are.
fn control_groups(name: &str) -> Vec<std::path::PathBuf> {
    fn search(folder: &std::path::Path, name: &str, depth: u32, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().contains(name) {
                    found.push(entry.path());
                } else if depth > 0 {
                    search(&entry.path(), name, depth - 1, found);
                }
            }
        }
    }
    let mut found = Vec::new();
    search("/sys/fs/cgroup".as_ref(), name, 5, &mut found);
    found
}

pub async fn after_the_end_nothing_is_left_on_the_host(host: &Host) {
    let mark = mark();
    let sandbox = host.made("e1").await;
    let _shell = host.session(&sandbox, "s", &["sleep", &mark]).await;
    let _running = host.backend.exec(sandbox.clone(), exec("c", &format!("sleep {mark}"))).await.expect("runs");
    let escaped = format!("setsid sleep {mark} >/dev/null 2>&1 </dev/null & setsid -f sleep {mark} >/dev/null 2>&1");
    host.sh(&sandbox, &escaped).await;
    until("all run", async || with_mark(&mark).len() >= 4).await;
    let (first, watcher) = host.processes("e1");
    assert!(lives(first) && lives(watcher));
    assert!(!mounts().iter().any(|line| line.contains(&*host.folder.path().to_string_lossy())), "none on the host");

    host.backend.remove(sandbox.clone(), Origin::Managed).await.expect("removed");
    assert_eq!(with_mark(&mark), Vec::<i32>::new());
    assert!(!lives(first) && !lives(watcher));
    assert!(!mounts().iter().any(|line| line.contains(&*host.folder.path().to_string_lossy())));
    assert_eq!(fs::read_dir(host.config.runtime_dir.join("sandboxes")).expect("a folder").count(), 0);
    assert_eq!(control_groups(sandbox.as_str()), Vec::<std::path::PathBuf>::new());
}

pub async fn a_tree_that_ignores_every_signal_ends_all_the_same(host: &Host) {
    let mark = mark();
    let sandbox = host.made("e1").await;
    let script = format!("trap '' HUP INT TERM; echo deaf; while :; do sleep {mark}; done");
    let mut link = host.session(&sandbox, "s", &["sh", "-c", &script]).await;
    read_until(&mut link, "deaf").await;
    host.backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped");
    assert_eq!(with_mark(&mark), Vec::<i32>::new());
    let mut rest = Vec::new();
    link.reader.read_to_end(&mut rest).await.expect("its output ends");
}

pub async fn killing_the_watcher_ends_the_sandbox(host: &Host) {
    let sandbox = host.made("e1").await;
    let mut events = host.backend.watch();
    assert!(matches!(events.next().await, Some(BackendEvent::Snapshot(found)) if found.len() == 1));
    let (first, watcher) = host.processes("e1");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(watcher), nix::sys::signal::Signal::SIGKILL).expect("ours");
    let ended = events.next().await.expect("an event");
    assert!(matches!(&ended, BackendEvent::Ended { sandbox: one, .. } if *one == sandbox), "{ended:?}");
    assert!(!lives(first));
    let info = host.backend.start(sandbox.clone(), host.wanted("e1", 2)).await.expect("it starts again");
    assert_eq!(info.state, SandboxState::Running);
    // What a watcher that was killed leaves behind goes with the sandbox.
    let (_, watcher) = host.processes("e1");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(watcher), nix::sys::signal::Signal::SIGKILL).expect("ours");
    let ended = events.next().await.expect("an event");
    assert!(matches!(&ended, BackendEvent::Ended { .. }), "{ended:?}");
    host.backend.remove(sandbox.clone(), Origin::Managed).await.expect("removed");
    assert!(!host.config.runtime_dir.join("sandboxes").join(format!("{sandbox}.sock")).exists());
    let folder = format!("hermes-tui-{sandbox}");
    for controllers in std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
        assert!(!controllers.path().join(&folder).exists(), "{:?}", controllers.path());
    }
}

pub async fn one_whose_record_was_deleted_ends_all_the_same(host: &Host) {
    let sandbox = host.made("e1").await;
    let (first, watcher) = host.processes("e1");
    std::fs::remove_dir_all(host.config.data_dir.join("envs")).expect("ours");
    host.backend.stop(sandbox, Origin::Managed).await.expect("stopped");
    until("it ends", async || !lives(first) && !lives(watcher)).await;
}

pub async fn programs_hear_every_signal(host: &Host) {
    // As a host that a script started in the background.
    super::host::ignore_interrupts();
    let sandbox = host.made("e1").await;
    let blocked = host.run(&sandbox, &["grep", "SigBlk", "/proc/self/status"]).await.stdout;
    assert_eq!(blocked.trim_start_matches("SigBlk:").trim().trim_start_matches('0'), "", "{blocked}");
    for (signal, code) in [("HUP", 129), ("INT", 130), ("TERM", 143)] {
        assert_eq!(host.sh(&sandbox, &format!("kill -{signal} $$; echo went on")).await.code, code);
    }
}

pub async fn one_that_does_not_answer_runs_on_in_the_list_and_can_be_stopped(host: &Host) {
    use nix::sys::signal::{Signal, kill};
    let sandbox = host.made("e1").await;
    let (first, watcher) = host.processes("e1");
    kill(nix::unistd::Pid::from_raw(first), Signal::SIGSTOP).expect("ours");
    let other = host.another();
    let found = other.list().await.expect("a list");
    assert_eq!(found[0].state, SandboxState::Running);
    other.stop(sandbox, Origin::Managed).await.expect("stopped");
    assert!(!lives(first) && !lives(watcher));
    assert_eq!(other.list().await.expect("a list")[0].state, SandboxState::Stopped);
}

pub async fn without_a_host_it_ends_by_itself(host: &Host) {
    let mut config = host.config.clone();
    config.alone_grace = Duration::from_millis(100);
    let backend = hermes_tui::backend::local::LocalBackend::new(config);
    let mut wanted = host.wanted("e1", 1);
    wanted.spec.idle = Span(100);
    backend.provision(wanted, Box::new(|_| {})).await.expect("a sandbox");
    let (first, watcher) = host.processes("e1");
    assert!(lives(first) && lives(watcher));
    drop(backend);
    until("it ends", async || !lives(first) && !lives(watcher)).await;
    let found = host.backend.list().await.expect("a list");
    assert_eq!(found[0].state, SandboxState::Stopped, "it is still known");
}

pub async fn with_a_host_it_stays(host: &Host) {
    let mut config = host.config.clone();
    config.alone_grace = Duration::ZERO;
    let backend = hermes_tui::backend::local::LocalBackend::new(config);
    let mut wanted = host.wanted("e1", 1);
    wanted.spec.idle = Span(300);
    let sandbox = backend.provision(wanted, Box::new(|_| {})).await.expect("a sandbox").sandbox;
    // Longer than it would live alone.
    let link = backend.exec(sandbox, exec("c", "sleep 0.9; exit 5")).await.expect("runs");
    assert_eq!(link.exit.await, 5);
}

pub async fn the_private_tmp_goes_and_the_files_stay(host: &Host) {
    let sandbox = host.made("e1").await;
    host.sh(&sandbox, "echo a > /tmp/f; echo b > ~/f; echo c > /workspace/f").await;
    host.backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped");
    host.backend.start(sandbox.clone(), host.wanted("e1", 2)).await.expect("started");
    let output = host.sh(&sandbox, "cat ~/f /workspace/f; ls -A /tmp").await;
    assert_eq!(output.stdout, "b\nc\n");
    host.backend.remove(sandbox, Origin::Managed).await.expect("removed");
    assert_eq!(fs::read_to_string(host.wanted("e1", 1).workspace.join("f")).expect("still there"), "c\n");
}

pub async fn evidence_names_what_lives_and_not_what_waits(host: &Host) {
    let sandbox = host.made("e1").await;
    let mut shell = host.session(&sandbox, "s", &[]).await;
    type_line(&mut shell, "echo re''ady").await;
    read_until(&mut shell, "ready").await;
    until("the shell is at its prompt", async || {
        let seen = host.evidence(&sandbox).await;
        seen.idle_shells == 1 && seen.processes.is_empty()
    })
    .await;
    let began = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    type_line(&mut shell, "sleep 4321").await;
    until("the command counts", async || {
        let seen = host.evidence(&sandbox).await;
        seen.idle_shells == 0 && seen.processes.iter().map(|one| one.command.as_str()).eq(["sleep 4321"])
    })
    .await;
    let started = u128::from(host.evidence(&sandbox).await.processes[0].started.0);
    assert!(started.abs_diff(began) < 10_000, "{started} is not near {began}");
    // Ctrl+C, then a loop of nothing but built-in commands.
    tokio::io::AsyncWriteExt::write_all(&mut shell.writer, b"\x03").await.expect("typed");
    type_line(&mut shell, "while :; do :; done").await;
    until("a busy shell counts", async || {
        let seen = host.evidence(&sandbox).await;
        seen.idle_shells == 0 && seen.processes.len() == 1 && seen.processes[0].command.contains("-l")
    })
    .await;
    shell.control.close().await.expect("closed");
    let seen = host.evidence(&sandbox).await;
    assert!(seen.processes.is_empty() && seen.idle_shells == 0, "{seen:?}");
}

pub async fn a_command_left_in_the_background_counts_once_its_call_is_over(host: &Host) {
    let sandbox = host.made("e1").await;
    let script = "sleep 5432 >/dev/null 2>&1 </dev/null & read line";
    let link = host.backend.exec(sandbox.clone(), exec("c", script)).await.expect("runs");
    assert_eq!(host.evidence(&sandbox).await.processes, [], "a call in flight is known anyway");
    let mut stdin = link.stdin;
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"\n").await.expect("written");
    assert_eq!(link.exit.await, 0);
    until("what was left behind counts", async || {
        let seen = host.evidence(&sandbox).await.processes;
        seen.iter().map(|one| one.command.as_str()).eq(["sleep 5432"])
    })
    .await;
    (link.kill)().await;
    assert_eq!(host.evidence(&sandbox).await.processes, [], "what a call left behind can still be ended by it");
}

pub async fn a_killed_command_takes_its_children_along(host: &Host) {
    let mark = mark();
    let sandbox = host.made("e1").await;
    let script = format!("(trap '' TERM; sleep {mark}; sleep {mark}) & sleep {mark}");
    let link = host.backend.exec(sandbox.clone(), exec("c", &script)).await.expect("runs");
    until("both run", async || with_mark(&mark).len() >= 3).await;
    (link.kill)().await;
    assert_eq!(with_mark(&mark), Vec::<i32>::new());
    assert_eq!(link.exit.await, 143);
}

pub async fn a_shell_keeps_its_state_for_the_next_host(host: &Host) {
    let sandbox = host.made("e1").await;
    let mut shell = host.session(&sandbox, "s", &[]).await;
    type_line(&mut shell, "kept=for-later; cd /tmp; echo no''ted").await;
    read_until(&mut shell, "noted").await;
    drop(shell);
    let other = host.another();
    let mut shell = attach(&other, &sandbox, "s", &[]).await;
    type_line(&mut shell, "echo \"<$kept $PWD>\"; exit 9").await;
    assert!(read_until(&mut shell, "<for-later /tmp>").await.contains("<for-later /tmp>"));
    assert_eq!(shell.exit.await, Some(9));
}

pub async fn without_a_host_a_loud_program_goes_on_and_the_next_host_sees_its_last_words(host: &Host) {
    let first = host.another();
    let made = first.provision(host.wanted("e1", 1), Box::new(|_| {})).await.expect("a sandbox");
    let sandbox = made.sandbox;
    // Far more than a terminal holds, once no host is there.
    let script =
        "echo ready; while [ ! -e go ]; do sleep 0.01; done; seq 100000; echo all printed; touch done; sleep 1000";
    let mut link = attach(&first, &sandbox, "s", &["sh", "-c", script]).await;
    read_until(&mut link, "ready").await;
    drop(link);
    drop(first);
    let workspace = host.wanted("e1", 1).workspace;
    fs::write(workspace.join("go"), "").expect("a file");
    until("it prints all without a reader", async || workspace.join("done").exists()).await;
    let mut link = host.session(&sandbox, "s", &["sh", "-c", script]).await;
    let seen = read_until(&mut link, "all printed").await;
    assert!(seen.contains("99998\r\n99999\r\n100000\r\nall printed"), "{}", &seen[seen.len().saturating_sub(99)..]);
    // What is kept, and what the kernel's terminal still held at that moment.
    assert!(seen.len() <= (128 << 10) + terminal_holds(), "{} bytes were kept", seen.len());
    link.control.close().await.expect("closed");
}

/// bash looks for signals, then waits for a key: a hang-up in between is lost on it.
pub async fn a_shell_that_missed_the_hang_up_is_told_again(host: &Host) {
    let script =
        "trap '' TERM; trap 'trap \"echo $0 > $0; exit\" HUP' HUP; echo ready; while :; do sleep 1000 & wait $!; done";
    let sandbox = host.made("e1").await;
    let mut closed = host.session(&sandbox, "one", &["sh", "-c", script, "closed"]).await;
    let mut stopped = host.session(&sandbox, "two", &["sh", "-c", script, "stopped"]).await;
    for link in [&mut closed, &mut stopped] {
        read_until(link, "ready").await;
    }
    closed.control.close().await.expect("closed");
    let workspace = host.wanted("e1", 1).workspace;
    assert!(workspace.join("closed").exists(), "it ended by KILL");
    host.backend.stop(sandbox, Origin::Managed).await.expect("stopped");
    assert!(workspace.join("stopped").exists(), "it ended by KILL");
}

/// How much a terminal of this kernel takes while nobody reads it.
fn terminal_holds() -> usize {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let pair = nix::pty::openpty(None, None).expect("a terminal");
    fcntl(&pair.slave, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("set");
    let mut held = 0;
    // What was taken is passed on by the kernel a little later, which makes room again.
    let room = || poll(&mut [PollFd::new(pair.slave.as_fd(), PollFlags::POLLOUT)], PollTimeout::from(200u8));
    loop {
        match nix::unistd::write(&pair.slave, b"x") {
            Ok(length) => held += length,
            Err(_) if room() == Ok(0) => return held,
            Err(_) => {}
        }
    }
}

pub async fn sessions_are_listed_for_the_next_host(host: &Host) {
    let sandbox = host.made("e1").await;
    let _shell = host.session(&sandbox, "one", &[]).await;
    let link = host.session(&sandbox, "two", &["sleep", "1000"]).await;
    link.control.resize(Size { rows: 10, cols: 20 }).await.expect("resized");
    let other = host.another();
    let rows = other.sessions(&sandbox).await.expect("sessions");
    let rows: Vec<_> = rows.iter().map(|row| (row.session.as_str(), row.program.len(), row.size.rows)).collect();
    assert_eq!(rows, [("one", 0, 24), ("two", 2, 10)]);
    link.control.close().await.expect("closed");
    assert_eq!(other.sessions(&sandbox).await.expect("sessions").len(), 1);
}

pub async fn a_shell_has_a_terminal_and_a_prompt(host: &Host) {
    let sandbox = host.made("e1").await;
    let mut shell = host.session(&sandbox, "s", &[]).await;
    let seen = read_until(&mut shell, "$ ").await;
    assert!(seen.contains("agent@e1:/workspace$ ") || seen.contains("/workspace $ "), "{seen:?}");
    type_line(&mut shell, "echo \"<$TERM $COLORTERM $(tty) $(stty size) $0>\"").await;
    let seen = read_until(&mut shell, ">\r\n").await;
    assert!(seen.contains("<xterm-256color truecolor /dev/pts/0 24 200 "), "{seen:?}");
    // Job control: a stopped job comes back, and Ctrl+C ends it but not the shell.
    type_line(&mut shell, "sleep 1000").await;
    until("it sleeps", async || {
        let seen = host.evidence(&sandbox).await.processes;
        seen.iter().map(|one| one.command.as_str()).eq(["sleep 1000"])
    })
    .await;
    tokio::io::AsyncWriteExt::write_all(&mut shell.writer, b"\x1a").await.expect("typed");
    read_until(&mut shell, "Stopped").await;
    type_line(&mut shell, "fg").await;
    // Its process group is the terminal's foreground, and it runs: else Ctrl+C would reach the shell.
    let look = "for p in /proc/[0-9]*; do read -r line < $p/stat; set -- $line; \
                [ \"$2 $3\" = '(sleep) S' ] && [ \"$5\" = \"$8\" ] && echo foreground; done; true";
    until("it is in the foreground again", async || host.sh(&sandbox, look).await.stdout == "foreground\n").await;
    tokio::io::AsyncWriteExt::write_all(&mut shell.writer, b"\x03").await.expect("typed");
    read_until(&mut shell, "$ ").await;
    type_line(&mut shell, "exit 3").await;
    assert_eq!(shell.exit.await, Some(3));
}

pub async fn exit_codes_are_those_of_a_shell(host: &Host) {
    let sandbox = host.made("e1").await;
    assert_eq!(host.sh(&sandbox, "exit 42").await.code, 42);
    assert_eq!(host.sh(&sandbox, "kill -9 $$").await.code, 137);
    let output = host.run(&sandbox, &["no-such-program"]).await;
    assert_eq!(output.code, 127);
    assert!(output.stderr.starts_with("cannot run no-such-program: command not found"), "{output:?}");
    let output = host.run(&sandbox, &["/etc/passwd"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (126, "cannot run /etc/passwd: /etc/passwd is not executable\n"));
    let output = host.sh(&sandbox, "echo out; echo err >&2").await;
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    let link = host.session(&sandbox, "s", &["sh", "-c", "exit 6"]).await;
    assert_eq!(link.exit.await, Some(6));

    let nowhere = ExecSpec { cwd: Some("/nowhere".into()), ..exec("c", "true") };
    let error = host.backend.exec(sandbox.clone(), nowhere).await.err().expect("refused");
    assert_eq!(error.message, "there is no directory /nowhere inside the sandbox");
    let error = host.backend.attach(sandbox, session("t", &["no-such-program"])).await.err().expect("refused");
    assert!(error.message.starts_with("cannot run no-such-program: command not found"), "{error:?}");
}

pub async fn what_cannot_be_made_is_refused_in_one_sentence(host: &Host) {
    let mut tries = Vec::new();
    for (source, target) in [("/no/such/folder", "/data"), ("/usr", "/proc/x"), ("/usr", "relative"), ("/usr", "/etc")]
    {
        let mut wanted = host.wanted("e1", 1);
        mount(&mut wanted.spec, source, target, true);
        tries.push((wanted, if source == "/usr" { target } else { source }));
    }
    for (wanted, named) in tries {
        let error = host.backend.provision(wanted, Box::new(|_| {})).await.expect_err("refused");
        assert_eq!(error.kind, FailureKind::Permanent);
        assert!(error.message.contains(named) && !error.message.contains('\n'), "{error:?}");
        assert!(!error.hint.is_empty());
    }
    // A link that an earlier program inside left there does not lead a mount astray.
    let wanted = host.wanted("e1", 1);
    let sandbox = host.made("e1").await;
    host.sh(&sandbox, "ln -s /oldroot/tmp /workspace/astray").await;
    host.backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped");
    let mut wanted = hermes_tui::backend::ProvisionSpec { generation: wanted.generation.next(), ..wanted };
    mount(&mut wanted.spec, "/usr/share", "/workspace/astray/x", true);
    let error = host.backend.start(sandbox, wanted).await.expect_err("refused");
    assert!(error.message.contains("/workspace/astray"), "{error:?}");

    let mut config = host.config.clone();
    config.exe = "/no/such/hermes-tui".into();
    let broken = hermes_tui::backend::local::LocalBackend::new(config);
    let error = broken.probe().await.expect_err("no program");
    assert!(error.message.starts_with("cannot start a sandbox with /no/such/hermes-tui"), "{error:?}");
}

pub async fn refused_namespaces_are_explained(host: &Host) {
    // A user namespace has a limit of its own on those below it.
    let inner = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let script =
        format!("#!/bin/sh\nexec /usr/bin/unshare -Ur /bin/sh -c '{inner}' {} \"$@\"\n", host.config.exe.display());
    let file = host.folder.path().join("limited");
    fs::write(&file, script).expect("a file");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    let mut config = host.config.clone();
    config.exe = file;
    let backend = hermes_tui::backend::local::LocalBackend::new(config);
    let probed = backend.probe().await.expect_err("refused");
    let made = backend.provision(host.wanted("e1", 1), Box::new(|_| {})).await.expect_err("refused");
    for error in [probed, made] {
        assert_eq!(error.kind, FailureKind::Permanent);
        assert!(error.message.starts_with("the kernel refuses to make a user namespace"), "{error:?}");
        assert!(error.message.ends_with("the setting user.max_user_namespaces is 0"), "{error:?}");
        assert!(error.hint.contains("sysctl") && error.hint.contains("--on-host"), "{error:?}");
    }
    assert_eq!(host.backend.list().await.expect("a list"), [], "what never was is not listed");
    assert_eq!(fs::read_dir(host.config.runtime_dir.join("sandboxes")).expect("a folder").count(), 0);
}

pub async fn a_plain_host_shell_works_and_leaves_nothing(host: &Host) {
    let mark = mark();
    super::host::ignore_interrupts();
    let sandbox = host.made_as("e1", |spec| spec.on_host = true).await;
    assert_eq!(host.sh(&sandbox, "kill -INT $$; echo went on").await.code, 130);
    let details = host.backend.details(sandbox.clone()).await.expect("looks").expect("there");
    let told =
        |limit: &hermes_tui::backend::details::Limit| limit.name == "isolation" && limit.value.starts_with("none");
    assert!(details.limits.iter().any(told), "{details:?}");
    let output = host.sh(&sandbox, "cat /proc/$PPID/comm; pwd; exit 4").await;
    let comm = fs::read_to_string("/proc/self/comm").expect("our own name");
    assert_eq!(output.code, 4);
    assert_eq!(output.stdout, format!("{comm}{}\n", host.wanted("e1", 1).workspace.display()), "a child of ours");
    assert_eq!(host.run(&sandbox, &["no-such-program"]).await.code, 127);
    let mut link = host.session(&sandbox, "s", &["sh", "-c", &format!("sleep {mark} & echo re''ady; wait")]).await;
    read_until(&mut link, "ready").await;
    assert_eq!(host.evidence(&sandbox).await.processes.len(), 2);
    link.control.close().await.expect("closed");
    assert_eq!(with_mark(&mark), Vec::<i32>::new());
    assert_eq!(link.exit.await, Some(129));
    let lead = ["printf '<%s>' \"$1\"; shift; exec \"$@\"", "htui", "led"].map(str::to_owned).to_vec();
    let spec = hermes_tui::backend::AttachSpec { lead, ..super::host::session("led", &[]) };
    let mut link = host.backend.attach(sandbox.clone(), spec).await.expect("a session");
    read_until(&mut link, "<led>").await;
    super::host::type_line(&mut link, "exit 6").await;
    assert_eq!(link.exit.await, Some(6));
    let mut other =
        host.session(&sandbox, "t", &["sh", "-c", &format!("trap '' HUP; echo re''ady; sleep {mark}")]).await;
    read_until(&mut other, "ready").await;
    host.backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped");
    assert_eq!(with_mark(&mark), Vec::<i32>::new());
    let mut config = host.config.clone();
    config.allow_on_host = false;
    let strict = hermes_tui::backend::local::LocalBackend::new(config);
    let mut wanted = host.wanted("e2", 1);
    wanted.spec.on_host = true;
    assert!(strict.provision(wanted, Box::new(|_| {})).await.is_err());
}

pub async fn a_probe_leaves_nothing(host: &Host) {
    let probe = host.backend.probe().await.expect("works here");
    assert!(probe.description.contains("namespaces"), "{probe:?}");
    assert!(!host.config.runtime_dir.exists());
    assert_eq!(control_groups(&format!("hermes-tui-probe-{}", std::process::id())), Vec::<std::path::PathBuf>::new());
}
