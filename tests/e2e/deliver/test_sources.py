# SPDX-License-Identifier: ISC
"""From which address, to which, and over which relay mail leaves: source, remote_ip,
fallback_relays and senderroutes, on a machine with several addresses among other hosts."""

import json
import os
import re
import socket
import subprocess

import pytest
from dns import NameServer
from exim import Exim
from inside import LANDLOCKS, inside, with_landlock
from peers import Lan, Postfix
from smtp import deliver
from stagepost import PATIENCE, USER, free_port, wait_until

REFUSED = ("-EACCES", "-EPERM")
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
OURS = [f"198.18.0.{number}" for number in (2, 3, 4)]
OURS6 = ["fd00:77::2", "fd00:77::3"]
TEN6 = "fd00:77::10"

ZONES = {
    "ten.test": "@ MX 10 mx\nmx A 198.18.0.10\n",
    "eleven.test": "@ MX 10 mx\nmx A 198.18.0.11\n",
    "away.test": "@ MX 10 mx\n@ MX 20 mx2\nmx A 198.18.0.20\nmx2 A 198.18.0.21\n",
    "backup.test": "@ MX 10 mx\n@ MX 20 us\nmx A 198.18.0.20\nus A 198.18.0.1\n",
    "both.test": f"@ MX 10 mx\nmx A 198.18.0.10\nmx AAAA {TEN6}\n",
    "six.test": f"@ MX 10 mx\nmx AAAA {TEN6}\n",
    "half.test": "@ MX 10 mx\nmx A 198.18.0.10\nmx AAAA fd00:77::99\n",
    "nat.test": "@ MX 10 mx\n@ MX 20 us\nmx A 198.18.0.20\nus A 198.18.0.11\n",
    "relay.test": "@ A 198.18.0.11\nself A 198.18.0.1\nself2 A 198.18.0.2\n",
}


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=PATIENCE)


@pytest.fixture
def lan():
    """This machine is also OURS and OURS6; the others are .10, .11, and TEN6."""
    with Lan() as made:
        for address in OURS:
            ip("addr", "add", f"{address}/24", "dev", made.name)
        for address in OURS6:
            ip("-6", "addr", "add", f"{address}/64", "dev", made.name, "nodad")
        made._ip(f"-6 addr add {TEN6}/64 dev eth0 nodad", inside=True)
        yield made


@pytest.fixture
def world(lan, node, ground):
    """world(settings): the node, and the sinks .10 and .11."""
    with NameServer(ZONES) as names, lan.sink(ground.directory("sink10"), 10) as ten, \
            lan.sink(ground.directory("sink11"), 11) as eleven:
        def make(settings, **more):
            return node(settings=f'dns_server = "{names.dns_server}"\ndane = no\n'
                                 f"remote_connect_timeout = 2\n{settings}", **more), ten, eleven
        yield make


def clients(sink):
    """The addresses from which mail came to SINK, and the names that its clients said, as it came."""
    found = []
    for path in sorted(sink.files(), key=os.path.getmtime):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found.append((re.search(r"^X-Client-Addr: (\S+)$", text, re.M).group(1),
                      re.search(r"^X-Helo-Args: (\S+)$", text, re.M).group(1)))
    return found


def send(mx, to, sender="ann@a.test"):
    """Delivered: the event."""
    mark = mx.log.mark()
    assert deliver(mx, [to], TEXT, sender=sender).startswith("250 ")
    return mx.log.wait("delivered", since=mark, to=to)


# --- senderroutes ---

def test_a_relay_by_sender(world):
    mx, ten, eleven = world(
        'senderroutes = { "ann@a.test:[198.18.0.11]", "b.test:[198.18.0.11]", ".b.test:[198.18.0.10]" }\n'
        'smtproutes = { "inside.test:[198.18.0.10]" }')
    for sender, to, sink in (("Ann@A.test", "x@ten.test", eleven), ("bob@a.test", "x@ten.test", ten),
                             ("bob@b.test", "x@ten.test", eleven), ("bob@x.b.test", "x@ten.test", ten),
                             ("ann@a.test", "x@inside.test", ten), ("", "x@ten.test", ten)):
        before = len(sink.files())
        send(mx, to, sender)
        assert len(sink.files()) == before + 1, (sender, to)


# --- fallback_relays ---

