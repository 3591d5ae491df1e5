# SPDX-License-Identifier: ISC
"""What clients are called: reverse DNS that forward DNS confirms, asked by the process "names".
Clients come from any address by a proxy's header."""

import ipaddress
import os
import re
import signal
import time

import pytest
from lying_dns import AAAA, SERVFAIL, A, Answer, LyingServer, a, aaaa, labels, record
from smtp import Client
from stagepost import wait_until

PTR = 12
BOX = "box@a.test"
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
PROXIED = 'proxy = yes bare_newline = normalize'
PATIENCE = 2  # seconds that a message waits for a name


def ptr(*names, ttl=60):
    return Answer([record(PTR, labels(name), ttl=ttl) for name in names])


def reverse(address):
    if ":" in address:
        return ipaddress.ip_address(address).reverse_pointer
    return ".".join(reversed(address.split("."))) + ".in-addr.arpa"


ANSWERS = {
    (reverse("192.0.2.7"), PTR): ptr("mx.example.test"),
    ("mx.example.test", A): Answer(a("192.0.2.1", "192.0.2.7")),
    (reverse("192.0.2.8"), PTR): ptr("mx.example.test"),  # which is not 192.0.2.8
    (reverse("192.0.2.10"), PTR): ptr("nowhere.test"),
    (reverse("192.0.2.11"), PTR): ptr(*[f"n{i}.test" for i in range(9)], "mx11.test"),
    ("mx11.test", A): Answer(a("192.0.2.11")),
    (reverse("192.0.2.12"), PTR): ptr(*[f"n{i}.test" for i in range(40)]),
    (reverse("192.0.2.13"), PTR): Answer(code=SERVFAIL),
    (reverse("192.0.2.14"), PTR): None,
    (reverse("192.0.2.15"), PTR): ptr(b"evil) by (x.test"),
    (reverse("10.1.2.3"), PTR): ptr("inside.test"),
    ("inside.test", A): Answer(a("10.1.2.3")),
    (reverse("2001:db8::7"), PTR): ptr("six.test"),
    ("six.test", AAAA): Answer(aaaa("2001:db8::7")),
    ("six.test", A): Answer(a("192.0.2.7")),
}


@pytest.fixture
def names():
    with LyingServer(dict(ANSWERS)) as server:
        yield server


@pytest.fixture
def mx(node, names):
    return node(domains=["a.test"], listen=PROXIED, settings=settings(names))


def settings(names, more=""):
    return f'dns_server = "{names.dns_server}"\n{more}'


def client_of(mx, address):
    """A client that comes from ADDRESS, before its EHLO."""
    kind = "TCP6" if ":" in address else "TCP4"
    other = "2001:db8::1" if ":" in address else "192.0.2.1"
    return Client(mx, before=f"PROXY {kind} {address} {other} 40000 25\r\n".encode())


def send(mx, address):
    """(what Received says of a client at ADDRESS, the event of its message)"""
    mark = mx.log.mark()
    with client_of(mx, address) as client:
        reply = client.deliver("ann@b.test", [BOX], TEXT)
        assert reply.startswith("250"), reply
    event = mx.log.wait("message_accepted", since=mark)
    return event


def received(mx, count):
    text = mx.maildir(BOX).wait(count)
    return [re.search(rb"^Received: from \S+ \((.*?)\)", one, re.M).group(1).decode()
            for one in text]


@pytest.mark.parametrize("address, name", [
    ("192.0.2.7", "mx.example.test"), ("192.0.2.8", None), ("192.0.2.9", None),
    ("192.0.2.10", None), ("192.0.2.11", "mx11.test"), ("192.0.2.12", None), ("192.0.2.13", None),
    ("192.0.2.15", None), ("10.1.2.3", "inside.test"), ("2001:db8::7", "six.test"),
    ("127.0.0.9", None)])
def test_name(mx, names, address, name):
    """Confirmed, or none: it leads elsewhere, or nowhere, there is none, one of many, too many,
    nobody can say, it is no name of a host."""
    event = send(mx, address)
    assert event.get("name") == name
    shown = f"[IPv6:{address}]" if ":" in address else f"[{address}]"
    assert received(mx, 1) == [f"{name} {shown}" if name else shown]
    if address == "192.0.2.12":
        assert sum(count for asked, count in names.asked.items() if asked.startswith("n")) <= 10
    if address == "127.0.0.9":
        assert not names.asked


