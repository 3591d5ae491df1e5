# SPDX-License-Identifier: ISC
"""What the directory holds for clients that do not read their answers: their own bound, whatever
the answers are and wherever the records come from. Who reads slowly gets all of it."""

import contextlib
import os
import shutil
import socket

import pytest
from directory import encode
from extent import some
from postgresql import SCHEMA, several
from records import Records
from slapd import BASE, PASSWORD, READER, START, Slapd, person
from stagepost import SLOWNESS, give_to_user, wait_until
from test_directory_ldap import SETTINGS as LDAP
from test_hostile_clients import peak_memory

RECORDS = 200  # in a page: some 9 MiB
TARGETS = 900  # of each: some 45 KiB
CLIENTS = 8
TABLES = ("address", "route")
LISTS, GETS = 4, RECORDS  # that each asks for at once
MEMORY = {"sqlite": 64 << 10, "ldap": 128 << 10, "servers": 96 << 10,
          "postgresql": 256 << 10}  # KiB, with what copying or a round of gets takes
READ_AT_ONCE = 64 << 10
PATIENCE = 60 * SLOWNESS

POSTGRESQL = "directory {{ backend = postgresql  database = {{ \"{conninfo}\" }} }}\n"


def target(position):
    return f"{position:04}{'x' * 36}@far.test"


def name(number):
    return f"u{number:03}@example.org"


def put_all(path_of):
    with Records(path_of) as records:
        records.put("domain", "example.org", "kind local", "service maildir")
        fields = ["kind forward", *(f"target {target(place)}" for place in range(TARGETS))]
        for number in range(RECORDS):
            records.put("address", name(number), *fields)


@contextlib.contextmanager
def sqlite_node(node, ground):
    mx = node("sqlite", start=False, domains=())
    data = ground.directory("data")
    mx.settings = f'directory {{ path = "{data}/directory.db" }}\n'
    mx.write_configuration()
    mx.start()
    put_all(mx)
    yield mx


@contextlib.contextmanager
def relay_node(node, ground):
    with sqlite_node(node, ground) as far:
        mx = node("relay", start=False, domains=())
        mx.settings = f'directory {{ backend = servers servers = "unix:{far.run}/directory" }}\n'
        mx.write_configuration()
        mx.start()
        yield mx


@contextlib.contextmanager
def postgresql_node(node, ground):
    with several(ground) as make:
        server = make("slow")
        with open(SCHEMA, encoding="utf-8") as schema:
            server.sql(schema.read())
        server.sql("INSERT INTO domain (name, kind, service) VALUES ('example.org', 'local', 'maildir');"
                   "INSERT INTO address (address, kind) SELECT 'u' || lpad(i::text, 3, '0') ||"
                   f" '@example.org', 'forward' FROM generate_series(0, {RECORDS - 1}) AS i;"
                   "INSERT INTO target (address, position, target) SELECT 'u' ||"
                   " lpad(i::text, 3, '0') || '@example.org', p, lpad(p::text, 4, '0') ||"
                   " repeat('x', 36) || '@far.test'"
                   f" FROM generate_series(0, {RECORDS - 1}) AS i,"
                   f" generate_series(0, {TARGETS - 1}) AS p")
        mx = node("postgresql", start=False, domains=())
        mx.settings = POSTGRESQL.format(conninfo=server.conninfo())
        mx.write_configuration()
        mx.start()
        yield mx


