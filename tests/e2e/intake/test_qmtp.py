# SPDX-License-Identifier: ISC
"""Mail that comes in by QMTP and QMQP."""

import socket
import subprocess
import threading
import time

import pytest
from qmtp import Wire, netstring, package, qmqp_package
from stagepost import PATIENCE, POLL, free_port, split_trace, wait_until
from tls_in import HOST, Certificates, context_for

TEXT = b"Subject: hello\n\nA line.\n.dots\n"
SENDER = "lisa@client.test"
LISTED = 'domain "list.test" { service = maildir addresses = { "info", "anna" } }'


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), HOST)


@pytest.fixture
def listener(node):
    """listener(protocol, more, **of the node): the node and the port."""
    def make(protocol="qmtp", more="", listen="", **options):
        port = free_port("127.0.0.1")
        settings = f'listen {protocol} {{ address = "127.0.0.1:{port}" {listen} }}\n' + more
        return node(settings=settings, **options), port
    return make


def test_message_arrives(listener):
    mx, port = listener()
    with Wire(port) as wire:
        (answer,) = wire.deliver(TEXT, SENDER, ["anna@a.test"])
    number = answer.rpartition(" ")[2]
    assert answer == f"Kok, queued as {number}"
    (stored,) = mx.maildir("anna@a.test").wait()
    trace = split_trace(stored, TEXT)
    assert trace.startswith(b"Return-Path: <lisa@client.test>\nDelivered-To: anna@a.test\n")
    assert f"with QMTP id {number};\n".encode() in trace
    assert b"Received: from [127.0.0.1] ([127.0.0.1])\n" in trace
    accepted = mx.log.wait("message_accepted", id=number)
    assert accepted["client"] == "127.0.0.1" and accepted["from"] == SENDER
    assert accepted["process"].startswith("qmtpd[")
    mx.wait_empty()


def test_returns(listener):
    """CRLF lines come to the same."""
    mx, port = listener()
    with Wire(port) as wire:
        wire.send(package(TEXT.replace(b"\n", b"\r\n"), SENDER, ["anna@a.test"], b"\r"))
        assert wire.answer().startswith("Kok, queued as ")
    (stored,) = mx.maildir("anna@a.test").wait()
    split_trace(stored, TEXT)


def test_pipelined(listener):
    """A hundred packages before the first answer is read; the answers keep their order."""
    mx, port = listener()
    count = 100
    with Wire(port) as wire:
        wire.send(b"".join(package(b"Subject: %d\n\n" % i, SENDER, ["anna@a.test"]) for i in range(count)))
        answers = wire.answers(count)
    numbers = [answer.rpartition(" ")[2] for answer in answers]
    assert len(set(numbers)) == count
    stored = mx.maildir("anna@a.test").wait(count)
    subjects = {}
    for message in stored:
        number = message.partition(b" id ")[2].partition(b";")[0].decode()
        subjects[number] = message.rpartition(b"Subject: ")[2].strip()
    assert [int(subjects[number]) for number in numbers] == list(range(count))


def test_client_has_closed_its_side(listener):
    """It still gets its answers."""
    mx, port = listener()
    with Wire(port) as wire:
        wire.send(package(TEXT, SENDER, ["anna@a.test"]) * 5)
        wire.socket.shutdown(socket.SHUT_WR)
        assert all(answer.startswith("Kok") for answer in wire.answers(5))
        assert wire.is_closed()
    mx.maildir("anna@a.test").wait(5)


def test_large(listener):
    """Larger than goes by value; another one follows it."""
    mx, port = listener()
    large = b"Subject: large\n\n" + b"0123456789abcdef\n" * 100000
    with Wire(port) as wire:
        wire.send(package(large, SENDER, ["anna@a.test"]) + package(TEXT, SENDER, ["bob@a.test"]))
        assert [answer[0] for answer in wire.answers(2)] == ["K", "K"]
    (stored,) = mx.maildir("anna@a.test").wait()
    split_trace(stored, large)
    mx.maildir("bob@a.test").wait()


def test_each_recipient_has_its_answer(listener):
    """The texts are those of SMTP."""
    mx, port = listener(domains=["a.test", LISTED], relay_from=())
    with Wire(port) as wire:
        answers = wire.deliver(TEXT, SENDER, ["anna@a.test", "who@list.test", "x@away.test", "bad"])
        assert answers[0].startswith("Kok, queued as ")
        assert answers[1:] == [answers[1], answers[2],
                               "DBad recipient address (#5.1.3)"]
    assert answers[1].endswith(" (#5.1.1)") and answers[2].endswith(" (#5.7.1)")
    refused = mx.log.wait("command_refused", status="5.1.1")
    assert refused["command"] == "who@list.test" and refused["from"] == SENDER
    mx.maildir("anna@a.test").wait()
    mx.wait_empty()


