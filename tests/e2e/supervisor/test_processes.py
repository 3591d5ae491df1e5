# SPDX-License-Identifier: ISC
"""Starting, stopping, reloading, and what happens when a process dies."""

import os
import re
import shutil
import signal
import smtplib
import socket
import subprocess
import tempfile
import threading
import time

import checksums
import pytest
from smtp import Client, Wire, deliver
from stagepost import (PATIENCE, PROGRAMS, Maildir, as_user, free_port, give_to_user, install_programs, is_alive,
                       services_for_helpers, split_trace, wait_until)

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")


# --- start ---

def test_start_waits_for_who_was_killed(node):
    """A supervisor that was killed is started again at once: its processes still hold the
    port. One that is slow to notice is stopped here."""
    mx = node()
    pids = mx.pids()
    slow = mx.pids("smtpd")
    for pid in slow:
        os.kill(pid, signal.SIGSTOP)
    mx.process.kill()
    mx.process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in pids if pid not in slow), "others end")
    mark = mx.log.mark()

    def let_go():
        mx.log.wait("listen_waits", since=mark)
        for pid in slow:
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=let_go)
    thread.start()
    mx.start()
    thread.join()
    deliver(mx, "anna@a.test", TEXT)
    split_trace(mx.maildir("anna@a.test").wait()[0], STORED)


def expect_first_message(mx):
    with Client(mx) as client:
        assert client.deliver("s@c.test", ["anna@a.test"], TEXT).startswith("250 ")
    mx.maildir("anna@a.test").wait()


def test_ready_means_that_connections_were_made(node):
    """On a machine that is so busy that each connection between processes takes longer than who
    asks for it waits: the start succeeds, and the first message is not deferred."""
    mx = node(start=False)
    mx.prefix = ["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=connect",
                 "-e", "inject=connect:delay_enter=600ms"]  # of the supervisor, which connects
    mx.start(timeout=40)
    assert mx.log.find("ipc_error", operation="connect", error="Connection timed out")
    expect_first_message(mx)


@pytest.fixture
def late_smtpd(node):
    """A node, not started, whose smtpd sees the first answers to its questions for connections
    only later."""
    directory = tempfile.mkdtemp(prefix="stagepost-late-")
    os.chmod(directory, 0o755)
    install_programs(directory)
    path = os.path.join(directory, "smtpd")
    os.rename(path, path + ".real")
    with open(path, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec strace -D -qq -o /dev/null -e trace=poll'
                   ' -e inject=poll:retval=0:when=1..16 -- "$0.real" "$@"\n')
    os.chmod(path, 0o755)
    mx = node(start=False)
    mx.programs = directory
    yield mx
    shutil.rmtree(directory)


def test_ready_means_that_smtpd_has_the_queue(late_smtpd):
    late_smtpd.start()
    assert any(event["process"].startswith("smtpd")
               for event in late_smtpd.log.find("ipc_error", operation="connect"))
    expect_first_message(late_smtpd)


def test_start_ends_where_another_one_listens(node):
    """It says so, and does not wait for ever."""
    mx = node(start=False)
    with socket.create_server((mx.address, mx.port)):
        with pytest.raises(AssertionError, match="exit status 1"):
            mx.start()
    assert mx.log.find("listen_waits", address=f"{mx.address}:{mx.port}")
    assert mx.log.find("process_error", socket=f"listen {mx.address}:{mx.port}",
                       error="Address already in use")


# --- reload ---

def test_reload_takes_a_domain_on(node):
    mx = node(relay_from=["127.0.0.2"])
    with Client(mx) as open_session:
        open_session.docmd("MAIL FROM:<s@client.test>")
        assert open_session.docmd("RCPT TO:<bob@new.test>")[0] == 550
        assert open_session.docmd("RCPT TO:<anna@a.test>")[0] == 250
        mx.domains.append("new.test")
        mx.write_configuration()
        mx.reload()

        def is_taken():
            with Client(mx) as client:
                return client.deliver("s@client.test", "bob@new.test", TEXT).startswith("250 ")

        # each process takes the new file over by itself
        wait_until(is_taken, "the new domain is accepted")
        assert open_session.data(TEXT)[0] == 250  # in the transaction begun before
    for mailbox in "bob@new.test", "anna@a.test":
        split_trace(mx.maildir(mailbox).wait()[0], STORED)
    mx.wait_empty()
    assert not mx.log.find("process_ended")


