"""The queue: order, limits, pools, pauses, double clicks."""

import concurrent.futures
import json
import re
import subprocess

import harness
from harness import simple_config, wait_for


class QueueTest(harness.Test):
    def test_the_head_does_not_block_others(self):
        repo = self.repo()
        go = self.folder / "go"
        farm = self.farm(f"""
slaves:
  h: {{pools: [hw]}}
  v-[1-4]: {{pools: [vm]}}
pools: {{hw: , vm: }}
projects:
  j: {{git: {repo.bare}, branches: [main]}}
builders:
  hw: {{project: j, pool: hw, steps: [build: "echo up; until test -e {go}; do sleep 0.05; done"]}}
  vm: {{project: j, pool: vm, steps: [build: "true"]}}
""").start("h", "v-1", "v-2", "v-3", "v-4")
        busy = farm.force("hw")
        farm.wait_log(busy, 1, "up")
        hw = [farm.force("hw"), farm.force("hw")]
        vm = [farm.force("vm"), farm.force("vm")]
        for number in vm:
            farm.wait_result(number, "success", patience=10)
        self.assertEqual([farm.build(n)["state"] for n in hw], ["queued", "queued"])
        entries = farm.get("/queue")["queue"]
        self.assertEqual([e["build"] for e in entries], hw)
        self.assertIn("pool hw", entries[1]["waits_for"])
        go.write_text("")
        ends = [farm.wait_result(n, "success") for n in hw]
        self.assertLess(ends[0]["started_at"], ends[1]["started_at"])

    def test_labels_find_their_slaves(self):
        repo = self.repo()
        farm = self.farm(
            simple_config(
                repo.bare, "- build: 'true'", slaves="a: {pools: [p]}\nq: {pools: [p], labels: {os: [linux, debian-12]}}", builder="needs: [os=debian-12]"
            )
        ).start("a", "q")
        for _ in range(4):
            self.assertEqual(farm.wait_result(farm.force("b"), "success")["slave"], "q")

    def test_no_slave_is_idle_while_work_waits(self):
        repo = self.repo()
        builders = "\n".join(f"  b{i}: {{project: j, pool: p, steps: [build: 'true']}}" for i in range(300))
        farm = self.farm(
            f"slaves:\n  sim-[01-50]: {{pools: [p]}}\npools: {{p: }}\nprojects:\n  j: {{git: {repo.bare}, branches: [main]}}\nbuilders:\n{builders}\n"
        )
        farm.start_master()
        farm.cli("queue", "pause", "p")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: farm.force(f"b{i % 300}"), range(1000)))
        trace = farm.folder / "trace"
        # A busy machine starts the simulated slaves late, so builds of 0.4 s leave room to tell idle from slow.
        sim = subprocess.Popen(
            [
                str(harness.BIN.parent / "bench" / "simslaves"), "--master", f"127.0.0.1:{farm.ports['slaves']}", "--names", "sim-[01-50]", "--hold",
                "400ms", "--trace", str(trace),
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.addCleanup(lambda: (sim.terminate(), sim.wait()))
        wait_for("50 slaves", lambda: farm.get("/pools")["pools"][0]["slaves"] == 50)
        farm.cli("queue", "resume", "p")
        wait_for("an empty queue", lambda: farm.get("/status")["builds_queued"] == 0 and farm.get("/status")["builds_running"] == 0, 120, 0.2)
        # A simulated slave writes its line when it hears that the end is durable, which is after the master's count.
        wait_for("1000 lines", lambda: len(trace.read_text().splitlines()) >= 1000)
        runs = [json.loads(line) for line in trace.read_text().splitlines()]
        self.assertEqual(len(runs), 1000)
        # Builds start in the order in which they were asked for.
        log = [int(m.group(1)) for m in re.finditer(r"build\.state build=(\d+) builder=\S+ from=queued to=running", farm.master.log())]
        self.assertEqual(log, sorted(log))
        self.assertEqual(len(log), 1000)
        # While work waits, a slave is never without it for half a second.
        by_slave = {}
        for run in runs:
            by_slave.setdefault(run["slave"], []).append((float(run["start_ms"]), float(run["end_ms"])))
        last_start = max(float(r["start_ms"]) for r in runs)
        for spans in by_slave.values():
            spans.sort()
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                if begin < last_start:
                    self.assertLess(begin - end, 500)

    def test_limits_do_not_leak(self):
        repo = self.repo()
        # Its name says how a build ends: by turns it passes, fails, is cancelled, loses its slave, loses its master.
        farm = self.farm(
            simple_config(
                repo.bare, "- checkout\n- test: echo up; case $TAILRACE_BRANCH in pass) ;; fail) exit 1;; *) sleep 600;; esac\n  grace: 1s",
                slaves="a: {pools: [p], slots: 3}", builder="max_running: 1\nmax_attempts: 1",
            ),
            "lost_after: 0s\nping_after: 1s\ndrop_after: 3s",
        )
        for branch in ("pass", "fail", "stay"):
            repo.commit({"x": branch}, branch)
        farm.start_master()
        farm.start_slave("a", slots=3)
        for turn in range(50):
            how = ("pass", "fail", "cancel", "slave", "master")[turn % 5]
            number = farm.force("b", branch={"pass": "pass", "fail": "fail"}.get(how, "stay"))
            if how in ("cancel", "slave", "master"):
                farm.wait_log(number, 2, "up")
            if how == "slave":
                farm.slaves["a"].kill()
                farm.start_slave("a", slots=3)
            if how == "master":
                farm.master.kill()
                farm.start_master()
            if how in ("cancel", "master"):
                done = farm.cli("cancel", number, expect=None)
                self.assertIn(done.returncode, (0, 2))
            want = {"pass": "success", "fail": "failure", "cancel": "cancelled", "slave": "exception"}.get(how)
            farm.wait_result(number, want)
            running = wait_for("the counter to be what runs", lambda: farm.get("/pools")["pools"][0]["running"] == 0, 20)
            self.assertTrue(running)
        farm.wait_connected("a")
        number = farm.force("b", branch="pass")
        farm.wait_result(number, "success", patience=10)

    def test_max_running(self):
        repo = self.repo()
        go = self.folder / "go"
        farm = self.farm(
            simple_config(
                repo.bare, f"- test: echo up; until test -e {go}; do sleep 0.05; done", slaves="a: {pools: [p], slots: 3}", builder="max_running: 1",
                more="c: {project: j, pool: p, steps: [build: 'true']}",
            )
        )
        farm.start_master()
        farm.start_slave("a", slots=3)
        first, second = farm.force("b"), farm.force("b")
        farm.wait_log(first, 1, "up")
        farm.wait_result(farm.force("c"), "success")  # goes past the limited one
        self.assertEqual(farm.build(second)["state"], "queued")
        go.write_text("")
        farm.wait_result(first, "success")
        farm.wait_result(second, "success")

    def test_double_click(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'")).start("a")
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            same = list(pool.map(lambda _: farm.post("/force", {"builder": "b"}, {"Idempotency-Key": "form-17"})["url"], range(5)))
            different = list(pool.map(lambda _: farm.post("/force", {"builder": "b"})["url"], range(5)))
        self.assertEqual(len(set(same)), 1)
        self.assertEqual(len(set(different)), 5)
        self.assertEqual(len(farm.get("/builds")["builds"]), 6)
        farm.master.kill()
        farm.start_master()
        self.assertEqual(farm.post("/force", {"builder": "b"}, {"Idempotency-Key": "form-17"})["url"], same[0])

    def test_latest_only(self):
        repo = self.repo()
        go = self.folder / "go"
        config = simple_config(repo.bare, f"- test: echo up; until test -e {go}; do sleep 0.05; done").replace("pools: {p: }", "pools: {p: {backlog: latest}}")
        farm = self.farm(config).start("a")
        first = farm.force("b")
        farm.wait_log(first, 1, "up")
        waiting = [farm.force("b") for _ in range(4)]
        for number in waiting[:-1]:
            self.assertEqual(farm.wait_state(number, "finished")["result"], "skipped")
        self.assertEqual(farm.build(waiting[0])["stands_for"], waiting[1])
        go.write_text("")
        farm.wait_result(waiting[-1], "success")

    def test_pause_survives_a_restart(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'")).start("a")
        farm.cli("queue", "pause", "p")
        number = farm.force("b")
        farm.master.stop()
        farm.start_master()
        farm.wait_connected("a")
        self.assertEqual(farm.build(number)["state"], "queued")
        self.assertIn("paused", json.dumps(farm.get("/queue")["queue"][0]["waits_for"]))
        farm.cli("queue", "resume", "p")
        farm.wait_result(number, "success")


if __name__ == "__main__":
    harness.main()