def test_fallback_relays_in_turn(world, lan, ground):
    mx, ten, eleven = world('fallback_relays = { "self.relay.test", "[198.18.0.2]", "nowhere.relay.test", '
                            '"[198.18.0.22]", relay.test, "[198.18.0.10]" }')
    event = send(mx, "x@away.test")
    assert "relay.test[198.18.0.11]" in event["text"]
    assert len(eleven.files()) == 1 and not ten.files()
    assert {e["relay"] for e in mx.log.find("fallback_self")} == {"self.relay.test", "198.18.0.2"}
    send(mx, "x@ten.test")
    assert len(ten.files()) == 1  # a domain that can be reached has no other way
    lan._ip("addr add 198.18.0.20/24 dev eth0", inside=True)
    with lan.sink(ground.directory("back"), 20) as back:
        send(mx, "y@away.test")  # not by the connection to the relay, which may still be open
        assert len(back.files()) == 1


def test_servers_that_refuse_the_connection(lan, node, ground):
    with NameServer(ZONES) as names, lan.sink(ground.directory("busy"), 10, "-r", "CONNECT"), \
            lan.sink(ground.directory("relay"), 11) as relay:
        mx = node(settings=f'dns_server = "{names.dns_server}"\ndane = no\n'
                           'fallback_relays = { "[198.18.0.11]" }')
        send(mx, "x@ten.test")
        assert len(relay.files()) == 1


def test_a_full_class_is_no_reason(lan, node, ground):
    """The server is there: mail waits until its class has a place for another session."""
    with NameServer(ZONES) as names, lan.sink(ground.directory("busy"), 10, "-w", "3") as busy, \
            lan.sink(ground.directory("relay"), 11) as relay:
        mx = node(settings=f'dns_server = "{names.dns_server}"\ndane = no\n'
                           'fallback_relays = { "[198.18.0.11]" }\n'
                           'class "198.18.0.10" { queue = 1 refuse = 1 }\n'
                           'class "*" { queue = 99 refuse = 99 }')
        for number in range(3):
            deliver(mx, [f"x{number}@ten.test"], TEXT)
        mx.wait_empty()
        assert len(busy.files()) == 3 and not relay.files()


def test_a_policy_forbids_fallback(world):
    mx, _, eleven = world('fallback_relays = { "[198.18.0.11]" }\n'
                          'tls "away.test" { level = encrypt }')
    deliver(mx, ["x@away.test"], TEXT)
    assert mx.log.wait("deferred", to="x@away.test")["status"] == "4.4.1"
    assert not eleven.files()


def test_a_backup_waits(world):
    """The relay would send the mail to us."""
    mx, _, eleven = world('fallback_relays = { "[198.18.0.11]" }')
    deliver(mx, ["x@backup.test"], TEXT)
    assert mx.log.wait("deferred", to="x@backup.test")["status"] == "4.4.1"
    assert not eleven.files()


# --- own_addresses ---

def test_a_backup_by_an_address_of_its_router(world):
    """It is an exchanger itself: the mail waits for the better one, and does not go round to us."""
    mx, _, eleven = world('own_addresses = 198.18.0.11')
    deliver(mx, ["x@nat.test"], TEXT)
    assert mx.log.wait("deferred", to="x@nat.test")["status"] == "4.4.1"
    assert not eleven.files()
    deliver(mx, ["x@eleven.test"], TEXT)
    assert mx.log.wait("failed", to="x@eleven.test")["status"] == "5.4.6"


# --- remote_ip ---

@pytest.mark.parametrize("setting, to, server", [
    ("", "both.test", TEN6), ("remote_ip = ipv6-first", "both.test", TEN6),
    ("remote_ip = ipv4-first", "both.test", "198.18.0.10"),
    ("remote_ip = ipv4", "both.test", "198.18.0.10"), ("remote_ip = ipv6", "both.test", TEN6),
    ("remote_ip = ipv4-first", "six.test", TEN6), ("", "half.test", "198.18.0.10")])
def test_families(lan, node, ground, setting, to, server):
    with NameServer(ZONES) as names, lan.sink(ground.directory("v4"), 10) as four, \
            subprocess.Popen([*lan.inside, "smtp-sink", "-u", USER, f"[{TEN6}]:25", "100"]) as six:
        try:
            wait_until(lambda: subprocess.run(
                [*lan.inside, "ss", "-Hltn6", "sport = :25"], capture_output=True,
                check=True).stdout, "smtp-sink listens")
            mx = node(settings=f'dns_server = "{names.dns_server}"\ndane = no\n'
                               f"remote_connect_timeout = 3\n{setting}")
            assert f"[{server}]" in send(mx, f"x@{to}")["text"]
            assert len(four.files()) == (server != TEN6)
        finally:
            six.terminate()


