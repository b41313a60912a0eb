#!/usr/bin/env python3
"""What an idle screen costs: processor time and wake-ups of the host and everything it started.

usage: idle.py [--panes N] [--seconds S] [--program PATH]

Starts the program in a terminal of 120x40 with a profile of its own, opens N shells in one local sandbox, waits until
nothing changes any more, and counts for S seconds. The sandbox's countdown is on the screen meanwhile: one wake-up a
second is its.
"""
import argparse, tempfile
from bench import PROGRAM, Profile, measure


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--panes", type=int, default=10)
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-idle-") as home:
        profile = Profile(options.program, home)
        screen = profile.screen()
        try:
            screen.until(b"sandbox")
            screen.keys(b"n")
            screen.until(b"workspace")
            for number in range(2, options.panes + 1):
                screen.keys(b"\x02c")
                screen.until(b"%d:env-1*" % number)
            screen.quiet(5)
            pids = profile.processes(screen)
            took, costs = measure(screen, pids, options.seconds)
            print(f"{options.panes} panes, {len(pids)} processes, {took:.1f} s")
            print(costs)
        finally:
            profile.end(screen)


main()
