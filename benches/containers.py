#!/usr/bin/env python3
"""What idle containers cost: requests to the engine, processor time and wake-ups of the host with its screen open.

usage: containers.py [--containers N] [--panes N] [--seconds S] [--socket PATH] [--program PATH]

Makes N containers with an idle clock each and opens panes with shells in them. A socket of its own in front of the
engine's counts every request; all countdowns are on the screen meanwhile, as far as they fit.
"""
import argparse, collections, re, socket, tempfile, threading
from bench import PROGRAM, Image, Profile, measure

REQUEST = re.compile(rb"^(GET|POST|PUT|HEAD|DELETE) (\S+) HTTP/1\.")


class Counter:
    """A socket in front of the engine's that counts connections, and requests by method and path."""

    def __init__(self, path, engine):
        self.engine, self.requests, self.connections = engine, collections.Counter(), 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near, far = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            far.connect(self.engine)
            self.connections += 1
            threading.Thread(target=self.pass_on, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(far, near, False), daemon=True).start()

    def pass_on(self, source, target, count):
        try:
            while data := source.recv(65536):
                if count and (request := REQUEST.match(data)):
                    path = re.sub(rb"/[0-9a-f]{64}", b"/ID", request[2].split(b"?")[0])
                    self.requests[f"{request[1].decode()} {path.decode()}"] += 1
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--containers", type=int, default=50)
    options.add_argument("--panes", type=int, default=10)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--socket", default="/var/run/docker.sock")
    options.add_argument("--program", default=PROGRAM)
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="htui-idle-") as home, Image(options.socket) as image:
        counter = Counter(f"{home}/engine.sock", options.socket)
        profile = Profile(options.program, home, DOCKER_HOST=f"unix://{home}/engine.sock")
        screen = profile.screen()
        try:
            screen.until(b"sandbox")
            for number in range(options.containers):
                profile.run("env", "new", f"box-{number:02}", "--backend", "docker", "--image", image.name, "--ephemeral", "--idle", "3600")
                screen.read(0)
            made = sum(counter.requests.values())
            if options.panes:
                screen.keys(b"j\r")
                screen.until(b"root@box")
            for number in range(2, options.panes + 1):
                screen.keys(b"\x02c")
                screen.until(b"root@box")
            screen.quiet(5)
            pids = profile.processes(screen)
            counter.requests.clear()
            connections = counter.connections
            took, costs = measure(screen, pids, options.seconds)
            print(f"{options.containers} containers, {options.panes} panes, {took:.0f} s; {made} requests to make them")
            print(f"requests to the engine: {dict(counter.requests) or 'none'}, new connections: {counter.connections - connections}")
            print(costs)
        finally:
            # Ephemeral ones are removed with it.
            profile.end(screen)


main()