def test_a_family_that_is_missing_waits(world):
    mx, ten, _ = world("remote_ip = ipv4")
    deliver(mx, ["x@six.test"], TEXT)
    event = mx.log.wait("deferred", to="x@six.test")
    assert event["status"] == "4.4.4" and "no server of six.test has an IPv4 address" in event["text"]


# --- source ---

POOL = 'source out { addresses = { "198.18.0.2", "198.18.0.3", "fd00:77::2" } hostname = out.test }\n'


def test_a_pool_in_turn(world):
    """For each host that address is next which was used longest ago; idle connections are used
    again, and so each message has a connection of its own when the configuration is new."""
    mx, ten, eleven = world(POOL + "source = out\n")
    for _ in range(4):
        event = send(mx, "x@ten.test")
        send(mx, "x@eleven.test")
        assert re.fullmatch(r"out\[198\.18\.0\.[23]\]", event["source"])
        mx.log.wait("delivered", to="x@eleven.test")
        wait_idle_connections_end(mx)
    for sink in (ten, eleven):
        assert clients(sink) == [("198.18.0.2", "out.test"), ("198.18.0.3", "out.test")] * 2


def wait_idle_connections_end(mx):
    wait_until(lambda: not subprocess.run(
        ["ss", "-Htn", "state", "established", "dport = :25"], capture_output=True,
        check=True).stdout.strip(), "idle connections have ended", PATIENCE)


def test_who_has_which_source(world):
    mx, ten, eleven = world("""
source s2 { addresses = "198.18.0.2" hostname = two.test }
source s3 { addresses = "198.18.0.3" hostname = three.test }
source s4 { addresses = "198.18.0.4" }
source = s2
sender_sources = { "ann@a.test:s3", "b.test:s4" }
domain_sources = { "eleven.test:s3" }
class "198.18.0.11" { queue = 100 refuse = 100 source = s4 }
class "*" { queue = 100 refuse = 100 }
smtproutes = { "other.test:[198.18.0.11]" }
""")
    for sender, to, expected in (
            ("bob@a.test", "x@ten.test", ("198.18.0.2", "two.test")),
            ("ann@a.test", "x@ten.test", ("198.18.0.3", "three.test")),
            ("ann@b.test", "x@ten.test", ("198.18.0.4", "mx.stagepost.test")),
            ("bob@a.test", "x@ten.test", ("198.18.0.2", "two.test")),
            ("ann@b.test", "x@eleven.test", ("198.18.0.4", "mx.stagepost.test")),
            ("bob@a.test", "x@eleven.test", ("198.18.0.3", "three.test")),
            ("bob@a.test", "x@other.test", ("198.18.0.4", "mx.stagepost.test"))):
        sink = ten if to == "x@ten.test" else eleven
        event = send(mx, to, sender)
        assert clients(sink)[-1] == expected, (sender, to)
        assert expected[0] in event["source"]


def test_the_command_says_which(world):
    """stagepost tls: for the sender, the domain, and what the machine has."""
    mx, _, _ = world(POOL + 'source two { addresses = "198.18.0.4" }\nsource lost { addresses = "198.18.0.9" }\n'
                     'source = out\nsender_sources = { "b.test:two", "lost@a.test:lost" }\n'
                     'senderroutes = { "ann@a.test:[198.18.0.11]" }')

    def say(*words):
        made = subprocess.run([os.path.join(mx.programs, "stagepost"), "tls", "-c", mx.conf, "--json", *words],
                              text=True, capture_output=True, check=False, timeout=PATIENCE)
        (line,) = made.stdout.splitlines()
        return made.returncode, json.loads(line)

    plain = 3
    for words, route, address, source in (
            ((), "mail exchangers", "198.18.0.10:25", "out[198.18.0.2]"),
            (("--sender", "bob@a.test"), "mail exchangers", "198.18.0.10:25", "out[198.18.0.2]"),
            (("--sender", "Ann@A.test"), "relay [198.18.0.11]:25", "198.18.0.11:25", "out[198.18.0.2]"),
            (("--sender", "x@b.test"), "mail exchangers", "198.18.0.10:25", "two[198.18.0.4]")):
        status, said = say(*words, "ten.test")
        assert (status, said["route"], said["address"], said["from"]) == (plain, route, address, source), words
    status, said = say("--sender", "lost@a.test", "ten.test")
    assert status == 1 and said["from"] == "lost"
    assert "this machine has no IPv4 address of the source lost" in said["reason"]
    text = subprocess.run([os.path.join(mx.programs, "stagepost"), "tls", "-c", mx.conf, "ten.test"], text=True,
                          capture_output=True, check=False, timeout=PATIENCE).stdout
    assert "  route       mail exchangers\n  source      out[198.18.0.2]\n" in text