def test_same_texts_as_smtp(listener):
    mx, port = listener(domains=["a.test", LISTED], relay_from=())
    import smtplib
    with smtplib.SMTP(mx.address, mx.port) as client:
        client.ehlo()
        client.docmd("MAIL FROM:<lisa@client.test>")
        said = [client.docmd(f"RCPT TO:<{to}>")[1].decode() for to in ("who@list.test", "x@away.test")]
    with Wire(port) as wire:
        answers = wire.deliver(TEXT, SENDER, ["who@list.test", "x@away.test"])
    for reply, answer in zip(said, answers):
        status, _, text = reply.partition(" ")
        assert answer == f"D{text} (#{status})"


def test_message_is_refused(listener):
    mx, port = listener(more="maxsize = 2K\nmaxhops = 3\n")
    with Wire(port) as wire:
        assert wire.deliver(b"x" * 3000 + b"\n", SENDER, ["anna@a.test", "bob@a.test"]) == \
            ["DMessage is over the size limit (#5.3.4)"] * 2
        assert wire.deliver(b"Received: a\n" * 4 + b"\n", SENDER, ["anna@a.test"]) == \
            ["DToo many hops, this message loops (#5.4.6)"]
        assert wire.deliver(b"a\0b\n", SENDER, ["anna@a.test"]) == ["DA NUL is in the message (#5.6.0)"]
        assert wire.deliver(TEXT, SENDER, ["anna@a.test"])[0].startswith("Kok")
    assert mx.log.wait("message_refused", status="5.3.4")["to"] == "anna@a.test"
    mx.maildir("anna@a.test").wait()
    mx.wait_empty()
    assert not mx.data_files()


def test_no_package(listener):
    """What is none ends the connection; what came before is answered."""
    mx, port = listener()
    for wrong in (b"07:\nabc,", b"x", b"5:abcde,", netstring(b""), b"1" * 19, netstring(b"\na") + b"70000:"):
        with Wire(port) as wire:
            wire.send(package(TEXT, SENDER, ["anna@a.test"]) + wrong)
            assert wire.answer().startswith("Kok")
            assert wire.is_closed()
    assert mx.log.wait("command_refused", status="5.5.2", count=6)
    mx.maildir("anna@a.test").wait(6)
    mx.wait_empty()


def test_cut_at_every_byte(listener):
    """A client that leaves amid a package has sent nothing."""
    mx, port = listener()
    whole = package(b"a\n", SENDER, ["anna@a.test"])
    for length in range(len(whole)):
        with Wire(port) as wire:
            wire.send(whole[:length])
            wire.socket.shutdown(socket.SHUT_WR)
            assert wire.is_closed()
    with Wire(port) as wire:
        for byte in whole:
            wire.send(bytes([byte]))
        assert wire.answer().startswith("Kok")
    mx.maildir("anna@a.test").wait()
    mx.wait_empty()
    assert not mx.data_files()


def test_slow_client(listener):
    mx, port = listener(more="smtp_timeout = 1s\nsmtp_data_timeout = 1s\n")
    with Wire(port) as wire:
        wire.send(b"20:\nab")
        assert wire.is_closed()
    mx.log.wait("command_refused", status="4.4.2")


def test_client_that_never_reads(listener):
    """Its packages are taken as long as their answers fit; others are served meanwhile. Then it has the time
    for a reply (and not that for a message, which is minutes), and no more."""
    mx, port = listener(more="smtp_timeout = 2s\nmaxerrors = 10000\nmaxcommands = 1000000\nmaxrecipients = 1\n")
    # each byte of it has ten of answers, and none of these counts as an error but the first
    flood = package(b"a\n", SENDER, ["anna@away.test"] + ["x@a.test"] * 1000)
    wire = Wire(port, window=4096)

    def send():
        try:
            for _ in range(10000):
                wire.socket.sendall(flood)
        except OSError as error:
            ended.append(error)

    ended = []
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    with Wire(port) as other:
        assert other.deliver(TEXT, SENDER, ["anna@a.test"])[0].startswith("Kok")
    thread.join(PATIENCE)
    assert ended, "the server has borne with it"
    wire.socket.close()
    mx.maildir("anna@a.test").wait()


def test_too_many_sessions_of_a_client(listener):
    mx, port = listener(more="maxsessions_client = 2\n", relay_from=())
    with Wire(port) as one, Wire(port) as two:
        for wire in (one, two):
            assert wire.deliver(TEXT, SENDER, ["anna@a.test"])[0].startswith("Kok")
        with Wire(port) as three:
            assert three.is_closed()


def test_proxy(listener):
    mx, port = listener(listen="proxy = yes", relay_from=("192.0.2.7/32",))
    header = b"PROXY TCP4 192.0.2.7 192.0.2.1 53112 209\r\n"
    with Wire(port, before=header + package(TEXT, SENDER, ["anna@a.test"])) as wire:
        assert wire.answer().startswith("Kok")
    assert mx.log.wait("message_accepted")["client"] == "192.0.2.7"


def test_implicit_tls(listener, certificates):
    mx, port = listener(more=certificates.section(HOST), listen="tls = implicit")
    with Wire(port, tls=(context_for(certificates), HOST)) as wire:
        wire.send(package(TEXT, SENDER, ["anna@a.test"]) * 10)
        assert all(answer.startswith("Kok") for answer in wire.answers(10))
    stored = mx.maildir("anna@a.test").wait(10)
    assert b"with QMTPS id" in split_trace(stored[0], TEXT)


