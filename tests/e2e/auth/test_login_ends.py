# SPDX-License-Identifier: ISC
"""Where a session ends whose user may not log in any more: after the reply to a message whose end has
come, and never before it."""

import os
import select
import signal

import pytest
from stagepost import split_trace, wait_until
from test_submission_auth import ANN, BOB, Site, run

TEXT = f"From: {ANN}\r\nTo: {BOB}\r\nDate: Mon, 2 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@a.test>\r\n" \
       "Subject: hello\r\n\r\nA line.\r\n".encode()
CUT = len(TEXT) // 2


def by_data(client):
    """All but the end of a message; what ends it."""
    assert client.docmd("DATA")[0] == 354
    client.send(TEXT)
    return b".\r\n"


def by_bdat(client):
    client.send(b"BDAT %d\r\n%s" % (CUT, TEXT[:CUT]))
    assert client.getreply()[0] == 250
    return b"BDAT %d LAST\r\n%s" % (len(TEXT) - CUT, TEXT[CUT:])


def by_data_and_more(client):
    return by_data(client) + f"MAIL FROM:<{ANN}>\r\nRCPT TO:<{BOB}>\r\nDATA\r\n".encode()


def by_bdat_and_more(client):
    return by_bdat(client) + f"MAIL FROM:<{ANN}>\r\n".encode()


def is_read(client):
    """Whether the server has read all that CLIENT has sent: no byte waits at an end of the connection."""
    ends = {f":{client.sock.getpeername()[1]:04X} ", f":{client.sock.getsockname()[1]:04X} "}
    with open("/proc/net/tcp", encoding="ascii") as table:
        lines = [line for line in table if all(end in line for end in ends)]
    return len(lines) == 2 and all(" 00000000:00000000 " in line for line in lines)


@pytest.mark.parametrize("change", ["disabled", "removed"])
@pytest.mark.parametrize("way", [by_data, by_bdat, by_data_and_more, by_bdat_and_more])
def test_the_reply_to_a_message_comes_first(node, ground, way, change):
    """However long the disk takes: here the process that writes to it stands still."""
    site = Site(node, ground, more="smtpd_workers = 1\n")
    client, idle = site.login(), site.login()
    assert client.docmd(f"MAIL FROM:<{ANN}>")[0] == 250 and client.docmd(f"RCPT TO:<{BOB}>")[0] == 250
    end = way(client)
    queue, = site.mx.pids("queue")
    os.kill(queue, signal.SIGSTOP)
    try:
        client.send(end)
        wait_until(lambda: is_read(client), "the end is read")
        if change == "disabled":
            site.put("user", "ann", "state=disabled")
        else:
            run(site.mx, "directory", "del", "--table", "user", "ann")
        assert idle.getreply()[0] == 421  # so the process has heard of it
        assert not client.sock.pending() and not select.select([client.sock], [], [], 0)[0]
    finally:
        os.kill(queue, signal.SIGCONT)
    assert client.getreply()[0] == 250
    while (code := client.getreply()[0]) != 421:  # to what was sent with the end
        assert 400 <= code < 600
    assert client.sock.recv(1) == b""
    (stored,) = site.mx.maildir(BOB).wait()
    split_trace(stored, TEXT.replace(b"\r\n", b"\n"))
    site.mx.wait_empty()
