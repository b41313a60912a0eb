//! `mcp` with real sandboxes, as a client speaks with it: lines over pipes.

use super::support::{Profile, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A client of a server of its own.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    /// One that has shaken hands.
    fn new(profile: &Profile, args: &[&str]) -> Self {
        let words: Vec<&str> = ["mcp"].iter().chain(args).copied().collect();
        let mut command = profile.command(&words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, to, from, asked: 0 };
        let about = json!({"name": "a test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about});
        let answer = client.request("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "hermes-tui", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        writeln!(to, "{line}").and_then(|()| to.flush()).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    /// Asks without waiting; gives the number.
    fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        self.asked
    }

    fn answer(&mut self, id: u64) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "it ended before it answered {id}");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {answer}"));
        (result["isError"] == true, serde_json::from_str(text).unwrap())
    }

    /// A call that works.
    fn does(&mut self, tool: &str, arguments: Value) -> Value {
        let (failed, value) = self.call(tool, arguments);
        assert!(!failed, "{tool}: {value}");
        value
    }

    /// A call that does not; the error is whole.
    fn fails(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let (failed, value) = self.call(tool, arguments);
        assert!(failed, "{tool}: {value}");
        let text = |name: &str| value["error"][name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        (text("message").unwrap(), text("hint").unwrap())
    }

    fn run(&mut self, command: &str) -> Value {
        self.does("run_command", json!({"command": command}))
    }

    /// Closes its input, and waits for its end; what else it said is nothing.
    fn close(mut self) {
        self.to = None;
        let status = wait_for("the end of the server", || self.child.try_wait().unwrap());
        let (mut out, mut err) = (String::new(), String::new());
        self.from.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
    }

    fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
        wait_for("the end of the server", || self.child.try_wait().unwrap());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One way in which a connection ends.
type End = fn(&mut Client);

/// The newest turn of a conversation.
fn newest_turn(profile: &Profile, conversation: &str) -> Option<Value> {
    let list = profile.run(&["--json", "turn", "list", "--conversation", conversation]);
    (list.code == 0).then(|| list.json()["turns"].as_array()?.last().cloned()).flatten()
}

/// Whether a process of this machine has this among its words.
fn runs(word: &str) -> bool {
    let has = |path: PathBuf| {
        fs::read(path.join("cmdline")).is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
    };
    fs::read_dir("/proc").unwrap().flatten().any(|entry| has(entry.path()))
}

/// A number of seconds to sleep that nobody else sleeps.
fn endless(n: u32) -> String {
    format!("{}", 1_000_000_000 + u64::from(std::process::id()) * 100 + u64::from(n))
}

#[test]
fn an_agents_story_from_the_first_command_to_the_end_of_the_turn() {
    let profile = Profile::new();
    let mut agent = Client::new(&profile, &["--conversation", "talk"]);
    let begun = agent.does("begin_turn", json!({"title": "Talk", "prompt": "build it", "persistent": true}));
    assert_eq!((&begun["number"], &begun["conversation"]), (&json!(1), &json!("talk")));

    let first = agent.run("mkdir -p sub && cd sub && export A='x y' && echo out && echo err >&2");
    assert_eq!((&first["exit_code"], &first["cwd"]), (&json!(0), &json!("/workspace/sub")));
    assert!(first["output"] == "out\nerr\n" || first["output"] == "err\nout\n", "{first}");
    let second = agent.run("echo \"$A\"; pwd; exit 3");
    assert_eq!((&second["exit_code"], &second["output"]), (&json!(3), &json!("x y\n/workspace/sub\n")));
    let late = agent.does("run_command", json!({"command": "sleep 60", "timeout_seconds": 0.2}));
    assert!(late["exit_code"] == 124 && late["why"].as_str().unwrap().contains("0.2 s"), "{late}");

    let whole: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    let long = agent.run("seq 1 20000");
    let shown = long["output"].as_str().unwrap();
    assert!(
        shown.len() < 31_000 && shown.starts_with("1\n2\n") && shown.ends_with("19999\n20000\n"),
        "{}",
        shown.len()
    );
    let (mut offset, mut read) = (0, String::new());
    while offset < long["output_bytes"].as_u64().unwrap() {
        let part = agent.does("poll_command", json!({"call": long["call"], "offset": offset, "limit": 50_000}));
        read.push_str(part["output"].as_str().unwrap());
        offset = part["next_offset"].as_u64().unwrap();
    }
    assert!(read == whole);

    let sleep = endless(1);
    let command = format!("echo ready; cd /; exec sleep {sleep}");
    let background = agent.does("run_command", json!({"command": command, "background": true}));
    let call = background["call"].clone();
    let polled = agent.does("poll_command", json!({"call": call, "wait_seconds": 20}));
    assert_eq!((&polled["state"], &polled["output"]), (&json!("running"), &json!("ready\n")));
    assert_eq!(agent.run("pwd")["output"], "/workspace/sub\n", "what runs beside leaves the shell alone");
    assert_eq!(agent.does("kill_command", json!({"call": call}))["state"], "ended");
    assert!(!runs(&sleep));
    assert_eq!(agent.does("kill_command", json!({"call": call}))["state"], "ended", "once more is fine");
    assert_eq!(agent.run("pwd")["output"], "/workspace/sub\n");

    let listed = agent.does("list_environments", json!({"limit": 1}));
    let env = &listed["environments"][0];
    assert_eq!(
        (&env["verdict"]["kind"], &listed["total"], &listed["next_offset"]),
        (&json!("held"), &json!(1), &Value::Null)
    );
    let why = agent.does("explain", json!({"environment": env["name"]}));
    assert!(why["verdict"]["kind"] == "held" && why["verdict"]["evidence"].is_array(), "{why}");

    assert_eq!(agent.does("end_turn", json!({}))["ended_turn"], 1);
    assert_eq!(agent.does("end_turn", json!({}))["ended_turn"], Value::Null);
    let turn = newest_turn(&profile, "talk").unwrap();
    assert_eq!((&turn["status"], &turn["prompt"]), (&json!("done"), &json!("build it")));
    agent.close();
    assert_eq!(newest_turn(&profile, "talk").unwrap()["status"], "done");
}

#[test]
fn files_go_there_and_back_whatever_they_are_called() {
    let profile = Profile::new();
    let mut agent = Client::new(&profile, &[]);
    agent.run("mkdir -p here && cd here && printf 'a\\0b' > binary && printf 'old' > kept && chmod 750 kept && ln -s kept link");
    let long: String = (0..4000).map(|n| format!("line {n} é\n")).collect();
    for path in ["plain", "a 'b\" $(touch x) `y`\n;*", "-rf", "new/folder/é", "/workspace/absolute", "...", "~"] {
        let written = agent.does("write_file", json!({"path": path, "content": long}));
        assert_eq!((&written["created"], &written["bytes"]), (&json!(true), &json!(long.len())));
        let (mut line, mut read) = (json!(1), String::new());
        while !line.is_null() {
            let page = agent.does("read_file", json!({"path": path, "offset_line": line, "limit": 1500}));
            read.push_str(page["content"].as_str().unwrap());
            line = page["next_line"].clone();
        }
        assert!(read == long, "{path:?}");
    }
    assert_eq!(agent.run("ls | wc -l; pwd")["output"], "9\n/workspace/here\n", "nothing is left over or was run");

    assert_eq!(agent.does("write_file", json!({"path": "link", "content": "new"}))["created"], false);
    assert_eq!(agent.run("cat kept; stat -c ' %a' kept; readlink link")["output"], "new 750\nkept\n");
    agent.does("write_file", json!({"path": "kept", "content": ""}));
    assert_eq!(agent.run("stat -c '%a %s' kept")["output"], "750 0\n");
    assert_eq!(agent.does("read_file", json!({"path": "kept"}))["content"], "");

    let binary = agent.does("read_file", json!({"path": "binary"}));
    assert_eq!((&binary["binary"], &binary["size_bytes"], &binary["content"]), (&json!(true), &json!(3), &Value::Null));
    for (path, why) in
        [("nothing", "no such file"), ("new", "is a folder"), ("", "empty"), ("a\0b", "NUL"), ("/dev/zero", "device")]
    {
        assert!(agent.fails("read_file", json!({"path": path})).0.contains(why), "{path:?}");
    }
    assert!(agent.fails("write_file", json!({"path": "new", "content": ""})).0.contains("is a folder"));
    agent.close();
}

#[test]
fn the_screen_is_shared_with_the_person() {
    let profile = Profile::new();
    let mut agent = Client::new(&profile, &["--conversation", "talk"]);
    let session = agent.does("open_shared_screen", json!({}))["session"].as_str().unwrap().to_owned();
    agent.does("send_keys", json!({"text": "echo from-$((40+2))", "keys": ["Enter"]}));
    let see = ["session", "wait", &session, "--text", "from-42", "--timeout", "20"];
    assert_eq!(profile.run(&see).code, 0);
    assert_eq!(profile.run(&["session", "send-keys", &session, "echo by-$((40+3))", "Enter"]).code, 0);
    wait_for("what the person typed", || {
        let seen = agent.does("read_screen", json!({"history": true}));
        seen["text"].as_str().unwrap().contains("by-43").then_some(())
    });
    let line = agent.does("read_screen", json!({"first_line": 2, "limit": 1}));
    assert_eq!((&line["text"], &line["first_line"]), (&json!("from-42"), &json!(2)));
    agent.does("send_keys", json!({"text": "exit", "keys": ["Enter"]}));
    wait_for("another shell", || {
        let (failed, opened) = agent.call("open_shared_screen", json!({}));
        (!failed && opened["session"] != session.as_str()).then_some(())
    });
    assert!(agent.fails("send_keys", json!({"keys": []})).0.contains("nothing to type"));
    assert!(agent.fails("send_keys", json!({"keys": ["C-Entr"]})).1.contains("`Enter`"));
    agent.close();
}

#[test]
fn a_person_takes_over_and_the_agent_waits_until_it_is_given_back() {
    let profile = Profile::new();
    let mut client = Client::new(&profile, &[]);
    client.does("begin_turn", json!({"conversation": "c", "prompt": "make it pass"}));
    let taken = profile.run(&["--json", "env", "take-over", "c"]).json();
    assert!(taken["environment"]["taken_over_at"].is_string(), "{taken}");
    let (message, hint) = client.fails("send_keys", json!({"conversation": "c", "text": "rm -rf build"}));
    assert!(message.contains("a person has taken c over"), "{message}");
    assert!(hint.contains("try again later"), "{hint}");
    // Its command waits; what the person runs does not.
    let id = client
        .ask("tools/call", json!({"name": "run_command", "arguments": {"conversation": "c", "command": "cat kept"}}));
    wait_for("its command to wait", || {
        let turn = newest_turn(&profile, "c")?;
        (turn["commands"][0]["command"] == "cat kept").then_some(())
    });
    let mine = profile.run(&["exec", "c", "--", "sh", "-c", "echo of the person > /workspace/kept"]);
    assert_eq!(mine.code, 0);
    assert_eq!(newest_turn(&profile, "c").unwrap()["commands"][0]["ended"], Value::Null);
    assert_eq!(profile.run(&["env", "give-back", "c"]).code, 0);
    let answer = client.answer(id);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("of the person"), "{text}");
    let turn = newest_turn(&profile, "c").unwrap();
    assert!(turn["taken_over"][0]["until"].is_string(), "{turn}");
}

#[test]
fn what_is_wrong_is_named_and_the_server_goes_on() {
    let profile = Profile::new();
    let mut agent = Client::new(&profile, &[]);
    let listed = agent.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    for tool in tools {
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 40), "{tool}");
        let schema = &tool["inputSchema"];
        jsonschema::meta::validate(schema).unwrap();
        assert!(schema["properties"].as_object().unwrap().values().all(|one| one["description"].is_string()), "{tool}");
    }
    assert_eq!(tools.len(), 12);

    assert_eq!(agent.fails("run_commands", json!({})).1, "did you mean `run_command`?");
    assert_eq!(agent.fails("run_command", json!({"commands": "ls"})).1, "did you mean `command`?");
    assert!(agent.fails("run_command", json!({})).0.contains("`command` is missing"));
    assert_eq!(agent.fails("begin_turn", json!({"backend": "dockers"})).1, "did you mean `docker`?");
    assert!(agent.fails("begin_turn", json!({"mounts": ["x"]})).0.contains("mount `x`"));
    assert!(agent.fails("begin_turn", json!({"env_name": "e", "network": "none"})).1.contains("env_name without"));
    assert!(agent.fails("begin_turn", json!({"scope": "turn", "persistent": true})).0.contains("outlives turns"));
    assert!(agent.fails("begin_turn", json!({"env_name": "nothing"})).0.contains("nothing"));
    assert!(agent.fails("poll_command", json!({"call": "x"})).0.contains("no command `x`"));
    assert!(agent.fails("explain", json!({"environment": "nothing"})).0.contains("nothing"));
    assert!(agent.fails("run_command", json!({"command": "a\0b"})).0.contains("NUL"));
    assert!(agent.fails("run_command", json!({"command": "ls", "conversation": "a\nb"})).0.contains("conversation"));

    for line in ["garbage", "{", "[]", "\u{7f}\0", "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}"] {
        agent.write(line);
    }
    let list = agent.request("tools/call", json!({"name": "run_command", "arguments": ["ls"]}));
    assert!(list["error"]["message"].as_str().unwrap().contains("`arguments` as an object"), "{list}");
    assert!(agent.request("no/method", json!({}))["error"]["message"].as_str().unwrap().contains("no/method"));
    assert!(agent.request("ping", json!({}))["result"].is_object());
    assert_eq!(agent.run("echo on")["output"], "on\n");

    // The host goes, and comes again.
    assert_eq!(profile.run(&["shutdown"]).code, 0);
    assert_eq!(agent.run("echo again")["output"], "again\n");
    agent.close();

    let mut other = profile.command(&["mcp"]);
    let mut other = other.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(other.stdin.as_mut().unwrap(), "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .unwrap();
    assert_eq!(wait_for("its end", || other.try_wait().unwrap()).code(), Some(1));
    assert_eq!(profile.command(&["mcp"]).output().unwrap().status.code(), Some(0), "nobody spoke with it");
}

#[test]
fn a_cancelled_request_ends_its_command_and_nothing_else() {
    let profile = Profile::new();
    let mut agent = Client::new(&profile, &["--conversation", "talk"]);
    let sleep = endless(2);
    let call =
        json!({"name": "run_command", "arguments": {"command": format!("sleep {sleep}"), "timeout_seconds": 3600}});
    let id = agent.ask("tools/call", call);
    wait_for("the command", || runs(&sleep).then_some(()));
    assert_eq!(agent.run("echo beside")["output"], "beside\n", "one call does not wait for another");
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    wait_for("the end of the command", || (!runs(&sleep)).then_some(()));
    assert_eq!(agent.run("echo on")["output"], "on\n");
    assert_eq!(newest_turn(&profile, "talk").unwrap()["status"], "running");
    agent.close();
}

#[test]
fn turns_and_commands_end_with_the_connection_however_it_ends() {
    let profile = Profile::new();
    let _host = profile.serve();
    let ends: [(&str, End); 3] = [
        ("closed", |agent| agent.to = None),
        ("terminated", |agent| agent.signal(Signal::SIGTERM)),
        ("killed", |agent| agent.signal(Signal::SIGKILL)),
    ];
    for (n, (conversation, end)) in (10..).zip(ends) {
        let mut agent = Client::new(&profile, &["--conversation", conversation]);
        let (front, back) = (endless(n), endless(n + 10));
        agent.does("run_command", json!({"command": format!("sleep {back}"), "background": true}));
        agent.ask("tools/call", json!({"name": "run_command", "arguments": {"command": format!("sleep {front}")}}));
        wait_for("both commands", || (runs(&front) && runs(&back)).then_some(()));
        let turn = newest_turn(&profile, conversation).unwrap();
        assert_eq!((&turn["status"], turn["commands"].as_array().unwrap().len()), (&json!("running"), 2));
        end(&mut agent);
        let turn = wait_for("the end of the turn", || {
            newest_turn(&profile, conversation).filter(|turn| !turn["ended"].is_null())
        });
        assert_eq!(turn["status"], "interrupted", "{conversation}");
        wait_for("the end of the commands", || (!runs(&front) && !runs(&back)).then_some(()));
        wait_for("their exit codes", || {
            let turn = newest_turn(&profile, conversation)?;
            turn["commands"].as_array()?.iter().all(|command| !command["ended"].is_null()).then_some(())
        });
    }
    // A turn that somebody else began stays as it is.
    assert_eq!(profile.run(&["turn", "begin", "--conversation", "own"]).code, 0);
    let mut agent = Client::new(&profile, &["--conversation", "own"]);
    agent.run("true");
    agent.signal(Signal::SIGKILL);
    let mut last = Client::new(&profile, &["--conversation", "own"]);
    last.run("true");
    last.close();
    assert_eq!(newest_turn(&profile, "own").unwrap()["status"], "running");
}

#[test]
fn a_turn_ends_with_its_connection_also_after_a_host_that_died() {
    let profile = Profile::new();
    let mut agent = Client::new(&profile, &["--conversation", "talk"]);
    agent.run("true");
    let pid = profile.run(&["--json", "status"]).json()["pid"].as_i64().unwrap();
    let id = agent.ask("tools/call", json!({"name": "run_command", "arguments": {"command": "sleep 3600"}}));
    wait_for("the command", || newest_turn(&profile, "talk")?["commands"].get(1).is_some().then_some(()));
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap();
    let cut = agent.answer(id)["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(cut.contains("lost the connection to the host"), "{cut}");
    assert_eq!(agent.run("echo on")["output"], "on\n");
    agent.signal(Signal::SIGKILL);
    let turn =
        wait_for("the end of the turn", || newest_turn(&profile, "talk").filter(|turn| !turn["ended"].is_null()));
    assert_eq!((&turn["status"], &turn["number"]), (&json!("interrupted"), &json!(2)));
}

#[test]
fn rules_of_the_configuration_place_it_by_its_client_its_folder_and_its_kind() {
    let profile = Profile::new();
    fs::create_dir(profile.path().join("config")).unwrap();
    let folder = std::env::current_dir().unwrap().display().to_string();
    let text = format!(
        "[[rule]]\nkind = \"cron\"\nidle = 7\n\
         [[rule]]\nsource = \"a test\"\ncwd = {folder:?}\nenv_name = \"tests\"\npersistence = \"ephemeral\"\n"
    );
    fs::write(profile.path().join("config/config.toml"), text).unwrap();
    let mut client = Client::new(&profile, &[]);
    client.run("true");
    let list = client.does("list_environments", json!({}));
    let env = &list["environments"][0];
    assert_eq!(
        (&env["name"], &env["persistence"], &env["scope"]),
        (&json!("tests"), &json!("ephemeral"), &json!("shared"))
    );
    let begun = client.does("begin_turn", json!({"conversation": "nightly", "kind": "cron"}));
    assert_eq!(begun["rule"], "rule 1 (kind = \"cron\")");
    client.close();
}
