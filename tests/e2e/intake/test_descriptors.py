# SPDX-License-Identifier: ISC
"""A process that has no descriptor left says so, lives, and goes on when it has some."""
import contextlib
import socket
import subprocess

import pytest

from scene import Scene
from smtp import Client
from stagepost import as_user, wait_until

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


@pytest.mark.parametrize("program", ["smtpd", "queue", "send", "resolve", "remote", "local"])
def test_reload_without_descriptors(node, program):
    """What cannot be handed over now is handed over later; nobody ends for it, and with him what he
    had not recorded yet."""
    mx = node(settings="smtpd_workers = 1\nlog_level = info")
    (pid,) = mx.pids(program)
    with few_descriptors([pid], 3):
        mx.settings = mx.settings.replace("info", "debug")
        mx.write_configuration()
        mark = mx.log.mark()
        mx.reload()
        mx.log.wait("process_error", since=mark, process=f"{program}[{pid}]",
                    reason="the configuration cannot be taken over yet")
    wait_until(lambda: takes(mx), "mail is taken")
    if program == "smtpd":
        wait_until(lambda: takes(mx) and mx.log.find("session_opened", since=mark),
                   "what is at level debug is logged")
    assert mx.pids(program) == [pid]


@pytest.fixture
def scene(node):
    made = Scene(node)
    yield made
    made.close()


@pytest.mark.parametrize("program, way", [
    ("queue", "local"), ("send", "local"), ("send", "later"), ("resolve", "local"),
    ("local", "local"), ("local", "pipe"), ("remote", "remote"), ("lmtp", "lmtp"),
    ("send", "bounce")])
def test_process_without_descriptors(scene, program, way):
    """Mail may be answered 451 or wait meanwhile; what was answered 250 arrives. It is not
    asked for descriptors as fast as it goes."""
    mx = scene.mx
    assert scene.send(way).startswith("250 ")
    scene.settle()
    mark = mx.log.mark()
    taken = 0
    with few_descriptors(mx.pids(program), 3):
        for _ in range(40):
            taken += scene.send(way).startswith("250 ")
    assert taken < 40 or program != "queue", "the limit did not bite"
    assert len(mx.log.read()) - mark < 40 * 20, "the log is flooded"
    wait_until(lambda: scene.send(way).startswith("250 "), "mail is taken again")
    mx.stop(timeout=10)  # no job is left that nobody works on
    mx.make_due()
    mx.start()
    scene.settle()
    verdict = scene.judge()
    assert (verdict.lost, verdict.corrupt, verdict.twice) == ([], [], {})
    assert verdict.accepted >= taken + 2


def test_command_without_descriptors(scene):
    """It says so, and that it can be tried again."""
    failed = 0
    for count in range(4, 12):  # with fewer the C library cannot load it
        number, text, recipients = scene.begin("command")
        reply = scene.enqueue(number, text, recipients, prefix=["prlimit", f"--nofile={count}"])
        failed += reply.startswith("4 ") and "open files" in reply
    assert 1 <= failed < 8
    assert scene.send("command").startswith("250 ")
    scene.settle()
    verdict = scene.judge()
    assert (verdict.lost, verdict.corrupt, verdict.twice) == ([], [], {})
