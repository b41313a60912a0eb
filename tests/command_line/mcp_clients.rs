//! `mcp` with clients that others wrote: the official SDK for Python, and hermes-agent's.

use super::support::Profile;
use crate::common::skip;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const PACKAGES: [&str; 2] = ["mcp==1.26.0", "hermes-agent==0.19.0"];

/// An interpreter with both clients, made once and kept with the build. `None`, with a word, where it cannot be had.
fn python() -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match MADE.get_or_init(make_python) {
        Ok(path) => Some(path.clone()),
        Err(why) => {
            let required = std::env::var("HTUI_TEST_DOCKER").is_ok_and(|value| value == "required");
            assert!(!required, "clients in Python cannot be had: {why}");
            skip(&format!("clients in Python cannot be had: {why}"));
            None
        }
    }
}

fn make_python() -> Result<PathBuf, String> {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(base).map_err(|error| error.to_string())?;
    let lock = std::fs::File::create(base.join("mcp-clients.lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let wanted = PACKAGES.join(" ");
    let (folder, ready) = (base.join("mcp-clients"), base.join("mcp-clients.ready"));
    let python = folder.join("bin/python");
    if python.exists() && std::fs::read_to_string(&ready).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    let _ = std::fs::remove_dir_all(&folder);
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    run(pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES))?;
    std::fs::write(ready, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

/// Runs a script with the program and the profile as its words; gives the JSON that it prints last.
fn told_by(script: &str, profile: &Profile) -> Option<Value> {
    let python = python()?;
    let home = profile.path().join("agent");
    std::fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(python);
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_hermes-tui")).arg(profile.path());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &home).env("HERMES_HOME", &home);
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    Some(
        serde_json::from_str(out.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {out}{err}")),
    )
}

#[test]
fn the_official_python_client_initialises_lists_and_calls() {
    let profile = Profile::new();
    let script = r#"
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    env = {"PATH": os.environ["PATH"], "HTUI_HOME": sys.argv[2], "DOCKER_HOST": "unix:///nonexistent", "HTUI_USUAL_ENDPOINTS": "false"}
    server = StdioServerParameters(command=sys.argv[1], args=["mcp", "--conversation", "py"], env=env)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        async def call(name, **arguments):
            result = await session.call_tool(name, arguments)
            return {"failed": result.isError, "value": json.loads(result.content[0].text)}
        await session.send_ping()
        told = {
            "server": hello.serverInfo.name,
            "tools": [tool.name for tool in tools.tools],
            "cd": await call("run_command", command="mkdir d; cd d; export A=1"),
            "then": await call("run_command", command="pwd; echo $A; exit 4"),
            "wrong": await call("run_command", commands="ls"),
        }
    print(json.dumps(told))

asyncio.run(main())
"#;
    let Some(told) = told_by(script, &profile) else { return };
    assert_eq!(told["server"], "hermes-tui");
    assert!(told["tools"].as_array().unwrap().iter().any(|name| name == "read_screen"), "{told}");
    let then = &told["then"]["value"];
    assert!(then["exit_code"] == 4 && then["output"] == "/workspace/d\n1\n", "{told}");
    assert!(told["wrong"]["failed"] == true && told["then"]["failed"] == false, "{told}");
    let turns = profile.run(&["--json", "turn", "list", "--conversation", "py"]).json();
    assert_eq!(turns["turns"][0]["status"], "interrupted", "its turn ended with it");
}

#[test]
fn hermes_agents_own_client_finds_the_tools_and_calls_one() {
    let profile = Profile::new();
    let script = r#"
import json, sys
from tools.mcp_tool import register_mcp_servers, shutdown_mcp_servers, mcp_prefixed_tool_name
from tools.registry import registry

env = {"HTUI_HOME": sys.argv[2], "DOCKER_HOST": "unix:///nonexistent", "HTUI_USUAL_ENDPOINTS": "false"}
names = register_mcp_servers({"sandbox": {"command": sys.argv[1], "args": ["mcp", "--conversation", "h"], "env": env}})
name = mcp_prefixed_tool_name("sandbox", "run_command")
result = registry.dispatch(name, {"command": "echo $((40+2))"})
shutdown_mcp_servers()
print()
print(json.dumps({"names": names, "name": name, "result": result}))
"#;
    let Some(told) = told_by(script, &profile) else { return };
    assert!(told["names"].as_array().unwrap().contains(&told["name"]), "{told}");
    let result: Value = serde_json::from_str(told["result"].as_str().unwrap()).unwrap();
    let value: Value = serde_json::from_str(result["result"].as_str().unwrap()).unwrap();
    assert!(value["exit_code"] == 0 && value["output"] == "42\n", "{told}");
}
