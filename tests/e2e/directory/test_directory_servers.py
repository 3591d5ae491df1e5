# SPDX-License-Identifier: ISC
"""LMTP servers that records of the directory name: added, moved and refused by records alone."""

import json
import os
import subprocess
import time

import pytest
from dns import NameServer, free_port
from lmtp import Server
from records import Records
from smtp import Client, deliver
from stagepost import as_user

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"


@pytest.fixture
def lmtp():
    """lmtp() makes a Server on TCP."""
    servers = []

    def make(**behaviour):
        servers.append(Server(**behaviour))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def recipients(server):
    return [name for names, _ in server.messages for name in names]


def wait_for(condition, what, limit=60):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.01)


@pytest.fixture
def mx(node):
    """A node whose domain d.test is of the directory; its service box may deliver to SERVERS."""
    opened = []

    def mx(servers, settings=""):
        made = node("mx", start=False, domains=[])
        made.settings = (f'directory {{ path = "{made.directory}/directory.db" }}\n'
                         f'service box {{ kind = lmtp address = "127.0.0.1:1" '
                         f'servers = {{ {servers} }} }}\n' + settings)
        made.write_configuration()
        made.start()
        opened.append(Records(made))
        made.records = opened[-1]
        made.records.put("domain", "d.test", "kind local", "service maildir")
        return made

    yield mx
    for records in opened:
        records.__exit__(None, None, None)


def add_user(made, name, server):
    made.records.put("user", name, f"server {server}")
    made.records.put("address", f"{name}@d.test", "kind mailbox", f"user {name}")


def point(made, name, address):
    made.records.put("server", name, "service box", f"address {address}")


def listed(server):
    return f'"127.0.0.0/8:{server.address.rpartition(":")[2]}"'


def accepted(made, address):
    """RCPT is answered with 250 as soon as the SMTP server has heard of the record."""
    def is_accepted():
        with Client(made) as client:
            client.docmd("MAIL FROM:<s@client.test>")
            return client.docmd(f"RCPT TO:<{address}>")[0] == 250

    wait_for(is_accepted, made.log.tail)


def test_a_user_is_moved_and_a_server_added_by_records(mx, lmtp):
    one, two, three = (lmtp() for _ in range(3))
    made = mx(", ".join(listed(server) for server in (one, two, three)))
    start = made.log.mark()
    for name, server in ("one", one), ("two", two):
        point(made, name, server.address)
    for name, server in ("ann", "one"), ("bob", "two"):
        add_user(made, name, server)
        accepted(made, f"{name}@d.test")
    deliver(made, ["ann@d.test", "bob@d.test"], TEXT)
    for name, server in ("ann", one), ("bob", two):
        event = made.log.wait("delivered", to=f"{name}@d.test")
        assert (event["by"], event["server"]) == ("box", server.address)
        assert recipients(server) == [f"{name}@d.test"]

    since = made.log.mark()
    made.records.put("user", "ann", "server two")  # one change: she has moved
    deliver(made, "ann@d.test", TEXT)
    assert made.log.wait("delivered", since=since, to="ann@d.test")["server"] == two.address
    assert recipients(one) == ["ann@d.test"]

    point(made, "three", three.address)  # a new one, while all runs
    add_user(made, "carl", "three")
    accepted(made, "carl@d.test")
    deliver(made, "carl+tag@d.test", TEXT)
    assert made.log.wait("delivered", to="carl+tag@d.test")["server"] == three.address
    assert recipients(three) == ["carl+tag@d.test"]
    made.wait_empty()
    assert not made.log.find("config_reloaded", since=start)
    assert not made.log.find("process_started", since=start)


