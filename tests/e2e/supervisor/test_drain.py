# SPDX-License-Identifier: ISC
"""stagepost queue drain: nothing new comes in from the network, what is there goes, and the end says what is left."""

import json
import os
import signal
import smtplib
import socket
import subprocess

import pytest
from stagepost import PATIENCE, as_user, free_port, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
SENDING = b"Subject: hello\n\nA line.\n"


def words(mx, *more):
    return [*as_user(), os.path.join(mx.programs, "stagepost"), *more, "-c", mx.conf]


def run(mx, *more, **how):
    ended = subprocess.run(words(mx, *more), capture_output=True, check=False, text=True, timeout=3 * PATIENCE, **how)
    return ended.returncode, ended.stdout, ended.stderr


def queue_mail(mx, recipient):
    ended = subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "sendmail", "-C", mx.conf, "-f",
                            "anna@a.test", recipient], input=SENDING, check=False, timeout=PATIENCE)
    assert ended.returncode == 0


def is_turned_away(mx):
    with socket.create_connection(("127.0.0.1", mx.port), PATIENCE) as client:
        greeting = client.makefile("rb").readline()
    return greeting.startswith(b"421 ") and b" Down for maintenance" in greeting  # without status (RFC 2034)


def send(mx):
    with smtplib.SMTP("127.0.0.1", mx.port, timeout=PATIENCE) as client:
        client.sendmail("x@b.test", ["anna@a.test"], TEXT)


ENDS_BY = '"stagepost queue drain --end" takes in mail again\n'


def test_all_goes(node):
    """A session that has begun a message may end it; programs of the machine are served; all is shown; and after the
    end all is as before."""
    hop = node("hop", start=False, domains=["b.test"], port=free_port())
    mx = node("mx", routes=[f":127.0.0.1;{hop.port}"])
    queue_mail(mx, "bob@b.test")
    mx.log.wait("deferred")
    amid, idle = (smtplib.SMTP("127.0.0.1", mx.port, timeout=PATIENCE) for _ in range(2))
    for client in amid, idle:
        client.ehlo("client.test")
    assert amid.mail("x@b.test")[0] == amid.rcpt("anna@a.test")[0] == 250
    assert run(mx, "queue", "drain", "--timeout", "0s")[:2] == (
        3, '1 message is left; "stagepost queue list" says why; ' + ENDS_BY)
    mx.log.wait("drain_begun")
    wait_until(lambda: is_turned_away(mx), "nobody may come")
    assert amid.data(TEXT)[0] == 250
    for client in amid, idle:
        assert client.docmd("MAIL FROM:<x@b.test>") == (421, b"4.3.2 Down for maintenance, try again later")
        with pytest.raises(smtplib.SMTPServerDisconnected):
            client.noop()
    mx.maildir("anna@a.test").wait(1)
    queue_mail(mx, "anna@a.test")
    mx.maildir("anna@a.test").wait(2)
    assert "No mail is taken in from the network since 20" in run(mx, "queue", "stats")[1]
    assert json.loads(run(mx, "queue", "stats", "--json")[1])["draining"].startswith("20")
    assert run(mx, "queue", "list")[1].startswith("(no mail is taken in from the network since 20")
    hop.start()
    assert run(mx, "queue", "drain")[:2] == (0, "The queue is empty; " + ENDS_BY)
    assert json.loads(run(mx, "queue", "drain", "--json")[1]) == {
        "messages": 0, "packages": 0, "peers": 0}
    hop.maildir("bob@b.test").wait(1)
    assert run(mx, "queue", "drain", "--end") == (0, "Mail is taken in again\n", "")
    wait_until(lambda: not is_turned_away(mx), "clients may come")
    send(mx)
    assert run(mx, "queue", "drain", "--end") == (0, "Mail is taken in again\n", "")
    assert "draining" not in json.loads(run(mx, "queue", "stats", "--json")[1])
    assert not mx.log.find("process_error")


def test_it_goes_on(node):
    """When the command is interrupted, when a process dies, when the node is started again, and while nothing runs."""
    mx = node("mx", routes=[f":127.0.0.1;{free_port()}"])
    queue_mail(mx, "bob@b.test")
    with subprocess.Popen(words(mx, "queue", "drain"), stderr=subprocess.PIPE, text=True) as command:
        assert command.stderr.readline() == "1 message is left\n"
        command.send_signal(signal.SIGINT)
    assert is_turned_away(mx)
    mark = mx.log.mark()
    os.kill(mx.pids("smtpd")[0], signal.SIGKILL)
    mx.log.wait("process_started", since=mark, program="smtpd")
    assert all(is_turned_away(mx) for _ in range(20))
    mx.stop()
    assert run(mx, "queue", "drain")[:2] == (
        3, '1 message is left; "stagepost queue list" says why, and nothing runs; ' + ENDS_BY)
    mx.start()
    assert is_turned_away(mx)
    mx.reload()
    assert is_turned_away(mx)
    assert run(mx, "queue", "drain", "--timeout", "1s")[0] == 3
    mx.stop()
    assert run(mx, "queue", "drain", "--end") == (0, "Mail is taken in at the next start\n", "")
    mx.start()
    send(mx)


def test_wrong_words(node):
    mx = node("mx")
    for more in (["--timeout", "soon"], ["--end", "--timeout", "1m"], ["all"]):
        status, out, errors = run(mx, "queue", "drain", *more)
        assert (status, out) == (2, "") and errors.startswith("stagepost queue drain: "), errors
    assert not is_turned_away(mx)
