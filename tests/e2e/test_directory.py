# SPDX-License-Identifier: ISC
"""The directory process on one machine: its protocol, roles, bounds and life."""

import os
import random
import socket
import subprocess
import threading
import time

import directory
import pytest
from stagepost import PATIENCE, USER, as_user, is_root, wait_until

SETTINGS = 'directory {{ path = "{path}/data/directory.db" {more} }}\n'


@pytest.fixture
def server(node):
    """A node with a directory in an SQLite file."""
    def make(name="dir", more="", start=True, **options):
        made = node(name, start=False, domains=(), **options)
        made.settings = SETTINGS.format(path=made.directory, more=more)
        made.write_configuration()
        if start:
            made.start()
        return made

    return make


@pytest.fixture
def client():
    """client(node): a connection that is greeted."""
    opened = []

    def make(node):
        opened.append(directory.Client(os.path.join(node.run, "directory")))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_what_is_put_is_found(server, client):
    one = client(server())
    assert one.hello[:2] == ["hello", "1"] and one.hello[4:] == ["read", "secret", "change"]
    assert one.ask("put", "domain", "Example.org", "kind local", "service maildir")[0] == "ok"
    assert one.ask("put", "address", "Ann@example.org", "kind mailbox")[0] == "ok"
    assert one.ask("get", "address", "ANN@Example.ORG") == (
        "val", ["kind mailbox", "on address ann@example.org"])
    verb, results = one.ask("get", "route", "ann+x@example.org")
    assert verb == "val" and "local maildir ann+x@example.org" in results
    assert one.ask("list", "domain", "", "", 10) == (
        "val", ["= example.org", "kind local", "service maildir"])
    assert one.ask("del", "address", "ann@example.org")[0] == "ok"
    assert one.ask("get", "address", "ann@example.org")[0] == "none"
    assert one.ask("put", "address", "ann@example.org", "kind nothing")[1][0] == "bad"


def test_a_push_comes_within_a_second(server, client):
    mx = server()
    watcher, changer = client(mx), client(mx)
    assert watcher.ask("get", "route", "bob@example.org")[0] == "val"
    assert watcher.ask("get", "address", "bob@example.org")[0] == "none"
    began = time.monotonic()
    assert changer.ask("put", "address", "bob@example.org", "kind mailbox")[0] == "ok"
    assert watcher.receive()[2:] == ["address", "bob@example.org"]
    assert time.monotonic() - began < 1


def test_it_is_there_before_and_after_all_others(server):
    mx = server()
    mx.stop()
    names = [(event["event"], event["program"]) for event in mx.log.events
             if event["event"] in ("process_started", "process_stopped")]
    assert names.index(("process_started", "directory")) < names.index(
        ("process_started", "smtpd"))
    stopped = [name for event, name in names if event == "process_stopped"]
    assert stopped[-2:] == ["directory", "queue"]
