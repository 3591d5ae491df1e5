# SPDX-License-Identifier: ISC
"""kill -9 of all processes at random, under load, on every path of a message. What was answered
with 250 is delivered, bounced or still queued, byte for byte. It may be delivered twice if a
process was killed after the delivery and before the record of it was durable; every other
duplicate is counted. Clients come by SMTP, by STARTTLS, by QMTP, by LMTP, and log in to submit: never
is a wrong password believed, nor a right one called wrong. The other node is a host that a policy of
MTA-STS names, after an impostor: nobody else has read mail for it."""

import collections
import datetime
import os
import random
import tempfile
import time

import pytest
from kills import ALL, Excuses, Kill, Killer, queued_at, without_excuse
from scene import SENDERS, Scene, stored_in
from secure_way import IMPOSTOR, OTHER_AT, RIGHT
from stagepost import wait_until
from common.holdings import all_queued
from common.ledger import Generator, Ledger, judge, make_message
from common.record import record

SECONDS = float(os.environ.get("KILL_SECONDS", "30"))
SEED = int(os.environ.get("KILL_SEED", str(random.randrange(1 << 30))))
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
    every = [f"{box}@a.test", f"{box}@b.test", f"{box}@l.test", f"{box}@p.test", f"{box}@m.test"]
    return source.choice((*([to] for to in every), [f"nobody{box}@b.test"], every,
                          [f"{box}@a.test", f"other-{box}@a.test", f"nobody{box}@b.test"]))


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


TAKEN = 1795190517.0
RECEIVED = "Received: from c ([127.0.0.1])\n\tby {} with ESMTP\n\tid 7-{:x}; then\n"


def copy_of(seconds, *hosts):
    """A copy that came after so many SECONDS, and its trace: (host, seconds) of each."""
    trace = "".join(RECEIVED.format(host, int((TAKEN + taken) * 1e6))
                    for host, taken in (*hosts, ("mx", 0)))
    return trace.encode(), TAKEN + seconds


@pytest.mark.parametrize("recipient, copies, kills, excused", [
    ("u@a.test", (copy_of(1), copy_of(9)), [], False),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", "local")], True),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", "send")], True),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", ALL)], True),
    ("u@a.test", (copy_of(1), copy_of(9)), [(2, "mx", "smtpd"), (2, "mx", "lmtp"),
                                            (2, "mx", "queue"), (2, "other", "local")], False),
    ("u@a.test", (copy_of(1), copy_of(9)), [(0.5, "mx", "local"), (9.1, "mx", "local")], False),
    *((f"u@{domain}.test", (copy_of(1), copy_of(9)), [(1 - before, "mx", program)], excused)
      for domain, program, before, excused in (
          ("p", "pipe", 0.4, True), ("p", "pipe", 0.6, False), ("p", "local", 0.4, False),
          ("a", "local", 0.04, True), ("a", "local", 0.06, False), ("a", "local", 0.4, False),
          ("l", "lmtp", 0.4, False))),
    *(("u@b.test", (copy_of(3, ("other", 3)), copy_of(9, ("other", 8))),
       [(3 - before, "mx", "remote")], excused) for before, excused in ((0.4, True), (0.6, False))),
    ("u@a.test", (copy_of(1), copy_of(9)), [(0.5, "mx", ALL, 0.6)], True),  # it lasted
    ("u@a.test", (copy_of(1), copy_of(9)), [(0.5, "mx", ALL, 0.4)], False),
    ("told@a.test", (copy_of(1), copy_of(9)), [(2.5, "mx", "send")], True),
    ("told@a.test", (copy_of(1), copy_of(9)), [(4, "mx", "send")], False),
    ("u@b.test", (copy_of(3, ("other", 1)), copy_of(9, ("other", 8))),
     [(2, "other", "queue")], True),
    ("u@b.test", (copy_of(3, ("other", 1)), copy_of(9, ("other", 1))),
     [(2, "other", "queue"), (4, "mx", "send")], False),
    ("u@b.test", (copy_of(3, ("other", 1)), copy_of(9, ("other", 1))),
     [(4, "other", "local")], True),
])
def test_excuses(recipient, copies, kills, excused):
    killer = Killer({}, None)
    killer.kills = [Kill(TAKEN + when, TAKEN + when + sum(lasting), name, program)
                    for when, name, program, *lasting in kills]
    said = datetime.datetime.fromtimestamp(TAKEN + 2, datetime.timezone.utc).isoformat()
    excuses = Excuses(killer, "mx", "other", [
        {"id": f"7-{int(TAKEN * 1e6):x}", "to": "told@a.test", "time": said}])
    assert excuses.excuse(recipient, *copies) == excused


