# SPDX-License-Identifier: ISC
"""What stops intake ends without a restart, or says what to do: no descriptors, a sync that
fails, a queue that was copied, a filesystem that is mounted anew with other options."""

import errno
import glob
import os
import subprocess

import pytest
from disk import Image
from shim import Shim
from smtp import Client, deliver
from stagepost import SPLIT, as_user, free_port, wait_until

MESSAGE = b"Subject: x\r\n\r\nx\r\n"


@pytest.fixture
def shim():
    shim = Shim()
    yield shim
    shim.close()


@pytest.fixture
def disk(ground):
    image = Image(os.path.join(ground.base, "other"), 64 << 20)
    yield image
    image.close()


def reply_to(mx, address="anna@a.test"):
    with Client(mx) as client:
        return client.deliver("s@client.test", address, MESSAGE)


def is_taken(mx, address="anna@a.test"):
    return reply_to(mx, address).startswith("250 ")


def aside(mx):
    return glob.glob(mx.queue + "/pid/x*")


def command(mx, ground, *words):
    return subprocess.run([*as_user(), os.path.join(ground.programs, "stagepost"), *words],
                          check=False, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "STAGEPOST_CONF": mx.conf}, cwd=mx.directory)


def limit_descriptors(pid, soft, hard):
    """As the user whose process it is: root in a container may not."""
    subprocess.run([*as_user(), "prlimit", f"--pid={pid}", f"--nofile={soft}:{hard}"], check=True)


@pytest.mark.parametrize("sync", ["files", "filesystem", "auto"])
def test_no_descriptors(node, sync):
    mx = node(settings=f"queue_sync = {sync}\n")
    taken = sum(is_taken(mx) for _ in range(3))
    pids = mx.pids()
    (queue,) = mx.pids("queue")
    with open(f"/proc/{queue}/limits", encoding="ascii") as limits:
        (line,) = [line for line in limits if line.startswith("Max open files")]
    soft, hard = line.split()[3:5]
    limit_descriptors(queue, 3, hard)
    replies = [reply_to(mx) for _ in range(12)]
    taken += sum(reply.startswith("250 ") for reply in replies)
    refused = [reply for reply in replies if not reply.startswith("250 ")]
    assert all(reply.startswith("451 4.3.0 ") for reply in refused), replies
    assert refused or sync == "filesystem", replies  # that one opens nothing on the way
    limit_descriptors(queue, soft, hard)
    replies = [reply_to(mx) for _ in range(20)]
    assert all(reply.startswith("250 ") for reply in replies), replies
    mx.wait_empty()
    assert len(mx.maildir("anna@a.test").wait(count=taken + 20)) == taken + 20
    assert not mx.log.find("queue_sync_failed") and not aside(mx)
    assert mx.pids() == pids
    mx.stop()


@pytest.mark.parametrize("sync", ["files", "filesystem"])
def test_a_sync_that_fails(node, shim, ground, sync):
    mx = node(start=False, settings=f"queue_sync = {sync}\n")
    mx.prefix = shim.prefix
    mx.start()
    shim.record()
    assert is_taken(mx)
    mx.wait_empty()
    shim.off()
    name = {"files": "fsync", "filesystem": "syncfs"}[sync]
    pids = mx.pids()
    call = [call for call in shim.recorded() if (call.program, call.name) == ("queue", name)][-1]
    shim.arm(call, 1, errno.EIO)
    replies = [reply_to(mx) for _ in range(3)]
    assert shim.fired
    shim.off()
    # it is the first message's, or that of the removal of the one before
    assert any(reply.startswith("451 4.3.0 ") for reply in replies), replies
    mx.log.wait("queue_sync_failed")
    mx.log.wait("queue_sync_back")
    assert all(os.stat(path).st_size == 0 for path in aside(mx))
    assert aside(mx)
    assert "set aside" in command(mx, ground, "queue", "stats").stdout
    replies = [reply_to(mx, "bob@a.test") for _ in range(20)]
    assert all(reply.startswith("250 ") for reply in replies), replies
    mx.maildir("bob@a.test").wait(count=20)
    mx.wait_empty()
    assert mx.pids() == pids
    mx.restart()  # in the same boot the numbers stay taken
    assert aside(mx) and is_taken(mx)
    mx.stop()


