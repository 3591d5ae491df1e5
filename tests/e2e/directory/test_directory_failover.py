# SPDX-License-Identifier: ISC
"""Several directory servers behind a relay's client: those that end, hang, or answer by halves."""

import json
import os
import smtplib
import socket
import subprocess
import threading
import time

import directory
import pytest
from stagepost import PATIENCE, as_user, give_to_user, wait_until

PEOPLE = 50


@pytest.fixture
def servers(node):
    """servers(COUNT): nodes with the same records, each in a file of its own."""
    def make(count):
        made = []
        for number in range(count):
            each = node(f"dir{number}", start=False, domains=())
            each.settings = f'directory {{ path = "{each.directory}/data/d.db" }}\n'
            each.write_configuration()
            each.start()
            one = directory.Client(os.path.join(each.run, "directory"))
            assert one.ask("put", "domain", "a.test", "kind local", "service maildir")[0] == "ok"
            for person in range(PEOPLE):
                assert one.ask("put", "address", f"u{person}@a.test", "kind mailbox")[0] == "ok"
            one.close()
            made.append(each)
        return made

    return make


@pytest.fixture
def relay(node):
    def make(*paths, more="", settings=""):
        made = node("relay", start=False, domains=(), hostname="relay.test")
        asked = ", ".join(f'"unix:{path}"' for path in paths)
        made.settings = settings + \
            f"directory {{ backend = servers servers = {{ {asked} }} {more} }}\n"
        made.write_configuration()
        return made.start()

    return make


class Load:
    """Asks PATH what becomes of addresses that exist, until it is stopped."""

    def __init__(self, path):
        self.path = path
        self.over = threading.Event()
        self.answers = 0
        self.later = 0
        self.wrong = []
        self.slowest = 0.0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        number = 0
        one = directory.Client(self.path, timeout=30)
        while not self.over.is_set():
            number += 1
            began = time.monotonic()
            verb, results = one.ask("get", "route", f"u{number % PEOPLE}+{number}@a.test")
            self.slowest = max(self.slowest, time.monotonic() - began)
            if verb == "val" and results[0].startswith("local maildir"):
                self.answers += 1
            elif (verb, results[0]) == ("err", "later"):
                self.later += 1
            else:
                self.wrong.append((verb, results))
        one.close()

    def stop(self):
        self.over.set()
        self.thread.join(60)
        assert not self.wrong, self.wrong[:5]


def test_another_server_takes_over(servers, relay):
    first, second = servers(2)
    path = os.path.join(relay(*(os.path.join(each.run, "directory")
                                for each in (first, second))).run, "directory")
    load = Load(path)
    try:
        wait_until(lambda: load.answers > 500, "the first answers")
        first.stop()
        before = load.answers
        wait_until(lambda: load.answers > before + 500, "the second answers")
        first.start()
        second.stop()
        before = load.answers
        wait_until(lambda: load.answers > before + 500, "the first answers again")
        first.stop()
        wait_until(lambda: load.later > 0, "nobody answers")
        second.start()
        before = load.answers
        wait_until(lambda: load.answers > before + 500, "the second answers again")
    finally:
        load.stop()


LONGEST = 65536 - len("3:get,1:1,5:route,65511:,")  # address in a frame


def test_an_address_as_long_as_a_frame_ends_nobody(servers, relay):
    """The relay has asked more than its client, so the number of its question is longer."""
    first, = servers(1)
    made = relay(os.path.join(first.run, "directory"))
    for each in made, first:
        path = os.path.join(each.run, "directory")
        one = directory.Client(path)
        for number in range(20):
            wait_until(lambda: one.ask("get", "route", f"u{number}@a.test")[0] == "val",
                       "it is connected")
        one.close()
        for address in "a" * LONGEST, "a" * (LONGEST - len("@a.test")) + "@a.test":
            one = directory.Client(path)
            assert one.ask("get", "route", address)[0] == "val"
            assert one.ask("get", "route", "u1@a.test")[0] == "val"
            one.close()
        assert not each.log.find("process_ended")


def test_the_postmaster_of_a_relay(servers, relay):
    """Its host's name is not known to the servers, but the domain of that mailbox is theirs."""
    first, = servers(1)
    made = relay(os.path.join(first.run, "directory"), settings="default_domain = a.test\n")
    path = os.path.join(made.run, "directory")
    one = directory.Client(path)
    wait_until(lambda: one.ask("get", "route", "u1@a.test")[0] == "val", "it is connected")
    for name in "postmaster", f"Postmaster@{made.hostname}":
        verb, results = one.ask("get", "route", name)
        assert verb == "val" and results[0] == "local maildir postmaster@a.test"
    one.close()
    with smtplib.SMTP("127.0.0.1", made.port, timeout=PATIENCE) as client:
        client.ehlo()
        client.mail("a@client.test")
        assert client.rcpt("postmaster")[0] == 250
        assert client.rcpt(f"postmaster@{made.hostname}")[0] == 250


