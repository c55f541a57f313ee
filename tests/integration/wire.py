"""The protocol by hand (proto/PROTOCOL.md), for tests that say what no slave would say."""

import hashlib
import hmac
import os
import socket
import struct
import time

HELLO, CHALLENGE, PROOF, WELCOME, REFUSED, PING, PONG, START, CANCEL, FORGET, RECORD, ACK, CREDIT, STATE, BYE = range(1, 16)
ATTEMPT_STARTED, STEP_STARTED, LOG_BLOCK, POINTS, REVISION, STEP_FINISHED, ATTEMPT_FINISHED = range(64, 71)


class Raw(bytes):
    """Bytes that go into a message as they are."""


def pack(value):
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, int):
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        text = value.encode()
        return b"\xdb" + struct.pack(">I", len(text)) + text
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))


def text(raw):
    """A text of bytes that need not be UTF-8."""
    return Raw(b"\xdb" + struct.pack(">I", len(raw)) + raw)


NUMBERS = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q", 0xcb: ">d"}
SIZED = {
    0xc4: (bytes, ">B"), 0xc5: (bytes, ">H"), 0xc6: (bytes, ">I"), 0xd9: (str, ">B"), 0xda: (str, ">H"), 0xdb: (str, ">I"),
    0xdc: (list, ">H"), 0xdd: (list, ">I"),
}


def unpack(data, at=0):
    """(value, where the next begins)"""
    def number(form):
        size = struct.calcsize(form)
        return struct.unpack_from(form, data, at)[0], at + size

    lead, at = data[at], at + 1
    if lead < 0x80 or lead >= 0xe0:
        return (lead if lead < 0x80 else lead - 256), at
    if lead in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[lead], at
    if lead in NUMBERS:
        return number(NUMBERS[lead])
    if lead < 0xa0:
        kind, size = list, lead & 15
    elif lead < 0xc0:
        kind, size = str, lead & 31
    else:
        kind, form = SIZED[lead]
        size, at = number(form)
    if kind is list:
        values = []
        for _ in range(size):
            value, at = unpack(data, at)
            values.append(value)
        return values, at
    value = bytes(data[at:at + size])
    return (value.decode() if kind is str else value), at + size


def frame(*message):
    body = pack(message)
    return struct.pack(">I", len(body)) + body


class Wire:
    """One connection to the slaves' port."""

    boots = 0

    def __init__(self, port, patience=20):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(patience)
        self.waiting = b""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.socket.close()

    def put(self, data):
        self.socket.sendall(data)

    def say(self, *message):
        self.put(frame(*message))

    def hello(self, name, boot=None, slots=1, held=(), nonce=None, low=1, high=1, facts=()):
        Wire.boots += 1
        self.name, self.boot, self.nonce = name, boot or f"boot-{Wire.boots}", nonce or os.urandom(32)
        self.say(HELLO, low, high, name, self.boot, slots, self.nonce, list(held), *facts)

    def prove(self, secret, nonce):
        parts = b"tailrace slave\0" + nonce + self.nonce + self.name.encode() + b"\0" + self.boot.encode()
        self.say(PROOF, hmac.new(secret, parts, hashlib.sha256).digest())

    def record(self, build, attempt, number, *body):
        self.say(RECORD, build, attempt, number, pack(body))

    def get(self):
        """The next message; None at the connection's end."""
        try:
            while True:
                if len(self.waiting) >= 4:
                    end = 4 + struct.unpack_from(">I", self.waiting)[0]
                    if len(self.waiting) >= end:
                        body, self.waiting = self.waiting[4:end], self.waiting[end:]
                        return unpack(body)[0]
                data = self.socket.recv(65536)
                if not data:
                    return None
                self.waiting += data
        except ConnectionError:
            return None

    def until(self, *kinds):
        """The next message of these kinds; PINGs are answered meanwhile."""
        until = time.monotonic() + self.socket.gettimeout()
        while time.monotonic() < until:
            message = self.get()
            if message is None or message[0] in kinds:
                return message
            if message[0] == PING:
                self.say(PONG, message[1])
        raise AssertionError(f"waited in vain for a message of {kinds}")

    def rest(self):
        """All messages up to the connection's end."""
        messages = []
        while (message := self.get()) is not None:
            messages.append(message)
        return messages
