#!/usr/bin/env python3
"""Typing beside loud panes: two print without end, and a third gives back what is typed.

usage: loud.py [--seconds N] [--program PATH]

Prints how long a key takes until its letter is on the screen, in hermes-tui and in tmux with the same three panes, half
of the time each; and the memory of hermes-tui's host at the beginning of its time and at the end.
"""
import argparse, json, re, tempfile, time
from bench import PROGRAM, Profile, Tmux, echo, median, percentile

# Neither of the loud ones prints these.
SIGNS = b"@%&~^"
LOUD = [b"yes\r", b"base64 -w0 /dev/urandom\r"]


def fill(screen):
    """Two loud panes and `cat` in a third, from one with a shell at its prompt."""
    for program, split in zip(LOUD, [b"\x02%", b'\x02"']):
        screen.keys(program)
        screen.quiet(0.5)
        screen.keys(split)
        screen.quiet(1.5)
    screen.keys(b"cat\r")
    screen.quiet(1)


def typed(screen, seconds):
    times, until, i = [], time.monotonic() + seconds, 0
    while time.monotonic() < until:
        times.append(echo(screen, SIGNS[i % len(SIGNS) : i % len(SIGNS) + 1], patience=20))
        i += 1
        if i % 20 == 0:
            screen.keys(b"\r")
        pause = time.monotonic() + 0.05
        while (left := pause - time.monotonic()) > 0:
            screen.read(left)
    return times


def memory(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"^VmRSS:\s+(\d+)", status.read(), re.M).group(1)) / 1024


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-loud-") as home:
        profile, tmux = Profile(options.program, home), Tmux(home)
        screen = tmux.screen("new-session", "bash", "--norc")
        screen.until(b"$ ")
        fill(screen)
        theirs = typed(screen, options.seconds / 2)
        tmux.end(screen)
        profile.run("env", "new", "box", "--persistent", "--idle", "0")
        screen = profile.client("open", "box")
        screen.until(b"workspace")
        fill(screen)
        host = json.loads(profile.run("--json", "status"))["pid"]
        before = memory(host)
        ours = typed(screen, options.seconds / 2)
        after = memory(host)
        profile.end(screen)
    for name, all in [("hermes-tui", ours), ("tmux", theirs)]:
        print(f"{name}: p50 {median(all):.1f} ms, p99 {percentile(all, 99):.1f} ms, {len(all)} keys")
    print(f"memory of the host: {before:.0f} MiB, {after:.0f} MiB after {options.seconds / 2:.0f} s")


main()
