#!/usr/bin/env python3
"""What an idle screen costs: processor time and wake-ups of the host and everything it started.

usage: idle.py [--panes N] [--seconds S] [--program PATH]

Starts the program in a terminal of 120x40 with a profile of its own, opens N shells in one local sandbox, waits until
nothing changes any more, and counts for S seconds. The sandbox's countdown is on the screen meanwhile: one wake-up a
second is its.
"""
import argparse, fcntl, os, pty, re, select, signal, struct, sys, tempfile, termios, time

TICKS = os.sysconf("SC_CLK_TCK")


def tree(root):
    """Ids of a process and all below it."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += children.get(pid, [])
    return found


def usage(pids):
    """Processor seconds, and voluntary context switches of all threads."""
    seconds = switches = 0
    for pid in pids:
        try:
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            seconds += (int(fields[11]) + int(fields[12])) / TICKS
            for thread in os.listdir(f"/proc/{pid}/task"):
                status = open(f"/proc/{pid}/task/{thread}/status").read()
                switches += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M).group(1))
        except OSError:
            pass
    return seconds, switches


class Screen:
    def __init__(self, program, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {"PATH": os.environ["PATH"], "HOME": home, "HTUI_HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
            os.execve(program, [program], env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.seen = b""

    def read(self, wait):
        if not select.select([self.fd], [], [], wait)[0]:
            return b""
        data = os.read(self.fd, 1 << 20)
        self.seen = (self.seen + data)[-200000:]
        return data

    def until(self, text, limit=30):
        end = time.monotonic() + limit
        while text not in self.seen:
            if time.monotonic() > end:
                sys.exit(f"never showed {text!r}")
            self.read(0.1)
        self.seen = b""

    def keys(self, keys):
        os.write(self.fd, keys)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    options.add_argument("--panes", type=int, default=10)
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--program", default=os.path.join(here, "../target/debug/hermes-tui"))
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-idle-") as home:
        screen = Screen(os.path.abspath(options.program), home)
        try:
            screen.until(b"sandbox")
            screen.keys(b"n")
            screen.until(b"workspace")
            for number in range(2, options.panes + 1):
                screen.keys(b"\x02c")
                screen.until(b"%d:env-1*" % number)
            quiet = time.monotonic() + 5
            while time.monotonic() < quiet:
                screen.read(0.2)
            pids = tree(screen.pid)
            before, began, sent = usage(pids), time.monotonic(), 0
            while (left := began + options.seconds - time.monotonic()) > 0:
                sent += len(screen.read(left))
            after, took = usage(pids), time.monotonic() - began
            print(f"{options.panes} panes, {len(pids)} processes, {took:.1f} s")
            print(f"processor: {100 * (after[0] - before[0]) / took:.3f} % of a core")
            print(f"wake-ups: {(after[1] - before[1]) / took:.2f} a second")
            print(f"sent to the terminal: {sent / took:.0f} bytes a second")
        finally:
            os.kill(screen.pid, signal.SIGTERM)
            end = time.monotonic() + 30
            while time.monotonic() < end:
                try:
                    screen.read(0.1)
                except OSError:
                    break
            os.waitpid(screen.pid, 0)


main()
