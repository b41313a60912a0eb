"""What the measurements share: the program in a terminal, what processes cost, and an image for containers.

Nothing is downloaded: the image is made of this machine's own files and removed afterwards.
"""
import fcntl, json, os, pty, re, select, shutil, struct, subprocess, sys, tempfile, termios, time

TICKS = os.sysconf("SC_CLK_TCK")
HERE = os.path.dirname(os.path.abspath(__file__))
# What is shipped: others are measured as their packages have them, optimised.
PROGRAM = os.path.join(HERE, "../target/dist/hermes-tui")
PROGRAMS = ["bash", "cat", "env", "head", "id", "ls", "mkdir", "mv", "sh", "sleep", "stty", "tr", "true"]


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def percentile(values, percent):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * percent / 100))]


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


def measure(screen, pids, seconds):
    """How long it took, and what these processes cost meanwhile, for people."""
    before, began, sent = usage(pids), time.monotonic(), 0
    while (left := began + seconds - time.monotonic()) > 0:
        sent += len(screen.read(left))
    after, took = usage(pids), time.monotonic() - began
    lines = [
        f"processor: {100 * (after[0] - before[0]) / took:.3f} % of a core",
        f"wake-ups: {(after[1] - before[1]) / took:.2f} a second",
        f"sent to the terminal: {sent / took:.0f} bytes a second",
    ]
    return took, "\n".join(lines)


class Terminal:
    """A program in a terminal of 120x40, or of so many rows and columns."""

    def __init__(self, argv, env, size=(40, 120)):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.seen = b""

    def read(self, wait):
        if not select.select([self.fd], [], [], wait)[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 20)
        except OSError:
            return b""
        self.seen = (self.seen + data)[-200000:]
        return data

    def until(self, text, limit=30):
        """Reads until this comes, and forgets it with all before."""
        end = time.monotonic() + limit
        while text not in self.seen:
            if time.monotonic() > end:
                sys.exit(f"never showed {text!r}, but {self.seen[-2000:]!r}")
            self.read(0.05)
        self.seen = b""

    def quiet(self, seconds):
        """Reads for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.1)
        self.seen = b""

    def keys(self, keys):
        os.write(self.fd, keys)

    def wait(self, patience):
        """Reads until the program has ended."""
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            self.read(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        os.close(self.fd)


CSI = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b.", re.S)


def text(data):
    """What a terminal would show of these bytes, without the places."""
    return CSI.sub(b"", data)


def echo(terminal, letter, patience=5):
    """Milliseconds until a letter that is typed comes back."""
    terminal.read(0)
    began, shown = time.perf_counter(), b""
    terminal.keys(letter)
    while letter not in text(shown):
        shown += terminal.read(0.5)
        if time.perf_counter() - began > patience:
            sys.exit(f"{letter!r} never came back, but {shown[-500:]!r}")
    return 1000 * (time.perf_counter() - began)


class Tmux:
    """A tmux server of its own, without anybody's configuration."""

    def __init__(self, folder):
        self.socket = f"{folder}/tmux.sock"
        self.env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PS1": "$ "}

    def screen(self, *args, **more):
        return Terminal(["tmux", "-S", self.socket, "-f", "/dev/null", *args], self.env, **more)

    def run(self, *args):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *args], env=self.env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"tmux {args}: {done.stdout}{done.stderr}")
        return done.stdout

    def end(self, screen=None):
        self.run("kill-server")
        if screen:
            screen.wait(10)


class Profile:
    """A profile of its own for one measurement."""

    def __init__(self, program, home, **more):
        self.program = os.path.abspath(program)
        if not os.path.exists(self.program):
            sys.exit(f"there is no {self.program}: cargo build --profile dist, or name another with --program")
        self.env = {"PATH": os.environ["PATH"], "HOME": home, "HTUI_HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.env |= more

    def screen(self):
        """Host and screen in one process."""
        return Terminal([self.program, "--foreground"], self.env)

    def client(self, *args, **more):
        """The screen of a host in a process of its own, which is started if need be."""
        return Terminal([self.program, *args], self.env, **more)

    def processes(self, screen):
        """The client, the host behind it, and everything that they started."""
        host = json.loads(self.run("--json", "status"))["pid"]
        return sorted({*tree(screen.pid), *tree(host)})

    def end(self, screen):
        """Ends the host, and the screen with it."""
        self.run("shutdown")
        screen.wait(10)

    def run(self, *args):
        done = subprocess.run([self.program, *args], env=self.env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{args}: {done.stdout}{done.stderr}")
        return done.stdout


class Image:
    """An image of bash and a handful of programs of this machine."""

    def __init__(self, socket):
        self.host = f"unix://{socket}"
        self.name = f"htui-bench:{os.getpid()}"

    def __enter__(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ["bin", "etc", "proc", "root", "tmp"]:
                os.mkdir(f"{root}/{folder}")
            files = set()
            for name in PROGRAMS:
                found = shutil.which(name)
                shutil.copy(os.path.realpath(found), f"{root}/bin/{name}")
                said = subprocess.run(["ldd", found], capture_output=True, text=True).stdout
                files |= {word for word in said.split() if word.startswith("/")}
            for file in files:
                os.makedirs(os.path.dirname(root + file), exist_ok=True)
                shutil.copy(os.path.realpath(file), root + file)
            with open(f"{root}/etc/passwd", "w") as passwd:
                passwd.write("root:x:0:0:root:/root:/bin/sh\n")
            tar = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
            self.docker("import", "-", self.name, stdin=tar.stdout)
            tar.wait()
        return self

    def __exit__(self, *_):
        self.docker("rmi", self.name)

    def docker(self, *args, stdin=None):
        done = subprocess.run(["docker", "-H", self.host, *args], stdin=stdin, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"docker {args}: {done.stderr}")
        return done.stdout.strip()
