# SPDX-License-Identifier: ISC
"""A process that has no descriptor left says so, lives, and goes on when it has some."""
import contextlib
import socket
import subprocess

import pytest

from smtp import Client, deliver
from stagepost import as_user, split_trace, wait_until

MESSAGE = b"Subject: few descriptors\r\n\r\nhello\r\n"


def limit(pids, count):
    """At most COUNT descriptors for each of PIDS; asked for as their own user."""
    for pid in pids:
        subprocess.run(as_user() + ["prlimit", f"--pid={pid}", f"--nofile={count}:"], check=True)


def most(pid):
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        (line,) = [line for line in file if line.startswith("Max open files")]
    return line.split()[3]


@contextlib.contextmanager
def few_descriptors(pids, count):
    before = most(pids[0])
    limit(pids, count)
    try:
        yield
    finally:
        limit(pids, before)


def takes(mx):
    with Client(mx) as client:
        return client.deliver("s@client.test", "anna@a.test", MESSAGE).startswith("250 ")


def test_smtpd_without_descriptors(node):
    mx = node(settings="smtpd_workers = 1")
    (pid,) = mx.pids("smtpd")
    sessions = []
    with few_descriptors([pid], 60):
        for _ in range(100):
            sessions.append(socket.create_connection(("127.0.0.1", mx.port)))
        refused = mx.log.wait("session_refused")
        assert "open files" in refused["error"]
        wait_until(lambda: takes(mx), "the idle make room")
    for session in sessions:
        session.close()
    wait_until(lambda: takes(mx), "mail is taken again")
    assert mx.pids("smtpd") == [pid]


@pytest.mark.parametrize("program", ["queue", "send", "local", "resolve"])
def test_process_without_descriptors(node, program):
    """Mail may be answered 451 or wait meanwhile; what was answered 250 arrives."""
    mx = node()
    deliver(mx, "anna@a.test", MESSAGE)
    mx.wait_empty()
    pids = mx.pids(program)
    taken = 1
    with few_descriptors(pids, 3):
        for _ in range(40):
            with Client(mx) as client:
                reply = client.deliver("s@client.test", "anna@a.test", MESSAGE)
            assert reply.startswith(("250 ", "451 ")), reply
            taken += reply.startswith("250 ")
    assert taken < 41 or program != "queue", "the limit did not bite"
    wait_until(lambda: takes(mx), "mail is taken again")
    taken += 1
    mx.stop(timeout=10)  # no job is left that nobody works on
    mx.make_due()
    mx.start()
    for text in mx.maildir("anna@a.test").wait(taken):
        split_trace(text, MESSAGE.replace(b"\r\n", b"\n"))
    mx.wait_empty()
    assert len(mx.maildir("anna@a.test").files()) >= taken