@contextlib.contextmanager
def ldap_node(node, ground):
    targets = "".join(f"mailForwardingAddress: {target(place)}\n" for place in range(TARGETS))
    path = ground.directory("slapd")
    people = "".join(person(f"u{number:03}", more=targets) for number in range(RECORDS))
    server = Slapd(os.path.join(path, "one")).load(START + people).start()
    try:
        mx = node("ldap", start=False, domains=())
        os.mkdir(f"{mx.directory}/data")
        password = f"{mx.directory}/password"
        with open(password, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        give_to_user(f"{mx.directory}/data")
        give_to_user(password)
        mx.settings = LDAP.format(path=mx.directory, base=BASE, reader=READER, password=password,
                                  ttl="60s", urls=f'"{server.url}"')
        mx.write_configuration()
        mx.start().log.wait("ldap_followed", timeout=PATIENCE)
        yield mx
    finally:
        server.stop()
        shutil.rmtree(path, ignore_errors=True)


NODES = {"sqlite": sqlite_node, "servers": relay_node, "ldap": ldap_node, "postgresql": postgresql_node}


@pytest.fixture(params=some(NODES, 2))
def backend(request, node, ground):
    """(its name, a node with it)"""
    with NODES[request.param](node, ground) as mx:
        mx.log.wait("directory_up")
        yield request.param, mx


class Reader:
    """A client that asks for much and reads when it is told to."""

    def __init__(self, mx):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(f"{mx.run}/directory")
        self.heard = bytearray()  # no whole frame
        self.answers = {}  # number: words of the results
        self.done = set()

    def ask_all(self):
        said = [("list", number, "address", "", "", 1000) for number in range(LISTS)]
        said += [("get", LISTS + number, TABLES[number % 2], name(number)) for number in range(GETS)]
        self.socket.sendall(b"".join(encode(*words) for words in said))
        return len(said)

    def read(self):
        """A little; whether there was something."""
        got = self.socket.recv(READ_AT_ONCE)
        self.heard += got
        at = 0
        while (colon := self.heard.find(b":", at, at + 8)) > 0:
            end = colon + 1 + int(self.heard[at:colon])
            if end >= len(self.heard):
                break
            self.take(words_of(bytes(self.heard[colon + 1:end])))
            at = end + 1
        del self.heard[:at]
        return bool(got)

    def take(self, words):
        if words[0] == b"hello":
            return
        assert words[0] in (b"part", b"val"), words[:4]
        number = int(words[1])
        assert number not in self.done
        self.answers.setdefault(number, []).extend(words[2 if words[0] == b"part" else 4:])
        if words[0] == b"val":
            self.done.add(number)

    def close(self):
        self.socket.close()


def words_of(content):
    words, at = [], 0
    while at < len(content):
        colon = content.index(b":", at)
        end = colon + 1 + int(content[at:colon])
        words.append(content[colon + 1:end])
        at = end + 1
    return words


def directory_pid(mx):
    (pid,) = mx.pids("directory")
    return pid


def test_who_reads_nothing(backend):
    """He is cut off when a whole backlog has waited for seconds; until then he has his own bound."""
    kind, mx = backend
    readers = [Reader(mx) for _ in range(CLIENTS)]
    mark = mx.log.mark()
    for reader in readers:
        reader.ask_all()
    wait_until(lambda: len(mx.log.find("directory_refused", mark,
                                       reason="It does not read its answers")) == CLIENTS,
               "all are cut off", PATIENCE)
    peak = peak_memory(directory_pid(mx))
    print(f"{kind}: {peak} KiB")
    for reader in readers:
        reader.close()
    assert peak < MEMORY[kind]


def test_who_reads_slowly(backend):
    """Turn by turn, a little: each gets all, once and in order."""
    kind, mx = backend
    readers = [Reader(mx) for _ in range(2)]
    for reader in readers:
        asked = reader.ask_all()
    waiting = list(readers)
    while waiting:
        for reader in list(waiting):
            assert reader.read(), "the server has ended the connection"
            if len(reader.done) == asked:
                waiting.remove(reader)
    fields = [b"kind forward", *(b"target " + target(place).encode() for place in range(TARGETS))]
    routes = [b"remote " + target(place).encode() for place in range(TARGETS)]
    page = [word for number in range(RECORDS)
            for word in (b"= " + name(number).encode(), *fields)]
    for reader in readers:
        for number in range(LISTS):
            assert reader.answers[number] == page
        for number in range(GETS):
            results = [word for word in reader.answers[LISTS + number] if not word.startswith(b"on ")]
            assert results == (routes if number % 2 else fields)
        reader.close()
    peak = peak_memory(directory_pid(mx))
    print(f"{kind}: {peak} KiB")
    assert peak < MEMORY[kind]
