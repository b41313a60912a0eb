#!/usr/bin/env python3
"""One message of a hermes-agent to `hermes-tui hook`, from the start of the process until it has ended.

usage: hook.py [--rounds N] [--megabytes N] [--waiting N] [--program PATH]

The message ends a turn and carries a conversation of so many megabytes. Two programs of the system take turns with it:
`true`, which reads nothing, and `cat`, which reads the same message. The queue holds what the rounds put into it, and
`--waiting` events beside.
"""
import argparse, json, os, subprocess, tempfile, time
from bench import PROGRAM, median, percentile


def message(size):
    said = 'He said "go on",\n\u2014 and so \\ did it, 0123456789 times. ' * 15
    history = [{"role": "user" if number % 2 else "assistant", "content": said} for number in range(size // len(json.dumps(said)))]
    extra = {"task_id": "s", "turn_id": "s:s:01234567", "completed": True, "conversation_history": history}
    extra |= {"interrupted": False, "model": "m", "platform": "cli", "sender_id": ""}
    whole = {"hook_event_name": "on_session_end", "tool_name": None, "tool_input": None, "session_id": "s", "cwd": "/", "extra": extra}
    return json.dumps(whole, ensure_ascii=False).encode()


def once(argv, text, env):
    """Milliseconds."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, bufsize=0)
    try:
        left = memoryview(text)
        while left:
            left = left[process.stdin.write(left):]
        process.stdin.close()
    except BrokenPipeError:
        pass
    code = process.wait()
    took = 1000 * (time.perf_counter() - began)
    if code:
        raise SystemExit(f"{argv}: {code}")
    return took


def fill(queue, count):
    """Links to the first event, under names that sort before it."""
    first = os.listdir(queue)[0]
    rest = first.split("-", 1)[1]
    for number in range(count):
        os.link(f"{queue}/{first}", f"{queue}/{number:020}-{rest}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=1000)
    options.add_argument("--megabytes", type=float, default=5)
    options.add_argument("--waiting", type=int, default=0)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    text = message(int(1_000_000 * options.megabytes))
    with tempfile.TemporaryDirectory(prefix="htui-hook-") as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "HTUI_HOME": home}
        program, queue = os.path.abspath(options.program), f"{home}/data/hooks"
        kinds = {
            "true": (["true"], b""),
            "cat": (["cat"], text),
            "hermes-tui hook": ([program, "hook"], text),
            "hermes-tui hook, a short message": ([program, "hook"], message(0)),
        }
        once(*kinds["hermes-tui hook"], env)
        fill(queue, options.waiting)
        before, times = len(os.listdir(queue)), {name: [] for name in kinds}
        for _ in range(options.rounds):
            for name, (argv, given) in kinds.items():
                times[name].append(once(argv, given, env))
        print(f"{options.rounds} messages of {len(text) / 1e6:.1f} MB, and as many short ones; {before} events waited at first")
        for name, all in times.items():
            print(f"{name}: p50 {median(all):.1f} ms, p99 {percentile(all, 99):.1f} ms, longest {max(all):.1f} ms")
        after = len(os.listdir(queue))
        print(f"events in the queue at the end: {after}")


main()
