# SPDX-License-Identifier: ISC
"""What one byte from a stranger costs: processor, memory, disk and log of all our processes, for
what a client may say in each state; and how many messages one message makes. Each has a bound,
and four times as much costs about four times as much, not sixteen times."""

import glob
import math
import os

import pytest
from hostile import Server
from smtp import Client, Wire
from stagepost import Node
from test_hostile_clients import peak_memory

SMALL = 256 << 10  # bytes said; then four times as much
COUNT_MAX = 2000   # of pieces; so many more end a session
SLOPE = 2          # times the fourfold, at most
ROUNDS = 3         # the cheapest counts: others use the machine, too
ROUNDS_MAX = 12    # if none is cheap
IDLE_NS = 20_000_000  # below that a difference says nothing
GROWTH = 8 << 10   # KiB of memory, of all processes together
LIMITS = ("maxerrors = 10000\nmaxcommands = 1000000\nmaxrecipients = 1000\n"
          "maxsize = 100000000\n")

# name: (piece, ns, bytes of disk, bytes of log for each byte received); twice as much fails. The
# log is on the same disk. What is refused is logged, a line each, but only so many of a session.
COMMANDS = {
    "empty lines": (b"\r\n", 200, 1, 1),
    "unknown verbs": (b"XYZZY\r\n", 150, 0.4, 0.4),
    "NOOP": (b"NOOP\r\n", 40, 0.05, 0.05),
    "RSET": (b"RSET\r\n", 40, 0.05, 0.05),
    "VRFY": (b"VRFY anna@a.test\r\n", 20, 0.05, 0.05),
    "EHLO": (b"EHLO client.test\r\n", 20, 0.05, 0.05),
    "HELO": (b"HELO client.test\r\n", 20, 0.05, 0.05),
    "EXPN": (b"EXPN list\r\n", 60, 0.5, 0.5),
    "HELP": (b"HELP\r\n", 60, 0.05, 0.05),
    "DATA too early": (b"DATA\r\n", 100, 0.5, 0.5),
    "BDAT too early": (b"BDAT 1\r\nx", 100, 0.5, 0.5),
    "MAIL": (b"MAIL FROM:<s@client.test> SIZE=1\r\nRSET\r\n", 20, 0.05, 0.05),
    "MAIL with all parameters": (b"MAIL FROM:<s@client.test> SIZE=1 BODY=8BITMIME RET=FULL "
                                 b"ENVID=a+2Bb SMTPUTF8\r\nRSET\r\n", 20, 0.05, 0.05),
    "MAIL in Unicode": ("MAIL FROM:<\u00e9\u00e9\u00e9@\u00e9\u00e9.test> SMTPUTF8\r\nRSET\r\n".encode(),
                        60, 0.05, 0.05),
    "MAIL quoted": (b'MAIL FROM:<"\\"\\a\\"\\b b..b"@[127.0.0.1]>\r\nRSET\r\n', 40, 0.3, 0.3),
    "MAIL with odd parameters": (b"MAIL FROM:<s@client.test> X=Y\r\n", 50, 0.2, 0.2),
    "RCPT that is refused": (b"RCPT TO:<x@nowhere.test\r\n", 60, 0.3, 0.3),
    "a line without an end": (b"x" * 64, 2, 0.05, 0.05),
}
TRANSACTIONS = {
    "RCPT of nobody": (b"RCPT TO:<nobody@elsewhere.test>\r\n", 60, 0.3, 0.3),
    "RCPT with all parameters": (b"RCPT TO:<anna@a.test> NOTIFY=SUCCESS,FAILURE,DELAY "
                                 b"ORCPT=rfc822;anna+40a.test\r\n", 60, 0.3, 0.3),
    "RCPT": (b"RCPT TO:<anna@a.test>\r\n", 60, 0.3, 0.3),
    "BDAT of one byte": (b"BDAT 1\r\nx", 50, 0.5, 0.05),
    "BDAT of 64 KiB": (b"BDAT 65536\r\n" + b"x" * 65536, 4, 3, 0.05),
}
CONTENTS = {
    "header lines": b"X: y\r\n",
    "folded lines": b" y\r\n",
    "Received lines": b"Received: x\r\n",
    "long lines": b"X: " + b"y" * 900 + b"\r\n",
    "dots": b"..\r\n",
    "empty lines of data": b"\r\n",
    "a body": b"\r\n" + b"z" * 70 + b"\r\n",
}
CONTENT = (20, 3, 0.05)


class Meter:
    """What all processes of a node have used so far."""

    def __init__(self, mx):
        self.mx = mx

    def pids(self):
        return [self.mx.process.pid, *self.mx.pids()]

    def read(self):
        used = {"ns": 0, "disk": 0, "log": os.path.getsize(self.mx.log.path), "memory": 0}
        for pid in self.pids():
            for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                with open(path, encoding="ascii") as file:
                    used["ns"] += int(file.read().split()[0])
            with open(f"/proc/{pid}/io", encoding="ascii") as file:
                used["disk"] += int(dict(line.split(": ") for line in file)["write_bytes"])
            used["memory"] += peak_memory(pid)
        return used

    def of(self, do):
        before = self.read()
        do()
        after = self.read()
        return {key: after[key] - before[key] for key in after}


