# SPDX-License-Identifier: ISC
"""Queues that were copied get true numbers, those of dead hosts are taken over; whatever
interrupts it."""

import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import checksums
import pytest
from stagepost import PATIENCE, as_user, envelope_of, free_port, give_to_user, wait_until

STARTS = 3  # tests that share the calls
SPARED = 1 if os.environ.get("KILL_CALLS") == "0" else 3  # of so many calls one is killed, now this, now that
STEPS = "rename,renameat,renameat2,link,linkat,unlink,unlinkat,syncfs,pwrite64,ftruncate"


@pytest.fixture
def run(ground):
    def run(node, *words, before=(), **settings):
        settings.setdefault("capture_output", True)
        if "input" not in settings:
            settings.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [*before, *as_user(), os.path.join(ground.programs, "stagepost"), *words],
            check=False, timeout=60, env={**os.environ, "STAGEPOST_CONF": node.conf},
            cwd=node.directory, **settings)

    return run


def names(mx):
    """{number: path} of all data files."""
    return mx.data_files()


def data_files(mx):
    """The inodes of all, on their way or not."""
    return {os.stat(path).st_ino
            for path in glob.glob(mx.queue + "/repair/*.mess") + list(names(mx).values())}


def split_of(mx):
    with open(os.path.join(mx.queue, "format"), encoding="ascii") as file:
        return int(re.search(r"split (\d+)", file.read()).group(1))


def owned_copy(source, target):
    """As "cp -r" copies: other inodes, hard links become files of their own."""
    shutil.copytree(source, target, symlinks=True,
                    ignore=lambda folder, found: ["trigger"] if folder.endswith("/lock") else [])
    for folder, _, files in os.walk(target):
        give_to_user(folder)
        for name in files:
            give_to_user(os.path.join(folder, name))


def rotate(mx):
    """Gives every message the number of the next: each true number is taken."""
    split = split_of(mx)
    true = {number: os.stat(path).st_ino for number, path in names(mx).items()}
    old = sorted(true)
    # the name of each becomes the inode of its neighbour
    new = {number: true[old[(i + 1) % len(old)]] for i, number in enumerate(old)}
    moves = []
    for folder, _, found in os.walk(mx.queue):
        top = os.path.relpath(folder, mx.queue).split("/")[0]
        if top not in ("mess", "intd", "todo", "info", "local", "remote", "bounce"):
            continue
        for name in set(found) - {"due"}:
            number = new[int(name)]
            path = os.path.join(folder, name)
            if top not in ("mess", "bounce"):
                with open(path, "rb") as file:
                    data = file.read()
                text = envelope_of(data)
                start = data.rindex(text)
                with open(path, "wb") as file:
                    file.write(data[:start] + checksums.with_new_head(data[start:].replace(
                        b"id: %s-" % name.encode(), b"id: %d-" % number, 1)))
            moves.append((path, os.path.join(os.path.dirname(folder), str(number % split),
                                             str(number))))
    for hold in glob.glob(mx.queue + "/trigger/hold.*"):
        number, _, born = hold.rpartition("hold.")[2].partition("-")
        os.rename(hold, f"{mx.queue}/trigger/hold.{new[int(number)]}-{born}")
    for path, _ in moves:
        os.rename(path, path + ".moving")
    for path, target in moves:
        os.rename(path + ".moving", target)


def contents(mx, listing):
    """What must stay: sender, recipients, birth, progress, bytes of every message."""
    found = []
    for message in listing(mx):
        assert message["state"] in ("queued", "preprocessed"), message
        found.append((message["state"], message["sender"], message["born"],
                      json.dumps(message["recipients"]), json.dumps(message["deliveries"]),
                      mx.queued_message(message["number"])))
    return sorted(found)


def check_true(mx):
    for number, path in names(mx).items():
        assert os.stat(path).st_ino == number
    assert os.listdir(os.path.join(mx.queue, "repair")) == []
    controls = mx.control_files()
    assert sorted(controls) == sorted(names(mx))
    for number, text in controls.items():
        assert f"\nid: {number}-" in text
        (top,) = glob.glob(f"{mx.queue}/todo/*/*/{number}") + glob.glob(
            f"{mx.queue}/info/*/{number}")
        for side in glob.glob(f"{mx.queue}/remote/*/{number}"):
            assert os.path.samefile(side, top)


