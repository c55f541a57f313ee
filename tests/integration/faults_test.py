"""What no fault may break: each build ends once, each log is exact, each point is there once, nothing is left running.

TAILRACE_FAULT_SEED picks other faults, TAILRACE_FAULT_SECONDS makes them last longer.
"""

import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import harness
from harness import simple_config, wait_for

SEED = int(os.environ.get("TAILRACE_FAULT_SEED", "1"))
SECONDS = float(os.environ.get("TAILRACE_FAULT_SECONDS", "15"))
FAST = "ping_after: 1s\ndrop_after: 3s\nlost_after: 20s"
JSON = {"Content-Type": "application/json"}

# Writes BYTES bytes that SEED determines, in pieces of all sizes, some of which do not compress.
WRITER = """
import random, sys, time
dice = random.Random(int(sys.argv[1]))
left = int(sys.argv[2])
while left > 0:
    n = min(left, dice.choice([1, 7, 100, 5000, 70000, 300000]))
    sys.stdout.buffer.write(dice.randbytes(n) if dice.random() < 0.5 else b"line %d\\n" % n * (n // 8 + 1))
    sys.stdout.buffer.flush()
    left -= n
    time.sleep(float(sys.argv[3]))
"""


class Proxy:
    """Passes TCP on; cuts all connections when told to, and the next one after so many bytes of both directions."""

    def __init__(self, port):
        self.to = port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.pairs = []
        self.cut_next_at = None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                near.close()
                continue
            pair = {"ends": (near, far), "passed": 0, "cut_at": self.cut_next_at}
            self.cut_next_at = None
            self.pairs.append(pair)
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(pair, source, target), daemon=True).start()

    def pump(self, pair, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if pair["cut_at"] is not None and pair["passed"] + len(data) >= pair["cut_at"]:
                    target.sendall(data[: pair["cut_at"] - pair["passed"]])
                    break
                pair["passed"] += len(data)
                target.sendall(data)
        self.end(pair)

    @staticmethod
    def end(pair):
        for end in pair["ends"]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self.end(pair)

    def close(self):
        self.server.close()
        self.cut()


class FaultsTest(harness.Test):
    def small_disk(self, path, size):
        """A file system of that size at path, which a test may fill; skips the test where that is not allowed."""
        path.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            self.skipTest("may not mount a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", path])
        return path

    @staticmethod
    def fill(path):
        with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def check_stopped(self, farm):
        """Stops all; the database is sound and says that everything is over, the slaves hold nothing any more."""
        for name in farm.slaves:
            journals = farm.folder / f"slave-{name}" / "journal"
            wait_for("the journals to be gone", lambda: {p.name for p in journals.iterdir()} <= {"reserve"})
        self.assertEqual(farm.get("/queue")["queue"], [])
        for process in [*farm.slaves.values(), farm.master]:
            self.assertEqual(process.stop(), 0)
        with contextlib.closing(sqlite3.connect(farm.folder / "data" / "tailrace.db")) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(db.execute("PRAGMA foreign_key_check").fetchall(), [])

    # All at once

    def chaos_config(self, repo, kinds):
        writer = self.folder / "writer.py"
        writer.write_text(WRITER)
        more = ""
        for i, (size, pause) in enumerate(kinds):
            more += (
                f"w{i}:\n  project: j\n  pool: p\n  max_attempts: 99\n  steps:\n    - checkout\n"
                f"    - build: python3 {writer} {SEED + i} {size} {pause}\n    - benchmark: sleep 0.05\n      iterations: 3\n"
            )
        return simple_config(repo.bare, "- build: 'true'", slaves="a: {pools: [p]}\nz: {pools: [p]}", more=more)

    def one_fault(self, dice, farm, proxies):
        name = dice.choice("az")
        slave = farm.slaves[name]
        fault = dice.choice(["kill master", "kill slave", "kill both", "stop master", "freeze", "cut", "cut at", "cut at"])
        if fault in ("kill master", "kill both"):
            farm.master.kill()
        if fault in ("kill slave", "kill both"):
            slave.kill()
        if fault == "stop master":
            self.assertEqual(farm.master.stop(), 0)
        if fault == "freeze":
            frozen = dice.choice([slave, farm.master])
            frozen.signal(signal.SIGSTOP)
            time.sleep(dice.choice([0.1, 1, 4]))
            frozen.signal(signal.SIGCONT)
        if fault == "cut at":
            proxies[name].cut_next_at = dice.choice([dice.randrange(1, 600), dice.randrange(1, 200000)])
        if fault.startswith("cut"):
            proxies[name].cut()
        if slave.popen.poll() is not None:
            farm.start_slave(name, wait=False, port=proxies[name].port, slots=2, backoff_max="300ms")
        if farm.master.popen.poll() is not None:
            farm.start_master()

    def check_build(self, farm, number, want):
        build = farm.wait_result(number, "success", patience=180)
        size, digest = want
        log = farm.log(number, 2)
        self.assertEqual((len(log), hashlib.sha256(log).hexdigest()), (size, digest), f"build {number}")
        self.assertEqual({a["result"] for a in build["attempts"][:-1]} - {"lost"}, set())
        with contextlib.closing(sqlite3.connect(farm.folder / "data" / "tailrace.db")) as db:
            points = db.execute(
                "SELECT metric, iteration, count(*) FROM points WHERE build = ? AND attempt = ? GROUP BY 1, 2", (number, build["attempt"])
            ).fetchall()
        self.assertEqual(len({iteration for _, iteration, _ in points}), 3)
        self.assertEqual({count for _, _, count in points}, {1})

    def test_many_faults(self):
        dice = random.Random(SEED)
        repo = self.repo()
        kinds = [(1000, 0.05), (300000, 0.2), (3000000, 0.05)]
        farm = self.farm(self.chaos_config(repo, kinds), FAST)
        wants = []
        for i, (size, _) in enumerate(kinds):
            output = subprocess.run(["python3", "-c", WRITER, str(SEED + i), str(size), "0"], stdout=subprocess.PIPE, check=True).stdout
            wants.append((len(output), hashlib.sha256(output).hexdigest()))
        farm.start_master()
        proxies = {name: Proxy(farm.ports["slaves"]) for name in "az"}
        for name, proxy in proxies.items():
            self.addCleanup(proxy.close)
            farm.start_slave(name, wait=False, port=proxy.port, slots=2, backoff_max="300ms")
        builds = {}
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            kind = dice.randrange(len(kinds))
            key = {**JSON, "Idempotency-Key": f"key {len(builds)}"}
            twice = [farm.get_raw("/api/v1/force", key, "POST", json.dumps({"builder": f"w{kind}"}).encode()) for _ in range(2)]
            numbers = {json.loads(body)["id"] for status, _, body in twice if status in (200, 201)}
            self.assertLessEqual(len(numbers), 1)
            builds.update({number: kind for number in numbers})
            time.sleep(dice.choice([0, 0.1, 0.5]))
            self.one_fault(dice, farm, proxies)
        self.assertTrue(builds)
        for number, kind in builds.items():
            self.check_build(farm, number, wants[kind])
        self.check_stopped(farm)

    def test_a_connection_that_is_cut_at_any_byte(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo hello; sleep 0.1; echo world"), FAST)
        farm.start_master()
        proxy = Proxy(farm.ports["slaves"])
        self.addCleanup(proxy.close)
        farm.start_slave("a", port=proxy.port, backoff_max="250ms", slots=2)
        numbers = []
        for at in range(1, 1000, 9):
            proxy.cut_next_at = at
            proxy.cut()
            if at % 4 == 1:
                numbers.append(farm.force("b"))
            time.sleep(0.03)
        for number in numbers:
            self.assertEqual(farm.wait_result(number, "success")["attempt"], 1, f"build {number}")
            self.assertEqual(farm.log(number, 1), b"hello\nworld\n", f"build {number}")
        self.check_stopped(farm)

    # Disks

    def test_the_masters_disk_is_full(self):
        repo = self.repo()
        output = self.folder / "output"
        farm = self.farm(simple_config(repo.bare, f"- build: head -c 12000000 /dev/urandom | tee {output}"))
        data = self.small_disk(farm.folder / "data", "8m")
        farm.start("a")
        number = farm.force("b")
        wait_for("the master to say so", lambda: farm.get("/status")["store_error"])
        self.assertEqual(farm.get_raw("/healthz")[0], 503)
        self.assertEqual(farm.get_raw("/api/v1/force", JSON, "POST", b'{"builder": "b"}')[0], 503)
        farm.master.kill()
        farm.start_master()
        subprocess.run(["mount", "-o", "remount,size=64m", data], check=True)
        self.assertEqual(farm.wait_result(number, "success")["attempt"], 1)
        self.assertEqual(farm.log(number, 1), output.read_bytes())
        self.assertIsNone(farm.get("/status")["store_error"])
        self.check_stopped(farm)

    def test_the_slaves_disk_is_full(self):
        repo = self.repo()
        config = simple_config(repo.bare, "- build: head -c 20000000 /dev/zero > big\n- test: 'true'", slaves="a: {pools: [p]}")
        farm = self.farm(config, FAST + "\nstart_timeout: 1s")
        disk = self.small_disk(farm.folder / "slave-a", "6m")
        farm.start("a")
        build = farm.wait_result(farm.force("b"), "exception")
        self.assertIn("disk is full", build["steps"][0]["reason"])
        self.fill(disk / "ballast")
        # There is the reserve to say it with, and then nothing at all.
        farm.wait_result(farm.force("b"), "exception")
        (disk / "journal" / "reserve").unlink(missing_ok=True)
        self.fill(disk / "ballast")
        number = farm.force("b")
        farm.wait_result(number, "exception")
        self.assertIn("never did", farm.build(number)["attempts"][-1]["reason"])
        (disk / "ballast").unlink()
        farm.wait_connected("a")
        self.assertEqual(farm.wait_result(farm.force("b"), "exception")["attempt"], 1)
        self.check_stopped(farm)

    def test_a_full_spool_holds_the_step_back(self):
        repo = self.repo()
        output = self.folder / "output"
        farm = self.farm(simple_config(repo.bare, f"- build: head -c 8000000 /dev/urandom | tee {output}"), FAST)
        farm.start_master()
        config = self.folder / "slave-a.yaml"
        config.write_text(
            f"master: 127.0.0.1:{farm.ports['slaves']}\nname: a\ndir: {farm.folder}/slave-a\nspool_limit: 2MiB\nbackoff_max: 500ms\n"
        )
        farm.slaves["a"] = harness.Process("a", ["tailrace-slave", "--config", str(config)], farm.folder / "slave-a.log")
        farm.wait_connected("a")
        farm.master.signal(signal.SIGSTOP)
        farm.master.signal(signal.SIGCONT)
        number = farm.force("b")
        farm.wait_state(number, "running", "finished")
        farm.master.kill()
        time.sleep(1.5)  # the outage: long enough for all of the output
        journals = farm.folder / "slave-a" / "journal"
        self.assertLess(sum(p.stat().st_size for p in journals.glob("*/*")), 3 << 20)
        farm.start_master()
        self.assertEqual(farm.wait_result(number, "success")["attempt"], 1)
        self.assertEqual(farm.log(number, 1), output.read_bytes())
        self.check_stopped(farm)

    # Lost memory

    def test_the_database_is_lost_while_a_slave_is_away(self):
        repo = self.repo()
        go = self.folder / "go"
        config = simple_config(
            repo.bare, f"- build: echo old; until test -e {go}; do sleep 0.05; done",
            more="c: {project: j, pool: p, steps: [build: echo new]}",
        )
        farm = self.farm(config, FAST).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "old")
        farm.slaves["a"].signal(signal.SIGSTOP)
        farm.master.kill()
        for name in ("tailrace.db", "tailrace.db-wal", "tailrace.db-shm"):
            (farm.folder / "data" / name).unlink(missing_ok=True)
        farm.start_master()
        self.assertEqual(farm.force("c"), number, "the same id again")
        farm.slaves["a"].signal(signal.SIGCONT)
        farm.wait_result(number, "success")
        self.assertEqual(farm.log(number, 1), b"new\n")
        self.check_stopped(farm)

    def test_ports_are_told_only_while_there_are_any(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'"))
        farm.start_master()
        ports = farm.folder / "data" / "ports.json"
        farm.master.kill()
        self.assertTrue(ports.exists())
        with socket.create_server(("127.0.0.1", farm.ports["slaves"])):
            second = harness.Process("second", ["tailrace-master", "--config", str(farm.config)], farm.folder / "second.log")
            self.assertEqual(second.popen.wait(30), 1)
        self.assertFalse(ports.exists(), "what a killed master left")
        farm.start_master()
        self.assertEqual(farm.master.stop(), 0)
        self.assertFalse(ports.exists())

    def test_a_damaged_database_is_refused(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'")).start("a")
        farm.master.stop()
        path = farm.folder / "data" / "tailrace.db"
        path.write_bytes(b"no database" * 1000)
        second = harness.Process("second", ["tailrace-master", "--config", str(farm.config)], farm.folder / "second.log")
        self.assertEqual(second.popen.wait(30), 1)
        self.assertIn("tailrace.db: database: file is not a database", second.log())
        path.unlink()
        farm.start_master()
        farm.wait_connected("a")
        farm.wait_result(farm.force("b"), "success")

    def test_a_cancel_outlives_the_master(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo up; sleep 600")).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        farm.slaves["a"].signal(signal.SIGSTOP)
        farm.post(f"/builds/{number}/cancel")
        farm.master.kill()
        farm.start_master()
        farm.wait_result(number, "cancelled")
        farm.slaves["a"].signal(signal.SIGCONT)
        self.check_stopped(farm)

    def test_both_die_at_once(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo up; sleep 1; echo down"), FAST).start("a")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        farm.master.kill()
        farm.slaves["a"].kill()
        farm.start_slave("a", wait=False)
        farm.start_master()
        build = farm.wait_result(number, "success")
        self.assertEqual([a["result"] for a in build["attempts"]], ["lost", "success"])
        self.assertEqual(farm.log(number, 1), b"up\ndown\n")
        self.check_stopped(farm)


if __name__ == "__main__":
    harness.main()
