"""Masters that stop, die, start and read their configuration anew, while builds run."""

import signal
import time

import harness
from harness import simple_config, wait_for

COUNTING = "i=0; while test $i -lt %d; do echo line $i; i=$((i+1)); sleep 0.1; done"


class RestartTest(harness.Test):
    def test_builds_go_on_while_the_master_is_dead(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, f"- build: {COUNTING % 60}", slaves="a: {pools: [p]}\nz: {pools: [p]}"))
        farm.start_master()
        for name in ("a", "z"):
            farm.start_slave(name, slots=10)
        numbers = [farm.force("b") for _ in range(20)]
        for number in numbers:
            farm.wait_log(number, 1, "line 3\n")
        farm.master.kill()
        time.sleep(2)  # the outage itself
        farm.start_master()
        want = "".join(f"line {i}\n" for i in range(60)).encode()
        for number in numbers:
            build = farm.wait_result(number, "success", patience=120)
            self.assertEqual(build["attempt"], 1)
            self.assertEqual(farm.log(number, 1), want)
        self.assertEqual([b for b in farm.get("/builds?state=running")["builds"]], [])

    def test_stop_is_quick_even_with_a_frozen_slave(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo up; sleep 2; echo down")).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        farm.slaves["a"].signal(signal.SIGSTOP)
        begin = time.monotonic()
        self.assertEqual(farm.master.stop(), 0)
        if not harness.SANITIZED:
            self.assertLess(time.monotonic() - begin, 3)
        farm.slaves["a"].signal(signal.SIGCONT)
        farm.start_master()
        self.assertEqual(farm.wait_result(number, "success")["attempt"], 1)
        self.assertEqual(farm.log(number, 1), b"up\ndown\n")

    def test_waiting_builds_survive(self):
        repo = self.repo()
        farm = self.farm(
            simple_config(
                repo.bare, "- checkout\n- build: sleep 1",
                more="c: {project: j, pool: p, after: b, steps: [test: 'true']}\nd: {project: j, pool: p, after: [b, c], steps: [test: 'true']}",
            )
        ).start("a")
        number = farm.force("b")
        for _ in range(3):
            farm.master.kill()
            farm.start_master()
        for n in (number, number + 1, number + 2):
            farm.wait_result(n, "success")

    def test_two_masters_on_one_folder(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'")).start("a")
        second = farm.folder / "second.yaml"
        second.write_text(farm.config.read_text().replace(str(farm.ports["slaves"]), "0").replace(f":{farm.ports['web']}", ":0"))
        process = harness.Process("second", ["tailrace-master", "--config", str(second)], farm.folder / "second.log")
        self.assertEqual(process.popen.wait(30), 1)
        self.assertRegex(process.log(), r"another master|already")
        farm.wait_result(farm.force("b"), "success")

    def test_reload_without_a_slave_and_a_builder_in_use(self):
        repo = self.repo()
        go = self.folder / "go"
        config = simple_config(
            repo.bare, f"- build: echo up; until test -e {go}; do sleep 0.05; done", slaves="a: {pools: [p]}\nz: {pools: [p]}",
            more="c: {project: j, pool: p, steps: [build: 'true']}",
        )
        farm = self.farm(config).start("a", "z")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        slave = farm.build(number)["slave"]
        other = "z" if slave == "a" else "a"
        since = farm.slave(other)["connected_at"]
        farm.write(config.replace(f"  {slave}: {{pools: [p]}}\n", ""))
        answer = farm.post("/reload")
        self.assertIn(f"slave {slave}", answer["removed"])
        self.assertIn(f"slave {slave}", answer["draining"])
        without = farm.config.read_text()
        head, tail = without.split("  b:\n")
        farm.config.write_text(head + tail[tail.index("  c:"):])
        self.assertIn("builder b", farm.post("/reload")["removed"])
        self.assertEqual(farm.build(number)["state"], "running")
        go.write_text("")
        farm.wait_result(number, "success")
        self.assertEqual(farm.get_raw(f"/builds/{number}")[0], 200)
        wait_for("the slave to leave", lambda: slave not in [s["name"] for s in farm.get("/slaves")["slaves"]])
        self.assertEqual(farm.slave(other)["connected_at"], since, "the other stayed connected")
        farm.wait_result(farm.force("c"), "success")

    def test_a_bad_file_changes_nothing(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'")).start("a")
        farm.cli("queue", "pause", "p")
        number = farm.force("b")
        good = farm.config.read_text()
        lines = good.splitlines()
        lines.insert(6, "slavess: {}")
        farm.config.write_text("\n".join(lines))
        done = farm.cli("reload", expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, r"master\.yaml:7:1: .*slavess.*slaves")
        self.assertIn(":7:1:", farm.get("/status")["config_error"])
        self.assertEqual(farm.build(number)["state"], "queued")
        farm.master.signal(signal.SIGHUP)
        farm.config.write_text(good)
        farm.master.signal(signal.SIGHUP)
        wait_for("the error to be gone", lambda: farm.get("/status")["config_error"] is None)
        farm.cli("queue", "resume", "p")
        farm.wait_result(number, "success")

    def test_a_slave_drains_on_sigterm(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo up; sleep 1; echo down", slaves="a: {pools: [p]}\nz: {pools: [p]}")).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        farm.slaves["a"].signal(signal.SIGTERM)
        wait_for("it to show as draining", lambda: farm.slave("a")["state"] in ("draining", "offline"))
        farm.wait_result(number, "success")
        self.assertEqual(farm.slaves["a"].popen.wait(30), 0)


if __name__ == "__main__":
    harness.main()