@pytest.fixture
def filled(node, run, listing):
    """A stopped node: messages that wait at S5, one held, one with a failure to
    report, and COUNT at S4."""

    def filled(count=8):
        port = free_port()
        mx = node("original", routes=[f"b.test:127.0.0.1;{port}"], settings="probe_delay = 10m\n",
                  domains=['domain "a.test" { service = maildir  addresses = { "anna" } }'])
        sent = lambda *to: run(mx, "sendmail", "-f", "anna@a.test", *to,
                               input=b"Subject: " + to[0].encode() + b"\n\nA line.\n")
        assert sent("bob@b.test", "none@a.test").returncode == 0
        wait_until(lambda: glob.glob(mx.queue + "/bounce/*/*")
                   and not glob.glob(mx.queue + "/todo/*/*/*"), "a failure to report, at S5")
        (first,) = listing(mx)
        assert run(mx, "queue", "hold", first["id"]).returncode == 0
        mx.stop()
        for i in range(count):
            assert sent(f"carl{i}@b.test").returncode == 0
        mx.hop_port = port
        return mx

    return filled


@pytest.fixture
def copied(ground, filled, node):
    def copied(count=8):
        mx = filled(count)
        copy = node("copy", start=False, routes=mx.routes, domains=mx.domains,
                    settings=mx.settings)
        owned_copy(mx.queue, copy.queue)
        rotate(copy)
        copy.hop_port = mx.hop_port
        return mx, copy

    return copied


def test_repair(copied, run, listing, node):
    mx, copy = copied()
    before = contents(mx, listing)
    assert contents(copy, listing) == before
    wrong = [n for n, path in names(copy).items() if os.stat(path).st_ino != n]
    assert len(wrong) == 9
    ended = run(copy, "queue", "repair", "--dry-run")
    assert ended.returncode == 0 and b"9 renumbered, 0 set aside (dry run" in ended.stdout
    assert sorted(n for n, p in names(copy).items() if os.stat(p).st_ino != n) == sorted(wrong)
    ended = run(copy, "queue", "repair")
    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert b"9 renumbered, 0 set aside" in ended.stdout
    check_true(copy)
    assert contents(copy, listing) == before
    assert [m["state"] for m in listing(copy) if m.get("held")] == ["preprocessed"]
    assert b"0 renumbered, 0 set aside" in run(copy, "queue", "repair").stdout
    hop = node("hop", domains=["b.test"], port=copy.hop_port)
    copy.start()
    # unless a success has done it
    run(copy, "trigger", "release", f"host.127.0.0.1:{copy.hop_port}")
    wait_until(lambda: len(listing(copy)) == 1, "what is not held leaves")
    assert run(copy, "queue", "release", "--all").returncode == 0
    copy.wait_empty()
    assert b"none@a.test" in copy.maildir("anna@a.test").wait()[0]
    assert len(hop.maildir("bob@b.test").messages()) == 1
    for i in range(8):
        assert len(hop.maildir(f"carl{i}@b.test").messages()) == 1


def test_repair_is_for_a_queue_at_rest(node, run):
    ended = run(node(), "queue", "repair")
    assert ended.returncode == 1 and b"in use" in ended.stderr


def preprocess(mx, path):
    """From S4 to S5, by hand: its names in mess/ and info/."""
    number = int(os.path.basename(path))
    x = f"{number % split_of(mx)}/{number}"
    with open(path, "rb") as file:
        envelope = envelope_of(file.read())
    with open(f"{mx.queue}/info/{x}", "wb") as file:
        file.write(envelope)
        for record in b"map: 1 remote <x@b.test>", b"mapped: directory=1 count=1":
            file.write(checksums.with_checksum(envelope, record))
    os.rename(path, f"{mx.queue}/mess/{x}")
    return f"{mx.queue}/mess/{x}", f"{mx.queue}/info/{x}"


def test_damage_is_set_aside(copied, run, listing):
    _, copy = copied(4)
    todo = sorted(glob.glob(copy.queue + "/todo/*/*/*"))
    with open(todo[0], "w", encoding="ascii") as file:
        file.write("stagepost 1\nid: x\n")  # damaged
    data, _ = preprocess(copy, todo[1])
    os.truncate(data, 3)
    _, control = preprocess(copy, todo[2])
    os.unlink(control)  # its data stay
    data, _ = preprocess(copy, todo[3])
    os.unlink(data)  # its control file stays
    with open(copy.queue + "/info/0/.#x~", "w", encoding="ascii"):
        pass
    ended = run(copy, "queue", "repair")
    assert ended.returncode == 1, ended.stderr
    for why in (b"control file is damaged", b"too few bytes found", b"no control file",
                b"no message of that number", b"no message's name"):
        assert why in ended.stdout, ended.stdout
    assert len(os.listdir(copy.queue + "/damaged")) == 4
    check_true(copy)
    assert len(listing(copy)) == 2  # one of them with damaged data, which will be held
    ended = run(copy, "queue", "repair")
    assert ended.returncode == 1 and b"0 renumbered, 0 set aside" in ended.stdout


