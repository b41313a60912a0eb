#!/usr/bin/env python3
"""Records programs for tests/term/golden.rs, and has tmux judge what is expected there.

    record.py record [NAME...]     runs the programs of the table below in a terminal of their own, at two sizes
    record.py judge [NAME...]      plays every recording to tmux and says where its screen differs from the expected one

A recording is a file of steps, one JSON list in a line; each character of an output is one byte:

    ["size", 24, 80]   ["output", "..."]   ["resize", 40, 120]   ["screen", "opened"]

It needs root (for a process list of its own) and vim, nano, htop, fzf, dialog, less, git and tmux. Programs run with an
empty home, fixed files and fixed dates. Nothing is answered to them but fixed device attributes. Time is only waited for
here: a step is over when the program has been quiet for a while.

What tmux shows is another opinion, not the law: where the size changes under a full-screen program, it may afterwards show
lines of that program above those that were there before (fzf and less-resized, "left").
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

GOLDEN = pathlib.Path(__file__).parent / "golden"
SIZES = [((24, 80), (40, 120)), ((12, 40), (24, 80))]
QUIET = 0.6
ANSWERS = {
    b"\x1b[c": b"\x1b[?6c",
    b"\x1b[0c": b"\x1b[?6c",
    b"\x1b[>c": b"\x1b[>0;0;0c",
    b"\x1b[5n": b"\x1b[0n",
}

LINES = str.maketrans("`afgijklmnopqrstuvwxyz{|}~", "◆▒°±␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

TEXT = "".join(f"line {n:03} {'abcdefghij' * (1 + n % 9)} é 日本 end\n" for n in range(1, 121))
SOURCE = "".join(f"/* part {n} */\nint f{n}(int x) {{\n\treturn x + {n}; // \"{n}\"\n}}\n" for n in range(30))
BAR = r"""
i=0
size() { cols=$(stty size </dev/tty); cols=${cols#* }; }
draw() { w=$((cols - 12)); n=$((w * i / 10)); printf '\r\033[K%3d%% [' $((i * 10)); j=0
  while [ $j -lt $w ]; do if [ $j -lt $n ]; then printf '#'; else printf ' '; fi; j=$((j + 1)); done; printf '] ok'; }
trap 'size; draw' WINCH
size; printf 'first line\n'
while [ $i -le 10 ]; do draw; until IFS= read -r key; do :; done; i=$((i + 2)); printf '\033[A'; done
printf '\n\033[32mdone\033[0m\n'
"""
HTOPRC = """htop_version=3.2.2
config_reader_min_version=3
fields=0 17 18 2 1
hide_kernel_threads=1
tree_view=0
header_margin=0
detailed_cpu_time=0
color_scheme=0
enable_mouse=1
delay=15
header_layout=one_100
column_meters_0=Tasks
column_meter_modes_0=2
screen:Main=PID PRIORITY NICE STATE Command
.sort_key=PID
.tree_sort_key=PID
.tree_view=0
.sort_direction=1
.all_branches_collapsed=0
"""
TMUX = """set -g status-left '[inner] '
set -g status-right 'right'
set -g default-shell /bin/sh
set -g default-command 'PS1="$ " exec sh'
set -g automatic-rename off
set -g set-titles off
set -g escape-time 0
"""

RESIZE = "RESIZE"
ESC = "\x1b"

# Name: command, and steps: keys to type and the name of the screen that they lead to; RESIZE takes the second size.
PROGRAMS = {
    "vim": (
        "vim -u NONE -N -i NONE --cmd 'syntax on' --cmd 'set ruler laststatus=2' source.c",
        [("", "opened"), ("3\x06", "paged"), ("/f12\r", "found"), (":split\r", "split"), (RESIZE, "resized"),
         ("ione more" + ESC, "typed"), (":qa!\r", "left")],
    ),
    "nano": (
        "nano --ignorercfiles notes.txt",
        [("", "opened"), ("\x16\x16", "paged"), ("new \xc3\xa9 text", "typed"), (RESIZE, "resized"), ("\x18", "asked"), ("n", "left")],
    ),
    "less-resized": (
        "less -R notes.txt",
        [("", "opened"), ("  ", "paged"), ("/line 05\r", "found"), (RESIZE, "resized"), ("G", "end"), ("q", "left")],
    ),
    "htop": (
        "unshare -fp --mount-proc sh -c 'sleep 1000 & sleep 1001 & sleep 1002 & exec htop'",
        [("", "opened"), (ESC + "OB", "down"), (RESIZE, "resized"), ("\x08", "help"), ("q", "back"), ("q", "left")],
    ),
    "tmux-inside": (
        "tmux -L golden -f tmux.conf new-session -s inner -n shell",
        [("", "opened"), ("echo h\xc3\xa9llo; seq 30\r", "shell"), ("\x02%", "split"), ("\x02\"", "split-again"), (RESIZE, "resized"),
         ("\x02[\x02b\x1b[A", "copy-mode"), ("q\x02:kill-server\r", "left")],
    ),
    "git-log": (
        "git -c core.pager='less -R' -c color.ui=always log --graph --stat --decorate=short",
        [("", "opened"), (" ", "paged"), (RESIZE, "resized"), ("g", "top"), ("q", "left")],
    ),
    "progress-resized": (
        "sh bar.sh",
        [("", "begun"), ("\r", "20"), ("\r", "40"), (RESIZE, "resized"), ("\r", "60"), ("\r\r\r", "done")],
    ),
    "fzf": (
        "fzf --color=16 < names.txt",
        [("", "opened"), ("sr", "typed"), (ESC + "[A", "up"), (RESIZE, "resized"), ("\r", "left")],
    ),
    "dialog": (
        "dialog --title 'Golden' --menu 'Choose one' 10 34 4 1 first 2 second 3 third 4 fourth",
        [("", "opened"), (ESC + "OB", "down"), (RESIZE, "resized"), (ESC + "OB", "third")],
    ),
}


def prepare(folder):
    """Fixed files, and a repository with fixed people and dates."""
    (folder / "notes.txt").write_text(TEXT)
    (folder / "source.c").write_text(SOURCE)
    (folder / "bar.sh").write_text(BAR)
    (folder / "htoprc").write_text(HTOPRC)
    (folder / "tmux.conf").write_text(TMUX)
    (folder / "names.txt").write_text("".join(f"src/{a}/{b}.rs\n" for a in ("app", "ui", "term") for b in ("one", "two", "é", "日本")))
    home = folder / "home"
    home.mkdir()
    (folder / "tmp").mkdir()
    env = {
        "HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8", "PS1": "$ ", "TZ": "UTC", "HTOPRC": str(folder / "htoprc"), "TMUX_TMPDIR": str(folder / "tmp"),
        "GIT_CONFIG_NOSYSTEM": "1", "SHELL": "/bin/sh", "LESSHISTFILE": "-",
    }
    who = {"NAME": "A U Thor", "EMAIL": "author@example.org"}
    for n in range(8):
        date = f"2020-01-0{n + 1}T12:00:00Z"
        fixed = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in {**who, "DATE": date}.items()}
        (folder / f"file{n}.txt").write_text("x\n" * (n + 1))
        git = ["git", "-c", "init.defaultBranch=main"]
        if n == 0:
            subprocess.run([*git, "init", "-q"], cwd=folder, env=env, check=True)
        subprocess.run([*git, "add", f"file{n}.txt"], cwd=folder, env=env, check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"change {n}: é 日本"], cwd=folder, env={**env, **fixed}, check=True)
    return env


def set_size(fd, size):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


def until_quiet(fd, quiet=QUIET):
    """What comes until nothing has come for a while; None once all is over."""
    out = b""
    over = False
    while select.select([fd], [], [], quiet)[0]:
        try:
            part = os.read(fd, 65536)
        except OSError:
            part = b""
        if not part:
            over = True
            break
        out += part
        for query, answer in ANSWERS.items():
            if query in part:
                os.write(fd, answer)
    return out, over


def record(name, first, second):
    command, script = PROGRAMS[name]
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        folder = pathlib.Path(folder)
        env = prepare(folder)
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            set_size(0, first)
            os.execve("/bin/sh", ["sh", "-c", f"echo before; {command}; echo after"], env)
        steps = [["size", *first]]
        for keys, screen in script:
            if keys == RESIZE:
                steps.append(["resize", *second])
                set_size(fd, second)
            elif keys:
                os.write(fd, keys.encode("latin-1"))
            out, over = until_quiet(fd, 2 * QUIET if not keys else QUIET)
            out = out.replace(str(folder).encode(), b"/golden")
            steps += [["output", out.decode("latin-1")], ["screen", screen]]
            if over:
                break
        os.close(fd)
        try:
            os.kill(pid, signal.SIGHUP)
        except ProcessLookupError:
            pass
        os.waitpid(pid, 0)
    target = GOLDEN / name
    target.mkdir(exist_ok=True)
    text = "".join(json.dumps(step, ensure_ascii=False) + "\n" for step in steps)
    path = target / f"{first[0]}x{first[1]}.steps"
    path.write_text(text)
    print(f"{path.relative_to(GOLDEN.parent.parent.parent)}: {len(text.encode())} bytes")


class Judge:
    """A tmux of its own whose one window shows what is fed to it."""

    def __init__(self, size):
        self.folder = tempfile.mkdtemp(prefix="judge-")
        self.pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(self.pipe)
        self.marks = 0
        feed = f"stty raw -echo; exec cat {self.pipe}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[1]), "-y", str(size[0]), feed)
        self.tmux("set", "-g", "status", "off")
        self.tmux("set", "-g", "window-size", "manual")
        self.tmux("set", "-g", "allow-rename", "on")
        self.resize(size)
        self.out = open(self.pipe, "wb", buffering=0)

    def tmux(self, *args):
        env = {**os.environ, "TMUX_TMPDIR": self.folder, "LC_ALL": "C.UTF-8"}
        env.pop("TMUX", None)
        done = subprocess.run(["tmux", "-L", "judge", *args], env=env, capture_output=True, check=True)
        return done.stdout.decode()

    def resize(self, size):
        self.tmux("resize-window", "-x", str(size[1]), "-y", str(size[0]))

    def feed(self, data):
        self.out.write(data)
        self.marks += 1
        mark = f"mark-{self.marks}"
        self.out.write(f"\x1b]2;{mark}\x1b\\".encode())
        while self.tmux("display-message", "-p", "#{pane_title}").strip() != mark:
            time.sleep(0.02)

    def screen(self):
        # Line drawing comes as letters between SO and SI, and only where escapes are asked for.
        drawn = lambda found: found[1].translate(LINES)
        text = re.sub("\x1b\\[[0-9;:]*m", "", self.tmux("capture-pane", "-p", "-e"))
        rows = [row.rstrip() for row in re.sub("\x0e([^\x0f]*)\x0f?", drawn, text).split("\n")]
        cursor = self.tmux("display-message", "-p", "#{cursor_y} #{cursor_x} #{alternate_on}").split()
        return "\n".join(rows).rstrip("\n"), tuple(map(int, cursor))

    def close(self):
        self.out.close()
        try:
            self.tmux("kill-server")
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(self.folder)


def expected(text):
    """Text, cursor and whether the alternate screen is shown, of one expected screen."""
    head, body = text.split("\n--\n", 1)
    plain = re.sub("␛\\[[0-9;:]*m", "", body)
    cursor = re.search(r"cursor Some\(\((\d+), (\d+)", head)
    at = (int(cursor[1]), int(cursor[2])) if cursor else None
    return "\n".join(row.rstrip() for row in plain.split("\n")).rstrip("\n"), at, "alternate_screen: true" in head


def judge(names):
    differences = 0
    for folder in sorted(GOLDEN.iterdir()):
        if names and folder.name not in names:
            continue
        recordings = [(path, [json.loads(line) for line in path.read_text().splitlines()]) for path in sorted(folder.glob("*.steps"))]
        if not recordings:
            rows, cols = map(int, (folder / "size").read_text().split())
            output = (folder / "output").read_bytes().decode("latin-1")
            recordings = [(folder / "screen", [["size", rows, cols], ["output", output], ["screen", "screen"]])]
        for path, steps in recordings:
            wanted = path.with_suffix(".screens") if path.suffix else path
            parts = re.split(r"^== (.*)\n", wanted.read_text(), flags=re.M) if path.suffix else ["", "screen", wanted.read_text()]
            screens = dict(zip(parts[1::2], parts[2::2]))
            there = Judge(steps[0][1:])
            for what, *rest in steps[1:]:
                if what == "resize":
                    there.resize(rest)
                elif what == "output":
                    there.feed(rest[0].encode("latin-1"))
                else:
                    text, (row, col, alternate) = there.screen()
                    ours, at, ours_alternate = expected(screens[rest[0]])
                    same = text == ours and ours_alternate == bool(alternate)
                    placed = at is None or at == (row, col)
                    print(f"{'same' if same and placed else 'DIFFERS'}  {folder.name}/{path.name} {rest[0]}")
                    differences += not (same and placed)
                    if not placed:
                        print(f"    cursor {at}, in tmux {(row, col)}")
                    theirs = text.split("\n")
                    for n, line in enumerate(ours.split("\n")):
                        other = theirs[n] if n < len(theirs) else ""
                        if line != other:
                            print(f"    {n:3} ours {line!r}\n        tmux {other!r}")
                    for n, other in enumerate(theirs[len(ours.split(chr(10))):]):
                        print(f"    more in tmux: {other!r}")
            there.close()
    print(f"{differences} differences")
    return differences


if __name__ == "__main__":
    verb, names = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if verb == "record":
        for name in names or PROGRAMS:
            for first, second in SIZES:
                record(name, first, second)
    elif verb == "judge":
        sys.exit(1 if judge(names) else 0)
    else:
        sys.exit(__doc__)
