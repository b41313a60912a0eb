#!/usr/bin/env python3
"""From a key until its letter is on the screen: through hermes-tui, through tmux, through a host and a client that do
nothing but hand on bytes (relay.c), and through a bare PTY.

usage: latency.py [--keys N] [--program PATH]

Each types into `cat` in a shell of its own: hermes-tui's in a local sandbox, with host and client in processes of their
own as tmux has them. They take turns, key by key.
"""
import argparse, os, subprocess, tempfile, time
from bench import HERE, PROGRAM, Profile, Terminal, Tmux, echo, median, percentile

LETTERS = b"qwzxjkvQWZXJKV"


def empty(folder, env):
    """A shell behind a host and a client that do nothing."""
    relay, socket = f"{folder}/relay", f"{folder}/relay.sock"
    subprocess.run(["cc", "-O2", f"{HERE}/relay.c", "-o", relay, "-lutil"], check=True)
    host = subprocess.Popen([relay, "host", socket, "bash", "--norc"], env=env)
    return host, Terminal([relay, "client", socket], env)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--keys", type=int, default=500)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-latency-") as home:
        profile, tmux = Profile(options.program, home), Tmux(home)
        profile.run("env", "new", "box", "--persistent", "--idle", "0")
        ours = profile.client("open", "box")
        ours.until(b"workspace")
        theirs = tmux.screen("new-session", "bash", "--norc")
        theirs.until(b"$ ")
        bare = Terminal(["bash", "--norc"], tmux.env)
        bare.until(b"$ ")
        host, relay = empty(home, tmux.env)
        relay.until(b"$ ")
        times = {"hermes-tui": (ours, []), "tmux": (theirs, []), "an empty relay": (relay, []), "bare PTY": (bare, [])}
        try:
            for terminal, _ in times.values():
                terminal.keys(b"cat\r")
                terminal.quiet(0.5)
            for i in range(options.keys):
                letter = LETTERS[i % len(LETTERS) : i % len(LETTERS) + 1]
                for terminal, all in times.values():
                    # Nobody types in step with a clock.
                    terminal.read(0.004 + i % 7 * 0.003)
                    all.append(echo(terminal, letter))
                    if i % 60 == 59:
                        terminal.keys(b"\r")
                        terminal.quiet(0.1)
            for what, (_, all) in times.items():
                print(f"{what}: p50 {median(all):.2f} ms, p99 {percentile(all, 99):.2f} ms")
            p50 = {what: median(all) for what, (_, all) in times.items()}
            p99 = {what: percentile(all, 99) for what, (_, all) in times.items()}
            print(f"hermes-tui to tmux: p50 {p50['hermes-tui'] / p50['tmux']:.2f}, p99 {p99['hermes-tui'] / p99['tmux']:.2f}")
            print(f"an empty relay to tmux: p50 {p50['an empty relay'] / p50['tmux']:.2f}, p99 {p99['an empty relay'] / p99['tmux']:.2f}")
            print(f"hermes-tui over a bare PTY at p50: {p50['hermes-tui'] - p50['bare PTY']:.2f} ms")
        finally:
            tmux.end(theirs)
            os.close(bare.fd)
            os.close(relay.fd)
            host.wait()
            profile.end(ours)


main()
