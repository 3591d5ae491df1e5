# SPDX-License-Identifier: ISC
"""What a process that was taken over can make of the log: its own lines, and no others'."""

import os
import signal
import subprocess
import time

import pytest
from inside import INSIDE, NEEDS, inside
from smtp import deliver
from stagepost import PATIENCE, come_first, services_for_helpers, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
WRITES = 50  # between two looks at the log
HEARD = ("smtpd", "remote", "resolve", "names", "lmtp", "local", "pipe")
FORGED = "time=2026-01-01T00:00:00.000000Z level=error process=send[1] event=failed to=ann@a.test"

pytestmark = NEEDS


def say(pid, text, descriptor=2):
    """Writes TEXT as the process."""
    assert inside(pid, "write", descriptor, f"={text}", len(text)) == str(len(text))


@pytest.mark.parametrize("descriptor", [1, 2])
@pytest.mark.parametrize("program", HEARD)
def test_nobody_writes_the_lines_of_others(node, program, descriptor):
    mx = node(domains=["a.test"], settings=services_for_helpers())
    mark = mx.log.mark()
    pid = mx.pids(program)[0]
    say(pid, FORGED + "\n", descriptor)
    said = mx.log.wait("process_said", since=mark)
    assert (said["program"], said["pid"], said["text"]) == (program, str(pid), FORGED)
    # what has no end waits for it, and is not torn by others
    say(pid, "a line ", descriptor)
    if program == "smtpd":
        os.kill(pid, signal.SIGSTOP)  # its sibling takes the mail
    deliver(mx, "anna@a.test", TEXT)
    mx.log.wait("delivered", since=mark)
    os.kill(pid, signal.SIGCONT)
    say(pid, "in two\n", descriptor)
    mx.log.wait("process_said", since=mark, text="a line in two")
    assert not mx.log.find("failed")
    assert len(mx.log.strange) == 2  # the two of process_said: no line of another was spoilt
    mx.log.strange.clear()


def test_what_the_dead_have_written_is_not_lost(node):
    mx = node(domains=["a.test"])
    mark = mx.log.mark()
    os.kill(mx.process.pid, signal.SIGSTOP)
    try:
        pid = mx.pids("smtpd")[0]
        own = f"time=2026-01-01T00:00:00.000000Z level=info process=smtpd[{pid}]"
        say(pid, f"{own} event=session_opened\npanic: all is lost")
        os.kill(pid, signal.SIGKILL)
    finally:
        os.kill(mx.process.pid, signal.SIGCONT)
    mx.log.wait("process_ended", since=mark, pid=pid)
    assert mx.log.find("session_opened", since=mark)
    assert [e["text"] for e in mx.log.find("process_said", since=mark)] == ["panic: all is lost"]
    mx.log.strange.clear()


def test_mail_does_not_wait_for_the_log(node):
    """The supervisor stands still; what it did not read it reads later."""
    mx = node(domains=["a.test"], settings="log_level = debug\n")
    mark = mx.log.mark()
    os.kill(mx.process.pid, signal.SIGSTOP)
    try:
        for _ in range(200):
            deliver(mx, "anna@a.test", TEXT)
        mx.maildir("anna@a.test").wait(200)
    finally:
        os.kill(mx.process.pid, signal.SIGCONT)
    wait_until(lambda: len(mx.log.find("message_accepted", since=mark)) == 200, "all are told")
    assert not mx.log.find("log_lost")


def memory_of(pid):
    """Address and size of memory in one piece that it may read and that is not torn into many
    lines, so that to read them does not take the supervisor longer than to write them."""
    def lines(place):
        memory.seek(place[0])
        return memory.read(place[1]).count(b"\n") / place[1]

    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        places = [[int(end, 16) for end in words[0].split("-")] for words in
                  (line.split() for line in maps) if words[1][0] == "r" and len(words) > 5]
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        return min(((begin, end - begin) for begin, end in places
                    if begin < 1 << 63 and end - begin >= 128 << 10), key=lines)


def test_a_flood_is_bounded_and_said(node):
    mx = node(domains=["a.test"])
    mark = mx.log.mark()
    size = os.stat(mx.log.path).st_size
    pid = mx.pids("smtpd")[0]
    place, length = memory_of(pid)
    come_first(mx.process.pid)
    with subprocess.Popen([INSIDE, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as held:
        deadline = time.monotonic() + 3 * PATIENCE  # most writes find the pipe full
        while time.monotonic() < deadline and not mx.log.find("log_flood", since=mark):
            print(*[f"write 2 {place} {length}"] * WRITES, sep="\n", file=held.stdin, flush=True)
            assert all([held.stdout.readline() for _ in range(WRITES)])
    assert mx.log.wait("log_flood", since=mark, timeout=PATIENCE)["pid"] == str(pid)
    assert mx.log.wait("log_withheld", since=mark, of="process_said", timeout=PATIENCE)
    assert os.stat(mx.log.path).st_size - size < 500_000
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    mx.abandon()  # a clean stop is one without a strange line
