"""Input that means harm, or none at all: on the slaves' port, from a slave with a good name, in HTTP, in the
configuration, from what builds leave behind. Whoever sends it is told why and put out; nothing else notices."""

import http.client
import json
import os
import resource
import socket
import struct
import subprocess
import time
import zlib

import harness
import wire
from harness import main, simple_config, wait_for

ESCAPES = "\x1b[2J\x1b]0;x\x07\n\rnext\x9b31m\u202e"


def deflated(data):
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)


def block(data=b"hello\n", offset=0, size=None, lines=None, crc=None, packed=None, step=1, stream=0):
    """A LOG_BLOCK that may lie."""
    return (
        wire.LOG_BLOCK, step, stream, offset, len(data) if size is None else size, data.count(b"\n") if lines is None else lines,
        zlib.crc32(data) if crc is None else crc, 0, deflated(data) if packed is None else packed,
    )


def step_end(step=1, result=1, code=0, reason="", at=0, user=0.0, system=0.0, rss=0, killed=0):
    return (wire.STEP_FINISHED, step, result, code, reason, at, user, system, rss, killed)


def end(result=1, reason="", at=0, interrupted=False):
    return (wire.ATTEMPT_FINISHED, result, reason, at, interrupted)


BEGIN = (wire.ATTEMPT_STARTED, 0)
STEP = (wire.STEP_STARTED, 1, 0)


def files_of(farm):
    """How many files the master has open, when nobody asks it anything."""
    return len(os.listdir(f"/proc/{farm.master.pid}/fd"))


class Hostile(harness.Test):
    def hostile_farm(self, *slaves, steps="- build: 'true'\n- test: 'true'", names="a: {pools: [p]}\nh: {pools: [q]}", **options):
        repo = self.repo()
        config = simple_config(repo.bare, steps, slaves=names, **options).replace("pools: {p: }", "pools: {p: , q: }")
        config += "  hb: {project: j, pool: q, steps: [{build: 'true'}, {test: 'true'}]}\n"
        return self.farm(config).start(*slaves)

    def connect(self, farm):
        return wire.Wire(farm.ports["slaves"])

    def welcomed(self, farm, name="h", **options):
        connection = self.connect(farm)
        self.addCleanup(connection.socket.close)
        connection.hello(name, **options)
        self.assertIsNotNone(connection.until(wire.WELCOME))
        return connection

    def started(self, farm, connection):
        """(build, attempt) of a build that the connection was told to run."""
        build = farm.force("hb")
        message = connection.until(wire.START)
        self.assertEqual(message[1], build)
        return build, message[2]


