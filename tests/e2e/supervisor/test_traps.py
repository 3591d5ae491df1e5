# SPDX-License-Identifier: ISC
"""What other users leave in a node's way, and what a node leaves to the processes that it starts."""

import fcntl
import os
import pwd
import shutil
import subprocess
import sys

import pytest
from stagepost import PATIENCE, USER, is_root


def run(mx, word):
    return subprocess.run([os.path.join(mx.programs, "stagepost"), word, "-c", mx.conf],
                          check=False, capture_output=True, timeout=PATIENCE)


@pytest.mark.skipif(not is_root(), reason="needs a process of root's that nobody should signal")
def test_a_pid_file_of_somebody_elses(node):
    """The owner of the run directory has put it there, and has it locked."""
    mx = node(start=False, switch_user=True)
    os.mkdir(mx.run)
    shutil.chown(mx.run, USER)
    mx.start()
    path = os.path.join(mx.run, "stagepost.pid")
    assert os.stat(path).st_uid == 0
    os.rename(path, path + ".own")
    victim = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    try:
        with open(path, "w", encoding="ascii") as file:
            shutil.chown(path, USER)
            file.write(f"{victim.pid}\n")
            file.flush()
            fcntl.flock(file, fcntl.LOCK_EX)
            for word in "stop", "reload":
                ended = run(mx, word)
                assert ended.returncode == 1 and b"nothing was done" in ended.stderr
                assert victim.poll() is None
        os.unlink(path)
        for trap in lambda: os.mkfifo(path), lambda: os.symlink(path + ".own", path):
            trap()
            assert run(mx, "stop").returncode == 1 and mx.process.poll() is None
            os.unlink(path)
        os.rename(path + ".own", path)
    finally:
        victim.kill()
        victim.wait()
    assert run(mx, "stop").returncode == 0
    mx.process.wait(10)
    mx.process = None
    with open(path, "w", encoding="ascii"):  # what somebody left there is replaced
        shutil.chown(path, USER)
    mx.start()
    assert os.stat(path).st_uid == 0 and run(mx, "reload").returncode == 0


@pytest.mark.skipif(not is_root(), reason="needs two users")
def test_the_run_directory_is_roots(node):
    """Nobody else can put something in the place of a socket there; the group can use them. Everybody gets as
    far as to the last good configuration."""
    mx = node(switch_user=True)
    group = pwd.getpwnam(USER).pw_gid
    for name in "", "queue", "send", "notify":
        status = os.lstat(os.path.join(mx.run, name))
        assert (status.st_uid, status.st_gid) == (0, group), name
        assert status.st_mode & 0o777 == (0o660 if name else 0o751), name


def test_what_the_caller_had_open_is_closed(node):
    """No process of the node has it, the supervisor neither."""
    mx = node(start=False)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    mx.prefix = [sys.executable, "-c",
                 "import os, sys; os.dup2(int(sys.argv[1]), 57); os.execvp(sys.argv[2], "
                 "sys.argv[2:])", str(writing)]
    mx.inherited = [writing]
    mx.start()
    os.close(writing)
    assert os.read(reading, 1) == b""  # the end: nobody can write any more
    os.close(reading)
