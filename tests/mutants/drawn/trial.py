# SPDX-License-Identifier: ISC
"""Runs tests with one slip switched on, where it can do no harm.

A slip may remove any file and end any process that it is allowed to: each test has its own processes, network and
temporary files, and can write nowhere else.
"""
import dataclasses
import os
import pathlib
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from . import tree

FILE_BLOCKS_MAX = 1 << 21  # of 512 bytes; also of what a slip reserves in memory (memfd_create(2))
# The first run says how long a test takes; then it may take so many times as long, and some seconds.
PROCESSOR = (3, 2)
CLOCK = (4, 8)
SLOW = 15  # seconds of the processor: a test that takes longer without a slip is for other campaigns
BEGIN_LIMITS = (SLOW, 600)  # and of the clock, without a slip
TWICE = 3  # times longer is tried what the clock has ended: the machine may have been busy
MEMORY_MIB = 3000
OPTIONS = f"detect_stack_use_after_return=1:strict_string_checks=1:hard_rss_limit_mb={MEMORY_MIB}"
LEAKS = pathlib.Path(__file__).with_name("leaks.txt")  # what libraries leave behind, which is not ours
ENVIRONMENT = {"ASAN_OPTIONS": OPTIONS, "LSAN_OPTIONS": f"suppressions={LEAKS}:print_suppressions=0"}
UNSHARE = ("setpriv", "--pdeathsig", "KILL", "unshare")  # all of it ends with who runs this
NAMESPACES = ("--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--propagation", "private")
INSIDE = """
mount --bind "$1" /tmp && mount --bind "$1" /var/tmp && mount -t tmpfs -o size=256m tmpfs /dev/shm &&
mount --bind "$2" "$2" && mount -o remount,bind,ro "$2" && mount -o remount,bind,ro / && mount -t proc proc /proc &&
ip link set lo up && cd "$3" || exit 125
ulimit -c 0; ulimit -f "$5"; ulimit -t "$4"
shift 5
"$@"
exit $?
"""  # not by exec: the first process of a namespace is deaf to signals
NO_PLACE = 125


@dataclasses.dataclass
class Outcome:
    status: str  # "passed", "failed", "hangs", "late" if only the clock says so
    seconds: float
    processor: float
    said: str
    reached: bytes = b""
    noted: str = ""  # by the test, in a file of that name in /var/tmp


def namespaces():
    if os.geteuid() == 0:
        return *UNSHARE, *NAMESPACES
    return *UNSHARE, "--user", "--map-current-user", "--keep-caps", *NAMESPACES


def try_place():
    """Broken, unless tests can be kept apart from the machine."""
    with tempfile.TemporaryDirectory(dir=tree.PLACE) as scratch:
        done = subprocess.run(inside(["true"], scratch, 10), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise tree.Broken("slips may remove files and end processes, and this machine lends their tests no namespaces "
                          f"of their own: {done.stderr.strip()}")


def inside(command, scratch, processor, blocks=FILE_BLOCKS_MAX):
    return [*namespaces(), "sh", "-c", INSIDE, "sh", str(scratch), str(tree.ROOT), str(tree.BUILD), str(round(processor)),
            str(blocks), *command]


def wait_for(process, limit):
    """Its status, None if LIMIT passed; and the seconds of the processor of all its processes."""
    deadline = time.monotonic() + limit
    handle = os.pidfd_open(process.pid)
    try:
        signalled = _is_readable(handle, max(0, deadline - time.monotonic()))
        if not signalled:
            process.send_signal(signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode if signalled else None, usage.ru_utime + usage.ru_stime
    finally:
        os.close(handle)


def _is_readable(handle, seconds):
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def slips_text(number):
    """Of the file that slips.h maps: none is come upon yet."""
    return bytes(tree.SLIPS_MAX) + struct.pack("i", number)


def run_test(test, number=0, limits=BEGIN_LIMITS):
    """Runs it with the slip of that number; LIMITS: seconds of the processor and of the clock."""
    scratch = pathlib.Path(tempfile.mkdtemp(dir=tree.PLACE, prefix="scratch-"))
    environment = os.environ | ENVIRONMENT | test["environment"] | {"SLIP": str(number), "TMPDIR": "/tmp"}
    scratch.chmod(0o1777)
    slips, noted = scratch / "slips", scratch / "noted"
    slips.write_bytes(slips_text(number))
    slips.chmod(0o666)
    begin = time.monotonic()
    try:
        with tempfile.TemporaryFile(dir=tree.PLACE) as output:
            process = subprocess.Popen(inside(test["command"], scratch, limits[0], test.get("blocks", FILE_BLOCKS_MAX)), env=environment, stdout=output,
                                       stderr=output, stdin=subprocess.DEVNULL)
            status, processor = wait_for(process, limits[1])
            output.seek(max(0, output.seek(0, os.SEEK_END) - 2000))
            said = output.read().decode(errors="replace")
        if status == NO_PLACE:
            raise tree.Broken(f"{test['name']}: no namespaces: {said}")
        # its processor's limit ends a process by a signal, and a shell says so by 128 and its number
        word = "late" if status is None else "passed" if status == 0 else \
            "hangs" if status in (128 + signal.SIGXCPU, 128 + signal.SIGKILL) else "failed"
        return Outcome(word, time.monotonic() - begin, processor, said,
                       slips.read_bytes()[:tree.SLIPS_MAX] if slips.exists() else b"",
                       noted.read_text() if noted.exists() else "")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def without_leak_check(test):
    """The same test, for what is left behind though there is no slip."""
    options = OPTIONS + ":detect_leaks=0"
    return test | {"environment": test["environment"] | {"ASAN_OPTIONS": options}}


def limits_of(first, times=1):
    """Of a test, from its first run."""
    return PROCESSOR[0] * first.processor + PROCESSOR[1], times * (CLOCK[0] * first.seconds + CLOCK[1])


def is_noticed(test, first, number):
    """The word for how it is noticed; "" if the test passes."""
    outcome = run_test(test, number, limits_of(first))
    if outcome.status == "late":
        outcome = run_test(test, number, limits_of(first, TWICE))
    return "" if outcome.status == "passed" else outcome.status
