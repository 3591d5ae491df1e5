# SPDX-License-Identifier: ISC
"""Every process of a whole node is suspended at random, for moments and for longer than timeouts,
while others are killed, the configuration and the directory change, and descriptors, memory and
the disk run out. Mail goes by SMTP, LMTP, Maildir, a program, a list and forwards. Each line of
each message says whose it is, so a ledger can check: what was answered with 250 is delivered or
bounced, byte for byte; no login is judged wrongly; nobody, not even a next hop whose connection broke, has seen a byte of
another's message; and a minute after the last fault nothing waits. Half of the clients use STARTTLS,
and the next hop is the second host of a domain with a policy of MTA-STS: the first, an impostor,
never sees mail."""

import contextlib
import os
import random
import re
import tempfile
import threading
import time

import pytest
from disk import Image, Unavailable, image_directory
from freeze import SETTINGS, TIMEOUT, Faults, make_plan
from freeze_judge import SPARES, STOCK, FreezeExcuses, Seen, kept_files
from freeze_mail import Addresses, Load, known_as
from kills import without_excuse
from scene import SENDERS, Scene
from smtp import Client
from stagepost import STOP_PATIENCE, wait_until
from common.holdings import all_queued
from common.ledger import Ledger, find_leaks, judge, make_named_message
from common.record import record

SECONDS = float(os.environ.get("FREEZE_SECONDS", "40"))
SEED = int(os.environ.get("FREEZE_SEED", str(random.randrange(1 << 30))))
PEACE = 60  # seconds after the last fault: nothing waits any more
DISK = 384 << 20
SLOW_354 = 1.0  # seconds, at most: in these, a next hop has a message's recipients and not its text


# --- the judge ---

@pytest.mark.parametrize("spoil, count", [
    (None, 0), ("other", 1), ("tail", 1), ("cut", 0), ("cut of other", 1), ("report", 0),
    ("other report", 1), ("nothing", 0)])
def test_leaks_are_seen(spoil, count):
    source = random.Random(1)
    first, second = (make_named_message(number, source, (4000,))[0] for number in (1, 2))
    seen = {None: ("u1@b.test", first), "other": ("u1@b.test", second),
            "tail": ("u1@b.test", first[:2000] + second[2000:]),
            "cut": ("u1@b.test", first[:777]), "cut of other": ("u1@b.test", second[1300:1400]),
            "report": ("s1@from.test", b"failed\n" + first), "nothing": ("u1@b.test", b""),
            "other report": ("s1@from.test", b"failed\n" + second)}[spoil]
    leaks = find_leaks([("there", [seen[0]], seen[1])],
                       lambda recipient, number: recipient[1] == str(number))
    assert len(leaks) == count, leaks


def test_a_plan_is_repeated():
    assert make_plan(7, 60) == make_plan(7, 60) != make_plan(8, 60)
    assert {step.kind for step in make_plan(7, 600)} == {
        "freeze", "kill", "turn", "reload", "descriptors", "memory", "disk"}


# --- one schedule, step by step ---

@pytest.mark.parametrize("dies", ["send", "supervisor", "nobody"])
def test_who_stands_still_with_a_message_sends_no_other(scene, ledger, dies):
    """A next hop has A's recipients and is about to say 354 when "remote" stands still. A goes
    another way, and others come after it. Then 354 is said and "remote" goes on."""
    mx = scene.mx
    seen = Seen(scene)
    may_go_on, is_asked = threading.Event(), threading.Event()
    source = random.Random(1)

    def hold():
        is_asked.set()
        may_go_on.wait(60)

    def send(number, recipient):
        text, sha256 = make_named_message(number, source, (4000,))
        ledger.write("begun", number, sha256=sha256, recipients=[recipient])
        ledger.write("dot", number)
        with Client(mx) as client:
            assert client.deliver(f"s{number}@{SENDERS}", recipient, text).startswith("250 ")
        ledger.write("accepted", number)

    scene.far.before_data = hold
    scene.box.before_data = lambda: None
    faults = Faults(scene, [], None)
    send(1, "u1@b.test")
    assert is_asked.wait(20)
    faults.do("freeze", "remote", length=120)
    mark = mx.log.mark()
    faults.do("turn", "LMTP")
    mx.log.wait("config_reloaded", since=mark)
    if dies != "nobody":
        faults.do("kill", dies, pick=1)  # of the supervisor: and all others
    may_go_on.set()
    wait_until(lambda: scene.box.messages or dies == "nobody", "A goes another way")
    for number in range(2, 60):
        send(number, f"box{number}@a.test")
    for number in range(2, 60):
        mx.maildir(f"box{number}@a.test").wait()
    faults.make_peace()
    scene.settle(timeout=PEACE)
    leaks = seen.leaks(ledger.entries())
    assert not leaks, "\n".join(leaks)


def test_files_are_used_again_after_descriptors_ran_out(scene):
    """"queue" has none left for moments, while mail comes. Afterwards it is as before."""
    mx = scene.mx
    faults = Faults(scene, [], None)
    deliver_some(mx, 20)
    for pick in range(8):
        faults.do("descriptors", "queue", pick=pick, length=60)
        with contextlib.suppress(OSError, AssertionError):
            for number in range(20):
                with Client(mx, timeout=2) as client:
                    client.deliver("", f"box{number}@a.test", b"Subject: probe\r\n\r\n")
        faults.make_peace()
    scene.settle(timeout=PEACE)
    deliver_some(mx, SPARES + 2 * STOCK)
    assert kept_files(mx) <= SPARES + STOCK


# --- the campaign ---

