#!/usr/bin/env python3
"""How fast a pane takes output: seconds until the end of `cat FILE` stands on the screen, in hermes-tui and in tmux.

usage: throughput.py [--mib N] [--rounds N] [--program PATH]

Four kinds of output: plain text, a colour for each character, text of many scripts, and motions of the cursor. Both show it in
one pane of 120x40, with host and client in processes of their own. They take turns with a bare PTY, from which somebody only
reads: what the output costs where nobody shows it.
"""
import argparse, os, random, select, tempfile, time
from bench import PROGRAM, Profile, Terminal, Tmux, median, text


def inputs(folder, mib):
    """Files of so many MiB, by kind. The same in each run."""
    chance = random.Random(7)
    words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(500)]
    printable = lambda: chance.randrange(33, 126)
    colour = lambda: b"\x1b[38;2;%d;%d;%dm%c" % (*(chance.randrange(256) for _ in range(3)), printable())
    scripts = "日本語テキスト混在 naïve café Ελληνικά кириллица 한국어 🚀✅ "
    kinds = {
        "text": b"".join(b" ".join(chance.choices(words, k=14))[:110] + b"\n" for _ in range(4000)),
        "colours": b"".join(b"".join(colour() for _ in range(100)) + b"\x1b[0m\n" for _ in range(400)),
        "scripts": (scripts * 2 + "\n").encode() * 2000,
        "cursor": b"".join(b"\x1b[%d;%dH%c" % (chance.randint(1, 38), chance.randint(1, 100), printable()) for _ in range(60000)),
    }
    for kind, block in kinds.items():
        with open(f"{folder}/{kind}", "wb") as file:
            while file.tell() < mib << 20:
                file.write(block)
            file.write(b"\x1b[0m\n")
    return list(kinds)


def show(terminal, file, mark):
    """Seconds until all of it was taken in and what comes after it is on the screen."""
    terminal.keys(b"clear\r")
    terminal.quiet(0.3)
    began, shown = time.perf_counter(), b""
    # A character that never stood anywhere before is sent whatever stood in its place.
    end = chr(0xAC00 + mark).encode()
    octal = "".join(f"\\{byte:o}" for byte in end)
    terminal.keys(f"cat {file}; clear; printf '{octal}\\n'\r".encode())
    while end not in text(shown):
        shown = (shown + terminal.read(0.5))[-100000:]
        if time.perf_counter() - began > 240:
            raise SystemExit(f"{file}: the end was never shown, but {shown[-500:]!r}")
    return time.perf_counter() - began


def drain(terminal, file):
    """Seconds until all of it was read."""
    terminal.quiet(0.1)
    began, tail = time.perf_counter(), b""
    terminal.keys(f"cat {file}; printf 'all \\007read'\r".encode())
    while b"all \x07read" not in tail:
        select.select([terminal.fd], [], [])
        tail = tail[-64:] + os.read(terminal.fd, 1 << 20)
    return time.perf_counter() - began


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mib", type=int, default=20)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-throughput-") as home:
        files = f"{home}/files"
        os.mkdir(files)
        kinds = inputs(files, options.mib)
        profile, tmux = Profile(options.program, home), Tmux(home)
        profile.run("env", "new", "box", "--persistent", "--idle", "0", "--mount", f"{files}:/files:ro")
        ours = profile.client("open", "box")
        ours.until(b"workspace")
        # Both panes have the whole width.
        ours.keys(b"\x02z")
        theirs = tmux.screen("new-session", "bash", "--norc")
        theirs.until(b"$ ")
        bare = Terminal(["bash", "--norc"], tmux.env)
        bare.until(b"$ ")
        times, mark = {}, 0
        try:
            for _ in range(options.rounds):
                for kind in kinds:
                    mark += 1
                    times.setdefault(("hermes-tui", kind), []).append(show(ours, f"/files/{kind}", mark))
                    times.setdefault(("tmux", kind), []).append(show(theirs, f"{files}/{kind}", mark))
                    times.setdefault(("bare", kind), []).append(drain(bare, f"{files}/{kind}"))
        finally:
            os.close(bare.fd)
            tmux.end(theirs)
            profile.end(ours)
        for kind in kinds:
            a, b, c = (median(times[which, kind]) for which in ("hermes-tui", "tmux", "bare"))
            print(f"{kind}: hermes-tui {a:.2f} s, tmux {b:.2f} s: {b / a:.1f} times as fast; a bare PTY {c:.2f} s: {b / c:.1f}")


main()
