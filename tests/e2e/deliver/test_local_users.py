# SPDX-License-Identifier: ISC
"""What a user of the machine who has no rights can do to the node: its files, sockets, processes
and memory, and its commands with limits and descriptors of his choice."""

import glob
import os
import signal
import socket
import stat
import subprocess

import pytest
from smtp import deliver
from stagepost import Node, as_user, free_port, is_root, wait_until

pytestmark = pytest.mark.skipif(not is_root(), reason="only root becomes somebody else")

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STRANGER = 60001  # has no account


@pytest.fixture(scope="module")
def mx(ground):
    with Node(ground.programs, ground.directory("users"), switch_user=True, unsafe=ground.unsafe,
              routes=[f"b.test:127.0.0.1;{free_port()}"]) as node:
        deliver(node, ["anna@a.test", "late@b.test"], TEXT)
        node.maildir("anna@a.test").wait()
        node.log.wait("deferred")
        wait_until(lambda: not glob.glob(f"{node.queue}/todo/*/*/*"), "it is where it will wait")
        yield node


def as_stranger(do):
    """What do() says, in a process of his; -errno when it fails."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        try:
            said = str(do())
        except OSError as error:
            said = str(-error.errno)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as text:
        said = text.read()
    os.waitpid(child, 0)
    return said


DENIED = ("-1", "-13")  # EPERM, EACCES


def test_files(mx):
    """Nothing of the queue and of the mailboxes can be listed, read or changed."""
    paths = [mx.queue, *glob.glob(f"{mx.queue}/**", recursive=True),
             *mx.maildir("anna@a.test").files()]
    assert len(paths) > 20
    for path in paths:
        is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
        flags = [os.O_RDONLY, os.O_WRONLY] if not is_folder else [os.O_DIRECTORY]
        for flag in flags:
            if stat.S_ISFIFO(os.lstat(path).st_mode):
                flag |= os.O_NONBLOCK
            assert as_stranger(lambda p=path, f=flag: os.open(p, f)) in DENIED, path
        if is_folder:
            assert as_stranger(lambda p=path: os.symlink("/etc/passwd", p + "/x")) in DENIED, path


def test_sockets(mx):
    paths = [path for path in glob.glob(mx.run + "/**", recursive=True)
             if stat.S_ISSOCK(os.lstat(path).st_mode)]
    assert len(paths) > 1

    def connect(path, kind):
        with socket.socket(socket.AF_UNIX, kind) as client:
            client.connect(path)
            return "connected"

    for path in paths:
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
            said = as_stranger(lambda p=path, k=kind: connect(p, k))
            assert said in (*DENIED, "-91"), (path, kind, said)  # EPROTOTYPE
    assert as_stranger(lambda: open(mx.run + "/x", "w")) in DENIED


def test_processes(mx):
    """No signal, and nothing of what they have in memory or open."""
    for pid in [mx.process.pid, *mx.pids()]:
        for number in signal.SIGTERM, signal.SIGSTOP, signal.SIGHUP, signal.SIGUSR1, 0:
            assert as_stranger(lambda p=pid, n=number: os.kill(p, n)) in DENIED
        for name in "mem", "environ", "maps", "syscall", "stack", "io":
            said = as_stranger(lambda p=pid, n=name: open(f"/proc/{p}/{n}", "rb").read(1))
            assert said in DENIED, (pid, name, said)
        for name in "fd", "map_files":
            assert as_stranger(lambda p=pid, n=name: os.listdir(f"/proc/{p}/{n}")) in DENIED
        with open(f"/proc/{pid}/cmdline", "rb") as words:  # this one all can read
            assert b"a.test" not in words.read()


LIMITS = {
    "no_descriptor": "ulimit -n 3; exec {}",
    "few_descriptors": "ulimit -n 6; exec {}",
    "no_file": "ulimit -f 0; exec {}",
    "little_memory": "ulimit -v 20000; exec {}",
    "little_stack": "ulimit -s 256; exec {}",
    "no_time": "ulimit -t 1; exec {}",
    "no_input": "exec {} <&-",
    "no_output": "exec {} >&- 2>&-",
    "nothing_open": "exec {} <&- >&- 2>&-",
    "ignored_signals": "trap '' HUP INT TERM PIPE CHLD; exec {}",
    "a_strange_mask": "umask 777; exec {}",
    "an_open_mask": "umask 0; exec {}",
    "no_environment": "exec env -i {}",
    "odd_environment": "export HOME=/nowhere TMPDIR=/proc PATH= LANG=xx LD_PRELOAD=/nowhere.so; exec {}",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_commands(node, limit):
    """With limits of the caller's: done, or refused with a status; what is in the queue is whole."""
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"])
    program = os.path.join(mx.programs, "stagepost")
    command = f"{program} sendmail -C {mx.conf} -f x@a.test anna@a.test"
    done = subprocess.run([*as_user(), "/bin/bash", "-c", LIMITS[limit].format(command)], input=TEXT,
                          capture_output=True, check=False, timeout=30, cwd="/")
    assert done.returncode >= 0 and done.returncode < 128, done
    if done.returncode == 0:
        (stored,) = mx.maildir("anna@a.test").wait()
        assert stored.endswith(b"\nA line.\n") or "no_input" in limit or "nothing" in limit
    deliver(mx, "bob@a.test", TEXT)
    mx.maildir("bob@a.test").wait()
    wait_until(lambda: not mx.control_files(), "the queue is empty")
    for path in glob.glob(f"{mx.queue}/**", recursive=True):
        assert os.lstat(path).st_mode & 0o007 == 0 or os.path.islink(path), path


def test_a_command_that_stands_still(node):
    """Stopped in the middle of a message it holds up nobody, not even a start; then it goes on."""
    mx = node()
    sender = subprocess.Popen([*as_user(), os.path.join(mx.programs, "stagepost"), "sendmail", "-C", mx.conf,
                               "anna@a.test"], stdin=subprocess.PIPE, cwd="/")
    with sender.stdin as text:
        text.write(TEXT + b"x" * (1 << 20))
        text.flush()
        os.kill(sender.pid, signal.SIGSTOP)
        try:
            deliver(mx, "bob@a.test", TEXT)
            mx.maildir("bob@a.test").wait()
            mx.restart()
            deliver(mx, "bob@a.test", TEXT)
            mx.maildir("bob@a.test").wait(2)
        finally:
            os.kill(sender.pid, signal.SIGCONT)
        text.write(b"\r\nThe end.\r\n")
    assert sender.wait(timeout=30) == 0
    (stored,) = mx.maildir("anna@a.test").wait()
    assert stored.endswith(b"\nThe end.\n")
