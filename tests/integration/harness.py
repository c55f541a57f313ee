"""Masters and slaves as real processes on loopback, for tests: free ports, a folder of their own, nothing left behind."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import textwrap
import time
import unittest
import urllib.error
import urllib.request

BIN = pathlib.Path(os.environ["TAILRACE_BIN"])
SANITIZED = os.environ.get("TAILRACE_SANITIZED") == "1"
# Everything that waits gives up after so long. Generous: a machine under load is slow, and nothing waits longer than it must.
PATIENCE = float(os.environ.get("TAILRACE_PATIENCE", "60"))


def wait_for(what, condition, patience=None, every=0.02):
    """Polls until condition() is true and returns what it gave; fails with `what` after patience seconds."""
    until = time.monotonic() + (patience or PATIENCE)
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > until:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(every)


def alive(pid):
    """Whether a process runs; zombies that nobody has reaped do not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_with(text):
    """Pids of running processes (no zombies) whose environment or command line holds the text."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            where = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in where and alive(entry.name):
            found.append(int(entry.name))
    return found


def rss_mb(pid, what="VmHWM"):
    """Peak (VmHWM) or present (VmRSS) resident memory in MB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{what}:\s+(\d+) kB", text, re.M).group(1)) / 1024


class Repo:
    """A git repository with a work tree, to push from."""

    def __init__(self, folder):
        self.work = pathlib.Path(folder) / "work"
        self.bare = pathlib.Path(folder) / "repo.git"
        self.run("init", "-q", "--bare", "-b", "main", str(self.bare), where=folder)
        self.run("init", "-q", "-b", "main", str(self.work), where=folder)

    def run(self, *arguments, where=None):
        options = ["-c", "user.name=Tester", "-c", "user.email=tester@localhost", "-c", "commit.gpgsign=false"]
        options += ["-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", *options, *arguments], cwd=where or self.work, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def commit(self, files, branch="main", push=True, message="change"):
        """Writes files (a dict of name to text) on the branch, made from main when new; returns the revision."""
        known = self.run("branch", "--list", branch)
        if not known and self.run("rev-list", "--all", "--max-count=1"):
            self.run("checkout", "-q", "-b", branch)
        elif known:
            self.run("checkout", "-q", branch)
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if text.startswith("#!"):
                path.chmod(0o755)
        self.run("add", "-A")
        self.run("commit", "-q", "--allow-empty", "-m", message)
        if push:
            self.push(branch)
        return self.run("rev-parse", "HEAD")

    def push(self, *branches):
        self.run("push", "-q", "--force", str(self.bare), *branches)


