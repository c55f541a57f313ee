"""Slaves and masters that go silent, vanish and return."""

import os
import signal
import socket
import threading

import harness
from harness import processes_with, simple_config, wait_for

FAST = "ping_after: 1s\ndrop_after: 3s\nlost_after: 1s"
TWO = "a: {pools: [p]}\nz: {pools: [p]}"


class LostTest(harness.Test):
    def test_a_frozen_slave_does_not_own_a_build(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: echo up; sleep 600", slaves=TWO), FAST).start("a", "z")
        number = farm.force("b")
        farm.wait_log(number, 1, "up")
        frozen = farm.build(number)["slave"]
        other = "z" if frozen == "a" else "a"
        behind = farm.force("b")  # runs on the other slave now
        farm.wait_log(behind, 1, "up")
        later = [farm.force("b") for _ in range(2)]  # wait; the lost build goes before them
        farm.slaves[frozen].signal(signal.SIGSTOP)
        wait_for("the slave to show as lost", lambda: farm.slave(frozen)["state"] == "offline", 3 + 2 + 1)
        self.assertIn(farm.build(number)["state"], ("detached", "queued"))
        wait_for("a second attempt to be due", lambda: farm.build(number)["state"] == "queued", 10)
        build = farm.build(number)
        self.assertEqual((build["attempts"][0]["result"], build["id"]), ("lost", number))
        self.assertEqual(farm.get("/queue")["queue"][0]["build"], number, "its old place")
        farm.cli("cancel", behind)
        build = wait_for("the second attempt", lambda: (lambda b: b if (b["state"], b["attempt"]) == ("running", 2) else None)(farm.build(number)))
        self.assertEqual(build["slave"], other)
        farm.slaves[frozen].signal(signal.SIGCONT)
        farm.wait_log(later[0], 1, "up")  # it took new work
        self.assertEqual(farm.build(later[0])["slave"], frozen)
        wait_for(
            "the void attempt's processes to be gone",
            lambda: not [p for p in processes_with(f"TAILRACE_BUILD={number}\0") if p in processes_with(f"TAILRACE_SLAVE={frozen}\0")],
        )
        for n in (number, *later):
            farm.cli("cancel", n)
            farm.wait_result(n, "cancelled")

    def test_a_slave_notices_a_dead_master(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'"), FAST).start("a")
        farm.master.signal(signal.SIGSTOP)
        # It gives up on its own, and says so; meanwhile the kernel keeps the frozen master's port open.
        wait_for("the slave to give up", lambda: "uplink" in farm.slaves["a"].log() and farm.slaves["a"].log().count("lost") > 0, 10)
        farm.master.signal(signal.SIGCONT)
        farm.wait_connected("a")
        farm.master.kill()
        farm.start_master()
        farm.wait_connected("a")
        farm.wait_result(farm.force("b"), "success", patience=40)

    def test_no_ghosts(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'"), FAST)
        farm.start_master()
        proxy = Proxy(farm.ports["slaves"])
        self.addCleanup(proxy.close)
        descriptors = lambda: len(os.listdir(f"/proc/{farm.master.pid}/fd"))
        before = descriptors()
        farm.start_slave("a", port=proxy.port, backoff_max="250ms")

        def returned(since):
            slave = farm.slave("a")
            return slave["state"] == "idle" and slave["connected_at"] != since

        for _ in range(40):
            connected = farm.slave("a")["connected_at"]
            proxy.cut_silently()
            wait_for("the slave to return", lambda: returned(connected))
            pool = farm.get("/pools")["pools"][0]
            self.assertLessEqual(pool["slaves"], 1)
            self.assertEqual(len([s for s in farm.get("/slaves")["slaves"] if s["state"] == "idle"]), 1)
        wait_for("descriptors to be as before", lambda: descriptors() <= before + 2, 20)
        farm.wait_result(farm.force("b"), "success")

    def test_two_machines_with_one_name(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'"), FAST).start("a")
        rival = harness.Process(
            "rival",
            ["tailrace-slave", "--master", f"127.0.0.1:{farm.ports['slaves']}", "--name", "a", "--dir", str(farm.folder / "rival")],
            farm.folder / "rival.log",
        )
        farm.slaves["rival"] = rival
        wait_for("the second to be refused", lambda: "a name of its own" in rival.log(), 20)
        self.assertEqual(farm.slave("a")["state"], "idle")
        farm.slaves["a"].signal(signal.SIGSTOP)
        rival.stop()
        farm.start_slave("rival2", wait=False).end()
        del farm.slaves["rival2"]
        farm.slaves["a"].signal(signal.SIGCONT)

    def test_unknown_names_are_refused(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- build: 'true'")).start("a")
        stranger = farm.start_slave("stranger", wait=False)
        wait_for("the refusal", lambda: "slaves:" in stranger.log(), 20)
        self.assertNotIn("stranger", [s["name"] for s in farm.get("/slaves")["slaves"]])

    def test_secrets(self):
        repo = self.repo()
        secret = self.folder / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef\n")
        secret.chmod(0o600)
        farm = self.farm(simple_config(repo.bare, "- build: 'true'", slaves=f"a: {{pools: [p], secret_file: {secret}}}"))
        farm.start_master()
        wrong = self.folder / "wrong"
        wrong.write_text("fedcba9876543210fedcba9876543210\n")
        wrong.chmod(0o600)

        def start(file):
            arguments = ["tailrace-slave", "--master", f"127.0.0.1:{farm.ports['slaves']}", "--name", "a", "--dir", str(farm.folder / "s")]
            if file:
                arguments += ["--secret-file", str(file)]
            farm.slaves["a"] = harness.Process("a", arguments, farm.folder / "slave-a.log")

        for file in (None, wrong):
            start(file)
            wait_for("a line about it", lambda: farm.slaves["a"].log().count("uplink") >= 1 and "warn" in farm.slaves["a"].log().lower(), 20)
            wait_for("the reason", lambda: "no secret, or a wrong one" in (farm.slave("a")["reason"] or ""))
            self.assertEqual(farm.slave("a")["state"], "offline")
            farm.slaves["a"].stop()
        start(secret)
        farm.wait_connected("a")
        self.assertNotIn("0123456789abcdef", farm.master.log() + farm.slaves["a"].log())


class Proxy:
    """Passes TCP on, until it is told to go silent: both ends keep their connection, and no byte passes any more."""

    def __init__(self, port):
        self.to = port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.pairs = []
        self.closed = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.to))
            pair = {"near": near, "far": far, "silent": False}
            self.pairs.append(pair)
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(pair, a, b), daemon=True).start()

    def pump(self, pair, source, target):
        try:
            while data := source.recv(65536):
                if not pair["silent"]:
                    target.sendall(data)
        except OSError:
            pass
        if not pair["silent"]:
            for end in (pair["near"], pair["far"]):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def cut_silently(self):
        """The slave's side is reset; the master's side hears nothing at all."""
        for pair in self.pairs:
            if not pair["silent"]:
                pair["silent"] = True
                pair["near"].shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.close()
        for pair in self.pairs:
            pair["near"].close()
            pair["far"].close()


if __name__ == "__main__":
    harness.main()