@pytest.fixture
def scene(node, secure_way):
    made = Scene(node, start=False, secure=secure_way, logins=True)
    yield made
    made.close()


def make_other(node, scene):
    """The node that has the mailboxes of b.test, in another network where there is TLS."""
    addresses = ", ".join(f'"box{i}"' for i in range(MAILBOXES))
    place = {}
    if scene.secure:
        place |= {"address": OTHER_AT, "port": 25, "settings": scene.secure.certificate(RIGHT)}
        scene.secure.set_hosts(IMPOSTOR, RIGHT, right_at=OTHER_AT)
    other = node("other", start=False, hostname="other.stagepost.test", domains=[
        f'domain "b.test" {{ service = maildir addresses = {{ {addresses} }} }}'], **place)
    if scene.secure:
        other.prefix = scene.secure.lan.inside
    else:
        scene.mx.routes = [f"b.test:127.0.0.1;{other.port}"]
        scene.mx.write_configuration()
    return other.start()


def in_plain_text(scene, mx, other):
    """How many messages of MX came to OTHER so, which has a policy against it."""
    return scene.secure is not None and sum(
        "tls" not in event for event in other.log.find("message_accepted", helo=mx.hostname))


def test_kill_campaign(node, scene, ledger, capsys):
    source = random.Random(SEED)
    mx = scene.mx
    other = make_other(node, scene)
    mx.start()
    scene.prepare()
    killer = Killer({"mx": mx, "other": other}, source)
    generator = Generator(ledger, lambda: scene.any_client(timeout=20), some_recipients, seed=SEED,
                          sender=f"s@{SENDERS}")
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            next_kill = time.monotonic() + source.uniform(0.05, 0.9)
            wait_until(lambda: time.monotonic() > next_kill, "the next kill")
            killer.next()
    finally:
        generator.stop()
    settle(mx)
    settle(other)
    settle(mx)
    copies = [*scene.copies(), *stored_in(other)]
    verdict = judge(ledger, [copy[:2] for copy in copies], all_queued(mx, other),
                    scene.reports())
    assert all(queued_at(text, mx.hostname) for _, text, _ in copies)
    bad = without_excuse(copies, verdict.twice, Excuses(
        killer, mx.hostname, other.hostname, mx.log.find("delivered")))
    counts = collections.Counter(kill.program for kill in killer.kills)
    line = record(
        "kill-random", title="kill -9 at random", what=__doc__.replace("\n", " "),
        command="make kill", seconds=SECONDS, filesystem="ext4", counts={
            "kills": len(killer.kills),
            **{f"of {name}": count for name, count in sorted(counts.items())},
            "messages answered 250": verdict.accepted,
            "recipients delivered": verdict.delivered, "recipients bounced": verdict.bounced,
            "recipients queued at the end": verdict.queued,
            "by TLS, in": len(mx.log.find("message_accepted", tls="TLSv1.3")),
            "by TLS, out": len(mx.log.find("delivered", verified="authority")),
            "lost": len(verdict.lost), "corrupt": len(verdict.corrupt),
            "logins": len(mx.log.find("auth_accepted")),
            "logins judged wrongly": len(scene.listeners.misjudged),
            "read by others": len(scene.open_mail()) + in_plain_text(scene, mx, other),
            "duplicates, excused": verdict.duplicates - len(bad), "not excused": len(bad),
        }, zero=("lost", "corrupt", "logins judged wrongly", "read by others", "not excused", "recipients queued at the end"))
    with capsys.disabled():
        print(f"\n  KILL_SEED={SEED} {line}")
    assert verdict.accepted > SECONDS, "the load was too small to mean anything"
    assert not verdict.lost, verdict.lost[:20]
    assert not verdict.corrupt, verdict.corrupt[:20]
    assert not scene.open_mail() and not in_plain_text(scene, mx, other)
    assert not scene.listeners.misjudged and mx.log.find("auth_accepted")
    assert not bad, "\n".join(bad)
    for owner in mx, other:
        for event in "message_damaged", "message_lost", "message_rebuilt":
            assert not owner.log.find(event)
    assert verdict.queued == 0, "nothing prevents these deliveries"