class HalfServer:
    """Greets, answers every third question, forgets the second, and begins an answer to the
    third that it does not end."""

    def __init__(self, path, word="local maildir x@a.test"):
        self.word = word
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(path)
        give_to_user(path)
        os.chmod(path, 0o666)
        self.listening.listen()
        self.connections = 0
        self.asked = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        data = b""
        connection.sendall(directory.encode("hello", 1, "half+x", 5, "read"))
        while True:
            try:
                received = connection.recv(65536)
            except OSError:
                return
            if not received:
                return
            data += received
            while b":3:get," in data:
                number = data.partition(b":3:get,")[2]
                length, _, rest = number.partition(b":")
                number, data = rest[:int(length)].decode(), rest[int(length):]
                self.asked += 1
                answer = directory.encode("val", number, 0, 5, self.word)
                if self.asked % 3 == 1:
                    connection.sendall(answer)
                elif self.asked % 3 == 0:
                    connection.sendall(answer[:9])

    def close(self):
        self.listening.close()


def test_who_answers_by_halves_is_left(servers, relay, ground):
    """A question that it does not answer is answered by another server."""
    (good,) = servers(1)
    path = os.path.join(ground.directory("half"), "socket")
    half = HalfServer(path)
    try:
        mx = relay(path, os.path.join(good.run, "directory"))
        load = Load(os.path.join(mx.run, "directory"))
        try:
            wait_until(lambda: half.connections > 0 and load.answers > 300,
                       "the other one answers", timeout=60)
        finally:
            load.stop()
        assert load.slowest < 15
    finally:
        half.close()


def test_who_says_more_than_can_be_passed_on_is_left(servers, relay, ground):
    """A word that fills its frame: the number of the relay's client is longer than the relay's."""
    (good,) = servers(1)
    path = os.path.join(ground.directory("long"), "socket")
    long = HalfServer(path, "local maildir ".ljust(65500, "x"))
    try:
        mx = relay(path, os.path.join(good.run, "directory"))
        one = directory.Client(os.path.join(mx.run, "directory"), timeout=PATIENCE)
        one.number = 10 ** 19
        wait_until(lambda: one.ask("get", "route", "u1@a.test")[1][0] ==
                   "local maildir u1@a.test", "the other one answers")
        one.close()
        assert long.asked > 0
        assert not mx.log.find("process_ended")
    finally:
        long.close()


def test_who_hangs_is_left(servers, relay, ground):
    """It takes connections, and says nothing."""
    (good,) = servers(1)
    path = os.path.join(ground.directory("mute"), "socket")
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(path)
        os.chmod(path, 0o666)
        mute.listen()
        mx = relay(path, os.path.join(good.run, "directory"))
        load = Load(os.path.join(mx.run, "directory"))
        try:
            wait_until(lambda: load.answers > 100, "the other one answers", timeout=60)
        finally:
            load.stop()


def test_changes_come_through_a_relay_within_a_second(servers, relay):
    (good,) = servers(1)
    mx = relay(os.path.join(good.run, "directory"))
    one = directory.Client(os.path.join(mx.run, "directory"))
    behind = directory.Client(os.path.join(good.run, "directory"))
    wait_until(lambda: one.ask("get", "address", "new@a.test")[0] == "none", "it is known")
    began = time.monotonic()
    assert behind.ask("put", "address", "new@a.test", "kind mailbox")[0] == "ok"
    while one.ask("get", "address", "new@a.test")[0] == "none":
        assert time.monotonic() - began < 1
    for each in one, behind:
        each.close()


def status(one):
    ended = subprocess.run(
        as_user() + [os.path.join(one.programs, "stagepost"), "directory", "status", "--json",
                     "-c", one.conf],
        check=True, capture_output=True, text=True, timeout=PATIENCE)
    return json.loads(ended.stdout)


def test_a_lost_link_refuses_nobody(servers, relay):
    """What exists is answered from what is kept; what did not exist may exist by now: it is
    answered later, by the relay and by who asks it. The command tells what is followed."""
    first, second = servers(2)
    paths = [os.path.join(each.run, "directory") for each in (first, second)]
    mx = relay(*paths)
    one = directory.Client(os.path.join(mx.run, "directory"))
    urls = [f"unix:{path}" for path in paths]

    def code(address):
        with smtplib.SMTP("127.0.0.1", mx.port, timeout=20) as client:
            client.ehlo()
            client.mail("eve@example.net")
            return client.rcpt(address)[0]

    wait_until(lambda: code("u1@a.test") == 250, "the relay is up")
    assert code("new@a.test") == 550
    told = status(mx)
    assert (told["role"], told["backend"], told["servers"]) == ("relay", "servers", urls)
    assert told["followed"] == urls[0] and told["state"] == "up" and "lost_seconds" not in told
    first.stop()
    wait_until(lambda: status(mx).get("followed") == urls[1], "the second is followed")
    mx.log.wait("directory_found", server=urls[1], before=urls[0])
    wait_until(lambda: code("u1@a.test") == 250 and code("new@a.test") == 550, "both are known")
    second.stop()
    mx.log.wait("directory_lost")
    wait_until(lambda: status(mx)["state"] == "down", "it is lost")
    told = status(mx)
    assert "followed" not in told and told["lost_seconds"] >= 0
    wait_until(lambda: code("new@a.test") == 451, "who kept the refusal has heard of it")
    assert code("u1@a.test") == 250
    assert code("x@far.test") == 451
    second.start()
    behind = directory.Client(paths[1])
    assert behind.ask("put", "address", "new@a.test", "kind mailbox")[0] == "ok"
    wait_until(lambda: code("new@a.test") == 250, "it exists by now")
    for each in one, behind:
        each.close()