def test_qmqp(listener):
    mx, port = listener("qmqp", listen="clients = { 127.0.0.0/31 }", relay_from=())
    with Wire(port) as wire:
        wire.send(qmqp_package(TEXT, SENDER, ["anna@a.test", "bob@a.test"]))
        assert wire.answer().startswith("Kok, queued as ")
        assert wire.is_closed()
    for name in ("anna", "bob"):
        (stored,) = mx.maildir(f"{name}@a.test").wait()
        assert b"with QMQP id" in split_trace(stored, TEXT)
    with Wire(port, source="127.0.0.9") as wire:
        assert wire.is_closed()
    mx.log.wait("command_refused", text="The address is not in clients")


def test_qmqp_is_all_or_nothing(listener):
    mx, port = listener("qmqp", listen="clients = { 127.0.0.0/8 }", domains=["a.test", LISTED])
    with Wire(port) as wire:
        wire.send(qmqp_package(TEXT, SENDER, ["anna@a.test", "who@list.test"]))
        assert wire.answer().endswith(" (#5.1.1)")
        assert wire.is_closed()
    mx.wait_empty()
    assert not mx.data_files()


def test_qmqp_source(listener):
    """Postfix's."""
    mx, port = listener("qmqp", listen="clients = { 127.0.0.0/8 }")
    subprocess.run(["qmqp-source", "-4", "-m", "50", "-s", "10", "-r", "3", "-l", "5000",
                    "-f", SENDER, "-t", "anna@a.test", f"127.0.0.1:{port}"],
                   check=True, timeout=PATIENCE)
    accepted = mx.log.wait("message_accepted", count=50)
    assert {event["recipients"] for event in accepted} == {"3"}


class Stream(threading.Thread):
    """Sends package after package until it is told to end; a connection that ends is followed by
    another. ANSWERED: numbers of messages."""

    def __init__(self, port, recipient):
        super().__init__(daemon=True)
        self.port, self.recipient = port, recipient
        self.answered = set()
        self.is_over = False
        self.start()

    def run(self):
        while not self.is_over:
            try:
                with Wire(self.port, timeout=5) as wire:
                    self.talk(wire)
            except (EOFError, OSError):
                time.sleep(POLL)

    def talk(self, wire):
        while not self.is_over:
            wire.send(b"".join(package(TEXT, SENDER, [self.recipient]) for _ in range(20)))
            for _ in range(20):
                answer = wire.answer()
                if answer.startswith("K"):
                    self.answered.add(answer.rpartition(" ")[2].encode())


def test_kills_while_packages_come(listener):
    """Whatever dies: what was answered K is there in the end, and whole."""
    mx, port = listener()
    streams = [Stream(port, f"u{i}@a.test") for i in range(3)]
    for program in ("qmtpd", "queue", "qmtpd", "send", "queue", "qmtpd"):
        before = sum(len(stream.answered) for stream in streams)
        wait_until(lambda: sum(len(stream.answered) for stream in streams) > before + 100,
                   "packages are answered")
        mx.kill(program)
    for stream in streams:
        stream.is_over = True
        stream.join(PATIENCE)
    mx.wait_empty(timeout=3 * PATIENCE)
    for stream in streams:
        stored = mx.maildir(stream.recipient).messages()
        for message in stored:
            split_trace(message, TEXT)
        found = {message.partition(b" id ")[2].partition(b";")[0] for message in stored}
        assert stream.answered <= found, len(stream.answered - found)
    mx.log.read()  # lines that were cut off when their process was killed
    mx.log.strange = [line for line in mx.log.strange if 'event=process_said' not in line
                      or 'text="time=' not in line]


def test_stop_while_packages_come(listener):
    """Whatever was answered K is there after a restart, and nothing twice."""
    mx, port = listener()
    wire = Wire(port)
    answered = []

    def read():
        try:
            while True:
                answered.append(wire.answer())
        except (EOFError, OSError):
            pass

    def send():
        try:
            for i in range(100000):
                wire.socket.sendall(package(b"Subject: %d\n\n" % i, SENDER, ["anna@a.test"]))
        except OSError:
            pass

    threads = [threading.Thread(target=work, daemon=True) for work in (read, send)]
    for thread in threads:
        thread.start()
    mx.log.wait("message_accepted", count=200)
    mx.stop()
    for thread in threads:
        thread.join(PATIENCE)
    mx.start()
    accepted = [answer for answer in answered if answer.startswith("K")]
    stored = mx.maildir("anna@a.test").wait(len(accepted))
    mx.wait_empty()
    numbers = {answer.rpartition(" ")[2].encode() for answer in accepted}
    found = [message.partition(b" id ")[2].partition(b";")[0]
             for message in mx.maildir("anna@a.test").messages()]
    assert numbers <= set(found) and len(found) == len(set(found)), len(stored)