class Process:
    """One of our programs in the background, its standard error in a file."""

    def __init__(self, name, arguments, log):
        self.name = name
        self.log_path = log
        self.popen = subprocess.Popen(
            [str(BIN / arguments[0]), *arguments[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(log, "ab")
        )

    @property
    def pid(self):
        return self.popen.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def signal(self, number):
        self.popen.send_signal(number)

    def kill(self):
        """kill -9, and waits until it is gone."""
        self.popen.kill()
        self.popen.wait()

    def stop(self, patience=30):
        """SIGTERM; the exit code."""
        self.popen.terminate()
        return self.popen.wait(patience)

    def end(self):
        """Whatever state it is in, it is gone afterwards. True when it had to be killed."""
        if self.popen.poll() is not None:
            return False
        self.popen.send_signal(signal.SIGCONT)
        self.popen.terminate()
        try:
            self.popen.wait(0.5)
            return False
        except subprocess.TimeoutExpired:
            # A slave that drains ends its builds at the second signal.
            self.popen.terminate()
        try:
            self.popen.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            return True
        return False


class Farm:
    """A master and its slaves. The configuration is YAML text without the master's section."""

    def __init__(self, config, master="", folder=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="tailrace-test."))
        self.own_folder = folder is None
        self.config = self.folder / "master.yaml"
        self.extra = master
        self.write(config)
        self.master = None
        self.slaves = {}
        self.ports = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind:
            self.show_logs()
        self.close()

    def write(self, config):
        """Writes the configuration anew; reload() or a restart makes it count."""
        listen = getattr(self, "ports", {}).get("slaves", 0)
        web = getattr(self, "ports", {}).get("web", 0)
        head = f"master:\n  title: Test\n  listen: 127.0.0.1:{listen}\n  web: 127.0.0.1:{web}\n  data: data\n"
        head += textwrap.indent(textwrap.dedent(self.extra).strip(), "  ") + "\n"
        self.body = textwrap.dedent(config)
        self.config.write_text(head + self.body)

    def start(self, *slaves, **options):
        """Starts the master, and slaves of these names."""
        self.start_master()
        for name in slaves:
            self.start_slave(name, wait=False, **options)
        for name in slaves:
            self.wait_connected(name)
        return self

    def start_master(self):
        ports = self.folder / "data" / "ports.json"
        ports.unlink(missing_ok=True)
        self.master = Process(
            "master", ["tailrace-master", "--config", str(self.config), "--log-level", "debug"], self.folder / "master.log"
        )

        def read():
            if self.master.popen.poll() is not None:
                raise AssertionError(f"the master ended: {self.master.log()[-2000:]}")
            try:
                return json.loads(ports.read_text())
            except (FileNotFoundError, ValueError):
                return None

        self.ports = wait_for("the master's ports", read)
        # The next start takes the same ports: slaves and readers must find it again.
        self.write(self.body)
        wait_for("the master's health", lambda: self.get_raw("/healthz")[0] == 200)

    def start_slave(self, name, wait=True, port=None, slots=1, backoff_max="2s"):
        config = self.folder / f"slave-{name}.yaml"
        config.write_text(
            f"master: 127.0.0.1:{port or self.ports['slaves']}\nname: {name}\ndir: slave-{name}\nslots: {slots}\nbackoff_max: {backoff_max}\n"
        )
        arguments = ["tailrace-slave", "--config", str(config)]
        self.slaves[name] = Process(name, arguments, self.folder / f"slave-{name}.log")
        if wait:
            self.wait_connected(name)
        return self.slaves[name]

    def wait_connected(self, name):
        wait_for(f"slave {name}", lambda: self.slave(name)["state"] in ("idle", "busy", "draining"))

    # The API and the command line

    @property
    def url(self):
        return f"http://127.0.0.1:{self.ports['web']}"

    def get_raw(self, path, headers=None, method="GET", body=None):
        """(status, headers, body) of a request; (0, {}, b"") when there is no master."""
        request = urllib.request.Request(self.url + path, headers=headers or {}, method=method, data=body)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()
        except (urllib.error.URLError, ConnectionError, socket.timeout):
            return 0, {}, b""

    def get(self, path):
        status, _, body = self.get_raw("/api/v1" + path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {body!r}")
        return json.loads(body)

    def post(self, path, body=None, headers=None, expect=(200, 201)):
        headers = {"Content-Type": "application/json", **(headers or {})}
        status, _, answer = self.get_raw("/api/v1" + path, headers, "POST", json.dumps(body or {}).encode())
        if status not in expect:
            raise AssertionError(f"POST {path}: {status} {answer!r}")
        return json.loads(answer)

    def cli(self, *arguments, expect=0, text=True, patience=None):
        """Runs `tailrace`; its standard output. expect None: any exit code, and the whole result is returned."""
        environment = {**os.environ, "TAILRACE_MASTER": self.url, "NO_COLOR": "1"}
        environment.pop("TAILRACE_TOKEN", None)
        done = subprocess.run(
            [str(BIN / "tailrace"), *map(str, arguments)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text, timeout=patience or PATIENCE * 2,
        )
        if expect is None:
            return done
        if done.returncode != expect:
            raise AssertionError(f"tailrace {arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def cli_popen(self, *arguments, **options):
        environment = {**os.environ, "TAILRACE_MASTER": self.url, "NO_COLOR": "1"}
        return subprocess.Popen([str(BIN / "tailrace"), *map(str, arguments)], env=environment, **options)

    def force(self, builder, **fields):
        """The id of a new build."""
        return self.post("/force", {"builder": builder, **fields})["id"]

    def build(self, number):
        return self.get(f"/builds/{number}")

    def slave(self, name):
        return self.get(f"/slaves/{name}")

    def wait_state(self, number, *states, patience=None):
        return wait_for(
            f"build {number} to be {' or '.join(states)}",
            lambda: (lambda b: b if b["state"] in states else None)(self.build(number)), patience,
        )

    def wait_result(self, number, result=None, patience=None):
        """The finished build; fails when its result is another."""
        build = self.wait_state(number, "finished", patience=patience)
        if result and build["result"] != result:
            log = "\n".join(self.log(number, s["number"]).decode(errors="replace")[-1500:] for s in build["steps"])
            raise AssertionError(f"build {number} ended with {build['result']}: {json.dumps(build, indent=1)}\n{log}")
        return build

    def log(self, number, step, query=""):
        return self.get_raw(f"/api/v1/builds/{number}/steps/{step}/log{query}")[2]

    def wait_log(self, number, step, text):
        """Waits until the step's log holds the text."""
        return wait_for(f"{text!r} in the log", lambda: text.encode() in self.log(number, step))

    def show_logs(self):
        for process in [self.master, *self.slaves.values()]:
            if process:
                print(f"---- {process.name}\n{process.log()[-6000:]}", flush=True)

    def close(self):
        """Ends everything; fails when a process had to be killed, or one that a step started is left."""
        killed = [p.name for p in [*self.slaves.values(), self.master] if p and p.end()]
        left = processes_with(str(self.folder))
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        reports = [
            p.log() for p in [*self.slaves.values(), self.master]
            if p and re.search(r"(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|runtime error:", p.log())
        ]
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        if killed or left or reports:
            raise AssertionError(f"had to kill {killed}; left running {left}; {''.join(reports)[-5000:]}")


class Test(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = 4000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tailrace-case."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def repo(self, files=None):
        repo = Repo(self.folder)
        repo.commit(files or {"README": "a project\n"})
        return repo

    def farm(self, config, master=""):
        farm = Farm(config, master)
        self.addCleanup(self.end_farm, farm)
        return farm

    def end_farm(self, farm):
        failed = any(error for _, error in getattr(self._outcome, "errors", [])) or (
            getattr(self._outcome, "result", None) is not None
            and any(test is self for test, _ in self._outcome.result.errors + self._outcome.result.failures)
        )
        if failed:
            farm.show_logs()
        farm.close()


def simple_config(repo, steps, slaves="a: {pools: [p]}", builder="", more=""):
    """A configuration with one builder `b` in pool `p`; steps is YAML text of the list."""
    return f"""
slaves:
{textwrap.indent(textwrap.dedent(slaves).strip(), "  ")}
pools: {{p: }}
projects:
  j: {{git: {repo}, branches: [main]}}
builders:
  b:
    project: j
    pool: p
{textwrap.indent(textwrap.dedent(builder).strip(), "    ")}
    steps:
{textwrap.indent(textwrap.dedent(steps).strip(), "      ")}
{textwrap.indent(textwrap.dedent(more).strip(), "  ")}
"""


def main():
    unittest.main(verbosity=2)
