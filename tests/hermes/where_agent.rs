//! A shell where the agent is: in its last directory and with its variables, from what its own code keeps in the container.

use super::agent::{Agent, SOON, block};
use super::common::{Profile, wait_for};
use super::engine;
use bollard::exec::{CreateExecOptions, StartExecResults};
use futures_util::StreamExt;
use serde_json::Value;

/// Opens a shell there, has it say where it is, and gives its screen.
fn shows(profile: &Profile, env: &str) -> String {
    let session =
        profile.json(&["session", "new", env, "--where-agent"])["session"]["id"].as_str().expect("an id").to_owned();
    profile.json(&["session", "wait", &session, "--text", "hermes-tui:", "--timeout", "20"]);
    profile.json(&["session", "send-keys", &session, "-l", "echo \"<$MOOD|$PWD>\"; echo o''ver"]);
    profile.json(&["session", "send-keys", &session, "Enter"]);
    profile.json(&["session", "wait", &session, "--text", "over", "--timeout", "20"]);
    profile.json(&["session", "capture", &session])["text"].as_str().expect("a text").replace('\n', "")
}

/// Runs a script in a container, as anybody may.
fn by_hand(agent: &Agent, id: &str, script: &str) {
    let options = CreateExecOptions {
        cmd: Some(vec!["bash".to_owned(), "-c".to_owned(), script.to_owned()]),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..CreateExecOptions::default()
    };
    let said = block(async {
        let docker = engine::client(&agent.socket).await;
        let exec = docker.create_exec(id, options).await.expect("made").id;
        let StartExecResults::Attached { mut output, .. } = docker.start_exec(&exec, None).await.expect("started")
        else {
            panic!("it is not attached")
        };
        let mut said = String::new();
        while let Some(Ok(part)) = output.next().await {
            said.push_str(&part.to_string());
        }
        assert_eq!(docker.inspect_exec(&exec).await.expect("known").exit_code, Some(0), "{said}");
        said
    });
    assert_eq!(said, "");
}

#[test]
fn a_shell_has_the_directory_and_the_variables_of_the_newest_snapshot() {
    let Some(agent) = Agent::new("") else { return };
    let script = r#"
terminal("mkdir -p '/workspace/a b' && cd '/workspace/a b' && export MOOD=good")
tell(container())
sys.stdin.readline()
terminal("cd / && rm -r '/workspace/a b' && mkdir /workspace/gone && cd /workspace/gone && rm -r ../gone")
tell("gone")
sys.stdin.readline()
"#;
    let mut running = agent.start(script, &[]);
    let id = running.told();
    let profile = agent.profile("off");
    let env = agent.env(&profile, "default")["id"].as_str().expect("an id").to_owned();
    // What an earlier process left, and what is none of its files.
    let old = "printf 'export MOOD=old PWD=/etc\\n' > /tmp/hermes-snap-0123456789ab.sh && touch -d '2 hours ago' /tmp/hermes-snap-0123456789ab.sh";
    let others = "printf 'export MOOD=bad\\n' > /tmp/hermes-snap-zzzzzzzzzzzz.sh; printf 'export MOOD=bad\\n' > /tmp/x; \
                  ln -s /tmp/x /tmp/hermes-snap-ffffffffffff.sh; printf 'export MOOD=bad\\n' > /tmp/hermes-snap-eeeeeeeeeeee.sh; \
                  chown 4711 /tmp/hermes-snap-eeeeeeeeeeee.sh";
    by_hand(&agent, &id, &format!("{old}; {others}"));
    let screen = shows(&profile, &env);
    assert!(screen.contains("where the agent is: /workspace/a b, with the variables"), "{screen}");
    assert!(screen.contains("<good|/workspace/a b>"), "{screen}");

    // Our shells at their prompts hold nothing.
    wait_for("nothing that holds", SOON, || {
        let env: Value = profile.env(&env);
        env["holders"].as_array().expect("holders").is_empty().then_some(())
    });
    let verdict = profile.json(&["reap", "--explain", &env]).to_string();
    assert!(!verdict.contains("\"process\""), "{verdict}");

    running.say("go on");
    assert_eq!(running.told(), "gone");
    let screen = shows(&profile, &env);
    assert!(screen.contains("/workspace/gone cannot be entered or is gone: this is "), "{screen}");
    assert!(screen.contains("<good|"), "{screen}");

    // Without any snapshot the last directory that was seen has to do, and that is said.
    by_hand(&agent, &id, "rm /tmp/hermes-snap-*; mkdir '/workspace/a b'");
    let screen = shows(&profile, &env);
    assert!(screen.contains("where the agent ran its last command: /workspace/a b, without the variables"), "{screen}");
    assert!(screen.contains("<|/workspace/a b>"), "{screen}");
    running.say("go on");
    running.end();
}
