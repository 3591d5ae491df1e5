# SPDX-License-Identifier: ISC
"""What the DNS module makes of real answers. STAGEPOST_DNS_SEARCH is the
program tests/e2e/programs/dns_search.c."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from dns import NameServer, free_port  # noqa: E402

ZONES = {
    "example.org": """
@ MX 20 b.mx
@ MX 10 a.mx
a.mx A 192.0.2.1
a.mx AAAA 2001:db8::1
b.mx A 192.0.2.2
""",
    "null.test": "@ MX 0 .\n",
    "implicit.test": "@ A 192.0.2.3\n@ AAAA 2001:db8::3\n",
    "cname.test": "mail CNAME target\ntarget MX 5 mx.example.org.\n",
    "empty.test": "",
    "lame.test": "@ MX 10 nowhere\n",
    "us.test": "@ MX 10 First\n@ MX 20 mx.us.test.\n@ MX 20 third\n@ MX 30 fourth\n"
    "first A 192.0.2.5\nmx A 192.0.2.254\nthird A 192.0.2.6\nfourth A 192.0.2.7\n",
    "best.test": "@ MX 5 mx.us.test.\n@ MX 10 other\nother A 192.0.2.8\n",
    "alias.test": "@ MX 10 front\n@ MX 20 back\nfront A 192.0.2.9\nback A 192.0.2.254\n",
    "local.test": "@ MX 10 here\nhere A 127.0.0.1\nhere AAAA ::1\n",
    "zero.test": "@ A 0.0.0.0\n",
    "multi.test": "@ A 224.0.0.1\n",
    "many.test": "".join(f"@ MX {n} m{n}\nm{n} A 192.0.2.{n}\n" for n in range(10, 100)),
    "delegated.test": "@ MX 10 mx.unserved.example.\n",
}


def search(server, kind, *domains, hostname="mx.us.test"):
    program = os.environ["STAGEPOST_DNS_SEARCH"]
    output = subprocess.run(
        [program, server.dns_server, kind, hostname, *domains],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def test_exchangers():
    with NameServer(ZONES) as server:
        domains = [d for d in ZONES if d != "example.org"]
        found = search(server, "exchangers", "example.org", "mail.cname.test",
                       "missing.example.org", *domains)
    assert found["example.org"] == (
        "a.mx.example.org=2001:db8::1 a.mx.example.org=192.0.2.1 b.mx.example.org=192.0.2.2"
    )
    assert found["null.test"].startswith("5.1.10 ")
    assert found["missing.example.org"].startswith("5.1.2 ")
    assert found["implicit.test"] == "implicit.test=2001:db8::3 implicit.test=192.0.2.3"
    assert found["mail.cname.test"].startswith("5.4.4 ")
    assert found["empty.test"].startswith("5.4.4 ")
    assert found["lame.test"].startswith("5.4.4 ")
    assert found["us.test"] == "first.us.test=192.0.2.5"
    assert found["best.test"].startswith("5.4.6 ")
    assert found["alias.test"] == "front.alias.test=192.0.2.9"
    for domain in "local.test", "zero.test":
        assert found[domain].startswith("5.4.6 "), found[domain]
    assert found["multi.test"].startswith("5.4.4 ")
    assert len(found["many.test"].split()) == 10
    assert found["many.test"].startswith("m10.many.test=192.0.2.10 m11.many.test=")
    assert found["delegated.test"].startswith("4.4.3 ")


def test_no_name_server():
    """A closed port, and one that takes questions and says nothing. libunbound takes 11 seconds
    to give up, so all at once."""
    class Nobody:
        dns_server = f"127.0.0.1@{free_port()}"

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, ThreadPoolExecutor() as pool:
        udp.bind(("127.0.0.1", 0))

        class Mute:
            dns_server = f"127.0.0.1@{udp.getsockname()[1]}"
        closed = pool.submit(search, Nobody, "exchangers", "example.org")
        relay = pool.submit(search, Nobody, "relay", "relay.example.org")
        mute = pool.submit(search, Mute, "exchangers", "example.org")
        for found in closed, mute:
            assert found.result()["example.org"] == (
                "4.4.3 the mail exchangers of example.org: no name server answers")
        assert relay.result()["relay.example.org"] == (
            "4.4.3 the addresses of relay.example.org: no name server answers")


def test_name_server_that_fails():
    """One that is there, and refuses: another fault than one that is not."""
    with NameServer(ZONES) as server:
        found = search(server, "exchangers", "nowhere.example")
        assert found["nowhere.example"] == (
            "4.4.3 the mail exchangers of nowhere.example: the name servers answer SERVFAIL")


def test_equal_exchangers_are_shuffled():
    zone = {"even.test": "".join(f"@ MX 10 m{n}\nm{n} A 192.0.2.{n}\n" for n in range(1, 9))}
    with NameServer(zone) as server:
        orders = {search(server, "exchangers", "even.test")["even.test"] for _ in range(4)}
    assert len(orders) > 1


def test_relays():
    with NameServer(ZONES) as server:
        found = search(server, "relay", "here.local.test", "a.mx.example.org", "lame.test")
    assert found["here.local.test"] == "here.local.test=::1 here.local.test=127.0.0.1"
    assert found["a.mx.example.org"].count("=") == 2
    assert found["lame.test"].startswith("4.4.3 ")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "ok")
