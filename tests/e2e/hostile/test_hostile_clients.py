# SPDX-License-Identifier: ISC
"""Hostile clients of the SMTP server: floods, endless lines, sloth in every state, breaks at
every byte, replies that nobody reads. Beside each a good client is served, no process ends
and memory stays small.

Where the other cases are: test_bad_load.py has thousands of slow clients and the table that
is full, test_intake.py early talkers, PROXY headers, bare line ends and what is pipelined,
test_descriptors.py descriptors that run out, tests/transcript each state of the engine."""

import contextlib
import os
import re
import select
import socket
import struct
import sys
import time

import pytest
from smtp import Wire, deliver
from stagepost import free_port, wait_until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from common.record import record  # noqa: E402

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
SHORT = ("log_level = debug\nsmtp_timeout = 1\nsmtp_data_timeout = 1\nsmtp_min_rate = 1000\n"
         "proxy_timeout = 1\n")
PATIENCE = 15  # seconds, for what SHORT ends
MEMORY = 32 << 10  # KiB, of any process
HELLO = b"EHLO client.test\r\n"
MAIL = HELLO + b"MAIL FROM:<s@client.test>\r\n"
RCPT = MAIL + b"RCPT TO:<anna@a.test>\r\n"
STATES = {"connected": b"", "greeted": HELLO, "sender": MAIL, "recipients": RCPT,
          "reset": RCPT + b"RSET\r\n", "data": RCPT + b"DATA\r\n",
          "line": RCPT + b"DATA\r\nSubject: x\r\n\r\nA line.\r\n",
          "dot": RCPT + b"DATA\r\nSubject: x\r\n\r\nA line.\r\n.",
          "chunk": RCPT + b"BDAT 100\r\nSubject: x", "between": RCPT + b"BDAT 1\r\nx",
          "refused": RCPT + b"BDAT 2 LAST\r\n\n\n"}
COUNTS = {"cases": 0, "lost or answered wrongly": 0, "processes that ended": 0}
BEGIN = time.monotonic()


def peak_memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


@pytest.fixture
def mx(node):
    """A node that all of it leaves as it was."""
    made = node(settings=SHORT + "maxcommands = 1000000\nmaxerrors = 10000\nmaxsize = 1000000\n",
                listen="bare_newline = reject")
    yield made
    deliver(made, "good@a.test", TEXT)
    made.maildir("good@a.test").wait()
    made.wait_empty()
    ended = made.log.find("process_ended")
    COUNTS["processes that ended"] += len(ended)
    assert not ended
    assert all(peak_memory(pid) < MEMORY for pid in made.pids())


