#!/usr/bin/env python3
"""How true to xterm a pane is: runs esctest2 in it and counts what passed, by class of tests.

usage: esctest.py --esctest DIR [--tmux] [--failed] [--include REGEX] [--program PATH]

DIR is a checkout of ThomasDickey/esctest2, which is read and nothing else. Cells are read with DECRQCRA, which the setting
`terminal.checksums` allows; in tmux with `capture-pane`. The terminal is reset between the tests. --failed names what failed and why.
"""
import argparse, collections, json, os, runpy, subprocess, sys, tempfile, time

SIZE = (25, 80)


def inside(esctest, results, by_capture, include):
    """Runs the tests in the terminal that this process is in."""
    sys.path.insert(0, f"{esctest}/esctest")
    os.chdir(f"{esctest}/esctest")
    sys.dont_write_bytecode = True
    # In this order: the modules import one another.
    import escargs, esctypes, esccmd, escio, esclog, escutil
    outcomes, current = {}, None

    def swallow(end):
        """Reads up to this answer: whatever an earlier test left behind goes with it."""
        seen = ""
        while not seen.endswith(end):
            seen += escio.read(1)

    def note(text):
        nonlocal current
        if text.startswith("Run test: "):
            current = text[len("Run test: "):]
            escio.Write("\x1b\\\x1bc\x1b[5n")
            swallow("\x1b[0n")
        elif text.startswith("Passed."):
            outcomes[current] = "passed"
        elif text.startswith(("Fails as expected", "Skipped")):
            outcomes[current] = "known"

    def fail(text):
        outcomes.setdefault(current, "failed")
        with open(f"{results}/log", "a") as log:
            log.write(text + "\n")

    def captured(rect):
        """The sum of cells as tmux shows them."""
        escio.Write("\x1b[5n")
        swallow("\x1b[0n")
        text = subprocess.run(["tmux", "capture-pane", "-p", "-N"], capture_output=True, text=True).stdout
        rows = text.split("\n")[rect.top() - 1 : rect.bottom()]
        return sum(ord(c) for row in rows for c in row.ljust(SIZE[1])[rect.left() - 1 : rect.right()])

    esclog.LogInfo, esclog.LogError, esclog.LogDebug = note, fail, lambda text: None
    for module in (escutil, escio, esccmd):
        module.LogDebug = esclog.LogDebug
        module.LogInfo = esclog.LogInfo
    if by_capture:
        escutil.GetChecksumOfRect = captured
    sys.argv = ["esctest.py", "--expected-terminal=xterm", "--max-vt-level=4", "--xterm-checksum=334",
                "--xterm-reverse-wrap=383", "--timeout=0.3",
                "--no-print-logs", f"--logfile={results}/esctest.log", f"--include={include}"]
    runpy.run_path("esctest.py", run_name="__main__")
    with open(f"{results}/outcomes.part", "w") as file:
        json.dump(outcomes, file)
    os.rename(f"{results}/outcomes.part", f"{results}/outcomes.json")


def table(outcomes):
    classes = collections.defaultdict(collections.Counter)
    for name, outcome in outcomes.items():
        classes[name.split(".")[0]][outcome] += 1
    classes["all"] = collections.Counter(outcomes.values())
    for name, counts in classes.items():
        print(f"{name:32} {counts['passed']:4} passed {counts['known']:4} known {counts['failed']:4} failed")


def wait(screen, file):
    """Until the tests are through: at most ten minutes."""
    end = time.monotonic() + 600
    while not os.path.exists(file):
        screen.read(0.5)
        if time.monotonic() > end:
            sys.exit(f"the tests did not end; the screen: {screen.seen[-2000:]!r}")


def main():
    if sys.argv[1:2] == ["--inside"]:
        return inside(*sys.argv[2:4], sys.argv[4] == "tmux", sys.argv[5])
    from bench import HERE, PROGRAM, Profile, Tmux

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--esctest", required=True)
    options.add_argument("--tmux", action="store_true")
    options.add_argument("--failed", action="store_true")
    options.add_argument("--include", default=".*")
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    esctest = os.path.abspath(options.esctest)
    with tempfile.TemporaryDirectory(prefix="htui-esctest-") as home:
        results = f"{home}/results"
        os.mkdir(results)
        file = f"{results}/outcomes.json"
        if options.tmux:
            tmux = Tmux(home)
            command = f"python3 {HERE}/esctest.py --inside {esctest} {results} tmux '{options.include}'"
            screen = tmux.screen("-u", "new-session", command + "; cat", size=(SIZE[0] + 1, SIZE[1]))
            try:
                wait(screen, file)
            finally:
                tmux.end(screen)
        else:
            profile = Profile(options.program, home, HTUI_TERMINAL_CHECKSUMS="true")
            mounts = [f"{HERE}:/benches:ro", f"{esctest}:/esctest:ro", f"{results}:/results"]
            profile.run("env", "new", "box", "--persistent", "--idle", "0", *(x for m in mounts for x in ("--mount", m)))
            screen = profile.client("attach", "box", size=SIZE)
            try:
                screen.keys(f"python3 /benches/esctest.py --inside /esctest /results none '{options.include}'\r".encode())
                wait(screen, file)
            finally:
                # It may have ended already, with its last session.
                subprocess.run([profile.program, "shutdown"], env=profile.env, capture_output=True)
                screen.wait(10)
        with open(file) as outcomes:
            table(json.load(outcomes))
        if options.failed and os.path.exists(f"{results}/log"):
            print(open(f"{results}/log").read())


main()
