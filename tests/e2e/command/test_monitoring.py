# SPDX-License-Identifier: ISC
"""stagepost queue stats with limits: one line and an exit status for monitoring, and nothing that it
has to read for figures that nobody asks for."""

import json
import os
import re
import subprocess
import time

import pytest
from stagepost import PATIENCE, as_user, wait_until

TEXT = b"Subject: hello\n\nA line.\n"
PERFORMANCE = re.compile(r"[a-z_]+=\d+[sB]?;(\d+:?)?;(\d+:?)?")


@pytest.fixture
def stats(ground):
    """stats(node, WORD...) is (exit status, the line)."""

    def ask(node, *words):
        ended = subprocess.run(
            [*as_user(), os.path.join(ground.programs, "stagepost"), "queue", "stats", "-c", node.conf,
             *words], check=False, capture_output=True, text=True, timeout=PATIENCE)
        lines = ended.stdout.splitlines()
        if lines and lines[0].startswith("QUEUE"):
            assert len(lines) == 1, lines
            for figure in lines[0].partition(" | ")[2].split():
                assert PERFORMANCE.fullmatch(figure), figure
        return ended.returncode, (lines or [ended.stderr])[0]

    return ask


def send(ground, node, count=1):
    for i in range(count):
        subprocess.run(
            [*as_user(), os.path.join(ground.programs, "stagepost"), "sendmail", "-C", node.conf,
             "-f", "anna@a.test", f"bob{i}@b.test"], input=TEXT, check=True, timeout=PATIENCE)


def test_limits(node, ground, stats):
    mx = node("mx", settings="transport remote { paused = yes }")
    assert stats(mx, "--warn", "messages=1,oldest=1h") == (
        0, "QUEUE OK: messages 0, oldest 0s | messages=0;1; oldest=0s;3600;")
    send(ground, mx, 2)
    assert stats(mx, "--warn", "messages=2") == (1, "QUEUE WARNING: messages 2 (warning) | messages=2;2;")
    assert stats(mx, "--warn", "messages=3", "--critical", "messages=10") == (
        0, "QUEUE OK: messages 2 | messages=2;3;10")
    assert stats(mx, "--warn", "messages=1", "--critical", "messages=2,paused=1") == (
        2, "QUEUE CRITICAL: messages 2 (critical), paused 0 | messages=2;1;2 paused=0;;1")
    time.sleep(1.1)
    status, line = stats(mx, "--critical", "oldest=1")
    assert status == 2 and re.fullmatch(r"QUEUE CRITICAL: oldest \ds \(critical\) \| oldest=\ds;;1", line)
    for words in ("oldest=1w", "deferred=1", "damaged=1", "set_aside=1", "free=1M"):
        assert stats(mx, "--warn", words)[0] == 0, words
    status, line = stats(mx, "--warn", "free=1000T", "--critical", "free=1K")
    assert status == 1 and "free " in line and ";1099511627776000:;1024:" in line
    status, line = stats(mx, "--warn", "messages=1", "--critical", "oldest=1h", "--json")
    told = json.loads(line)
    assert status == 1 and told["status"] == "warning" and told["figures"][0] == {
        "name": "messages", "value": 2, "warn": 1, "status": "warning"}
    assert told["figures"][1]["critical"] == 3600 and told["figures"][1]["status"] == "ok"


@pytest.mark.parametrize("wrong", ["", "messages", "messages=", "messages=x", "oldest=2y", "free=1X", "size=3",
                                   "messages=1,", "messages=1;oldest=2"])
def test_a_wrong_limit_is_unknown(node, stats, wrong):
    mx = node("mx", start=False)
    for option in ("--warn", "--critical"):
        status, line = stats(mx, option, wrong)
        assert status == 3
        assert re.fullmatch(rf'QUEUE UNKNOWN: {option}: ".*" is no limit; allowed: messages=1000, oldest=2h, '
                            r"deferred=1000, paused=1000, damaged=1000, set_aside=1000, free=1G", line), line
    assert stats(mx, "--warn", "messages=1", "--by", "reason")[0] == 2


def test_what_is_wrong_without_a_limit(node, ground, stats):
    """No manager, no queue, and a queue that was copied."""
    mx = node("mx", settings="transport remote { paused = yes }")
    send(ground, mx, 1)
    (number,) = wait_until(lambda: list(mx.data_files()), "it is queued")
    mx.stop()
    assert stats(mx, "--warn", "messages=5") == (
        2, "QUEUE CRITICAL: no queue manager runs and nothing is delivered; messages 1 | messages=1;5;")
    path = mx.data_files()[number]
    os.rename(path, path + ".old")
    subprocess.run(["cp", "-p", path + ".old", path], check=True)
    os.unlink(path + ".old")
    status, line = stats(mx, "--warn", "messages=5")
    assert status == 2 and line.startswith("QUEUE CRITICAL: this queue was copied and new mail is refused")
    assert stats(mx)[0] == 1, "also without limits"
    with open(mx.conf, "a", encoding="utf-8") as conf:
        conf.write("nonsense = 1\n")
    assert stats(mx, "--warn", "messages=5") == (status, line), "by the last good configuration"
    os.unlink(f"{mx.run}/stagepost.conf")
    assert stats(mx, "--warn", "messages=5") == (
        3, "QUEUE UNKNOWN: the configuration is wrong; standard error says where")


def test_deferred_and_paused(node, ground, stats):
    """What was tried in vain, and destinations that get nothing for a while."""
    mx = node("mx", routes=[":127.0.0.1;1"])
    send(ground, mx, 1)
    wait_until(lambda: stats(mx, "--warn", "deferred=1")[0] == 1, "it is deferred")