def repair_killed_at(run, mx, step):
    """Whether it was killed at that system call."""
    ended = run(mx, "queue", "repair", before=(
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={STEPS}",
        "-e", f"inject={STEPS}:signal=KILL:when={step}"))
    return ended.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)


@pytest.mark.parametrize("start", range(1, STARTS + 1))
def test_repair_killed_at_every_call(filled, node, run, listing, start):
    """Killed once, at each call that changes the disk; then run again."""
    if shutil.which("strace") is None:
        pytest.fail("needs strace")
    mx = filled(2)
    before = contents(mx, listing)
    copy = node("copy", start=False, routes=mx.routes, domains=mx.domains)
    step = start + STARTS * random.randrange(SPARED)
    while True:
        shutil.rmtree(copy.queue, ignore_errors=True)
        owned_copy(mx.queue, copy.queue)
        rotate(copy)
        was_killed = repair_killed_at(run, copy, step)
        assert len(data_files(copy)) == 3, step
        ended = run(copy, "queue", "repair")
        assert ended.returncode == 0, (step, ended.stdout, ended.stderr)
        check_true(copy)
        assert contents(copy, listing) == before, step
        assert not os.listdir(copy.queue + "/damaged"), step
        if not was_killed:
            break
        step += STARTS * SPARED
    assert step > 30


def test_repair_killed_again_and_again(copied, run, listing):
    if shutil.which("strace") is None:
        pytest.fail("needs strace")
    mx, copy = copied(3)
    before = contents(mx, listing)
    step = 12
    while repair_killed_at(run, copy, step):
        step += 1
        assert len(data_files(copy)) == 4
    check_true(copy)
    assert contents(copy, listing) == before
    assert not os.listdir(copy.queue + "/damaged")


@pytest.mark.parametrize("seed", range(4))
def test_repair_killed_at_random(copied, run, listing, seed):
    if shutil.which("strace") is None:
        pytest.fail("needs strace")
    chance = random.Random(seed)
    mx, copy = copied(5)
    before = contents(mx, listing)
    for _ in range(12):
        repair_killed_at(run, copy, chance.randrange(12, 120))
    assert run(copy, "queue", "repair").returncode == 0
    check_true(copy)
    assert contents(copy, listing) == before


def test_no_daemon_on_a_half_repaired_queue(copied, run):
    if shutil.which("strace") is None:
        pytest.fail("needs strace")
    _, copy = copied(3)
    step = 12
    while not glob.glob(copy.queue + "/repair/*.mess"):
        assert repair_killed_at(run, copy, step)
        step += 1
    with pytest.raises(AssertionError):
        copy.start(timeout=3)
    assert copy.log.find("process_error", reason='"stagepost queue repair" was interrupted: '
                                                 'run it again')
    copy.abandon()
    copy.log.events.clear()
    assert run(copy, "queue", "repair").returncode == 0


# --- adopt ---


def adopted_from(ended):
    return int(re.search(rb"(\d+) adopted", ended.stdout).group(1))


@pytest.fixture
def heir(node):
    def heir(mx, start=False):
        made = node("heir", routes=mx.routes, domains=mx.domains, settings=mx.settings)
        if not start:
            made.stop()
        return made

    return heir


def deliver(run, node, mx, port):
    """Where all of it went: {address: number of copies}."""
    hop = node("hop", domains=["b.test"], port=port)
    if mx.process is None:
        mx.start()
    deadline = time.monotonic() + PATIENCE
    while mx.control_files():  # an attempt under way may set the trigger once more
        run(mx, "trigger", "release", f"host.127.0.0.1:{port}")
        run(mx, "queue", "release", "--all")
        assert time.monotonic() < deadline, mx.control_files()
    mx.wait_empty()
    hop.wait_empty()
    found = {}
    for path in glob.glob(hop.mail + "/*/*/new/*") + glob.glob(mx.mail + "/*/*/new/*"):
        local = path.split("/")[-3]
        found[local] = found.get(local, 0) + 1
    return found


