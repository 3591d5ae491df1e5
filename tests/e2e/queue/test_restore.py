# SPDX-License-Identifier: ISC
"""A queue that is older than what was delivered since: stagepost-backup(7). Each of its messages is delivered again,
but not without a word, and not before an operator has looked if he wants to."""

import os
import random
import shutil
import signal
import subprocess

import pytest
from once import IDENTITY, MESSAGE, SCUBA, site_with_directory  # noqa: F401
from smtp import deliver
from stagepost import PATIENCE, as_user, is_root

pytestmark = pytest.mark.skipif(not is_root(), reason="a restore gives files to their owner")

SEED = int(os.environ.get("BACKUP_SEED", str(random.randrange(1 << 30))))


@pytest.fixture
def run(ground):
    def run(node, *words, text=b"", before=()):
        return subprocess.run([*before, *as_user(), os.path.join(ground.programs, "stagepost"), *words],
                              input=text, capture_output=True, check=False, timeout=PATIENCE,
                              env=os.environ | {"STAGEPOST_CONF": node.conf})

    return run


def copy(queue, target):
    """With other inodes."""
    subprocess.run(["cp", "-a", queue, target], check=True, timeout=PATIENCE)


def test_yesterday(site_with_directory, run):  # noqa: F811
    """Yesterday's queue beside today's directory and record: the record knows what was filed since. A Maildir does not:
    it gets a second copy, and the log says so before."""
    site = site_with_directory()  # noqa: F811
    mx = site.mx
    mx.settings += f'service plain {{ kind = maildir path = "{mx.mail}/%d/%u" }}\n'
    mx.write_configuration()
    mx.restart()
    for words in ("--table domain mail.test kind=local service=once",
                  "--table domain plain.test kind=local service=plain",
                  f"{SCUBA} kind=mailbox", "anna@plain.test kind=mailbox"):
        assert run(mx, "directory", "put", *words.split()).returncode == 0
    mx.stop()
    assert run(mx, "sendmail", "-f", "lisa@gmail.test", SCUBA, "anna@plain.test",
               text=MESSAGE.replace(b"\r\n", b"\n")).returncode == 0
    yesterday = mx.queue + ".yesterday"
    copy(mx.queue, yesterday)
    mx.start()
    mx.wait_empty()
    assert len(site.files(SCUBA)) == 1 and len(mx.maildir("anna@plain.test").files()) == 1
    assert run(mx, "directory", "put", "later@mail.test", "kind=mailbox").returncode == 0
    mx.stop()
    shutil.rmtree(mx.queue)
    os.rename(yesterday, mx.queue)
    ended = run(mx, "queue", "repair", "--restored")
    assert ended.returncode == 0 and b"1 restored\n" in ended.stdout and b"event=message_restored" in ended.stderr
    since = mx.log.mark()
    mx.start()
    mx.wait_empty()
    assert mx.log.wait("message_filed_before", since)["message_id"] == IDENTITY
    assert not mx.log.find("store_held", since)
    assert deliver(mx, "later@mail.test", MESSAGE.replace(b"123-abc", b"1-new")).startswith("250 ")
    assert len(site.files(SCUBA)) == 1 and len(mx.maildir("anna@plain.test").files()) == 2


def test_what_is_held(node, run, listing):
    """Nothing of it goes before an operator has looked; a message that was held before stays held."""
    mx = node()
    mx.stop()
    for name in "bob", "carl", "dora":
        assert run(mx, "sendmail", f"{name}@a.test", text=b"\n").returncode == 0
    held = listing(mx)[0]
    assert run(mx, "queue", "hold", held["id"]).returncode == 0
    old = {message["born"]: message["id"] for message in listing(mx)}
    copy(mx.queue, mx.queue + ".copy")
    shutil.rmtree(mx.queue)
    os.rename(mx.queue + ".copy", mx.queue)
    assert run(mx, "queue", "repair", "--restored", "--dry-run").stderr == b""
    ended = run(mx, "queue", "repair", "--hold")
    assert ended.returncode == 0 and b"3 restored, and held\n" in ended.stdout, ended
    with open(mx.log.path, "ab") as log:
        log.write(ended.stderr)
    told = mx.log.find("message_restored")
    now = {message["born"]: message["id"] for message in listing(mx)}
    assert {event["id"]: event.get("message", event["id"]) for event in told} == {
        old[born]: now[born] for born in now}
    assert all(event["recipients"] == "1" and event["level"] == "warning" for event in told)
    assert set(mx.trigger_files()) == {f"hold.{one}" for one in now.values()}
    mx.start()
    assert deliver(mx, "new@a.test", b"\r\n").startswith("250 ")
    mx.maildir("new@a.test").wait()
    assert len(listing(mx)) == 3 and not mx.maildir("bob@a.test").files()
    assert run(mx, "queue", "release", "--all").returncode == 0
    mx.wait_empty()
    # each id leads to what became of it
    told = run(mx, "trace", old[held["born"]], mx.log.path).stdout.decode()
    assert "restored from a backup" in told and "delivered to" in told, told


def test_what_is_held_though_the_repair_was_killed(node, run, listing):
    """At any call; whoever repairs again has it all."""
    mx = node(start=False)
    for name in "bob", "carl", "dora":
        assert run(mx, "sendmail", f"{name}@a.test", text=b"\n").returncode == 0
    original = mx.queue + ".original"
    os.rename(mx.queue, original)
    calls = "rename,renameat,renameat2,link,linkat,unlink,unlinkat,syncfs,pwrite64,openat,ftruncate"
    killed = 0
    for step in random.Random(SEED).sample(range(10, 120), 12):
        copy(original, mx.queue)
        ended = run(mx, "queue", "repair", "--hold", before=(
            "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}",
            "-e", f"inject={calls}:signal=KILL:when={step}"))
        killed += ended.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        ended = run(mx, "queue", "repair", "--hold")
        assert ended.returncode == 0 and b"3 restored, and held\n" in ended.stdout, (SEED, step, ended)
        assert [one["held"] for one in listing(mx)] == [True] * 3, (SEED, step)
        assert len(mx.trigger_files()) == 3, (SEED, step)
        shutil.rmtree(mx.queue)
    assert killed > 5


def test_into_a_queue_in_use(node, run, listing):
    """By adoption of what was restored beside it."""
    mx = node(start=False)
    for name in "bob", "carl":
        assert run(mx, "sendmail", f"{name}@a.test", text=b"\n").returncode == 0
    old = node("old", start=False)
    copy(mx.queue, old.queue)
    mx.start()
    mx.wait_empty()
    assert b"2 restored, and held\n" in run(old, "queue", "repair", "--hold").stdout
    assert b"2 adopted, 0 left" in run(mx, "queue", "adopt", old.queue).stdout
    assert [one["held"] for one in listing(mx)] == [True] * 2
    assert deliver(mx, "dora@a.test", b"\r\n").startswith("250 ")
    mx.maildir("dora@a.test").wait()
    assert len(mx.maildir("bob@a.test").files()) == 1
    assert run(mx, "queue", "release", "--all").returncode == 0
    mx.wait_empty()
    assert len(mx.maildir("bob@a.test").files()) == len(mx.maildir("carl@a.test").files()) == 2