class SlavesPort(Hostile):
    def test_nonsense_before_welcome(self):
        farm = self.hostile_farm("a")
        names = ["../a", "a/b", "a\n", "\x1b[31m", "", ".", "..", "-a", "a b", "é", "a\0b", "x" * 65, "x" * 5000, b"a"]
        cases = {
            "garbage": os.urandom(3000), "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "longest length": b"\xff\xff\xff\xff",
            "no length": bytes(4), "2^28 elements": b"\0\0\0\5\xdd\x10\0\0\0", "2^32 bytes": b"\0\0\0\5\xc6\xff\xff\xff\xff",
            "deep": b"\0\0\x0b\xb9" + b"\x91" * 3000 + b"\xc0", "map": b"\0\0\0\3\x81\1\2", "ext": b"\0\0\0\4\x91\xd4\1\2",
            "empty array": b"\0\0\0\1\x90", "text": b"\0\0\0\3\xa2hi", "unknown": wire.frame(1 << 40, 1),
            "record": wire.frame(wire.RECORD, 1, 1, 1, b""), "welcome": wire.frame(wire.WELCOME, 1, "b", 1, 2, 3, [], b""),
            "held": wire.frame(wire.HELLO, 1, 1, "h", "b", 1, bytes(32), [[1, 1, 1]] * 1025),
            "short nonce": wire.frame(wire.HELLO, 1, 1, "h", "b", 1, bytes(31), []),
            "newer": wire.frame(wire.HELLO, 2, 3, "h", "b", 1, bytes(32), []),
            "backwards": wire.frame(wire.HELLO, 3, 1, "h", "b", 1, bytes(32), []),
        }
        cases.update({f"name {n!r:.20}": wire.frame(wire.HELLO, 1, 1, n, "b", 1, bytes(32), []) for n in names})
        for case, data in cases.items():
            with self.subTest(case), self.connect(farm) as connection:
                connection.put(data)
                messages = connection.rest()
                self.assertEqual([m[0] for m in messages], [wire.REFUSED])
                self.assertTrue(messages[0][2])
        self.assertGreaterEqual(farm.master.log().count("slave.turned_away "), 20)
        self.assertNotIn("\x1b", farm.master.log())
        farm.wait_result(farm.force("b"), "success")  # by the slave that was there all along

    def test_byte_by_byte_and_twice(self):
        farm = self.hostile_farm()
        with self.connect(farm) as connection:
            for byte in wire.frame(wire.HELLO, 1, 1, "h", "b", 1, bytes(32), []):
                connection.put(bytes([byte]))
            self.assertEqual(connection.get()[0], wire.WELCOME)
            connection.hello("h")
            self.assertEqual([m[0] for m in connection.rest()], [wire.BYE])

    def test_secrets(self):
        secret = self.folder / "secret"
        secret.write_text("0123456789abcdef" * 2)
        secret.chmod(0o600)
        farm = self.hostile_farm(names=f"h: {{pools: [q, p], secret_file: {secret}}}")
        for forge in (b"", bytes(32), "nonce", "replay"):
            with self.subTest(forge), self.connect(farm) as connection:
                connection.hello("h")
                nonce = connection.until(wire.CHALLENGE)[1]
                if forge == "replay":
                    connection.prove(secret.read_bytes(), bytes(32))
                else:
                    connection.say(wire.PROOF, nonce if forge == "nonce" else forge)
                self.assertEqual(connection.until(wire.REFUSED)[1], "secret")
        with self.connect(farm) as connection:
            connection.hello("h")
            nonce = connection.until(wire.CHALLENGE)[1]
            connection.prove(secret.read_bytes(), nonce)
            self.assertEqual(connection.get()[0], wire.WELCOME)
            connection.prove(secret.read_bytes(), nonce)
            self.assertEqual([m[0] for m in connection.rest()], [wire.BYE])

    def test_flood(self):
        farm = self.hostile_farm()
        self.welcomed(farm).socket.close()  # what is opened at first use stays open
        before = wait_for("that to be over", lambda: farm.slave("h")["state"] == "offline" and files_of(farm))
        silent = [socket.create_connection(("127.0.0.1", farm.ports["slaves"])) for _ in range(1500)]
        began = time.monotonic()
        with self.connect(farm) as connection:
            connection.hello("h")
            self.assertEqual(connection.get()[0], wire.WELCOME)
            self.assertLess(time.monotonic() - began, 5)
            self.assertLess(files_of(farm), before + 400)
        for each in silent:
            each.close()
        wait_for("the connections to be gone", lambda: files_of(farm) <= before + 3)

    def test_who_never_reads(self):
        farm = self.hostile_farm()
        before = harness.rss_mb(farm.master.pid, "VmRSS")
        connection = self.welcomed(farm)
        connection.socket.settimeout(1)
        try:
            for _ in range(300):
                connection.put(wire.frame(wire.PING, 1) * 4000)
        except OSError:
            pass
        self.assertEqual(farm.get_raw("/healthz")[0], 200)
        # ASan keeps what was freed for a while.
        self.assertLess(harness.rss_mb(farm.master.pid, "VmRSS") - before, 400 if harness.SANITIZED else 20)

    def test_forty_times(self):
        farm = self.hostile_farm()
        self.welcomed(farm).socket.close()  # what is opened at first use stays open
        before = wait_for("that to be over", lambda: farm.slave("h")["state"] == "offline" and files_of(farm))
        connections = [self.welcomed(farm, boot="the-same") for _ in range(40)]
        wait_for("the earlier connections to go", lambda: files_of(farm) <= before + 3)
        wait_for("the last of them to be the slave's", lambda: farm.slave("h")["state"] == "idle")
        connections[-1].socket.close()