def command(made, *words):
    ended = subprocess.run(
        as_user() + [os.path.join(made.programs, "stagepost"), *words[:2], "-c", made.conf,
                     *words[2:]],
        capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def reply(made, address):
    with Client(made) as client:
        client.docmd("MAIL FROM:<s@client.test>")
        code, text = client.docmd(f"RCPT TO:<{address}>")
        return code, text.decode()


def test_a_server_that_is_not_listed_gets_nothing(mx, lmtp):
    """put warns, check says why, the client gets 451 and learns nothing about our inside."""
    good, bad = lmtp(), lmtp()
    made = mx(listed(good))
    reason = "service box may not deliver there (setting servers)"
    point(made, "one", good.address)
    add_user(made, "ann", "one")
    accepted(made, "ann@d.test")
    status, told, _ = command(made, "directory", "check")
    assert status == 1 and told.startswith("address postmaster: ") and told.count("\n") == 1
    status, _, warnings = command(made, "directory", "put", "--table", "server", "one",
                                  "service=box", f"address={bad.address}")
    assert status == 0 and f"{bad.address}: {reason}" in warnings
    status, told, _ = command(made, "directory", "check")
    assert status == 1 and f"server one: {bad.address}: {reason}\n" in told
    assert f"ann@d.test: Server {bad.address}: {reason}\n" in told
    wait_for(lambda: reply(made, "ann@d.test")[0] == 451, made.log.tail)
    assert bad.address not in reply(made, "ann@d.test")[1]
    event = made.log.wait("directory_service", address="ann@d.test")
    assert event["text"] == f"Server {bad.address}: {reason}"
    point(made, "one", good.address)
    accepted(made, "ann@d.test")
    deliver(made, "ann@d.test", TEXT)
    made.log.wait("delivered", to="ann@d.test")
    assert bad.connections == 0 and recipients(good) == ["ann@d.test"]


def delivery_of(made, address):
    status, text, errors = command(made, "queue", "list", "--json")
    assert status == 0, errors
    for line in text.splitlines():
        for delivery in json.loads(line).get("deliveries", []):
            if delivery["address"] == address:
                return delivery
    return None


def test_one_that_is_away_keeps_nobody_else_waiting(mx, lmtp):
    """Its mail sleeps behind a trigger of its own; the control file says for which server. When the
    configuration lists it no more, what waits there is not sent to it either."""
    here = lmtp()
    away = f"127.0.0.1:{free_port()}"
    made = mx(f'{listed(here)}, "{away}"')
    for name, address in ("here", here.address), ("away", away):
        point(made, name, address)
    for name, server in ("ann", "away"), ("bob", "here"):
        add_user(made, name, server)
        accepted(made, f"{name}@d.test")
    deliver(made, "ann@d.test", TEXT)
    deferred = made.log.wait("deferred", to="ann@d.test")
    assert deferred["server"] == away and deferred["status"] == "4.4.1"
    wait_for(lambda: list(made.trigger_files()) == [f"service.box.{away}"], made.trigger_files)
    delivery = delivery_of(made, "ann@d.test")
    assert (delivery["stage"], delivery["server"]) == ("box", away)
    assert delivery["trigger"] == f"service.box.{away}"
    assert any(f"map: 1 local box server={away} <ann@d.test> #" in text
               for text in made.control_files().values())
    for _ in range(3):
        deliver(made, "bob@d.test", TEXT)
    made.log.wait("delivered", count=3, to="bob@d.test")

    since = made.log.mark()
    made.settings = made.settings.replace(f', "{away}"', "")
    made.write_configuration()
    made.reload()
    assert command(made, "trigger", "release", f"service.box.{away}")[0] == 0
    put_off = made.log.wait("deferred", since=since, to="ann@d.test")
    assert put_off["status"] == "4.3.5"
    assert put_off["text"] == f"Server {away}: service box may not deliver there (setting servers)"


def test_a_name_has_several_addresses(mx, lmtp):
    """Names are looked for in the DNS, and the next address is tried when nobody is at one; a
    service that lists names at a reload only has a process that may ask the DNS then."""
    server = lmtp()
    port = server.address.rpartition(":")[2]
    with NameServer({"mail.test": "s1 A 127.0.0.2\ns1 A 127.0.0.1\ns1 A 127.0.0.3\n"}) as dns:
        made = mx(listed(server), f'dns_server = "{dns.dns_server}"\n')
        since = made.log.mark()
        made.settings = made.settings.replace("servers = {",
                                              f'servers = {{ "*.mail.test:{port}",')
        made.write_configuration()
        made.reload()
        for name in "s1", "gone":
            point(made, name, f"{name}.mail.test:{port}")
        add_user(made, "ann", "s1")
        add_user(made, "bob", "gone")
        for name in "ann", "bob":
            accepted(made, f"{name}@d.test")
            deliver(made, f"{name}@d.test", TEXT)
        event = made.log.wait("delivered", since=since, to="ann@d.test")
        assert event["server"] == f"s1.mail.test:{port}"
        assert recipients(server) == ["ann@d.test"]
        deferred = made.log.wait("deferred", since=since, to="bob@d.test")
        assert deferred["status"].startswith("4.") and "gone.mail.test" in deferred["text"]


def test_another_name_server_is_asked_after_a_reload(mx, lmtp):
    server = lmtp()
    port = server.address.rpartition(":")[2]
    with NameServer({"mail.test": "s1 A 127.0.0.2\n"}) as old, \
            NameServer({"mail.test": "s2 A 127.0.0.1\n"}) as new:
        made = mx(f'"*.mail.test:{port}"', f'dns_server = "{old.dns_server}"\n')
        point(made, "s2", f"s2.mail.test:{port}")
        add_user(made, "ann", "s2")
        since = made.log.mark()
        made.settings = made.settings.replace(old.dns_server, new.dns_server)
        made.write_configuration()
        made.reload()
        made.log.wait("process_started", since=since, program="lmtp")
        accepted(made, "ann@d.test")
        deliver(made, "ann@d.test", TEXT)
        assert made.log.wait("delivered", to="ann@d.test")["server"] == f"s2.mail.test:{port}"
