# SPDX-License-Identifier: ISC
"""Clients that a rate holds back: they keep their places until somebody else needs these."""

import contextlib
import socket

import pytest
from smtp import Client
from stagepost import PATIENCE, wait_until
from test_limits import told
from test_rates import TO, deliver
from test_submission_auth import Site

SLOW = "client_names = no\nrate m { count = messages limit = 1 interval = 1h answer = slow }\n"


def hold_back(mx, source, number=1):
    """A client that has sent a message, and waits for the reply to the next DATA."""
    client = Client(mx, source=source)
    assert deliver(client).startswith("250 ")
    mark = mx.log.mark()
    client.mail("lisa@b.test")
    client.rcpt(TO)
    client.sock.sendall(b"DATA\r\n")
    mx.log.wait("rate_exceeded", since=mark, count=number)
    return client


def ends(client):
    """What it was told last, before its connection ended."""
    client.sock.settimeout(PATIENCE)
    text = b""
    while True:
        try:
            piece = client.sock.recv(4096)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return text.decode().splitlines()
        text += piece


def line_of(mx, mask):
    return {key: told(mx)[mask][key] for key in ("in", "slowed")}


def test_a_full_class(node):
    """The first one that waits leaves; its client is told to come again. Nobody is in more places than
    there are, and another class does not notice."""
    mx = node(settings=SLOW + 'smtpd_workers = 1\nclass "127.0.0.8/29" { queue = 2 refuse = 2 }\n'
              'class "*" { queue = 5 refuse = 5 }\n')
    first, second = hold_back(mx, "127.0.0.9"), hold_back(mx, "127.0.0.10")
    other = hold_back(mx, "127.0.0.2")
    assert line_of(mx, "127.0.0.8/29") == {"in": 2, "slowed": 2}
    third = Client(mx, source="127.0.0.11")
    assert [line[:9] for line in ends(first)] == ["450 4.7.1", "421 4.3.2"]
    wait_until(lambda: line_of(mx, "127.0.0.8/29") == {"in": 2, "slowed": 1}, "it has left")
    fourth = Client(mx, source="127.0.0.12")
    assert ends(second)[-1].startswith("421 ")
    # nobody is held back any more in this class: it is full
    refused = socket.create_connection((mx.address, mx.port), PATIENCE, ("127.0.0.13", 0))
    assert refused.recv(100).startswith(b"421 ")
    assert line_of(mx, "127.0.0.8/29") == {"in": 2, "slowed": 0}
    assert line_of(mx, "*") == {"in": 1, "slowed": 1}
    assert deliver(third).startswith("250 ") and deliver(fourth).startswith("250 ")
    third.close()
    fourth.close()
    wait_until(lambda: line_of(mx, "127.0.0.8/29") == {"in": 0, "slowed": 0}, "they have left")
    other.close()
    assert not mx.log.find("process_ended")


def test_the_listeners_stay_open(node):
    """With a place that somebody could have all the same."""
    mx = node(settings=SLOW + 'smtpd_workers = 1\nclass "*" { queue = 2 refuse = 2 }\n')
    slowed = [hold_back(mx, "127.0.0.9"), hold_back(mx, "127.0.0.10")]
    for number in range(4):
        with Client(mx, source=f"127.0.0.{number + 20}") as client:
            assert client.noop()[0] == 250
    assert not mx.log.find("listen_closed")
    assert ends(slowed[0])[-1].startswith("421 ")


def test_all_sessions_of_a_process(node):
    """There is a place at once, and a session that waits for nothing but its client's next command is
    not ended."""
    mx = node(settings=SLOW + "smtpd_workers = 1\nmaxsessions = 3\n")
    slowed = [hold_back(mx, "127.0.0.9"), hold_back(mx, "127.0.0.10")]
    with Client(mx, source="127.0.0.2") as busy:
        for number in range(20, 24):
            with Client(mx, source=f"127.0.0.{number}") as client:
                assert deliver(client).startswith("250 ")
        assert busy.noop()[0] == 250
    assert ends(slowed[0])[-1].startswith("421 ")
    mx.maildir(TO).wait(6)
    assert not mx.log.find("process_ended")


def test_a_reload_counts_them_anew(node):
    mx = node(settings=SLOW + 'smtpd_workers = 1\nclass "127.0.0.8/29" { queue = 9 refuse = 9 }\n'
              'class "*" { queue = 9 refuse = 9 }\n')
    clients = [hold_back(mx, "127.0.0.9"), hold_back(mx, "127.0.0.20")]
    assert line_of(mx, "127.0.0.8/29") == line_of(mx, "*") == {"in": 1, "slowed": 1}
    mx.settings = SLOW + 'smtpd_workers = 1\nclass "*" { queue = 9 refuse = 9 }\n'
    mx.write_configuration()
    mx.reload()
    wait_until(lambda: line_of(mx, "*") == {"in": 2, "slowed": 2}, "both are in the one class")
    mx.settings = SLOW + 'smtpd_workers = 1\nclass "*" { queue = 2 refuse = 2 }\n'
    mx.write_configuration()
    mx.reload()
    with Client(mx, source="127.0.0.30") as third:
        assert ends(clients[0])[-1].startswith("421 ")
        assert third.noop()[0] == 250
    assert not mx.log.find("process_ended")


def test_who_waits_for_a_handshake_is_told_nothing(node, ground):
    """It is before its greeting, and leaves its place without a word in plain text."""
    site = Site(node, ground, more="client_names = no\nsmtpd_workers = 1\nclass \"*\" { queue = 1 refuse = 1 }\n"
                "rate c { count = connections limit = 1 interval = 1h answer = slow }\n")

    def connect():
        """When the listeners are open, as they are as soon as a place is."""
        found = []

        def is_in():
            with contextlib.suppress(ConnectionError):
                found.append(socket.create_connection(("127.0.0.1", site.implicit_port), PATIENCE))
            return found

        wait_until(is_in, "the listeners are open")
        return found[0]

    connect().close()
    wait_until(lambda: line_of(site.mx, "*")["in"] == 0, "the first one has left")
    with connect() as client:
        client.settimeout(PATIENCE)
        site.mx.log.wait("rate_exceeded")
        with connect():
            assert client.recv(1000) == b""
    assert not site.mx.log.find("process_ended")


@pytest.mark.parametrize("workers", (1, 2))
def test_a_killed_process_had_slowed_clients(node, workers):
    """Its places are free, and none is taken for one that somebody could have."""
    mx = node(settings=SLOW + f'smtpd_workers = {workers}\nclass "*" {{ queue = 4 refuse = 4 }}\n')
    clients = [hold_back(mx, f"127.0.0.{number}") for number in (9, 10, 11)]
    assert line_of(mx, "*") == {"in": 3, "slowed": 3}
    for _ in range(workers):
        mx.kill_and_wait("smtpd")
    wait_until(lambda: workers > 1 or line_of(mx, "*") == {"in": 0, "slowed": 0}, "all are free", 1)
    for client in clients:
        client.close()
    wait_until(lambda: line_of(mx, "*") == {"in": 0, "slowed": 0}, "all are free")
