"""A master and what connects to it, as processes in a folder of their own."""

import http.client
import json
import pathlib
import subprocess
import time

import procfs

PATIENCE_S = 120


def wait_for(what, condition, patience=PATIENCE_S, every=0.01):
    until = time.monotonic() + patience
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > until:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(every)


def config(pools, builders, slaves):
    """The text of a master.yaml. builders: name to (pool, list of steps as YAML); slaves: pattern to (pool, slots)."""
    lines = ["master: {title: Bench, listen: '127.0.0.1:0', web: '127.0.0.1:0', data: data}", "slaves:"]
    lines += [f"  {pattern}: {{pools: [{pool}], slots: {slots}}}" for pattern, (pool, slots) in slaves.items()]
    lines += ["pools:"] + [f"  {pool}: {{}}" for pool in pools]
    # Nothing is ever checked out.
    lines += ["projects:", "  bench: {git: /nonexistent/bench.git, branches: [main]}", "builders:"]
    for name, (pool, steps) in builders.items():
        lines += [f"  {name}:", "    project: bench", f"    pool: {pool}", "    steps:"]
        lines += [f"      - {step}" for step in steps]
    return "\n".join(lines) + "\n"


class Child:
    """One of our programs in the background, its standard error in a file."""

    def __init__(self, farm, name, arguments, output=None):
        self.log = farm.folder / f"{name}.log"
        self.output = output
        self.popen = subprocess.Popen(
            [str(argument) for argument in arguments],
            stdin=subprocess.DEVNULL,
            stdout=open(output, "wb") if output else subprocess.DEVNULL,
            stderr=open(self.log, "ab"),
        )
        self.pid = self.popen.pid
        farm.children.append(self)

    def check(self):
        if self.popen.poll() is not None:
            raise SystemExit(f"{self.popen.args[0]} ended: {self.log.read_text(errors='replace')[-2000:]}")

    def stop(self):
        """SIGTERM, and waits. How long it took, in seconds."""
        begin = time.monotonic()
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(20)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        return time.monotonic() - begin

    def cpu_s(self):
        return procfs.cpu_s(self.pid)


class Sim(Child):
    """Simulated slaves."""

    def __init__(self, farm, names, *options):
        super().__init__(
            farm, "simslaves",
            [farm.tools / "simslaves", "--quiet", "--master", f"127.0.0.1:{farm.ports['slaves']}", "--names", names, *options],
            output=farm.folder / "simslaves.out",
        )

    def events(self, kind):
        lines = self.output.read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def event(self, kind, patience=PATIENCE_S):
        """The first of its kind, waited for."""

        def look():
            if kind != "end":
                self.check()
            return self.events(kind)

        return wait_for(f"simslaves' {kind}", look, patience)[0]


class Farm:
    """A master in a folder. The folder is the caller's to remove."""

    def __init__(self, build, folder):
        self.bin = pathlib.Path(build) / "bin"
        self.tools = pathlib.Path(build) / "bench"
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.children = []
        self.master = None
        self.ports = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for child in reversed(self.children):
            child.stop()

    def start(self, text):
        """Starts the master; the seconds until it answered /healthz."""
        (self.folder / "master.yaml").write_text(text)
        ports = self.folder / "data" / "ports.json"
        ports.unlink(missing_ok=True)
        begin = time.monotonic()
        self.master = Child(
            self, "master", [self.bin / "tailrace-master", "--config", self.folder / "master.yaml", "--log-level", "warn"]
        )

        def read():
            self.master.check()
            try:
                return json.loads(ports.read_text())
            except (FileNotFoundError, ValueError):
                return None

        self.ports = wait_for("the master's ports", read, every=0.001)
        wait_for("the master's health", lambda: self.ask("GET", "/healthz")[0] == 200, every=0.001)
        return time.monotonic() - begin

    def slave(self, name, slots):
        """A real slave, connected."""
        child = Child(
            self, name,
            [
                self.bin / "tailrace-slave", "--master", f"127.0.0.1:{self.ports['slaves']}", "--name", name,
                "--dir", self.folder / name, "--slots", slots, "--log-level", "warn",
            ],
        )
        wait_for("the slave", lambda: self.get(f"/slaves/{name}")["state"] != "offline")
        return child

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.ports["web"], timeout=PATIENCE_S)

    def ask(self, method, path, body=None):
        """Status and bytes, over a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        except ConnectionError:
            return 0, b""
        finally:
            connection.close()

    def get(self, path, connection=None):
        """The answer's JSON. A caller that asks again and again hands in a connection, or it measures connections."""
        mine = connection or self.connect()
        mine.request("GET", "/api/v1" + path)
        reply = mine.getresponse()
        body = reply.read()
        if not connection:
            mine.close()
        if reply.status != 200:
            raise SystemExit(f"GET {path}: {reply.status} {body[:300]!r}")
        return json.loads(body)

    def post(self, path, body=None):
        status, answer = self.ask("POST", "/api/v1" + path, body if body is not None else {})
        if status not in (200, 201):
            raise SystemExit(f"POST {path}: {status} {answer[:300]!r}")
        return json.loads(answer)

    def force(self, builder):
        return self.post("/force", {"builder": builder})["id"]

    def wait_finished(self, number, patience=600, every=0.02):
        connection = self.connect()

        def look():
            self.master.check()
            build = self.get(f"/builds/{number}", connection)
            return build if build["state"] == "finished" else None

        build = wait_for(f"build {number}", look, patience, every)
        connection.close()
        if build["result"] != "success":
            raise SystemExit(f"build {number} ended in {build['result']}: {build}")
        return build

    def wait_quiet(self, patience=600):
        """Until nothing is queued and nothing runs."""
        connection = self.connect()

        def look():
            status = self.get("/status", connection)
            return not status["builds_running"] and not status["builds_queued"]

        wait_for("the end of all builds", look, patience, every=0.02)
        connection.close()

    def load(self, builder, count, *options):
        """forceload's line, when it has ended."""
        arguments = [self.tools / "forceload", "--web", f"127.0.0.1:{self.ports['web']}", "--builder", builder]
        arguments += ["--count", count, *options]
        done = subprocess.run([str(word) for word in arguments], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)
