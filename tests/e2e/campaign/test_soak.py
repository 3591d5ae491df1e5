# SPDX-License-Identifier: ISC
"""Mixed load with faults for a long time ("make soak": an hour): nothing is lost, what the
processes and the queue hold does not grow, and "queue stats" says what is on the disk."""

import json
import os
import random
import time

import pytest
from scene import Scene
from soak import (FILES_A_MESSAGE, KIB_A_MESSAGE, REST, SENDER, WARM_UP, Backlog, Faults, Holdings,
                  Load, held_descriptors, some_recipients)
from stagepost import PATIENCE, wait_until
from common.record import record

SECONDS = float(os.environ.get("SOAK_SECONDS", "30"))
SEED = int(os.environ.get("SOAK_SEED", str(random.randrange(1 << 30))))
ROUND = min(30, SECONDS / 3)  # seconds of load between two looks at everything
WAITING = 30  # messages that wait when stats and disk are compared


# --- the judge ---

def at_peaks(i):
    """The highest backlog rises now and then."""
    return 50 + 200 * (i // 9)


@pytest.mark.parametrize("kib, descriptors, files, backlog, found", [
    (lambda i: 3000, lambda i: 20, lambda i: 500, lambda i: 50, 0),
    (lambda i: 3000 + 90 * (i % 8), lambda i: 20 + i % 2, lambda i: 500 + 9 * (i % 8),
     lambda i: 50, 0),
    (lambda i: 3000 + 100 * i, lambda i: 20, lambda i: 500, lambda i: 50, 1),  # 100 KiB a round
    (lambda i: 3000, lambda i: 20 + i // 8, lambda i: 500, lambda i: 50, 1),  # one in 8 rounds
    (lambda i: 3000, lambda i: 20, lambda i: 500 + 10 * i, lambda i: 50, 1),
    (lambda i: 9000 if i < 2 else 3000, lambda i: 40 if i < 2 else 20, lambda i: 50 * min(i, 9),
     lambda i: 50, 0),
    # what a larger backlog needed is kept, and no more than that
    (lambda i: 3000 + KIB_A_MESSAGE * at_peaks(i), lambda i: 20,
     lambda i: 500 + FILES_A_MESSAGE * at_peaks(i), at_peaks, 0),
    (lambda i: 3000 + KIB_A_MESSAGE * at_peaks(i) + 500 * i, lambda i: 20, lambda i: 500, at_peaks, 1),
    (lambda i: 3000, lambda i: 20 + at_peaks(i), lambda i: 500, at_peaks, 1),
    (lambda i: 3000, lambda i: 20, lambda i: 500 + 4 * FILES_A_MESSAGE * at_peaks(i), at_peaks, 1),
])
def test_holdings_see_a_leak(kib, descriptors, files, backlog, found):
    """Made up: a look each half minute; before WARM_UP a process may hold what it likes."""
    held = Holdings(None)
    held.samples["send", 1] = [(WARM_UP - 60 + 30 * i, kib(i), descriptors(i), backlog(i))
                               for i in range(32)]
    held.files = [(files(i), backlog(i)) for i in range(32)]
    assert held.judged() == 1
    assert len(held.growing()) == found, held.growing()


def test_descriptors_that_are_no_leak(tmp_path):
    """One of each data file that is in stock; not its second, nor one of what is gone."""
    (tmp_path / "pid").mkdir()
    (tmp_path / "todo").mkdir()
    before = held_descriptors(os.getpid(), tmp_path)
    paths = [tmp_path / "pid/m1", tmp_path / "pid/m2", tmp_path / "pid/m1", tmp_path / "todo/3"]
    leaks = [0, 0, 1, 2]
    files = []
    for path, expected in zip(paths, leaks):
        files.append(open(path, "ab"))
        assert held_descriptors(os.getpid(), tmp_path) - before == expected
    paths[1].unlink()
    assert held_descriptors(os.getpid(), tmp_path) - before == 3
    for file in files:
        file.close()


# --- the campaign ---

@pytest.fixture
def scene(node, secure_way):
    made = Scene(node, secure=secure_way, logins=True)
    made.prepare()
    yield made
    made.close()


def one_round(scene, faults, seed):
    load = Load(scene.ledger, lambda: scene.any_client(timeout=PATIENCE), some_recipients,
                connections=6, pause=0.01, seed=seed, sender=SENDER)
    end = time.monotonic() + ROUND
    try:
        while time.monotonic() < end:
            faults.one()
            time.sleep(faults.source.uniform(0.2, 2))
    finally:
        load.stop()
    scene.settle(timeout=60)
    verdict = scene.judge()
    assert not verdict.lost, verdict.lost[:20]
    assert not verdict.corrupt, verdict.corrupt[:20]
    assert verdict.accepted > ROUND, "the load was too small to mean anything"
    assert not scene.open_mail(), scene.open_mail()[:20]
    assert not scene.listeners.misjudged, scene.listeners.misjudged
    scene.forget()
    return verdict


def on_disk(scene):
    """What "queue stats" should say."""
    def count(*folder):
        return sum(len(names) for _, _, names in os.walk(os.path.join(scene.mx.queue, *folder)))

    pid = os.listdir(os.path.join(scene.mx.queue, "pid"))
    return {"queued submit": count("todo", "submit"), "queued arrive": count("todo", "arrive"),
            "preprocessed": count("info"), "remote": count("remote"), "bounce": count("bounce"),
            "local box": count("local", "box"), "local maildir": count("local", "maildir"),
            "local run": count("local", "run"),
            "spare files": sum(name.startswith("m") for name in pid)}


def check_stats(scene):
    """While some messages wait, and when none does."""
    scene.far.recipient = scene.box.recipient = lambda address: "451 4.3.0 not now"
    scene.size = 7
    for _ in range(WAITING):
        assert scene.send("mixed").startswith("250 ")
    wait_until(lambda: on_disk(scene)["preprocessed"] == WAITING == on_disk(scene)["remote"]
               == on_disk(scene)["local box"] and on_disk(scene)["queued arrive"] == 0
               and on_disk(scene)["local maildir"] == on_disk(scene)["local run"] == 0,
               "all wait")
    for expected in WAITING, 0:
        told = json.loads(scene.command("queue", "stats", "--json").stdout)
        stats = {place["name"]: place for place in told["places"]}
        assert {name: stats[name]["messages"] for name in on_disk(scene)} == on_disk(scene)
        assert stats["preprocessed"]["messages"] == expected
        scene.far.recipient = scene.box.recipient = lambda address: "250 2.1.5 ok"
        scene.retry()
        scene.settle(timeout=60)


def test_soak(scene, capsys):
    faults = Faults(scene, SEED)
    held = Holdings(scene.mx)
    backlog = Backlog(scene.mx)
    totals = {"answered 250": 0, "delivered": 0, "bounced": 0, "lost": 0, "corrupt": 0,
              "read by others": 0, "duplicates": 0}
    begin = time.monotonic()
    rounds = 0
    while time.monotonic() - begin < SECONDS or rounds < 3:
        verdict = one_round(scene, faults, SEED + rounds)
        rounds += 1
        held.sample(backlog.highest, REST if SECONDS > 600 else 0)
        totals["answered 250"] += verdict.accepted
        for name in "delivered", "bounced", "duplicates":
            totals[name] += getattr(verdict, name)
        with capsys.disabled():
            print(f"\n  {time.monotonic() - begin:.0f} of {SECONDS:.0f} s (SOAK_SEED={SEED}): "
                  f"{totals['answered 250']} messages, {sum(faults.fallen.values())} faults",
                  end="", flush=True)
    backlog.stop()
    check_stats(scene)
    growing = held.growing()
    counts = {**totals, **{f"faults: {name}": number
                           for name, number in sorted(faults.fallen.items())},
              "highest backlog": backlog.highest, "processes judged": held.judged(),
              "that grow": len(growing)}
    with capsys.disabled():
        print("\n  " + record(
            "soak", title="Soak", command="make soak", counts=counts,
            seconds=time.monotonic() - begin, filesystem="ext4",
            zero=("lost", "corrupt", "read by others", "that grow"),
            what="Mixed load by every way in and out (SMTP, STARTTLS, QMTP, LMTP, submission with logins), what goes out to a host "
                 "that a policy of MTA-STS names and past an impostor, with random faults. Each half "
                 "minute every accepted message must have been delivered; the memory, descriptors "
                 "(except one for each data file in stock) and files in use must not grow, except "
                 "with the highest backlog; at the end \"queue stats\" must agree with the disk."))
    assert not growing, "\n".join(growing)
    assert SECONDS < 600 or held.judged() >= 6, "too few processes lived long enough"
