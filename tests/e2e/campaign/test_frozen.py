# SPDX-License-Identifier: ISC
"""A process that stands still keeps what it was given. Meanwhile its message ends another way,
and the message's file is another's or is gone: nobody must get a byte that is not his."""

import json
import os
import signal
import socketserver
import subprocess
import threading

import pytest
from smtp import Client, Wire, stuff
from stagepost import ThreadServer, as_user, wait_until

LARGE = 100_000  # does not go by value
OTHERS = 160  # messages that are sent to get a file used again: more than are ever in stock


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

        self.server = ThreadServer(Handler)
        self.address = f"127.0.0.1:{self.server.port}"
        self.server.serve()

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
            wfile.write(b"250 ok\r\n")
            return

    def close(self):
        self.go.set()
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


def is_used_again(mx, number, recipient="bob@a.test"):
    """Sends mail of others until a message has NUMBER."""
    for _ in range(OTHERS):
        found, identity = send(mx, recipient, text_of("bob", 2000))
        if found == number:
            return True
        if recipient == "bob@a.test":
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
        try:
            path = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:  # closed meanwhile
            continue
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
    hop.go.set()  # it sees the reply before it sees that "send" is gone
    try:
        assert len(deliver_otherwise(mx, recipient)) == 1
        mx.log.wait("message_done", id=identity)
        assert is_used_again(mx, number) == (size < LARGE)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert hop.is_over.wait(20)
    assert b"bob" not in hop.taken
    assert hop.taken.endswith(text)


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


def stopped_at(mx, read, *words):
    """The command, and its pid: it stands still before its READth read of a file. None: it has
    ended before that."""
    program = os.path.join(mx.programs, "stagepost")
    output = os.path.join(mx.directory, "strace")
    strace = subprocess.Popen(
        [*as_user(), "strace", "-o", output, "-e", "trace=pread64",
         "-e", f"inject=pread64:signal=SIGSTOP:when={read}", program, *words],
        env={**os.environ, "STAGEPOST_CONF": mx.conf}, cwd=mx.directory,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stands():
        try:
            with open(output, encoding="ascii", errors="replace") as file:
                return "--- stopped by SIGSTOP ---" in file.read()
        except FileNotFoundError:
            return False

    wait_until(lambda: stands() or strace.poll() is not None,
               "the command stands still, or has ended")
    if not stands():
        return strace, None
    with open(f"/proc/{strace.pid}/task/{strace.pid}/children", encoding="ascii") as file:
        return strace, int(file.read())


@pytest.mark.parametrize("words", [["show", "--json"], ["list", "--json"]])
def test_command_that_stands_still(node, words):
    """Between any two reads the message ends, and another one gets its file."""
    read = 0
    is_over = False
    while not is_over:
        read += 1
        hop = Hop()
        address, _, port = hop.address.partition(":")
        mx = node(f"node{read}", routes=[f"b.test:{address};{port}"])
        number, identity = send(mx, "anna@b.test", text_of("anna", 2000))
        assert hop.is_asked.wait(20)
        names = [identity] if words[0] == "show" else []
        strace, pid = stopped_at(mx, read, "queue", *words, *names)
        is_over = pid is None
        if not is_over:
            hop.go.set()
            mx.log.wait("message_done", id=identity)
            hop.go.clear()
            assert is_used_again(mx, number, "bob@b.test")
            os.kill(pid, signal.SIGCONT)
        out, err = strace.communicate(timeout=20)
        if words[0] == "show":
            assert b"bob" not in out + err
        for line in out.splitlines():
            shown = json.loads(line)  # a message's, and no mixture
            assert shown["state"] == "queued"
            name = "anna" if shown["id"] == identity else "bob"
            assert [r["address"] for r in shown["recipients"]] == [f"{name}@b.test"]
        hop.close()
        mx.stop()
    assert read > 2