def many_listens(net, port):
    """As many as are allowed beside the node's own."""
    addresses = ", ".join(f'"127.{net}.0.{number}:{port}"' for number in range(1, 256))
    return f"listen smtp {{ address = {{ {addresses} }} }}\n"


def test_reload_replaces_all_addresses(node):
    """The new ones are bound before the old ones are given up."""
    port = free_port()
    mx = node(settings=many_listens(1, port))
    mx.settings = many_listens(2, port)
    mx.write_configuration()
    mx.reload()

    with socket.create_connection(("127.2.0.255", port), PATIENCE) as client:
        assert client.recv(1000).startswith(b"220 ")

    def is_moved():
        try:
            socket.create_connection(("127.1.0.255", port), PATIENCE).close()
        except ConnectionRefusedError:
            return True
        return False

    wait_until(is_moved, "the old ones are free")


def test_reload_reads_what_is_included(node):
    mx = node(relay_from=["127.0.0.2"], settings='include "extra*.conf"\n', start=False)
    extra = os.path.join(os.path.dirname(mx.conf), "extra.conf")
    mx.start()
    with open(extra, "w", encoding="ascii") as conf:
        conf.write("\nmaxsize = much\n")
    assert mx.reload("config_refused")["problem"].startswith(f"{extra}:2: maxsize: ")
    with open(extra, "w", encoding="ascii") as conf:
        conf.write("maxsize = 4321\n")
    mx.reload()

    def is_taken():
        with Client(mx) as client:
            client.ehlo("c.test")
            return client.esmtp_features.get("size") == "4321"

    wait_until(is_taken, "the size in the file that is included counts")


def test_reload_disturbs_no_delivery(node):
    """What is on its way into mailboxes is neither stopped nor done again."""
    mx = node()
    count = 0
    with Client(mx) as client:
        for _ in range(20):
            mark = mx.log.mark()
            mx.process.send_signal(signal.SIGHUP)
            while not mx.log.find("config_reloaded", since=mark):
                recipients = [f"u{number}@a.test" for number in range(count, count + 20)]
                assert client.deliver("s@c.test", recipients, TEXT).startswith("250 ")
                count += 20
    mx.wait_empty()
    counts = [len(mx.maildir(f"u{number}@a.test").files()) for number in range(count)]
    assert counts == [1] * count
    assert not mx.log.find("helper_lost") and not mx.log.find("deferred")


def test_reload_opens_and_closes_sockets(node):
    mx = node()
    old = mx.port
    with Client(mx) as open_session:
        mx.port = free_port()
        mx.write_configuration()
        mx.reload()
        deliver(mx, "anna@a.test", TEXT)
        assert open_session.deliver("s@c.test", "anna@a.test", TEXT).startswith("250 ")
    mx.port = old

    def is_closed():
        try:
            Wire(mx, timeout=2).close()
        except OSError:
            return True
        return False

    wait_until(is_closed, "the old socket is closed")
    mx.maildir("anna@a.test").wait(2)


@pytest.mark.parametrize("text, problem", [
    ("nonsense = 1\n", "nonsense"), ("maxsize = -5\n", "maxsize"), ("}{", ""),
    ('listen smtp { address = { "192.0.2.1:25" } }\n', "listening socket"),
    ('run = "/other"\n', "")])
def test_wrong_file_is_refused(node, text, problem):
    mx = node()
    mx.settings = text
    mx.write_configuration()
    mark = mx.log.mark()
    mx.reload("config_refused")
    refusals = [str(event) for event in mx.log.find("config_refused", since=mark)]
    assert any(problem in refusal for refusal in refusals), refusals
    deliver(mx, "anna@a.test", TEXT)  # the old one is in force
    mx.maildir("anna@a.test").wait()
    mx.settings = "maxsize = 2000\n"
    mx.write_configuration()
    mx.reload()

    def size():
        with Client(mx) as client:
            return client.esmtp_features["size"] == "2000"

    wait_until(size, "a right file is in force")


