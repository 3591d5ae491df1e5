# SPDX-License-Identifier: ISC
"""The queue in queue_format_1/ was filled by the last version before checksums (commit f19caf38): four messages from
anna@a.test. It is read as that version read it."""

import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import time

import pytest
from stagepost import PATIENCE, as_user, free_port, give_to_user, wait_until

FORMAT_1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queue_format_1")


@pytest.fixture
def run(ground):
    def run(node, *words):
        return subprocess.run([*as_user(), os.path.join(ground.programs, "stagepost"), *words],
                              capture_output=True, check=False, timeout=PATIENCE,
                              env=os.environ | {"STAGEPOST_CONF": node.conf})

    return run


DAY_US = 86400 * 10**6


def younger(text, now_us):
    """TEXT of that queue, or a name in it, as if it had been filled within a day: no message is too old."""
    def birth(match):
        born_us = int(match[2], 16)
        return b"%s%x" % (match[1], born_us + (now_us - born_us) // DAY_US * DAY_US)

    text = re.sub(rb"(^id: \d+-|^hold\.\d+-)([0-9a-f]{13})$", birth, text, flags=re.M)
    for born in re.findall(rb"^id: \d+-([0-9a-f]{13})$", text, re.M):
        when = datetime.datetime.fromtimestamp(int(born, 16) // 10**6, datetime.timezone.utc)
        text = re.sub(rb"^born: .*$", b"born: %s.%06dZ" % (
            when.strftime("%Y-%m-%dT%H:%M:%S").encode(), int(born, 16) % 10**6), text, flags=re.M)
    return text


def put_queue(target):
    now_us = int(time.time() * 10**6)
    shutil.copytree(FORMAT_1, target)
    for folder, _, names in os.walk(target):
        give_to_user(folder)
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                text = file.read()
            with open(path, "wb") as file:
                file.write(younger(text, now_us))
            give_to_user(path)
            os.rename(path, os.path.join(folder, younger(name.encode(), now_us).decode()))


def counted(run, mx):
    """How many of format 1 there are, by "queue stats"."""
    stats = json.loads(run(mx, "queue", "stats", "--json").stdout)
    return sum(place["messages"] for place in stats["places"] if place["name"] == "of format 1")


@pytest.fixture
def upgraded(node, run):
    """A node that has that queue, and has not begun yet."""
    port = free_port()
    mx = node("upgraded", start=False, routes=[f"b.test:127.0.0.1;{port}"],
              domains=['domain "a.test" { service = maildir  addresses = { "anna", "emil" } }'])
    put_queue(mx.queue)
    ended = run(mx, "queue", "repair")
    assert ended.returncode == 0 and b"4 renumbered, 0 set aside" in ended.stdout, ended
    mx.hop_port = port
    return mx


def test_a_queue_of_format_1(upgraded, node, run, listing):
    mx = upgraded
    assert all(text.startswith("stagepost 1\n") for text in mx.control_files().values())
    assert counted(run, mx) == 4 and b"format 1" in run(mx, "queue", "stats").stdout
    told = {tuple(to["address"] for to in one["recipients"]): one for one in listing(mx)}
    assert set(told) == {("carl@b.test",), ("bob@b.test", "none@a.test"), ("emil@a.test", "dora@b.test"),
                         ("fred@b.test",)}
    assert [one["held"] for one in told.values() if one.get("held")] == [True]
    assert told["emil@a.test", "dora@b.test"]["deliveries"][0]["state"] == "done"
    hop = node("hop", domains=["b.test"], port=mx.hop_port)
    mx.start()
    wait_until(lambda: len(mx.control_files()) == 1, "all but the one that is held are delivered")
    assert counted(run, mx) == 1
    for order in "release", "retry":
        assert run(mx, "queue", order, "--all").returncode == 0
    mx.wait_empty()
    assert counted(run, mx) == 0
    for name in "bob", "carl", "dora", "fred":
        (text,) = hop.maildir(f"{name}@b.test").wait()
        assert f"Subject: {name}\n".encode() in text
    (report,) = mx.maildir("anna@a.test").wait()
    assert b"none@a.test" in report
    assert not mx.maildir("emil@a.test").files(), "it was delivered there before"
    for event in "message_damaged", "data_damaged", "records_damaged", "message_lost", "message_rebuilt":
        assert not mx.log.find(event), event
    assert not glob.glob(mx.queue + "/damaged/*")