def read_to_end(connection, seconds=PATIENCE):
    """All until the server closes."""
    heard, deadline = b"", time.monotonic() + seconds
    while select.select([connection], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            return heard
        if not piece:
            return heard
        heard += piece
    raise AssertionError(f"not closed within {seconds} s: {heard[-200:]!r}")


def open_all(mx, port=None):
    """{state: connection that is in it}"""
    found = {}
    for state, said in STATES.items():
        found[state] = socket.create_connection(("127.0.0.1", port or mx.port), 20)
        found[state].recv(100)
        found[state].sendall(said)
    COUNTS["cases"] += len(found)
    return found


def close_all(connections):
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("piece", [b"", b"x", b"\r", b" ", b"\0"], ids=repr)
def test_slow_in_every_state(mx, piece):
    """Silent, or with a byte of no use now and then. (An LF is a command, and refused: of
    those maxerrors is the bound.)"""
    connections = open_all(mx)
    heard = dict.fromkeys(connections, b"")
    waiting, begin = set(connections), time.monotonic()
    while waiting:
        assert time.monotonic() - begin < PATIENCE, f"{waiting} are still waited for"
        for state in sorted(waiting):
            with contextlib.suppress(OSError):
                connections[state].sendall(piece)
            while state in waiting and select.select([connections[state]], [], [], 0)[0]:
                try:
                    got = connections[state].recv(4096)
                except ConnectionResetError:
                    got = b""
                heard[state] += got
                if not got:
                    waiting.remove(state)
        select.select([], [], [], 0.1)
    if piece == b"":
        assert all(re.search(rb"(?:^|\n)421 4\.4\.2 .*\r\n$", text)
                   for text in heard.values()), heard
    close_all(connections.values())


@pytest.mark.parametrize("piece", [b"", b"P", b"\r\n\r\n\0\r\nQUIT\n\x21"], ids=repr)
def test_slow_with_a_proxy_header(node, piece):
    port = free_port()
    mx = node(settings=SHORT + f'listen smtp {{ address = "127.0.0.1:{port}" proxy = yes }}\n')
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(piece)
        assert read_to_end(connection, PATIENCE) == b""
    assert mx.log.wait("session_refused")["client"] == "127.0.0.1"
    COUNTS["cases"] += 1


@pytest.mark.parametrize("how", ["reset", "closed", "half"])
def test_gone_in_every_state(mx, how):
    connections = open_all(mx)
    for connection in connections.values():
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "half":
            connection.shutdown(socket.SHUT_WR)
            read_to_end(connection)
    close_all(connections.values())
    mx.log.wait("session_closed", count=len(connections))
    assert not mx.log.find("message_accepted")


@pytest.mark.parametrize("how", ["reset", "closed", "half"])
def test_ends_behind_every_byte(mx, how):
    """With the final dot the message is the server's, and before it is nobody's."""
    said = RCPT + b"DATA\r\n" + TEXT + b".\r\n"
    answered = 0
    for count in range(len(said) + 1):
        with socket.create_connection(("127.0.0.1", mx.port), 20) as connection:
            heard = connection.recv(100)
            connection.sendall(said[:count])
            if how == "half" or count == len(said):
                connection.shutdown(socket.SHUT_WR)
                heard += read_to_end(connection)
            elif how == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
        answered += b" queued as " in heard
    COUNTS["cases"] += len(said) + 1
    mx.log.wait("session_closed", count=len(said) + 1)
    accepted = len(mx.log.find("message_accepted"))
    COUNTS["lost or answered wrongly"] += (answered, accepted) != (1, 1)
    assert (answered, accepted) == (1, 1)
    mx.maildir("anna@a.test").wait()


def flood(mx, begin, piece, total):
    """Sends PIECE again and again, reading nothing, until the server stops it, or TOTAL
    bytes; the connection, and how many bytes went out."""
    connection = socket.create_connection(("127.0.0.1", mx.port), 20)
    connection.recv(100)
    connection.sendall(begin)
    connection.settimeout(0.5)
    sent, block = 0, piece * max(1, 65536 // len(piece))
    with contextlib.suppress(OSError):
        while sent < total:
            sent += connection.send(block)
    COUNTS["cases"] += 1
    return connection, sent


@pytest.mark.parametrize("piece", [HELLO, b"NOOP\r\n", b"VRFY x\r\n", b"RSET\r\n",
                                   MAIL + b"RSET\r\n", b"NONSENSE\r\n"], ids=repr)
def test_replies_that_nobody_reads(mx, piece):
    """The server reads no more than it can answer, and then does not wait for ever."""
    connection, sent = flood(mx, b"", piece, 200_000_000)
    assert sent < 100_000_000
    mx.log.wait("session_closed", timeout=PATIENCE)
    connection.close()


@pytest.mark.parametrize("begin, piece, last, reply", [
    (b"", b"x", b"\r\n", b"500 5.5.6"), (RCPT, b"\0", b"\r\n", b"500 5.5.6"),
    (MAIL, b"RCPT TO:<", b"\r\n", b"500 5.5.6"),
    (RCPT + b"DATA\r\n", b"x", b"\r\n.\r\n", b"552 5.3.4"),
    (RCPT + b"DATA\r\n", b".", b"\r\n.\r\n", b"552 5.3.4"),
    (RCPT + b"DATA\r\n", b"\r", b"\r\n.\r\n", b"550 5.6.11"),
    (RCPT + b"DATA\r\n", b"X: y\r\n", b"\r\n.\r\n", b"552 5.3.4"),
    (RCPT + b"DATA\r\nX: y\r\n", b" y\r\n", b"\r\n.\r\n", b"552 5.3.4")], ids=repr)
def test_endless_lines(mx, begin, piece, last, reply):
    """Fifty megabytes of it, read as fast as any others, and the session goes on."""
    started = time.monotonic()
    connection, _ = flood(mx, begin, piece, 50_000_000)
    connection.settimeout(20)
    connection.sendall(last + b"QUIT\r\n")
    heard = read_to_end(connection)
    assert heard.splitlines()[-2].startswith(reply) and heard.splitlines()[-1][:4] == b"221 "
    connection.close()
    assert time.monotonic() - started < PATIENCE
    assert not mx.log.find("message_accepted")


def test_recipients_over_the_limit_flood_no_log(node):
    mx = node(settings="maxrecipients = 10\nmaxerrors = 5\n")
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        for number in range(100):
            wire.send(b"".join(b"RCPT TO:<u%d@a.test>\r\n" % (100 * number + i)
                               for i in range(100)))
            codes = [wire.reply()[:3] for _ in range(100)]
            assert set(codes) <= {"250", "452"}
        assert wire.ask(b"DATA").startswith("354 ")
        wire.send(TEXT + b".\r\n")
        assert wire.reply().startswith("250 ")
        assert wire.ask(b"QUIT").startswith("221 ")
    for number in range(9):
        mx.maildir(f"u{number}@a.test").wait()
    assert len(mx.log.find("command_refused", code=452)) == 5
    COUNTS["cases"] += 1


@pytest.mark.parametrize("size, is_chunk", [
    ("0", True), ("00000000000000000001", True), ("9223372036854775807", True),
    ("9223372036854775808", True), ("18446744073709551615", True),
    ("18446744073709551616", False), ("99999999999999999999999999", False), ("-1", False),
    ("+1", False), ("0x10", False), ("1e3", False), ("1.5", False), ("", False),
    ("\u0661", False), ("1 LAST LAST", False), ("LAST", False), ("1\0", False)], ids=ascii)
def test_sizes_of_chunks(mx, size, is_chunk):
    """One that is none ends the session: nobody knows where the commands go on."""
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        wire.send(f"BDAT {size}\r\n".encode() + b"x" * 70_000)
        if is_chunk:
            heard = wire.heard(0.5)
            assert heard == b"" or size.strip("0") in ("", "1")
        else:
            assert wire.reply()[:3] in ("500", "501")
            with contextlib.suppress(ConnectionResetError):
                assert wire.reply() == ""
    COUNTS["cases"] += 1
    mx.log.wait("session_closed")
    assert not mx.log.find("message_accepted")


def test_every_byte_in_every_command(mx):
    """No reply but a well-formed one, and what is no text is refused."""
    with Wire(mx) as wire:
        assert wire.reply().startswith("220 ")
        wire.ask(b"EHLO client.test")
        for command in (b"%s", b"NOOP%s", b"EHLO %s", b"MAIL FROM:<%s@client.test>",
                        b"MAIL FROM:<a@b> %s", b"VRFY %s", b"MAIL%sFROM:<a@b>", b"RSET %s"):
            for byte in range(256):
                if byte == 10:
                    continue
                reply = wire.ask(command % bytes([byte]))
                assert re.match(r"[245]\d\d[ -]", reply), (command, byte, reply)
                if (byte < 32 or byte == 127) and not (byte == 9 and command.startswith(b"MAIL")):
                    assert reply.startswith("500 "), (command, byte, reply)  # there a tab is a space
                assert wire.ask(b"RSET").startswith("250 ")
                COUNTS["cases"] += 1
    assert not mx.log.strange


def test_noise(mx):
    """All of it is a few wrong commands, or one wrong message."""
    noise = os.urandom(300_000).replace(b"\r\n.\r\n", b"")
    for begin in (b"", HELLO, MAIL, RCPT, RCPT + b"DATA\r\n", RCPT + b"BDAT 1000\r\n"):
        with socket.create_connection(("127.0.0.1", mx.port), 20) as connection:
            connection.recv(100)
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(begin + noise + b"\r\n.\r\nQUIT\r\n")
            read_to_end(connection)
        COUNTS["cases"] += 1
    mx.log.wait("session_closed", count=6)
    assert not mx.log.find("message_accepted")


def test_record():
    """Behind the others."""
    print(record(
        "hostile-clients", title="Hostile clients",
        what="Clients of the SMTP server that are slow or gone in each state, end after each "
             "byte, flood it with commands, lines and bytes, or do not read replies. A good client "
             "is served at the same time.",
        command="tests/e2e/run tests/e2e/hostile/test_hostile_clients.py", counts=COUNTS,
        zero=("lost or answered wrongly", "processes that ended"),
        seconds=time.monotonic() - BEGIN))
    assert COUNTS["cases"] > 0
