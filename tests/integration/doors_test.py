"""A master's start that fails, and its stop with connections of every kind open."""

import socket
import struct
import subprocess
import time

import harness
from harness import simple_config

CONFIG = simple_config("/nowhere/repo.git", "- build: 'true'")


def hello(name):
    """HELLO of a slave without a secret."""
    text = lambda word: bytes([0xA0 + len(word)]) + word.encode()
    body = b"\x97\x01\x01\x01" + text(name) + text("boot") + b"\x01\xc4\x20" + bytes(32)
    return struct.pack(">I", len(body)) + body


class DoorsTest(harness.Test):
    def fails(self, farm):
        done = subprocess.run(
            [harness.BIN / "tailrace-master", "--config", farm.config], stderr=subprocess.PIPE, text=True, timeout=30
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr.splitlines()[-1]

    def test_ports_that_are_taken(self):
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        for door, words in (("slaves", "listen for slaves"), ("web", "listen for pages")):
            farm = self.farm(CONFIG)
            farm.ports = {door: taken.getsockname()[1]}
            farm.write(CONFIG)
            said = self.fails(farm)
            self.assertIn(words, said)
            self.assertIn("in use", said)

    def test_a_file_where_the_data_should_be(self):
        farm = self.farm(CONFIG)
        (farm.folder / "data").write_text("")
        self.assertIn("data", self.fails(farm))

    def test_ports_json_that_cannot_be_written(self):
        farm = self.farm(CONFIG)
        (farm.folder / "data" / "ports.json").mkdir(parents=True)
        self.assertIn("ports.json", self.fails(farm))

    def test_stop_with_connections_open(self):
        farm = self.farm(CONFIG).start("a")
        address = ("127.0.0.1", farm.ports["slaves"])
        open_ones = [socket.create_connection(address) for _ in range(3)]
        for one in open_ones:
            self.addCleanup(one.close)
        open_ones[0].sendall(hello("stranger"))
        open_ones[1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        for one in open_ones[:2]:
            self.assertTrue(one.recv(1))  # it was told why, and does not hang up
        started = time.monotonic()
        self.assertEqual(farm.master.stop(), 0)
        self.assertLess(time.monotonic() - started, 10)


if __name__ == "__main__":
    harness.main()
