#!/usr/bin/env python3
"""A shell in a running container until its prompt: through the screen, and by `docker exec -it`.

usage: attach.py [--rounds N] [--socket PATH] [--program PATH]

One container, made by the program. Each round opens a shell by `docker exec -it` and one by the key for a new shell,
in turns, and waits for each prompt; both shells end before the next round.
"""
import argparse, os, subprocess, tempfile, time
from bench import PROGRAM, Image, Profile, Terminal, median, percentile


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--socket", default="/var/run/docker.sock")
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-attach-") as home, Image(options.socket) as image:
        profile = Profile(options.program, home, DOCKER_HOST=image.host)
        screen = profile.screen()
        try:
            screen.until(b"sandbox")
            profile.run("env", "new", "box", "--backend", "docker", "--image", image.name, "--ephemeral", "--idle", "0")
            container = image.docker("ps", "-q", "--no-trunc", "--filter", f"ancestor={image.name}")
            screen.keys(b"j\r")
            screen.until(b"root@box")
            times = {"docker exec -it": [], "hermes-tui": []}
            for _ in range(options.rounds):
                began = time.perf_counter()
                bare = Terminal(["docker", "-H", image.host, "exec", "-it", container, "bash"], dict(os.environ))
                bare.until(b"# ")
                times["docker exec -it"].append(time.perf_counter() - began)
                bare.keys(b"exit\r")
                while not os.waitpid(bare.pid, os.WNOHANG)[0]:
                    bare.read(0.01)
                os.close(bare.fd)

                screen.quiet(0.3)
                began = time.perf_counter()
                screen.keys(b"\x02c")
                screen.until(b"root@box:/workspace#")
                times["hermes-tui"].append(time.perf_counter() - began)
                screen.keys(b"exit\r")
                screen.until(b"Enter")
                screen.keys(b"\x02x")
                screen.quiet(0.3)
            for what, all in times.items():
                print(f"{what}: median {1000 * median(all):.0f} ms, 90 % within {1000 * percentile(all, 90):.0f} ms")
            ratio = median(times["hermes-tui"]) / median(times["docker exec -it"])
            print(f"ratio of the medians of {options.rounds} rounds: {ratio:.2f}")
        finally:
            profile.end(screen)


main()
