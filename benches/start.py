#!/usr/bin/env python3
"""From the start of the program until its first screen: hermes-tui and tmux, with and without a server that runs.

usage: start.py [--rounds N] [--program PATH]

With a server: a client shows a shell that is there already, until its prompt. Without: hermes-tui until its welcome, tmux
until the prompt of its first shell. The two take turns.
"""
import argparse, os, tempfile, time
from bench import PROGRAM, Profile, Tmux, median, percentile, text


def first(terminal, *words):
    """Milliseconds until one of these stands on the screen."""
    began, shown = time.perf_counter(), b""
    while not any(word in text(shown) for word in words):
        shown += terminal.read(0.5)
        if time.perf_counter() - began > 20:
            raise SystemExit(f"never showed {words}, but {shown[-1000:]!r}")
    return 1000 * (time.perf_counter() - began)


def leave(terminal, keys):
    terminal.keys(keys)
    terminal.wait(10)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    running = {"hermes-tui": [], "tmux": []}
    fresh = {"hermes-tui": [], "tmux": []}
    with tempfile.TemporaryDirectory(prefix="htui-start-") as home:
        profile, tmux = Profile(options.program, home), Tmux(home)
        for _ in range(options.rounds):
            screen = profile.client()
            fresh["hermes-tui"].append(first(screen, b"sandbox"))
            profile.end(screen)
            screen = tmux.screen("new-session", "bash", "--norc")
            fresh["tmux"].append(first(screen, b"$ "))
            tmux.end(screen)
        profile.run("env", "new", "box", "--persistent", "--idle", "0")
        screen = profile.client("open", "box")
        first(screen, b"workspace#", b"workspace$")
        leave(screen, b"\x02d")
        screen = tmux.screen("new-session", "bash", "--norc")
        first(screen, b"$ ")
        leave(screen, b"\x02d")
        for _ in range(options.rounds):
            screen = profile.client()
            running["hermes-tui"].append(first(screen, b"workspace#", b"workspace$"))
            leave(screen, b"\x02d")
            screen = tmux.screen("attach")
            running["tmux"].append(first(screen, b"$ "))
            leave(screen, b"\x02d")
        profile.run("shutdown")
        tmux.run("kill-server")
    for what, times in [("host running", running), ("host not running", fresh)]:
        for name, all in times.items():
            print(f"{what}: {name} median {median(all):.0f} ms, 90 % within {percentile(all, 90):.0f} ms")
        print(f"{what}: ratio of the medians {median(times['hermes-tui']) / median(times['tmux']):.2f}")


main()