def test_names_are_kept(mx, names):
    for _ in range(20):
        assert send(mx, "192.0.2.7")["name"] == "mx.example.test"
        assert "name" not in send(mx, "192.0.2.9")
    assert names.asked[reverse("192.0.2.7")] < 5 and names.asked[reverse("192.0.2.9")] < 5
    assert names.asked["mx.example.test"] < 5


def test_another_name_server_after_a_reload(mx, names):
    assert send(mx, "192.0.2.7")["name"] == "mx.example.test"
    with LyingServer({(reverse("192.0.2.9"), PTR): ptr("nine.test"),
                      ("nine.test", A): Answer(a("192.0.2.9"))}) as other:
        mx.settings = settings(other)
        mx.write_configuration()
        mx.reload()
        wait_until(lambda: send(mx, "192.0.2.9").get("name") == "nine.test", "the other is asked")


def test_a_silent_name_server_holds_up_little(mx, names):
    """The first message waits for two seconds, those after it for nothing, until an answer comes
    in time again."""
    begin = time.monotonic()
    assert "name" not in send(mx, "192.0.2.14")
    assert PATIENCE - 0.2 < time.monotonic() - begin < 4 * PATIENCE
    begin = time.monotonic()
    for last in range(20, 30):
        names.answers[reverse(f"192.0.2.{last}"), PTR] = None
        assert "name" not in send(mx, f"192.0.2.{last}")
    assert time.monotonic() - begin < 2 * PATIENCE
    wait_until(lambda: send(mx, "192.0.2.7").get("name") == "mx.example.test",
               "a name that is known is said again")


def test_without_names(mx, names):
    """The process stands still, then dies: mail goes on; the next one says names again."""
    pid, = mx.pids("names")
    os.kill(pid, signal.SIGSTOP)
    assert "name" not in send(mx, "192.0.2.7")
    os.kill(pid, signal.SIGCONT)
    mark = mx.log.mark()
    os.kill(pid, signal.SIGKILL)
    mx.log.wait("process_started", since=mark, program="names")
    wait_until(lambda: send(mx, "192.0.2.7").get("name") == "mx.example.test", "a name is said")


def test_names_are_switched_off_and_on(node, names):
    mx = node(domains=["a.test"], listen=PROXIED, settings=settings(names, "client_names = no\n"))
    assert not mx.pids("names")
    assert "name" not in send(mx, "192.0.2.7") and not names.asked
    mx.settings = settings(names)
    mx.write_configuration()
    mx.reload()
    wait_until(lambda: mx.pids("names"), "it runs")
    wait_until(lambda: send(mx, "192.0.2.7").get("name") == "mx.example.test", "a name is said")
    mx.settings = settings(names, "client_names = no\n")
    mx.write_configuration()
    mx.reload()
    wait_until(lambda: not mx.pids("names"), "it has ended")
    assert "name" not in send(mx, "192.0.2.7")


def test_a_proxy_on_this_machine_says_the_name(node, names):
    """Nothing is looked up of the client that it names by XCLIENT."""
    mx = node(domains=["a.test"], settings=settings(names, 'xclient_from = { "127.0.0.1/32" }\n'))
    with Client(mx) as client:
        assert client.docmd("XCLIENT", "NAME=said.test ADDR=192.0.2.7")[0] == 220
        client.ehlo("said.test")
        assert client.deliver("ann@b.test", [BOX], TEXT).startswith("250")
    assert mx.log.wait("message_accepted")["name"] == "said.test"
    assert received(mx, 1) == ["said.test [192.0.2.7]"]
    assert not names.asked


def test_many_clients_are_bounded(mx, names):
    """More addresses than may be asked about at once, none of which is answered."""
    names.answers = {(reverse(f"192.0.{third}.{last}"), PTR): None
                     for third in range(3, 9) for last in range(1, 255)}
    clients = []
    for third in range(3, 9):
        for last in range(1, 255, 3):
            clients.append(client_of(mx, f"192.0.{third}.{last}"))
    begin = time.monotonic()
    for client in clients[:20]:
        assert client.deliver("ann@b.test", [BOX], TEXT).startswith("250")
    assert time.monotonic() - begin < 10 * PATIENCE
    for client in clients:
        client.close()
