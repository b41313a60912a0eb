//! The agent's commands as they are told: plain, with their directories and exit codes, and ours not among them.

use super::agent::{Agent, SOON, block};
use super::common::wait_for;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hermes_tui::backend::{Backend, BackendEvent, ExecSpec};
use hermes_tui::domain::{CallId, SandboxId};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// A command as it was told.
#[derive(Debug, PartialEq)]
struct Told {
    command: String,
    cwd: Option<String>,
    exit_code: Option<i32>,
}

/// Reads what is told of one container until a command of this text has ended.
async fn until(events: &mut BoxStream<'static, BackendEvent>, id: &str, last: &str) -> Vec<Told> {
    let mut all: Vec<(CallId, Told)> = Vec::new();
    let read = async {
        while let Some(event) = events.next().await {
            match event {
                BackendEvent::ExecBegan { sandbox, exec, command, cwd } if sandbox.as_str() == id => {
                    all.push((exec, Told { command, cwd, exit_code: None }));
                }
                BackendEvent::ExecEnded { exec, exit_code, .. } => {
                    let Some((_, told)) = all.iter_mut().find(|(known, _)| *known == exec) else { continue };
                    told.exit_code = exit_code;
                    if told.command == last {
                        return;
                    }
                }
                _ => {}
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, read).await;
    let told: Vec<Told> = all.into_iter().map(|(_, told)| told).collect();
    assert!(in_time.is_ok(), "{last:?} was not told to have ended: {told:?}");
    told
}

#[test]
fn commands_are_told_as_the_agent_gave_them_with_their_directories_and_exit_codes() {
    let Some(agent) = Agent::new("") else { return };
    let script = r#"
terminal("true")
tell(container())
sys.stdin.readline()
terminal("mkdir -p '/workspace/a b' && cd '/workspace/a b'")
terminal("echo 'it''s' \"$(pwd)\" | tr a-z A-Z; (exit 0)")
import tools.terminal_tool as tt
tt.terminal_tool("echo oops >&2\nexit 7", task_id=SESSION, force=True)
from tools.file_tools import read_file_tool, write_file_tool
write_file_tool("/workspace/new", "hello\n", task_id=SESSION)
read_file_tool("/workspace/new", task_id=SESSION)
from tools.process_registry import process_registry
job = terminal("sleep 1 > /dev/null", background=True)["session_id"]
assert process_registry.wait(job, 30)["status"] == "exited"
terminal("echo last")
"#;
    let mut running = agent.start(script, &[]);
    let id = running.told();
    let backend = agent.backend();
    let told = block(async {
        let mut events = backend.watch();
        assert!(matches!(events.next().await, Some(BackendEvent::Snapshot(_))));
        // One of ours, which is not to be told.
        let spec = ExecSpec {
            call: CallId::new("c"),
            argv: vec!["sleep".into(), "0".into()],
            env: Vec::new(),
            cwd: Some("/".into()),
        };
        let link = backend.exec(SandboxId::new(&id), spec).await.expect("it runs");
        assert_eq!(link.exit.await, 0);
        running.say("go on");
        until(&mut events, &id, "echo last").await
    });
    running.end();
    let command = |text: &str, cwd: &str, exit_code: i32| Told {
        command: text.to_owned(),
        cwd: Some(cwd.to_owned()),
        exit_code: Some(exit_code),
    };
    let there = "/workspace/a b";
    for expected in [
        command("mkdir -p '/workspace/a b' && cd '/workspace/a b'", "/root", 0),
        command("echo 'it''s' \"$(pwd)\" | tr a-z A-Z; (exit 0)", there, 0),
        command("echo oops >&2\nexit 7", there, 7),
        command("hermes: write /workspace/new", there, 0),
        command("hermes: read /workspace/new", there, 0),
        command("sleep 1 > /dev/null &", there, 0),
        command("echo last", there, 0),
    ] {
        assert_eq!(told.iter().filter(|one| **one == expected).count(), 1, "{expected:?} among {told:#?}");
    }
    assert!(told.iter().any(|one| one.command.starts_with("hermes: wait for proc_") && one.cwd.is_none()), "{told:#?}");
    let odd =
        |one: &&Told| ["hermes-snap", "__HERMES", "htui", "sleep 0"].iter().any(|sign| one.command.contains(sign));
    assert_eq!(told.iter().find(odd), None);
}

#[test]
fn a_command_that_was_begun_before_we_looked_is_told_and_so_is_its_end() {
    let Some(agent) = Agent::new("") else { return };
    let script = "terminal('true')\ntell(container())\nsys.stdin.readline()\n\
                  terminal('read -t 60 x < /workspace/gate; true')";
    let mut running = agent.start(script, &[]);
    let id = running.told();
    let gate = agent.sandboxes().join("default/workspace/gate");
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    running.say("go on");
    wait_for("the command to be in flight", SOON, || agent.inspect(&id).exec_ids.filter(|all| !all.is_empty()));
    let backend = agent.backend();
    let command = "read -t 60 x < /workspace/gate; true";
    let exit_code = block(async {
        let mut events = backend.watch();
        let mut begun = None;
        let read = async {
            while let Some(event) = events.next().await {
                match event {
                    BackendEvent::ExecBegan { sandbox, exec, command: told, .. } if sandbox.as_str() == id => {
                        assert_eq!((told.as_str(), &begun), (command, &None));
                        begun = Some(exec);
                        let gate = gate.clone();
                        tokio::task::spawn_blocking(move || std::fs::write(gate, "x\n"));
                    }
                    BackendEvent::ExecEnded { exec, exit_code, .. } if begun.as_ref() == Some(&exec) => {
                        return exit_code;
                    }
                    _ => {}
                }
            }
            None
        };
        tokio::time::timeout(PATIENCE, read).await.expect("it is told")
    });
    assert_eq!(exit_code, Some(0));
    running.end();
}
