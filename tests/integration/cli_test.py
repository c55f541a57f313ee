"""The command line as people use it: what it says when things go wrong, and how it fits the terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import harness
from harness import BIN, simple_config, wait_for

FAST = "ping_after: 1s\ndrop_after: 2s\nlost_after: 1s"


def on_terminal(farm, columns, *arguments):
    """What `tailrace` writes to a terminal of so many columns, as lines."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TAILRACE_MASTER": farm.url, "NO_COLOR": "1"}
    process = subprocess.Popen([str(BIN / "tailrace"), *map(str, arguments)], env=environment, stdout=far, stderr=far)
    os.close(far)
    data = b""
    while select.select([near], [], [], harness.PATIENCE)[0]:
        try:
            piece = os.read(near, 65536)
        except OSError:  # the other end is closed
            break
        data += piece
    os.close(near)
    process.wait(harness.PATIENCE)
    return data.decode().replace("\r\n", "\n").splitlines()


class CliTest(harness.Test):
    def test_names_nearly_right(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'").replace("  b:\n", "  app-build:\n")).start("a")
        self.assertEqual(farm.cli("builds"), "No builds yet. Ask for one: tailrace force BUILDER\n")
        for arguments in (("builds", "--builder", "app-bild"), ("force", "app-bild"), ("builds", "--json", "--builder", "app-bild")):
            done = farm.cli(*arguments, expect=None)
            self.assertEqual((done.returncode, done.stderr), (2, "tailrace: there is no builder 'app-bild'; did you mean 'app-build'?\n"))
        done = farm.cli("builds", "--builder", "nope", expect=None)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", "tailrace: there is no builder 'nope'\n"))
        self.assertEqual(farm.cli("builds", "--branch", "nope"), "No such builds.\n")
        self.assertEqual(farm.cli("builds", "--builder", "app-build"), "No such builds.\n")

        done = farm.cli("--master", f"127.0.0.1:{farm.ports['slaves']}", "status", expect=None)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"127.0.0.1:{farm.ports['slaves']} does not speak HTTP; is it the master's web address?", done.stderr)

    def test_tables_fit_the_terminal(self):
        repo = self.repo()
        config = simple_config(
            repo.bare, "- build: 'true'", builder="needs: [os=debian-13-with-a-long-name]",
            slaves="""
                a-slave-with-a-long-name-01: {pools: [p, a-pool-with-a-long-name, other], labels: {os: [debian-12, linux, x86-64]}}
                away: {pools: [p], labels: {os: [debian-13-with-a-long-name]}}
            """,
        ).replace("pools: {p: }", "pools: {p: , a-pool-with-a-long-name: , other: }")
        farm = self.farm(config.replace("  b:\n", "  a-builder-with-a-long-name-and-more:\n"), FAST)
        name = "a-slave-with-a-long-name-01"
        farm.start(name)
        farm.force("a-builder-with-a-long-name-and-more", reason="looks")
        why = farm.get("/queue")["queue"][0]["waits_for"]
        for columns in (40, 60, 80, 200):
            for verb in (["slaves"], ["queue"], ["builds"], ["builders"]):
                lines = on_terminal(farm, columns, *verb)
                self.assertLessEqual(max(map(len, lines)), columns, "\n".join(lines))
                if verb == ["queue"]:
                    at = lines[0].index("WAITS")
                    whole = "".join(line[at:] for line in lines[1:]).replace(" ", "")
                    self.assertEqual(whole, why.replace(" ", ""), "\n".join(lines))
        self.assertRegex(farm.cli("slaves"), r"\bconnected \d+ s\b")
        farm.slaves[name].kill()
        wait_for("the slave to be away", lambda: farm.slave(name)["state"] == "offline")
        self.assertRegex(farm.cli("slaves"), r"\bseen \d+ s ago\b")
        self.assertNotRegex(farm.cli("slaves"), r"\bconnected \d+ s\b")

    def test_what_came_from_outside_is_harmless(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: \"printf '\\\\033[31mred\\\\n'; exit 3\"")).start("a")
        evil = "\x1b]0;owned\x07\x1b[2J\u202eevil\u009b31m"
        number = farm.force("b", reason=evil, author=evil)
        farm.wait_result(number, "failure")
        later = farm.post("/changes", {"project": "j", "branch": "main", "revision": repo.commit({"x": "1\n"}), "author": evil, "comment": evil})["builds"]
        for n in later:
            farm.wait_result(n)
        for verb in (["show", number], ["builds"], ["wait", number], ["builders"]):
            text = "\n".join(on_terminal(farm, 120, *verb)).replace("\x1b[K", "").replace("\r", "")
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", verb)
        self.assertIn("\\x1b]0;owned", farm.cli("show", number))
        self.assertEqual(farm.cli("log", number, 1, text=False), b"\x1b[31mred\n")
        done = farm.cli("show", "\x1b[2J", expect=None)
        self.assertNotIn("\x1b", done.stderr)

    def test_why_a_build_ended(self):
        repo = self.repo()
        farm = self.farm(simple_config(
            repo.bare, "- {build: 'true', name: quick}\n- {test: 'sleep 60', name: total, timeout: 1s}",
            more="c: {project: j, pool: p, after: b, steps: [build: 'true']}",
        )).start("a")
        first, second = farm.post("/changes", {"project": "j", "branch": "main", "revision": repo.commit({"x": "1\n"})})["builds"]
        done = farm.cli("wait", first, expect=None)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"  step 2 total: failure, total limit: not done after 1 s; see: tailrace log {first} 2\n", done.stdout)
        self.assertIn("step 2 total finished: failure, total limit: not done after 1 s (", done.stdout)
        lines = on_terminal(farm, 50, "show", first)
        lines = lines[lines.index("") + 1 :]
        self.assertLessEqual(max(map(len, lines)), 50)
        self.assertIn("total limit: not done", "\n".join(lines))
        farm.wait_result(second, "skipped")
        why = f"skipped{{}}b (build {first}) ended with failure"
        done = farm.cli("wait", second, expect=None)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1].strip()), (1, why.format("").removeprefix("skipped")))
        done = farm.cli("log", second, expect=None)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", f"tailrace: build {second} ran no step: {why.format(': ')}\n"))
        for arguments in (("log", second, 1), ("log", second, "build", "--follow")):
            done = farm.cli(*arguments, expect=None)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"tailrace: build {second} ran no step: {why.format(': ')}\n"))
        done = farm.cli("cancel", second, expect=None)
        self.assertEqual((done.returncode, done.stderr), (2, f"tailrace: build {second} has finished already: {why.format(', ')}\n"))
        text = farm.cli("show", second)
        self.assertNotIn("waits for", text)
        self.assertRegex(text, rf"came after +build {first}\n")

    def test_logs_of_standard_error_and_benchmarks(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, """
            - {build: 'echo out; echo err >&2', stderr: separate, name: apart}
            - {build: 'echo both; echo err >&2', name: joined}
            - {benchmark: 'true', name: speed, iterations: 3}
        """)).start("a")
        number = farm.force("b")
        farm.wait_result(number, "success")
        self.assertEqual(farm.cli("log", number, "apart"), "out\n")
        self.assertEqual(farm.cli("log", number, "apart", "--stderr"), "err\n")
        self.assertEqual(farm.cli("log", number, 1, "--stderr", "--follow"), "err\n")
        self.assertEqual(farm.cli("log", number, "--stderr"), "err\n")
        done = farm.cli("log", number, "joined", "--stderr", expect=None)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "tailrace: the step has no log of its standard error alone\n"))
        text = farm.cli("show", number)
        self.assertRegex(text, r"\nbenchmarks:\n  speed wall [0-9.e-]+ s \(3 runs, [0-9.e-]+ to [0-9.e-]+\)\n")
        self.assertRegex(text, r"\n  speed max_rss [0-9.]+ [KM]iB \(3 runs, ")

    def test_a_followed_log_goes_on_with_the_next_attempt(self):
        repo = self.repo()
        go = self.folder / "go"
        farm = self.farm(simple_config(
            repo.bare, f"- {{build: 'true', name: before}}\n- {{build: 'echo up on $TAILRACE_SLAVE; until test -e {go}; do sleep 0.05; done; echo done', name: long}}",
            slaves="a: {pools: [p]}\nz: {pools: [p]}",
        ), FAST).start("a")
        number = farm.force("b")
        farm.wait_log(number, 2, "up on a")
        followers = [
            farm.cli_popen("log", number, *step, "--follow", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for step in (["long"], [])
        ]
        self.addCleanup(lambda: [f.kill() or f.communicate() for f in followers if f.poll() is None])
        self.assertEqual([f.stdout.readline() for f in followers], ["up on a\n"] * 2)
        farm.slaves["a"].signal(signal.SIGSTOP)  # its attempt is lost; no other slave is there
        wait_for("the attempt to be lost", lambda: farm.build(number)["state"] == "queued")
        self.assertIn("the slave was lost", followers[0].stderr.readline())
        farm.start_slave("z")
        farm.wait_log(number, 2, "up on z")
        go.write_text("")
        farm.wait_result(number, "success")
        for follower in followers:
            out, errors = follower.communicate(timeout=harness.PATIENCE)
            self.assertEqual((follower.returncode, out), (0, "up on z\ndone\n"))
            self.assertRegex(errors, r"attempt 2 of the build\n")
        done = farm.cli("log", number, "long", "--follow", "--attempt", 1, expect=None)
        self.assertEqual((done.returncode, done.stdout), (0, "up on a\n"))
        farm.slaves["a"].signal(signal.SIGCONT)


if __name__ == "__main__":
    harness.main()