def test_an_address_that_is_missing(world, lan):
    mx, ten, _ = world('source out { addresses = { "198.18.0.9", "198.18.0.3" } }\nsource = out\n')
    assert mx.log.find("source_missing", source="out", address="198.18.0.9")
    checked = subprocess.run([os.path.join(mx.programs, "stagepost"), "check", "-c", mx.conf],
                             text=True, capture_output=True, check=False, timeout=PATIENCE)
    assert "source out: this machine does not have the address 198.18.0.9" in checked.stdout + checked.stderr
    send(mx, "x@ten.test")
    assert clients(ten)[-1][0] == "198.18.0.3"
    wait_idle_connections_end(mx)
    ip("addr", "del", "198.18.0.3/24", "dev", lan.name)
    deliver(mx, ["y@ten.test"], TEXT)
    assert "this machine has no IPv4 address of the source out" in \
        mx.log.wait("deferred", to="y@ten.test")["text"]
    ip("addr", "add", "198.18.0.9/24", "dev", lan.name)
    send(mx, "z@ten.test")
    assert clients(ten)[-1][0] == "198.18.0.9"


def test_the_family_of_a_source(world):
    mx, ten, _ = world('source out { addresses = "198.18.0.3" }\nsource = out\n')
    send(mx, "x@both.test")
    assert clients(ten) == [("198.18.0.3", "mx.stagepost.test")]


@pytest.mark.parametrize("landlock", LANDLOCKS)
def test_the_sandbox_allows_that_alone(node, landlock):
    """Without sources remote cannot bind at all (test_sandbox.py). With them, it can at no port of its
    choice, and where Landlock does not know of networks still not listen; lmtp can do neither."""
    mx = node(start=False, settings="source out { addresses = 127.0.0.5 }\n"
                                    'service lmtp { kind = lmtp address = "127.0.0.1:1" }')
    mx.prefix = with_landlock(landlock)
    mx.start()
    for program in "remote", "lmtp":
        pid = mx.pids(program)[0]
        made = inside(pid, "socket", socket.AF_INET, socket.SOCK_STREAM, 0)
        at_port = inside(pid, "bind", made, f"=@inet:{free_port()}", 16)
        assert at_port in REFUSED or (program == "remote" and landlock is not None and at_port == "0")
        inside(pid, "close", made)
        made = inside(pid, "socket", socket.AF_INET, socket.SOCK_STREAM, 0)
        assert (inside(pid, "bind", made, "=@inet:0", 16) == "0") == (program == "remote")
        assert inside(pid, "listen", made, 1) in REFUSED
        inside(pid, "close", made)


def test_sources_come_with_a_reload(world):
    """remote needs another sandbox for them, and so a new process."""
    mx, ten, _ = world("")
    send(mx, "x@ten.test")
    mx.settings += 'source out { addresses = "198.18.0.4" hostname = new.test }\nsource = out\n'
    mx.write_configuration()
    mx.reload()
    send(mx, "x@ten.test")
    assert clients(ten)[-1] == ("198.18.0.4", "new.test")


@pytest.mark.parametrize("kind, domain", [(Postfix, "postfix.test"), (Exim, "exim.test")])
def test_real_servers_see_it(node, ground, kind, domain):
    """On loopback, where any address of 127.0.0.0/8 is this machine's."""
    with kind(ground.directory("peer")) as peer:
        mx = node(routes=[f"{domain}:[127.0.0.1];{peer.port}"], settings="""
source out { addresses = { "127.0.0.5", "127.0.0.6" } hostname = out.example.org }
source = out
""")
        event = send(mx, f"bob@{domain}")
        assert event["source"] == "out[127.0.0.5]"
        assert "127.0.0.5" in peer.log() and "out.example.org" in peer.log() + \
            peer.maildir("bob").wait()[0].decode()