class LyingSlave(Hostile):
    def test_records(self):
        """What is wrong ends the connection; what is odd is stored, served and shown so that nobody chokes on it."""
        wrong = {
            "no start": [STEP], "two starts": [BEGIN, BEGIN], "step 0": [BEGIN, (wire.STEP_STARTED, 0, 0)],
            "step 3": [BEGIN, (wire.STEP_STARTED, 3, 0)], "two at once": [BEGIN, STEP, (wire.STEP_STARTED, 2, 0)],
            "unknown": [BEGIN, (99, 1)], "a message": [BEGIN, (wire.ACK, 1, 1, 1)], "no result": [BEGIN, STEP, step_end(result=0)],
            "result 99": [BEGIN, STEP, step_end(result=99)], "nan": [BEGIN, STEP, step_end(user=float("nan"))],
            "infinity": [BEGIN, STEP, (wire.POINTS, 1, [["s", "t", "m", "u", 1, 0, float("inf")]])],
            "revision": [BEGIN, (wire.REVISION, "--upload-pack=x")], "offset": [BEGIN, STEP, block(offset=5)],
            "no size": [BEGIN, STEP, block(size=0)], "large": [BEGIN, STEP, block(size=200000)],
            "lines": [BEGIN, STEP, block(lines=7)], "no data": [BEGIN, STEP, block(packed=b"")],
            "stream 2": [BEGIN, STEP, block(stream=2)], "not running": [BEGIN, STEP, block(step=2)],
            "long reason": [BEGIN, STEP, step_end(reason="x" * 513)], "end too early": [BEGIN, STEP, end()],
        }
        edge = 2 ** 63 - 1
        odd = {
            "late": [(wire.ATTEMPT_STARTED, edge), (wire.STEP_STARTED, 1, edge), step_end(at=-edge - 1), end(at=edge)],
            "early": [(wire.ATTEMPT_STARTED, -edge - 1), (wire.STEP_STARTED, 1, -edge - 1), step_end(at=edge), end(at=-edge)],
            "code": [BEGIN, STEP, step_end(code=edge, rss=2 ** 64 - 1, killed=2 ** 32 - 1, user=1e308, system=-1e308), end()],
            "escapes": [BEGIN, STEP, step_end(result=3, reason=ESCAPES), end(result=3, reason=ESCAPES)],
            "no text": [BEGIN, STEP, step_end(result=3, reason=wire.text(b"\xff\xfe\xc3a\0b")), end(result=3, reason=wire.text(b"\xed\xa0"))],
            "points": [BEGIN, STEP, (wire.POINTS, 1, [[ESCAPES, "", wire.text(b"\xff"), "u", 9, 2 ** 32 - 1, -0.0]]), step_end(), end()],
            "wrong size": [BEGIN, STEP, block(size=100), step_end(), end()], "wrong crc": [BEGIN, STEP, block(crc=1), step_end(), end()],
            "bomb": [BEGIN, STEP, block(bytes(10 ** 7), size=131072, lines=0), step_end(), end()],
            "no deflate": [BEGIN, STEP, block(packed=os.urandom(300)), step_end(), end()],
        }
        farm = self.hostile_farm("a")
        connection = self.welcomed(farm)
        for case, records in wrong.items():
            with self.subTest(case):
                build, attempt = self.started(farm, connection)
                for number, record in enumerate(records, 1):
                    connection.record(build, attempt, number, *record)
                connection.rest()  # and it is over
                farm.post(f"/builds/{build}/cancel", expect=(200, 409))
                connection = self.welcomed(farm)
        for case, records in odd.items():
            with self.subTest(case):
                build, attempt = self.started(farm, connection)
                for number, record in enumerate(records, 1):
                    connection.record(build, attempt, number, *record)
                self.assertEqual(connection.until(wire.FORGET, wire.BYE)[0], wire.FORGET)
                self.check_shown(farm, build)
        self.assertNotIn("store.stuck", farm.master.log())
        farm.wait_result(farm.force("b"), "success")

    def check_shown(self, farm, build):
        for path in (f"/api/v1/builds/{build}", f"/api/v1/builds/{build}/points", "/api/v1/builds?limit=100"):
            status, _, body = farm.get_raw(path)
            self.assertEqual(status, 200)
            shown = json.loads(body, parse_constant=lambda word: self.fail(f"{word} in {path}"))
        for when in (shown["builds"][0]["started_at"], shown["builds"][0]["finished_at"]):
            self.assertRegex(when, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        for words in (["show", build], ["builds"], ["wait", build]):
            done = farm.cli(*words, expect=None, text=False)
            for bad in (b"\x1b", b"\x07", b"\r", "\x9b".encode(), "\u202e".encode()):
                self.assertNotIn(bad, done.stdout + done.stderr)
        for headers in ({}, {"Accept-Encoding": "gzip"}, {"Range": "bytes=0-3"}):
            try:
                farm.get_raw(f"/api/v1/builds/{build}/steps/1/log", headers)
            except http.client.IncompleteRead:
                pass  # a log that is damaged breaks off, and is not taken for whole

    def test_what_is_another_slaves(self):
        farm = self.hostile_farm()
        theirs = farm.force("b")
        connection = self.welcomed(farm, held=[[theirs, 1, 0], [theirs, 1, 9], [theirs + 1, 1, 1], [0, 0, 2 ** 64 - 1]])
        self.assertEqual(farm.build(theirs)["state"], "queued")
        connection.record(theirs, 1, 1, *BEGIN)
        self.assertEqual(connection.until(wire.FORGET)[1:], [theirs, 1])
        self.assertEqual(farm.build(theirs)["state"], "queued")

    def test_credit(self):
        farm = self.hostile_farm()
        connection = self.welcomed(farm)
        build, attempt = self.started(farm, connection)
        connection.record(build, attempt, 1, *BEGIN)
        connection.record(build, attempt, 2, *STEP)
        data = os.urandom(60000)
        records = [wire.pack(block(data, offset=n * len(data))) for n in range(100)]
        try:
            connection.put(b"".join(wire.frame(wire.RECORD, build, attempt, n + 3, r) for n, r in enumerate(records)))
        except OSError:
            pass
        wait_for("the end of it", lambda: "without credit" in farm.master.log())


class Http(Hostile):
    def ask(self, data, patience=5):
        """All that comes back for the bytes."""
        with socket.create_connection(("127.0.0.1", self.web)) as connection:
            connection.settimeout(patience)
            got = b""
            try:
                connection.sendall(data)
                while chunk := connection.recv(65536):
                    got += chunk
            except OSError:
                pass
            return got

    def test_who_vanishes(self):
        farm = self.hostile_farm()
        self.web = farm.ports["web"]
        connection = self.welcomed(farm)
        build, attempt = self.started(farm, connection)
        connection.record(build, attempt, 1, *BEGIN)
        connection.record(build, attempt, 2, *STEP)
        before = files_of(farm)
        body = b'{"builder":"b"}'
        asks = [
            b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            b"GET /api/v1/builds/%d/steps/1/log?follow=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % build,
            b"POST /api/v1/force HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body),
            b"POST /api/v1/force HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" + body,
            b"GET /api/v1/status?" + b"a=b&" * 2000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET / HT",
        ]
        for n in range(60):
            asker = socket.create_connection(("127.0.0.1", self.web))
            asker.sendall(asks[n % len(asks)])
            if n % 2:
                asker.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            asker.close()
        connection.record(build, attempt, 3, *block())
        wait_for("the connections to be gone", lambda: files_of(farm) <= before + 3)

    def test_many_readers_of_events(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        farm = self.hostile_farm()
        readers = [socket.create_connection(("127.0.0.1", farm.ports["web"])) for _ in range(1000)]
        for reader in readers:
            reader.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        for reader in readers:
            self.assertEqual(reader.recv(12), b"HTTP/1.1 200")
        began = time.monotonic()
        farm.force("b")
        self.assertEqual(farm.get_raw("/healthz")[0], 200)
        self.assertLess(time.monotonic() - began, 5)
        for reader in readers:
            reader.close()


class Configuration(harness.Test):
    def check(self, body, expect=1):
        path = self.folder / "master.yaml"
        path.write_text(body)
        done = subprocess.run(
            [str(harness.BIN / "tailrace"), "check", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20
        )
        self.assertEqual(done.returncode, expect, done.stdout)
        self.assertNotIn(b"\x1b", done.stdout)
        return done.stdout.decode()

    def test_what_is_no_file(self):
        head = simple_config("/nowhere", "- build: 'true'")
        os.mkfifo(self.folder / "pipe")
        for name in ("pipe", ".", "/dev/zero", "/dev/null"):
            with self.subTest(name):
                self.assertRegex(self.check(head + f"include: {name}\n"), r"master\.yaml:\d+:\d+: include: .*not a file")
                slaves = f"a: {{pools: [p], secret_file: {name}}}"
                self.assertRegex(self.check(simple_config("/nowhere", "- build: x", slaves=slaves)), r":\d+:\d+: .*not a file")

    def test_cycles_bombs_and_escapes(self):
        head = simple_config("/nowhere", "- build: 'true'")
        bomb = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}' if n else 'x'] * 9)}]\n" for n in range(12))
        for body in (
            head + "include: master.yaml\n", bomb, "[" * 100000, "{a: " * 100000, "? " * 100000, head + "\0",
            head.replace("pool: p", 'pool: "\\e]0;x\\a\\e[31mp"'), head.replace("  b:", '  "b\\e[2J":'),
            head.replace("[main]", '["[z-a]"]'), head.replace("a: {pools", "s-[1-4000000000]: {pools"),
        ):
            with self.subTest(body[-40:]):
                self.assertRegex(self.check(body), r"^\S*master\.yaml:\d+:\d+: ")
        for body in (head.replace("a: {pools", "s-[00001-20000]: {pools"), head.replace("[main]", '["' + "a*" * 2000 + 'b"]')):
            self.check(body, expect=0)


class WorkFolder(Hostile):
    def test_what_builds_leave(self):
        script, outside = self.folder / "step.sh", self.folder / "outside"
        outside.mkdir()
        (outside / "kept").write_text("kept")
        steps = f"- build: sh {script}\n  on_failure: continue\n  dir: .\n- checkout\n- test: cat README"
        farm = self.hostile_farm("a", steps=steps)
        own = 'd=$PWD; cd /; chmod -R u+rwx "$d"; rm -rf "$d"; '
        for text in (
            own, own + 'echo x > "$d"', own + 'mkfifo "$d"', own + f'ln -s {outside} "$d"', "mkdir -p r/a; : > r/a/f; chmod 0 r/a r; chmod 500 .",
            f"ln -sfn {outside} out; ln -s / root; ln -s self self; touch \"a\nb\" -- -rf '\x1b[31m'",
            f'rm -rf .git; echo "gitdir: {outside}" > .git', f"rm -rf .git; ln -s {outside} .git", "rm -rf .git; mkfifo .git",
            f"git config core.worktree {outside}", f"git config core.fsmonitor 'touch {outside}/ran; false'",
            "rm -f .git/HEAD .git/index; mkfifo .git/HEAD .git/index", "rm -f .git/config; mkdir .git/config", "kill -TERM 0; sleep 1",
        ):
            script.write_text(text)
            farm.wait_result(farm.force("b"))  # however it ends
            script.write_text("true")
            farm.wait_result(farm.force("b"), "success")
            self.assertEqual(os.listdir(outside), ["kept"])
        self.assertIsNone(farm.slaves["a"].popen.poll())


if __name__ == "__main__":
    main()