@pytest.fixture
def disk(ground):
    try:
        made = Image(os.path.join(ground.base, "freeze"), DISK, 60000)
    except Unavailable as why:
        pytest.skip(str(why))
    yield made
    made.close()


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-",
                                     dir=image_directory(1 << 30)) as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


@pytest.fixture
def scene(disk, node, secure_way):
    source = random.Random(SEED)

    def slowly():
        if source.random() < 0.6:
            time.sleep(source.uniform(0, SLOW_354))

    with tempfile.TemporaryDirectory(prefix="stagepost-directory-") as base:
        os.chmod(base, 0o777)
        made = Scene(node, SETTINGS.format(timeout=TIMEOUT, twice=2 * TIMEOUT, base=base,
                                           spares=SPARES),
                     start=False, secure=secure_way, logins=True, queue=os.path.join(disk.path, "queue"))
        made.far.before_data = made.box.before_data = slowly
        made.mx.start()
        made.prepare()
        yield made
        made.close()


def deliver_some(mx, count):
    """To a mailbox, one after the other: each is a commit, which frees what was kept until then."""
    with Client(mx) as client:
        for _ in range(count):
            reply = client.deliver("", "probe@a.test", b"Subject: probe\r\n\r\n")
            assert reply.startswith("250 "), reply
    mx.wait_empty()


def reports(scene):
    folder = os.path.join(scene.mx.mail, SENDERS)
    for box in os.listdir(folder) if os.path.isdir(folder) else ():
        yield from scene.mx.maildir(f"{box}@{SENDERS}").messages()


def settle(scene):
    """What still waits when it should not: a line, or None."""
    end = time.monotonic() + PEACE
    try:
        while True:
            with contextlib.suppress(OSError):
                with Client(scene.mx, timeout=PEACE) as client:
                    if client.deliver(f"s0@{SENDERS}", "probe@a.test", b"Subject: probe\r\n\r\n"
                                      ).startswith("250 "):
                        break
            assert time.monotonic() < end, "no mail is taken"
            time.sleep(0.1)
        scene.settle(timeout=end - time.monotonic())
        deliver_some(scene.mx, 20)
    except AssertionError as problem:
        return str(problem)[:3000]
    return None


def stop(mx, is_short_of_memory):
    """Who lacked memory may have said so in whatever words."""
    if is_short_of_memory:
        mx.log.read()
        mx.log.strange = [line for line in mx.log.strange if not re.search("memory", line)]
    mx.stop(STOP_PATIENCE)


def test_freeze_campaign(scene, disk, ledger, capsys):
    mx = scene.mx
    seen = Seen(scene)
    plan = make_plan(SEED, SECONDS)
    faults = Faults(scene, plan, disk.path)
    addresses = Addresses(mx, SEED)
    load = Load(ledger, lambda: scene.any_client(timeout=20), None, connections=8, pause=0.03, seed=SEED)
    try:
        faults.run()
    finally:
        faults.make_peace()
        load.stop()
        addresses.stop()
    peace = time.monotonic()
    stuck = settle(scene)
    peace = time.monotonic() - peace
    if kept_files(mx) > SPARES + STOCK:  # those of moments without descriptors are used again first
        deliver_some(mx, SPARES + 2 * STOCK)
    copies = [(known_as(to), text, when) for to, text, when in scene.copies()
              if not to.startswith("probe@")]
    verdict = judge(ledger, [copy[:2] for copy in copies], all_queued(mx), reports(scene))
    leaks = seen.leaks(ledger.entries())
    bad = without_excuse(copies, verdict.twice, FreezeExcuses(
        faults, mx, mx.log.find("delivered")))
    line = record(
        "freeze", title="Suspended processes", what=__doc__.replace("\n", " "),
        command="make freeze", seconds=SECONDS, filesystem="ext4", counts={
            "faults": sum(faults.fallen.values()),
            **{f"faults: {name}": count for name, count in sorted(faults.fallen.items())},
            "changes of addresses": addresses.changes,
            "messages answered 250": verdict.accepted,
            "recipients delivered": verdict.delivered, "recipients bounced": verdict.bounced,
            "seconds of peace until nothing waited": round(peace),
            "logins": len(mx.log.find("auth_accepted")),
            "logins judged wrongly": len(scene.listeners.misjudged),
            "by TLS, in": len(mx.log.find("message_accepted", tls="TLSv1.3")),
            "by TLS, out": len(mx.log.find("delivered", verified="authority")),
            "connections that broke in a message": len(scene.far.broken) + len(scene.box.broken),
            "lost": len(verdict.lost), "corrupt": len(verdict.corrupt), "leaked": len(leaks),
            "read by others": len(scene.open_mail()),
            "recipients stuck": verdict.queued + (stuck is not None and not verdict.queued),
            "files kept without need": max(0, kept_files(mx) - SPARES - STOCK),
            "duplicates, excused": verdict.duplicates - len(bad), "not excused": len(bad),
        }, zero=("lost", "corrupt", "logins judged wrongly", "leaked", "read by others", "recipients stuck",
                     "files kept without need", "not excused"))
    with capsys.disabled():
        print(f"\n  FREEZE_SEED={SEED} {line}")
    assert verdict.accepted > SECONDS, "the load was too small to mean anything"
    assert not leaks, "\n".join(leaks[:20])
    assert not scene.open_mail()
    assert not scene.listeners.misjudged and mx.log.find("auth_accepted")
    assert not verdict.lost, verdict.lost[:20]
    assert not verdict.corrupt, verdict.corrupt[:20]
    assert stuck is None, stuck
    assert not bad, "\n".join(bad[:20])
    assert kept_files(mx) <= SPARES + STOCK
    stop(mx, faults.fallen["memory"])
