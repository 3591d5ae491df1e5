# SPDX-License-Identifier: ISC
"""Many waiting messages: what they cost in memory and at the start, and what they
leave to new mail. MANY=100000 and more is for `make big`."""

import bisect
import os
import re
import shutil
import subprocess
import time

import pytest
from extent import extent
from peers import Sink, smtp_source
from smtp import deliver
from stagepost import BUILD, as_user, free_port, stamp, wait_until

MANY = int(os.environ.get("MANY", "20000"))
FEW = 3000
CROWDED = 4  # times as slow as on a machine that has nothing else to do
KEPT = 500000  # sleepers in memory, src/manager/wait/scan/scan.c
EACH_MAX = 100  # bytes of memory; 100,000 in 100 MiB would be 1,048
OTHER_PAGES = 256 << 10  # bytes; so much more or less of programs and libraries is in memory
LONG = 4 * 3600  # seconds; as long as an attempt may be away, so that no file is thought absurd
TEXT = b"Subject: new\r\n\r\nIt does not wait.\r\n"
FILL = os.path.join(BUILD, "tests", "bench", "fill_queue")
LOUD = 'log_level = debug\n'


def fill(mx, count, *words):
    """COUNT messages of tests/bench/fill_queue.c in the queue of a node that is stopped."""
    done = subprocess.run(as_user() + [FILL, mx.queue, str(count), *words], check=False,
                          capture_output=True, text=True, timeout=60 + count // 1000)
    assert done.returncode == 0, (done.stdout, done.stderr)


def command(mx, *words):
    done = subprocess.run(
        as_user() + [os.path.join(mx.programs, "stagepost"), *words], check=False, timeout=60,
        env={**os.environ, "STAGEPOST_CONF": mx.conf}, stdin=subprocess.DEVNULL,
        capture_output=True)
    assert done.returncode == 0, done.stderr


def send_memory(mx):
    """Bytes of the process "send": its own now, and with those of programs and libraries at most."""
    (pid,) = mx.pids("send")
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        text = status.read()
    return [int(re.search(rf"{name}:\s+(\d+) kB", text).group(1)) * 1024
            for name in ("RssAnon", "VmHWM")]


def forget_cache():
    """The machine has nothing of any file in memory: as after a power failure. For `make big`."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def wait_scanned(mx, since=0):
    return int(mx.log.wait("rescan", since=since, timeout=20 + MANY // 5000)["found"])


@pytest.fixture
def sink(ground):
    with Sink(ground.directory("sink"), "-c") as server:
        yield server


def waiting_node(node, count, *words, port=None, settings=""):
    """With COUNT messages to "late.test", which is routed to PORT, in its queue."""
    mx = node(start=False, routes=[f"late.test:127.0.0.1;{port or free_port()}"],
              settings=LOUD + settings)
    mx.start().stop()  # makes the queue
    fill(mx, count, "late.test", *words)
    return mx


def test_many_sleep_in_little_memory(node):
    empty = node("empty", settings=LOUD)
    wait_scanned(empty)
    before = send_memory(empty)
    mx = waiting_node(node, MANY, str(LONG))
    mark = mx.log.mark()
    begin = time.monotonic()
    mx.start(timeout=20 + MANY // 10000)
    deliver(mx, ["anna@a.test"], TEXT)
    mx.maildir("anna@a.test").wait(timeout=5)
    seconds = time.monotonic() - begin
    assert wait_scanned(mx, mark) == min(MANY, KEPT)
    print(f"{MANY} wait: all found {time.monotonic() - begin:.2f} s after the start")
    own, most = [(now - then) / MANY for now, then in zip(send_memory(mx), before)]
    print(f"{MANY} wait: new mail delivered after {seconds:.2f} s, {own:.0f} bytes each, {most:.0f} at most")
    assert own <= EACH_MAX
    assert most <= EACH_MAX + OTHER_PAGES / MANY
    assert seconds <= 1
    for end, most, is_cold in ((mx.stop, 3, False), (mx.kill_supervisor, 5, False),
                               (mx.kill_supervisor, 5, MANY > 20000)):
        end()
        if is_cold:
            forget_cache()
        mark = mx.log.mark()
        begin = time.monotonic()
        mx.start(timeout=20 + MANY // 10000)
        assert wait_scanned(mx, mark) == min(MANY, KEPT)
        found = time.monotonic() - begin
        print(f"{MANY} wait: all found {found:.2f} s after the start, after a {end.__name__}"
              f"{', with nothing in the cache' if is_cold else ''}")
        assert found <= CROWDED * most * max(0.5, MANY / 1000000)
    assert not mx.log.find("deferred") and not mx.log.find("trigger_set")


def test_one_of_many_is_found_by_its_number(node):
    """Whether it is in memory or not: an operator's order reaches it."""
    mx = waiting_node(node, MANY if MANY > KEPT else FEW, str(LONG)).start(20 + MANY // 10000)
    number = max(mx.control_files())
    command(mx, "queue", "remove", str(number), "--yes")
    wait_until(lambda: number not in mx.control_files(), "it is removed")


def released(node, sink_port, count=FEW):
    """A node with COUNT messages behind the trigger "later", all of them asleep."""
    mx = waiting_node(node, count, "0", "later", port=sink_port)
    path = os.path.join(mx.queue, "trigger", "later")
    subprocess.run(as_user() + ["sh", "-c", f"echo reason: a test > {path}"], check=True)
    mark = mx.log.mark()
    mx.start()
    wait_scanned(mx, mark)
    return mx


def test_retries_leave_the_way_to_new_mail(node, sink):
    """Released while new mail comes they get a share; all are delivered when none does."""
    new = extent(4000, 2000)
    mx = released(node, sink.port)
    mark = mx.log.mark()
    with subprocess.Popen(["smtp-source", "-s", "20", "-m", str(new), "-f", "s@client.test",
                           "-t", "anna@a.test", f"{mx.address}:{mx.port}"]) as source:
        wait_until(lambda: len(mx.log.find("delivered", since=mark)) > 200, "new mail comes")
        begin = time.time()
        command(mx, "trigger", "release", "later")
        assert source.wait(120) == 0
    accepted = sorted(stamp(event["time"]) for event in mx.log.find("message_accepted", since=mark))
    retries = [stamp(event["time"]) for event in mx.log.find("delivered", since=mark, by="remote")]
    last = max(accepted)  # then they may all go
    beside = sorted(when for when in retries if when <= last)
    too_early = []
    for count, when in enumerate(beside, 1):
        # more than pace.h gives, and those in flight, at each moment: how long it takes is the
        # machine's affair
        share = 200 + bisect.bisect(accepted, when) / 4 + 400 * (when - begin)
        if count > share:
            too_early.append(f"{count} after {when - begin:.2f} s, {share:.0f} allowed")
    print(f"{len(beside)} retries beside {new} new messages in {last - begin:.1f} s")
    assert not too_early, too_early[:5]
    mx.log.wait("delivered", since=mark, count=FEW, by="remote", timeout=60)
    mx.wait_empty(60)


def test_a_host_that_is_dead_again_costs_few_attempts(node):
    """Its trigger is set before the others were even read: they go on waiting."""
    mx = released(node, free_port())
    mark = mx.log.mark()
    command(mx, "trigger", "release", "later")
    mx.log.wait("trigger_set", since=mark)
    smtp_source(mx, "-s", "5", "-m", "500")
    wait_until(lambda: len(mx.maildir("anna@a.test").files()) == 500, "new mail is delivered")
    assert len(mx.log.find("deferred", since=mark)) <= 200
    assert len(mx.control_files()) == FEW
    assert list(mx.trigger_files())[0].startswith("host.")


@pytest.mark.parametrize("option, outcome, is_synced",
                         [("-r", "deferred", False), ("-f", "failed", True)])
def test_a_retry_that_is_put_off_costs_no_sync(node, ground, option, outcome, is_synced):
    """What is lost in a power failure is only that there was a retry; a failure is not lost."""
    if shutil.which("strace") is None:
        pytest.fail("needs strace")
    count = 20
    calls = os.path.join(ground.directory("calls"), "strace")
    with Sink(ground.directory("sink"), option, "rcpt") as server:
        mx = released(node, server.port, count)
        mark = mx.log.mark()
        with subprocess.Popen(["strace", "-f", "-y", "-o", calls, "-e", "trace=/sync", "-p",
                               *map(str, mx.pids("send"))], stderr=subprocess.PIPE) as tracer:
            try:
                assert b"attached" in tracer.stderr.readline()
                command(mx, "trigger", "release", "later")
                mx.log.wait(outcome, since=mark, count=count)
                if is_synced:
                    mx.log.wait("bounced", since=mark, count=count)
                else:
                    wait_until(lambda: records(mx, b"\nwait: ") == 2 * count, "it is recorded")
            finally:
                tracer.terminate()
    with open(calls, encoding="utf-8") as file:
        syncs = [line for line in file if "/info/" in line]
    assert bool(syncs) == is_synced, syncs


def records(mx, start):
    found = 0
    for folder, _, names in os.walk(os.path.join(mx.queue, "info")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found += file.read().count(start)
    return found


def test_those_that_are_due_do_not_delay_the_first_message(node, sink):
    """Also right after the start, while all of them are due."""
    mx = waiting_node(node, FEW, "-10", port=sink.port).start()
    begin = time.monotonic()
    deliver(mx, ["anna@a.test"], TEXT)
    mx.maildir("anna@a.test").wait(timeout=5)
    assert time.monotonic() - begin < 5
    mx.log.wait("delivered", count=FEW, by="remote", timeout=60)
    mx.wait_empty(60)


def test_questions_of_more_than_a_packet(node):
    """What is found at the start asks resolve all at once: 170 KiB."""
    recipients = [f"{'r' * 56}{i}@a.test" for i in range(100)]
    mx = node(start=False)
    mx.start().stop()
    for _ in range(20):
        done = subprocess.run(
            as_user() + [os.path.join(mx.programs, "stagepost"), "sendmail", *recipients],
            env={**os.environ, "STAGEPOST_CONF": mx.conf}, input=b"Subject: many\n\nOne.\n",
            check=False, timeout=60, capture_output=True)
        assert done.returncode == 0, done.stderr
    mx.start()
    mx.wait_empty()
    assert all(len(mx.maildir(recipient).files()) == 20 for recipient in recipients)
