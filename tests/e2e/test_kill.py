# SPDX-License-Identifier: ISC
"""kill -9 of everything at random, under load. What was answered 250 is delivered
or still queued, byte for byte; that it comes twice is allowed, and counted."""

import os
import random
import tempfile
import time

import pytest
from smtp import Client
from stagepost import wait_until
from common.holdings import all_delivered, all_queued
from common.ledger import Generator, Ledger, judge, make_message

SECONDS = float(os.environ.get("KILL_SECONDS", "60"))
SEED = int(os.environ.get("KILL_SEED", str(random.randrange(1 << 30))))
PROGRAMS = ("queue", "send", "smtpd", "resolve", "remote", "local")
MAILBOXES = 40


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-") as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


# --- the judge ---

@pytest.mark.parametrize("spoil, counts", [
    (None, (2, 0, 0, 0)), ("lose", (1, 0, 1, 0)), ("change", (1, 0, 1, 1)),
    ("cut", (1, 0, 1, 1)), ("double", (2, 1, 0, 0)), ("misplace", (1, 0, 1, 1)),
    ("unsent", (2, 0, 0, 1))])
def test_judge_sees_it(ledger, spoil, counts):
    source = random.Random(1)
    texts = []
    for number in 1, 2, 3:
        text, sha256 = make_message(number, source)
        texts.append(b"Received: by us\n" + text.replace(b"\r\n", b"\n"))
        ledger.write("begun", number, sha256=sha256, recipients=[f"u{number}@a.test"])
        if number < 3:
            ledger.write("dot", number)
            ledger.write("accepted", number)
    first, second = ("u1@a.test", texts[0]), ("u2@a.test", texts[1])
    found = {None: [first, second], "lose": [first], "double": [first, first, second],
             "change": [first, (second[0], second[1].replace(b"number", b"numbeR"))],
             "cut": [first, (second[0], second[1][:-1])],
             "misplace": [first, ("u1@a.test", texts[1])],
             "unsent": [first, second, ("u3@a.test", texts[2])]}[spoil]
    verdict = judge(ledger, found, [])
    assert (verdict.delivered, verdict.duplicates, len(verdict.lost),
            len(verdict.corrupt)) == counts


# --- the campaign ---

def some_recipients(source):
    box = f"box{source.randrange(MAILBOXES)}"
    return source.choice(([f"{box}@a.test"], [f"{box}@b.test"],
                          [f"{box}@a.test", f"{box}@b.test"],
                          [f"{box}@a.test", f"other-{box}@a.test", f"{box}@b.test"]))


def kill_something(mx, source, kills):
    """Mostly one process, now and then all of them, every 20th time the supervisor."""
    if sum(kills.values()) % 20 == 10:
        mx.kill_supervisor()
        mx.start()
        kills["supervisor"] = kills.get("supervisor", 0) + 1
        return
    for program in PROGRAMS if source.random() < 0.05 else [source.choice(PROGRAMS)]:
        if mx.pids(program):  # it may have been killed a moment ago
            mx.kill(program, source.randrange(2))
            kills[program] = kills.get(program, 0) + 1


def settle(mx, rounds=4):
    """Lets deliveries end. Interrupted ones wait for their turn: it is made come."""
    for _ in range(rounds):
        try:
            mx.wait_empty(timeout=8)
            return
        except AssertionError:
            mx.stop()
            mx.make_due()
            mx.start()


def test_kill_campaign(node, ledger, capsys):
    source = random.Random(SEED)
    other = node("other", domains=["b.test"])
    mx = node(routes=[f"b.test:127.0.0.1;{other.port}"])
    kills = {}
    generator = Generator(ledger, lambda: Client(mx, timeout=20), some_recipients, seed=SEED)
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            next_kill = time.monotonic() + source.uniform(0.05, 0.9)
            wait_until(lambda: time.monotonic() > next_kill, "the next kill")
            kill_something(mx, source, kills)
    finally:
        generator.stop()
    settle(mx)
    other.wait_empty()
    verdict = judge(ledger, all_delivered(mx, other), all_queued(mx, other))
    with capsys.disabled():
        print(f"\n  {sum(kills.values())} kills in {SECONDS:.0f} s (KILL_SEED={SEED}): "
              + ", ".join(f"{name} {count}" for name, count in sorted(kills.items()))
              + f"\n  {verdict}")
    assert verdict.accepted > SECONDS, "the load was too small to mean anything"
    assert not verdict.lost, verdict.lost[:20]
    assert not verdict.corrupt, verdict.corrupt[:20]
    assert not mx.log.find("message_damaged")
    assert verdict.queued == 0, "nothing prevents these deliveries"