@pytest.fixture(scope="module")
def mx(ground):
    with Node(ground.programs, ground.directory("cost"), unsafe=ground.unsafe,
              settings=LIMITS) as node:
        yield node


def say(wire, piece, size):
    """SIZE bytes of it, and reads what is answered, block by block, until it has been dealt with."""
    count = max(1, size // len(piece))
    block = max(1, 8192 // len(piece))
    while count > 0:
        wire.send(piece * min(block, count))
        count -= block
        wire.socket.setblocking(False)
        try:
            while wire.socket.recv(1 << 16):
                pass
        except BlockingIOError:
            pass
        wire.socket.settimeout(30)


def end(wire):
    """All that was said has been read."""
    wire.send(b"\r\nQUIT\r\n")
    while wire.socket.recv(1 << 16):
        pass


def speak(mx, piece, size, begins):
    with Wire(mx, timeout=30) as wire:
        if begins:
            wire.begin(with_data=False)
        else:
            wire.reply()
            wire.ask(b"EHLO client.test")
        say(wire, piece, size)
        end(wire)


def put(mx, piece, size):
    with Wire(mx, timeout=30) as wire:
        wire.begin()
        wire.send(piece * (size // len(piece)) + b"\r\n.\r\n")
        assert wire.reply()[:3] in ("250", "552", "554", "500")


def check(name, mx, do, limits, small_size=SMALL):
    meter = Meter(mx)
    do(4 * small_size)  # whatever is made once
    size = 4 * small_size
    small, large = [], []
    ns = [math.inf, math.inf]
    while len(large) < ROUNDS or ns[1] >= 2 * limits[0] * size and len(large) < ROUNDS_MAX:
        small.append(meter.of(lambda: do(small_size)))
        large.append(meter.of(lambda: do(size)))
        ns = [min(used["ns"] for used in each) for each in (small, large)]
    disk, log, memory = (min(used[key] for used in large) for key in ("disk", "log", "memory"))
    print(f"\n{name:28} {ns[1] / size:8.1f} ns {disk / size:8.3f} disk {log / size:8.3f} log, a byte;"
          f" {memory} KiB; fourfold: {ns[1] / max(1, ns[0]):.2f}")
    assert ns[1] / size < 2 * limits[0]
    assert disk / size < 2 * limits[1] and log / size < 2 * limits[2]
    assert memory < GROWTH
    assert ns[1] < IDLE_NS or ns[1] / ns[0] < 4 * SLOPE


@pytest.mark.parametrize("name", COMMANDS)
def test_command(mx, name):
    piece, *limits = COMMANDS[name]
    check(name, mx, lambda size: speak(mx, piece, size, False), limits,
          min(SMALL, COUNT_MAX * len(piece)))


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_transaction(mx, name):
    piece, *limits = TRANSACTIONS[name]
    check(name, mx, lambda size: speak(mx, piece, size, True), limits,
          min(SMALL, COUNT_MAX * len(piece)))


@pytest.mark.parametrize("name", CONTENTS)
def test_content(mx, name):
    check(name, mx, lambda size: put(mx, CONTENTS[name], size), CONTENT)


def test_one_message_makes_one_report(node):
    """For a hundred recipients who are refused, with reports asked for."""
    server = Server(replies={"RCPT": b"550 5.1.1 no\r\n"})
    made = node(routes=[f"b.test:127.0.0.1;{server.port}"])
    with Client(made) as client:
        client.docmd("MAIL FROM:<anna@a.test> RET=FULL")
        for number in range(100):
            code, _ = client.docmd(f"RCPT TO:<x{number}@b.test> NOTIFY=SUCCESS,FAILURE,DELAY")
            assert code == 250
        assert client.data(b"Subject: x\r\n\r\n" + b"y" * 70 + b"\r\n")[0] == 250
    made.wait_empty()
    server.close()
    assert len(made.maildir("anna@a.test").files()) == 1


def test_one_message_makes_one_report_of_success(node):
    """For a hundred recipients whose mail is delivered, with reports asked for."""
    made = node()
    with Client(made) as client:
        client.docmd("MAIL FROM:<anna@a.test> RET=FULL")
        for number in range(100):
            assert client.docmd(f"RCPT TO:<x{number}@a.test> NOTIFY=SUCCESS,FAILURE,DELAY")[0] == 250
        assert client.data(b"Subject: x\r\n\r\n" + b"y" * 70 + b"\r\n")[0] == 250
    made.wait_empty()
    assert len(made.maildir("anna@a.test").files()) == 1