ALL = {"bob": 1, "anna": 1, **{f"carl{i}": 1 for i in range(5)}}


@pytest.mark.parametrize("runs", [False, True])
def test_adopt(filled, heir, run, listing, node, runs):
    dead = filled(5)
    before = listing(dead)
    mx = heir(dead, start=runs)
    ended = run(mx, "queue", "adopt", dead.queue)
    assert ended.returncode == 0, (ended.stdout, ended.stderr)
    assert adopted_from(ended) == 6
    assert listing(dead) == [] and names(dead) == {}
    assert {m["born"] for m in listing(mx)} <= {m["born"] for m in before}
    if not runs:
        assert len(listing(mx)) == 6
    (held,) = [m for m in listing(mx) if m.get("held")]
    assert [r["address"] for r in held["recipients"]] == ["bob@b.test", "none@a.test"]
    assert adopted_from(run(mx, "queue", "adopt", dead.queue)) == 0
    assert deliver(run, node, mx, dead.hop_port) == ALL


@pytest.mark.parametrize("runs", [False, True])
def test_adopted_mail_waits_for_its_event(filled, heir, run, listing, node, runs):
    dead = filled(2)
    assert run(dead, "queue", "hold", "--all", "--until", "the.moon").returncode == 0
    mx = heir(dead, start=runs)
    assert run(mx, "queue", "adopt", dead.queue).returncode == 0
    if not runs:
        mx.start()
    found = mx.trigger_files()
    holds = [text for name, text in found.items() if name.startswith("hold.")]
    assert "the.moon" in found and len(holds) == 3
    assert sum("until: the.moon" in text for text in holds) == 2, "one was held before"
    assert all(m.get("held") for m in listing(mx))
    assert run(mx, "trigger", "release", "the.moon").returncode == 0
    wait_until(lambda: sum(name.startswith("hold.") for name in mx.trigger_files()) == 1,
               "the two holds that end with it")
    assert deliver(run, node, mx, dead.hop_port) == {
        "bob": 1, "anna": 1, **{f"carl{i}": 1 for i in range(2)}}


def test_adopt_refuses(node, run):
    mx = node()
    assert b"this very queue" in run(mx, "queue", "adopt", mx.queue).stderr
    other = node("other")
    assert b"in use" in run(other, "queue", "adopt", mx.queue).stderr
    assert run(mx, "queue", "adopt", mx.mail).returncode == 1
    assert run(mx, "queue", "adopt").returncode == 2


def test_adopt_leaves_what_is_damaged(filled, heir, run, listing):
    dead = filled(2)
    (one, _) = sorted(glob.glob(dead.queue + "/todo/*/*/*"))
    with open(one, "w", encoding="ascii") as file:
        file.write("stagepost 1\nid: x\n")
    mx = heir(dead)
    ended = run(mx, "queue", "adopt", dead.queue)
    assert ended.returncode == 1 and b"stays there: its control file is damaged" in ended.stdout
    assert adopted_from(ended) == 2 and os.path.exists(one) and len(names(dead)) == 1


@pytest.mark.parametrize("start", range(1, STARTS + 1))
def test_adopt_killed_at_every_call(filled, heir, run, listing, start):
    """Every message is here or there or both at any moment; in the end all are here."""
    if shutil.which("strace") is None:
        pytest.fail("needs strace")
    original = filled(3)
    mx = heir(original)
    dead = original.queue + ".dead"
    births = sorted(m["born"] for m in listing(original))
    step = start + STARTS * random.randrange(SPARED)
    while True:
        for path in (dead, mx.queue):
            shutil.rmtree(path, ignore_errors=True)
        owned_copy(original.queue, dead)
        assert run(mx, "sendmail", "x@b.test", input=b"\n").returncode == 0  # makes the queue
        calls = STEPS + ",fsync,fdatasync"
        ended = run(mx, "queue", "adopt", dead, before=(
            "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}",
            "-e", f"inject={calls}:signal=KILL:when={step}"))
        was_killed = ended.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        ended = run(mx, "queue", "adopt", dead)
        assert ended.returncode == 0, (step, ended.stdout, ended.stderr)
        there = [m["born"] for m in listing(mx) if m["recipients"][0]["address"] != "x@b.test"]
        assert sorted(set(there)) == births, step
        if not was_killed:
            break
        step += STARTS * SPARED
    assert sorted(there) == births and step > 30
