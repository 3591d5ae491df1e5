# SPDX-License-Identifier: ISC
"""A process that stands still keeps what it was given. Meanwhile its message ends another way,
and the message's file is another's or is gone: nobody must get a byte that is not his."""

import os
import signal
import socketserver
import threading

import pytest
from smtp import Client, Wire, stuff
from stagepost import wait_until

LARGE = 100_000  # does not go by value
OTHERS = 64  # messages that are sent to get a file used again: more than are ever in stock


class Hop:
    """A server that answers DATA only when it is let go, by SMTP and LMTP."""

    def __init__(self):
        self.is_asked = threading.Event()
        self.go = threading.Event()
        self.is_over = threading.Event()
        self.taken = b""
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                outer.serve(self.rfile, self.wfile)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, rfile, wfile):
        wfile.write(b"220 hop.test\r\n")
        for line in rfile:
            if line[:4].upper() != b"DATA":
                wfile.write(b"250 ok\r\n")
                continue
            self.is_asked.set()
            self.go.wait()
            wfile.write(b"354 go\r\n")
            while (part := rfile.readline()) not in (b".\r\n", b""):
                self.taken += part
            self.is_over.set()
            return

    def close(self):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hop():
    made = Hop()
    yield made
    made.close()


def text_of(name, size):
    line = f"{name} knows this and nobody else does\r\n".encode()
    return b"Subject: " + name.encode() + b"\r\n\r\n" + line * (size // len(line) + 1)


def number_of(reply):
    """Of "250 2.0.0 queued as 457-63f1a2b3c4d5e": 457 and the id."""
    identity = reply.split()[-1]
    return int(identity.partition("-")[0]), identity


def send(mx, recipient, text):
    with Client(mx) as client:
        reply = client.deliver("s@client.test", recipient, text)
    assert reply.startswith("250 "), reply
    return number_of(reply)


def is_used_again(mx, number):
    """Sends mail of others until a message has NUMBER. That one stays in the queue."""
    for _ in range(OTHERS):
        found, identity = send(mx, "bob@a.test", text_of("bob", 2000))
        if found == number:
            return True
        mx.log.wait("message_done", id=identity)
    return False


def deliver_otherwise(mx, address):
    """The message is mapped again, and its domain is local now."""
    mx.domains = ["a.test", "b.test", "l.test"]
    mx.write_configuration()
    mx.reload()
    mx.kill_and_wait("send")
    return mx.maildir(address).wait()


def queue_files(mx, pid):
    """What the process has open of the queue: {descriptor: path}."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = os.readlink(f"/proc/{pid}/fd/{name}")
        if path.startswith(mx.queue + "/"):
            found[name] = path
    return found


@pytest.mark.parametrize("service", ["remote", "lmtp"])
@pytest.mark.parametrize("size", [2000, LARGE])
def test_helper_that_stands_still(node, hop, service, size):
    """It has been given a message; "send" dies, the message is delivered otherwise, others come,
    and it goes on."""
    address, _, port = hop.address.partition(":")
    mx = node(routes=[f"b.test:{address};{port}"],
              domains=["a.test", 'domain "l.test" { service = box }'],
              settings=f'service box {{ kind = lmtp address = "{hop.address}" }}\n')
    text = text_of("anna", size)
    recipient = "anna@b.test" if service == "remote" else "anna@l.test"
    number, identity = send(mx, recipient, text)
    assert hop.is_asked.wait(20)
    (pid,) = mx.pids(service)
    assert len(queue_files(mx, pid)) == (size == LARGE)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert len(deliver_otherwise(mx, recipient)) == 1
        mx.log.wait("message_done", id=identity)
        assert is_used_again(mx, number) == (size < LARGE)
    finally:
        hop.go.set()
        os.kill(pid, signal.SIGCONT)
    assert hop.is_over.wait(20)
    assert b"bob" not in hop.taken
    if hop.taken:
        assert (hop.taken + b"end").endswith(text + b"end")


def begin(mx, text, size):
    """A message of which SIZE bytes have come: the connection, and who has it."""
    mark = mx.log.mark()
    wire = Wire(mx)
    (event,) = [mx.log.wait("session_opened", since=mark)]
    wire.reply()
    for line in b"EHLO x", b"MAIL FROM:<s@client.test>", b"RCPT TO:<anna@a.test>", b"DATA":
        wire.send(line + b"\r\n")
        reply = wire.reply()
        assert reply[0] in "23", reply
    wire.send(text[:size])
    return wire, int(event["process"].partition("[")[2].rstrip("]"))


@pytest.mark.parametrize("size", [2000, LARGE])
def test_smtpd_that_stands_still(node, size):
    """It has begun a message; "queue" dies, others' messages come by another smtpd, and it goes
    on: the message is not accepted, and theirs are whole."""
    mx = node(settings="smtpd_workers = 2\nlog_level = debug\n")
    text = stuff(text_of("anna", 2 * size))
    wire, pid = begin(mx, text, size)
    if size == LARGE:
        wait_until(lambda: queue_files(mx, pid), "it has its file")
    os.kill(pid, signal.SIGSTOP)
    try:
        mx.kill_and_wait("queue")
        mx.log.wait("queue_opened", count=2)
        for _ in range(OTHERS):
            send(mx, "bob@a.test", text_of("bob", 2000))
    finally:
        os.kill(pid, signal.SIGCONT)
    wire.send(text[size:])
    assert wire.reply().startswith("4")
    for stored in mx.maildir("bob@a.test").wait(OTHERS):
        assert b"anna" not in stored
        assert stored.endswith(text_of("bob", 2000).replace(b"\r\n", b"\n"))
    assert not mx.maildir("anna@a.test").files()


def test_smtpd_has_no_files_of_others(node):
    """Of small messages it sees none; the file of a large one was emptied before."""
    mx = node(settings="smtpd_workers = 1\nlog_level = debug\n")
    (pid,) = mx.pids("smtpd")
    for _ in range(OTHERS):
        send(mx, "bob@a.test", text_of("bob", 30_000))
    mx.wait_empty()
    assert not queue_files(mx, pid)
    text = text_of("anna", LARGE)
    wires = []
    for _ in range(20):
        wires.append(begin(mx, text, LARGE)[0])
    wait_until(lambda: len(queue_files(mx, pid)) == len(wires), "each has its file")
    for name in queue_files(mx, pid):
        with open(f"/proc/{pid}/fd/{name}", "rb") as file:
            assert b"bob" not in file.read()
    for wire in wires:
        wire.send(text[LARGE:] + b".\r\n")
        assert wire.reply().startswith("250 ")
    mx.maildir("anna@a.test").wait(len(wires))
    mx.wait_empty()
    wait_until(lambda: not queue_files(mx, pid), "all are closed")


def test_helpers_have_no_files_of_small_messages(node):
    """A program that waits with its message, and a Maildir."""
    mx = node(start=False, domains=["a.test", 'domain "p.test" { service = run }'])
    program = os.path.join(mx.directory, "wait")
    pipe = os.path.join(mx.directory, "go")
    with open(program, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nread go < "$1"; cat > /dev/null\n')
    os.chmod(program, 0o755)
    os.mkfifo(pipe)
    os.chmod(pipe, 0o666)
    mx.settings = f'service run {{ kind = pipe command = {{ "{program}", "{pipe}" }} }}\n'
    mx.write_configuration()
    mx.start()
    _, identity = send(mx, "anna@p.test", text_of("anna", 30_000))
    with open(pipe, "w", encoding="ascii") as go:  # waits until the program reads it
        (pid,) = mx.pids("pipe")
        assert not queue_files(mx, pid)
        go.write("go\n")
    mx.log.wait("message_done", id=identity)
    (pid,) = mx.pids("local")
    for _ in range(OTHERS):
        send(mx, "bob@a.test", text_of("bob", 2000))
        assert not queue_files(mx, pid)
