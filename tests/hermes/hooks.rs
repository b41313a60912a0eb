//! The hooks of the example, called by the agent's own code.

use super::agent::Agent;
use super::common::Profile;
use hermes_tui::hermes::hook_setup::HookSetup;
use hermes_tui::hermes::hooks::read_queue;
use std::path::Path;

const EXAMPLE: &str = include_str!("../../assets/hermes-hooks.example.yaml");

const TURN: &str = r#"
from hermes_cli.config import load_config
from hermes_cli.plugins import invoke_hook
from agent.shell_hooks import register_from_config
tell(len(register_from_config(load_config(), accept_hooks=True)))
answers = []
def fire(event, **more):
    answers.extend(invoke_hook(event, **more))
ids = {"task_id": "t", "session_id": "s", "turn_id": "s:t:1"}
call = {"tool_call_id": "c1", "api_request_id": "", "middleware_trace": []}
history = [{"role": "user", "content": "say \"\\\" \n é" * 50}] * 5000
fire("on_session_start", session_id="s", model="m", platform="cli")
fire("pre_llm_call", **ids, user_message="make it päss", conversation_history=history, is_first_turn=True, model="m", platform="cli", sender_id="")
fire("pre_tool_call", tool_name="terminal", args={"command": "make"}, **ids, **call)
fire("pre_tool_call", tool_name="web_search", args={"query": "make"}, **ids, **call)
fire("post_tool_call", tool_name="terminal", args={"command": "make"}, result=json.dumps({"output": "", "exit_code": 2, "error": None}), duration_ms=12, status="ok", error_type=None, error_message=None, **ids, **call)
fire("subagent_stop", parent_session_id="s", parent_turn_id="s:t:1", child_session_id="k", child_role="leaf", child_summary="", child_status="completed", duration_ms=7)
fire("on_session_end", **ids, completed=True, interrupted=False, model="m", platform="cli")
fire("on_session_end", **ids, completed=False, interrupted=True, model="m", platform="cli")
fire("on_session_finalize", session_id=None, platform="cli", reason="shutdown")
fire("on_session_finalize", session_id="s", platform="cli", reason="shutdown")
tell(answers)
"#;

#[test]
fn the_real_code_registers_the_example_and_what_it_tells_is_understood() {
    let Some(agent) = Agent::new("") else { return };
    let profile = Profile::new();
    let config = agent.home().join("config.yaml");
    let text = std::fs::read_to_string(&config).expect("a configuration");
    std::fs::write(&config, text + EXAMPLE).expect("written");
    assert_eq!(HookSetup::read(&agent.home()), Ok(HookSetup::NotAllowed));

    let folder = Path::new(env!("CARGO_BIN_EXE_hermes-tui")).parent().expect("a folder");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
    let home = profile.path().display().to_string();
    let told = agent.run(TURN, &[("PATH", &path), ("HTUI_HOME", &home)]);
    assert_eq!(told, ["1", "[]"]);

    assert_eq!(HookSetup::read(&agent.home()), Ok(HookSetup::Works));
    let events = read_queue(&profile.path().join("data/hooks"), usize::MAX);
    let ends: Vec<_> = events.iter().map(|(_, end)| (end.session.as_str(), end.completed, end.interrupted)).collect();
    assert_eq!(ends, [("s", true, false), ("s", false, true)]);
}