def test_what_was_set_aside_before_the_machine_started_goes(node):
    mx = node()
    mx.stop()
    path = os.path.join(mx.queue, "pid", "new")
    with open(path, "wb"):
        pass
    old = os.path.join(mx.queue, "pid", f"x{os.stat(path).st_ino}.0123456789abcdef")
    os.rename(path, old)
    mx.start()
    assert is_taken(mx)
    mx.wait_empty()
    wait_until(lambda: not aside(mx), "it is removed")
    mx.stop()


def copied(node, name):
    """A node with mail at S4 and at S5 that starts on a copy of its queue."""
    port = free_port()
    mx = node(name, routes=[f"b.test:127.0.0.1;{port}"], settings="probe_delay = 10m\n")
    deliver(mx, "bob@b.test", MESSAGE)
    wait_until(lambda: glob.glob(mx.queue + "/info/*/*"), "it waits")
    wait_until(lambda: not glob.glob(mx.queue + "/todo/*/*/*"), "it is at S5")
    for i in range(3):
        deliver(mx, f"carl{i}@b.test", MESSAGE)
    mx.stop()
    subprocess.run(["cp", "-a", mx.queue, mx.queue + ".copy"], check=True)
    mx.queue += ".copy"
    mx.write_configuration()
    return mx


def test_a_copied_queue_says_so(node, ground):
    mx = copied(node, "copied")
    files = sorted(mx.data_files())
    mark = mx.log.mark()
    mx.start()
    mx.log.wait("queue_copied", since=mark)
    assert reply_to(mx).startswith("451 4.3.0 ")
    assert "stagepost queue repair" in command(mx, ground, "queue", "stats").stdout
    mx.stop()
    assert sorted(mx.data_files()) == files
    assert command(mx, ground, "queue", "repair").returncode == 0
    mark = mx.log.mark()
    mx.start()
    assert all(is_taken(mx) for _ in range(10))
    assert not mx.log.find("queue_copied", since=mark)
    assert "stagepost queue repair" not in command(mx, ground, "queue", "stats").stdout
    mx.stop()


def test_a_file_that_is_copied_into_a_queue_at_work(node):
    """A scan meets it: nothing begins it, and nothing new comes in."""
    mx = node("mixed", routes=[f"b.test:127.0.0.1;{free_port()}"], settings="rescan = 10m\n")
    deliver(mx, "bob@b.test", MESSAGE)
    mx.log.wait("deferred")
    wait_until(lambda: glob.glob(mx.queue + "/mess/*/*"), "it waits")
    (path,) = glob.glob(mx.queue + "/mess/*/*")
    number = SPLIT * 40000001
    target = f"{mx.queue}/todo/arrive/0/{number}"
    subprocess.run(["cp", "-a", path, target], check=True)
    with open(mx.queue + "/lock/trigger", "wb", buffering=0) as trigger:
        trigger.write(b"\0")
    event = mx.log.wait("queue_copied")
    assert event["path"].endswith(str(number)), event
    assert reply_to(mx).startswith("451 4.3.0 ")
    assert os.path.exists(target)
    mx.stop()


def test_other_mount_options(node, disk):
    mx = node(queue=os.path.join(disk.path, "queue"), mail=os.path.join(disk.path, "mail"),
              settings="maxsize = 4M\n")
    if mx.log.find("queue_opened")[0]["sync"] != "ordered":
        pytest.skip("the kernel does not tell that this filesystem keeps order")
    assert is_taken(mx)
    for option, past, now in (("barrier=0", "ordered", None), ("barrier=1", None, "ordered")):
        mark = mx.log.mark()
        subprocess.run(["mount", "-o", f"remount,{option}", disk.path], check=True)
        assert is_taken(mx)
        event = mx.log.wait("queue_sync_changed", since=mark)
        assert past in (None, event["sync_before"]) and now in (None, event["sync"]), event
        assert event["sync_before"] != event["sync"]
    mx.maildir("anna@a.test").wait(count=3)
    mx.stop()