def test_wrong_file_at_the_start(node):
    mx = node(start=False, settings="nonsense = 1")
    done = subprocess.run([*as_user(), f"{mx.programs}/stagepost", "serve", "-c", mx.conf],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 78 and "nonsense" in done.stderr


def test_queue_is_served_once(node):
    """A second node on the same queue must not touch it: it says what is the matter, once, and ends."""
    mx = node()
    other = node("other", start=False, queue=mx.queue)
    with pytest.raises(AssertionError, match="exit status 78"):
        other.start(timeout=2 * PATIENCE)
    reason = f"another mail system works with the queue {mx.queue}: it has lock/"
    assert reason in other.log.find("serve_failed")[0]["reason"]
    said = [event for event in other.log.read() if "another mail system" in event.get("reason", "")]
    assert len(said) <= 3, said  # "queue", "send", and in the end
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()


# --- death ---

@pytest.mark.parametrize("program", [*(name for name in PROGRAMS if name != "stagepost"), "mailbox", "decode"])
def test_process_is_killed(node, program):
    """It is started again, and mail goes on; nothing is lost, nothing comes twice."""
    mx, other = node(domains=["a.test"]), node("other", domains=["b.test"])
    mx.routes = [f"b.test:127.0.0.1;{other.port}"]
    once = tempfile.mkdtemp()  # a mailbox service's
    give_to_user(once)
    mx.domains.append("domain m.test { service = once }")
    mx.settings = (f'service once {{ kind = mailbox path = "{once}/mail/%d/%u" }}\n'
                   f'record {{ path = "{once}/record.db" }}\n'
                   f'listen qmtp {{ address = "127.0.0.1:{free_port("127.0.0.1")}" }}\n' + services_for_helpers())
    mx.write_configuration()
    mx.reload()
    for later in "launch", "pipe", "lmtp", "qmtpd", "mailbox":
        wait_until(lambda: mx.pids(later), f"{later} is there")
    with Client(mx) as client:
        for number in range(20):
            assert client.deliver("s@c.test", [f"u{number}@a.test", f"u{number}@b.test", f"u{number}@m.test"],
                                  TEXT).startswith("250 ")
    old = mx.pids(program)
    assert mx.kill_and_wait(program) not in old
    for number in range(20, 40):
        send_with_patience(mx, [f"u{number}@a.test", f"u{number}@b.test", f"u{number}@m.test"])
    for number in range(40):
        for owner, address in (mx, f"u{number}@a.test"), (other, f"u{number}@b.test"):
            for text in owner.maildir(address).wait():
                split_trace(text, STORED)
    mx.wait_empty()
    for number in range(40):
        assert len(Maildir(f"{once}/mail/m.test/u{number}").files()) == 1
    assert len(mx.log.find("process_ended")) == 1


def test_who_still_writes_spoils_nothing(node):
    """A client sends on, into a file that a "queue" gave out that was killed; the next one
    must not give it to anybody else."""
    mx = node(domains=["a.test"], settings="transport maildir { paused = yes }\n")
    with Client(mx) as client:
        for number in range(120):
            assert client.deliver("s@c.test", f"early{number}@a.test", TEXT).startswith("250 ")
    mx.settings = ""
    mx.write_configuration()
    mx.reload()
    mx.wait_empty()
    time.sleep(2)  # their removal is durable after one: now there are spare files
    writers = [Client(mx) for _ in range(100)]
    for writer in writers:
        assert writer.docmd("MAIL FROM:<s@c.test>")[0] == 250
        assert writer.docmd("RCPT TO:<slow@a.test>")[0] == 250
        assert writer.docmd("DATA")[0] == 354
        writer.sock.sendall(b"written by somebody else\r\n" * 4000)
    mx.kill_and_wait("queue")
    for number in range(80):  # what "smtpd" had asked for ahead is used up
        send_with_patience(mx, [f"early{number}@a.test"])
    long = TEXT + b"A line of a long message.\r\n" * 20000
    for number in range(30):
        with Client(mx) as client:
            reply = client.deliver("s@c.test", f"u{number}@a.test", long, before_dot=lambda: [
                writer.sock.sendall(b"written by somebody else\r\n" * 200) for writer in writers])
        assert reply.startswith("250 ")
    for number in range(30):
        for text in mx.maildir(f"u{number}@a.test").wait():
            split_trace(text, long.replace(b"\r\n", b"\n"))
    for writer in writers:
        writer.sock.sendall(b"\r\n.\r\n")
        assert writer.getreply()[0] == 451
        writer.close()


def send_with_patience(mx, recipients, text=TEXT):
    """As a client does: refused or cut off for the moment, it comes again."""
    def attempt():
        try:
            with Client(mx) as client:
                reply = client.deliver("s@c.test", recipients, text)
        except (OSError, smtplib.SMTPException):
            return False
        assert reply[0] in "24", reply
        return reply[0] == "2"

    wait_until(attempt, "the message is accepted")


def test_supervisor_is_killed(node):
    mx = node()
    deliver(mx, "anna@a.test", TEXT)
    mx.kill_supervisor()
    mx.start()
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait(2)


# --- stop ---

def test_stop_with_idle_sessions(node):
    mx = node()
    wires = [Wire(mx) for _ in range(50)]
    for wire in wires:
        assert wire.reply().startswith("220 ")
    mx.stop()
    for wire in wires:
        assert wire.reply().startswith("421 4.3.2 ") and wire.reply() == ""
        wire.close()


def test_stop_under_load(node):
    """Who was answered 250 is in the queue or served; nobody's message comes twice."""
    mx = node()
    accepted = set()

    def work(sender):
        number = 0
        try:
            with Client(mx) as client:
                while True:
                    name = f"u{sender}-{number}"
                    number += 1
                    if not client.deliver("s@c.test", f"{name}@a.test", TEXT).startswith("250 "):
                        return
                    accepted.add(name)
        except (OSError, smtplib.SMTPException):
            return

    threads = [threading.Thread(target=work, args=(sender,)) for sender in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(accepted) > 100, "messages are accepted")
    mx.stop()
    for thread in threads:
        thread.join()
    mx.start()
    mx.wait_empty()
    counts = {name: len(mx.maildir(f"{name}@a.test").files()) for name in accepted}
    assert {name: count for name, count in counts.items() if count != 1} == {}


def test_stop_leaves_nothing_behind(node):
    mx = node()
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    pids = mx.pids()
    mx.stop()
    assert not any(is_alive(pid) for pid in pids)
    for top in "mess", "intd", "todo", "info", "bounce":
        assert not [names for _, _, names in os.walk(os.path.join(mx.queue, top)) if names]
    for event in "process_error", "queue_error", "message_damaged", "message_lost", "message_rebuilt":
        assert not mx.log.find(event)


def test_control_file_can_be_read(node):
    """While mail waits, its file says what an operator wants to know."""
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"])
    deliver(mx, ["anna@a.test", "bob@b.test"], TEXT)
    mx.log.wait("deferred", to="bob@b.test")
    mx.log.wait("delivered", to="anna@a.test")
    wait_until(lambda: "\ndone: " in "".join(mx.control_files().values()), "it is recorded")
    ((number, control),) = mx.control_files().items()
    for pattern in (r"^stagepost 2\n", rf"^id: {number}-[0-9a-f]+$", r"^stage: arrive$",
                    r"^from: <sender@client\.test>", r"^to: 1 <anna@a\.test>$",
                    r"^map: \d local maildir <anna@a\.test> #", r"^map: \d remote <bob@b\.test> #",
                    r"^wait: \d \S+ until=\S+ trigger=host\.127\.0\.0\.1:\d+ 4\.4\.1 "):
        assert re.search(pattern, control, re.M), f"{pattern} in\n{control}"
    checksums.check(control.encode(), mx.queued_message(number))
    split_trace(mx.queued_message(number).replace(b"\r\n", b"\n"), STORED)


def test_reloads_hold_no_descriptors(node):
    mx = node()

    def held():
        return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in mx.pids()}

    def steady():
        """Each process takes a new configuration over by itself."""
        looks = [held()]
        for _ in range(4):
            time.sleep(0.05)
            looks.append(held())
        return looks[0] if looks == looks[:1] * 5 else None

    mx.reload()
    before = wait_until(steady, "the first reload is over")
    for _ in range(10):
        mx.reload()
    wait_until(lambda: held() == before, "all have what they had", timeout=5)
