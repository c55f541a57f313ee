"""Steps as trees of processes: limits, cancel, and nothing left behind."""

import time

import harness
from harness import processes_with, simple_config, wait_for

# A child, a child in a session of its own, a double-forked daemon, and one that ignores SIGTERM.
TREE = """#!/usr/bin/env python3
import os, signal, sys, time
def spawn(what):
    if os.fork() == 0:
        what()
        time.sleep(600)
        os._exit(0)
def daemon():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.setsid()
    os.environ.clear()
spawn(lambda: None)
spawn(os.setsid)
spawn(daemon)
def deaf():
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
spawn(deaf)
print("spawned", flush=True)
if len(sys.argv) > 1 and sys.argv[1] == "stay":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
"""


class ProcessesTest(harness.Test):
    def left(self, farm, number):
        """Processes of a build: by their mark, and by the work folder that they were started in."""
        return processes_with(f"TAILRACE_BUILD={number}\0") + [p for p in processes_with(str(farm.folder)) if p not in self.ours(farm)]

    def ours(self, farm):
        return [farm.master.pid] + [s.pid for s in farm.slaves.values()]

    def check_gone(self, farm, number):
        wait_for("no process to be left", lambda: not self.left(farm, number), 5)

    def test_the_tree_dies_with_its_step(self):
        repo = self.repo({"tree": TREE})
        farm = self.farm(simple_config(repo.bare, "- checkout\n- build: ./tree\n  grace: 1s")).start("a")
        number = farm.force("b")
        farm.wait_result(number, "success")
        self.check_gone(farm, number)
        self.assertRegex(farm.log(number, 2).decode(), r"tailrace: .*[0-9]+ process")

    def test_the_tree_dies_when_cancelled(self):
        repo = self.repo({"tree": TREE})
        farm = self.farm(simple_config(repo.bare, "- checkout\n- build: ./tree stay\n  grace: 1s")).start("a")
        number = farm.force("b")
        farm.wait_log(number, 2, "spawned")
        farm.cli("cancel", number)
        farm.wait_result(number, "cancelled")
        self.check_gone(farm, number)
        again = farm.force("b")
        farm.wait_log(again, 2, "spawned")
        self.assertFalse(farm.post(f"/builds/{again}/cancel").get("already"))
        self.assertTrue(farm.post(f"/builds/{again}/cancel").get("already"))
        farm.wait_result(again, "cancelled")
        self.assertEqual(farm.get_raw(f"/api/v1/builds/{again}/cancel", {"Content-Type": "application/json"}, "POST", b"{}")[0], 409)
        self.check_gone(farm, again)

    def test_the_tree_dies_when_it_takes_too_long(self):
        repo = self.repo({"tree": TREE})
        farm = self.farm(simple_config(repo.bare, "- checkout\n- build: ./tree stay\n  grace: 500ms\n  timeout: 2s")).start("a")
        number = farm.force("b")
        build = farm.wait_result(number, "failure")
        self.assertRegex(build["steps"][1]["reason"], r"(?i)total.*2")
        self.check_gone(farm, number)

    def test_idle_limit(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo begin; sleep 600\n  idle_timeout: 1s")).start("a")
        build = farm.wait_result(farm.force("b"), "failure")
        self.assertRegex(build["steps"][0]["reason"], r"(?i)idle.*1")

    def test_checkout_limit(self):
        # A repository that accepts the connection and never answers.
        import socket

        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"git://127.0.0.1:{server.getsockname()[1]}/x"
            farm = self.farm(simple_config(url, "- checkout:\n  timeout: 2s")).start("a")
            build = farm.wait_result(farm.force("b"), "failure")
            self.assertRegex(build["steps"][0]["reason"], r"(?i)checkout.*2")
            self.assertEqual(self.left(farm, build["id"]), [])

    def test_grace_is_honoured(self):
        repo = self.repo()
        farm = self.farm(
            simple_config(repo.bare, "- build: trap 'sleep 3; echo tidied; exit 1' TERM; echo ready; while :; do sleep 0.1; done\n  grace: 600s")
        ).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "ready")
        farm.cli("cancel", number)
        farm.wait_result(number, "cancelled")
        self.assertIn(b"tidied\n", farm.log(number, 1))

    def test_a_step_ends_when_its_process_ends(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: sleep 300 & echo done\n- test: ['sh', '-c', 'sleep 300 & exit 7']")).start("a")
        number = farm.force("b")
        build = farm.wait_result(number, "failure")
        self.assertEqual([s["exit_code"] for s in build["steps"]], [0, 7])
        self.assertTrue(farm.log(number, 1).startswith(b"done\n"))
        self.check_gone(farm, number)

    def test_a_slave_that_accepts_and_says_nothing(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'", slaves="a: {pools: [p]}", builder="max_attempts: 1"), master="start_timeout: 1s")
        farm.start("a")
        farm.slaves["a"].signal(19)  # SIGSTOP
        number = farm.force("b")
        build = farm.wait_result(number, "exception")
        attempts = build["attempts"]
        self.assertRegex(attempts[0]["reason"], r"(?i)start limit.*1")

    def test_cancel_always_ends(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo up; sleep 600")).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        farm.slaves["a"].signal(19)  # it will not answer
        farm.cli("cancel", number)
        farm.slaves["a"].kill()
        farm.wait_result(number, "cancelled", patience=20)
        for _ in range(2):
            self.assertEqual(farm.get_raw(f"/api/v1/builds/{number}/cancel", {"Content-Type": "application/json"}, "POST", b"{}")[0], 409)
        farm.start_slave("a")
        self.check_gone(farm, number)
        again = farm.force("b")
        farm.wait_log(again, 1, "up")
        farm.cli("cancel", again)
        farm.wait_result(again, "cancelled")

    def test_a_killed_agent_leaves_no_process(self):
        repo = self.repo({"tree": TREE})
        farm = self.farm(simple_config(repo.bare, "- checkout\n- build: ./tree stay", builder="max_attempts: 1")).start("a")
        number = farm.force("b")
        farm.wait_log(number, 2, "spawned")
        farm.slaves["a"].kill()
        farm.start_slave("a")
        build = farm.wait_result(number, "exception")
        self.assertIn("interrupted", build["attempts"][0]["reason"])
        self.check_gone(farm, number)


if __name__ == "__main__":
    harness.main()
