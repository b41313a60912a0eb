#!/usr/bin/env python3
"""Conversations of a hermes-agent that has written very many messages: until they are shown, and until a new turn is.

usage: state_db.py --python PATH [--messages N] [--rounds N] [--program PATH]

The messages are written by the agent's own `hermes_state` module, of which --python is the interpreter (the tests keep one
in target/tmp/hermes-agent==0.19.0/bin/python). First view: from the start of a host until it lists the newest
conversation with its turns; the start of a host on a home without conversations, in turn with it, is what is taken off.
Update: from the message's commit in the agent's process until the event of its turn has come over the socket.
"""
import argparse, json, os, socket, subprocess, sys, tempfile, time
from bench import PROGRAM, median, percentile

WRITE = r'''
import json, os, sqlite3, sys, time
from pathlib import Path
from hermes_state import SessionDB
home, count = Path(os.environ["HERMES_HOME"]), int(sys.argv[1])
db = SessionDB(home / "state.db")
sessions = int(sys.argv[2])
# The module commits each message by itself; in bulk, its rows are copied.
db.create_session("s0", "cli", cwd="/work")
def turn(session, number):
    call = [{"id": f"{session}.{number}", "type": "function", "function": {"name": "terminal", "arguments": json.dumps({"command": f"cargo test {number}"})}}]
    db.append_message(session, "user", f"make test {number} pass")
    db.append_message(session, "assistant", "", tool_calls=call)
    db.append_message(session, "tool", json.dumps({"output": "ok\n" * 20, "exit_code": number % 3 and 1, "error": None}), tool_call_id=f"{session}.{number}", tool_name="terminal")
    db.append_message(session, "assistant", "it passes now")
for number in range(25): turn("s0", number)
for index in range(1, sessions): db.create_session(f"s{index}", "cli", cwd="/work")
other = sqlite3.connect(home / "state.db", isolation_level=None)
columns = [row[1] for row in other.execute("PRAGMA table_info(messages)") if row[1] not in ("id", "session_id")]
names = ", ".join(columns)
other.execute("BEGIN")
written = 100
while written < count:
    for index in range(sessions):
        other.execute(f"INSERT INTO messages (session_id, {names}) SELECT 's{index}', {names} FROM messages WHERE session_id = 's0' ORDER BY id LIMIT 100")
        written += 100
other.execute("COMMIT")
other.execute("UPDATE sessions SET message_count = (SELECT count(*) FROM messages WHERE session_id = sessions.id)")
print(other.execute("SELECT count(*) FROM messages").fetchone()[0], flush=True)
other.close()
for line in sys.stdin:
    if line.startswith("end"):
        db.append_message(f"s{sessions - 1}", "assistant", "done")
        continue
    db.append_message(f"s{sessions - 1}", "user", f"turn {line.strip()}")
    print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
'''


class Host:
    def __init__(self, program, home, hermes):
        self.env = {"PATH": os.environ["PATH"], "HOME": home, "HTUI_HOME": home, "HERMES_HOME": hermes, "DOCKER_HOST": "unix:///nowhere"}
        self.program, self.path = os.path.abspath(program), f"{home}/run/host.sock"
        self.process = subprocess.Popen([self.program, "serve"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.link = self.connect()

    def connect(self):
        while True:
            try:
                link = socket.socket(socket.AF_UNIX)
                link.connect(self.path)
                break
            except OSError:
                link.close()
                time.sleep(0.001)
        self.lines, self.number = link.makefile("rb"), 0
        self.socket = link
        self.ask("hello", {"protocol": 1})
        return link

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = json.loads(self.lines.readline())
            if answer.get("id") == self.number:
                return answer

    def until_shown(self, conversation):
        """Milliseconds since the start."""
        while not self.ask("turn.list", {"conversation": conversation}).get("result", {}).get("turns"):
            time.sleep(0.001)
        return 1000 * (time.clock_gettime(time.CLOCK_MONOTONIC) - self.began)

    def event(self, text):
        while True:
            event = json.loads(self.lines.readline())
            if text in json.dumps(event):
                return time.clock_gettime(time.CLOCK_MONOTONIC)

    def end(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", required=True)
    options.add_argument("--messages", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-state-") as home:
        large, small = f"{home}/large", f"{home}/small"
        os.makedirs(large), os.makedirs(small)
        env = {"PATH": os.environ["PATH"], "HOME": home}
        def agent(hermes, count, sessions):
            process = subprocess.Popen([options.python, "-c", WRITE, str(count), str(sessions)], env=env | {"HERMES_HOME": hermes}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            return process, process.stdout.readline().strip()
        writer, written = agent(large, options.messages, 40)
        one, few = agent(small, 100, 1)
        print(f"{written} messages in 40 conversations, {os.path.getsize(large + '/state.db') / 1e6:.0f} MB; beside it {few} in one")
        views = {"large": [], "large, and the oldest, too": [], "small": []}
        for round in range(options.rounds):
            for name, hermes, newest in (("large", large, "s39"), ("small", small, "s0")):
                host = Host(options.program, f"{home}/{name}{round}", hermes)
                views[name].append(host.until_shown(newest))
                if name == "large":
                    views["large, and the oldest, too"].append(host.until_shown("s0"))
                host.end()
        for name, all in views.items():
            print(f"start of a host until the newest conversation is there, {name}: median {median(all):.0f} ms, longest {max(all):.0f} ms")
        print(f"first view beyond the start of a host: {median(views['large']) - median(views['small']):.0f} ms")
        host = Host(options.program, f"{home}/updates", large)
        host.until_shown("s39")
        time.sleep(1)
        host.ask("events.subscribe", {})
        times = []
        for round in range(options.rounds):
            writer.stdin.write(f"{round}\n")
            writer.stdin.flush()
            committed = float(writer.stdout.readline())
            times.append(1000 * (host.event("turn.began") - committed))
            writer.stdin.write("end\n")
            writer.stdin.flush()
            host.event("turn.ended")
        host.end()
        print(f"from the commit of a message to the event of its turn: p50 {median(times):.0f} ms, longest {max(times):.0f} ms")
        for process in (writer, one):
            process.stdin.close()
            process.wait()


main()
