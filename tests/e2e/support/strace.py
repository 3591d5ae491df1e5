# SPDX-License-Identifier: ISC
"""strace on processes that run: what they call, and their death at one of those calls."""

import collections
import os
import re
import select
import signal
import subprocess

from stagepost import PATIENCE

# what changes files, makes them durable, or talks; old and new form of each together
CALLS = [
    ("open", "openat"), ("write",), ("writev",), ("pwrite64",), ("ftruncate",), ("fallocate",),
    ("fsync",), ("fdatasync",), ("sync_file_range",), ("syncfs",), ("link", "linkat"),
    ("rename", "renameat", "renameat2"), ("unlink", "unlinkat"), ("mkdir", "mkdirat"),
    ("mknod", "mknodat"), ("utimensat",), ("sendmsg",), ("recvmsg",), ("sendto",),
    ("recvfrom",), ("connect",), ("accept4",), ("pipe2",), ("clone", "clone3", "vfork", "fork"),
]
ALL = ",".join(name for names in CALLS for name in names)
LINE = re.compile(r"^(\d+) +(\w+)\(")


def threads(pid):
    """The main thread first."""
    return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))


class Strace:
    """Attached when it is made. WORDS say what it is to do; with FOLLOW to all threads
    of PID and to all that these start, otherwise to the thread PID alone."""

    def __init__(self, pid, *words, output, follow=False):
        self.process = subprocess.Popen(
            ["strace", *["-f"] * follow, "-o", output, *words, "-p", str(pid)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = b""
        while b"attached" not in said:
            ready, _, _ = select.select([self.process.stderr], [], [], PATIENCE)
            piece = os.read(self.process.stderr.fileno(), 4096) if ready else b""
            said += piece
            if not piece:
                self.end()
                raise AssertionError(f"strace: {said.decode()}")

    def has_ended(self):
        """Then what it traced has."""
        return self.process.poll() is not None

    def end(self):
        if not self.has_ended():
            self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        self.process.stderr.close()


def at_thread(pid, number, words, output="/dev/null"):
    """Does WORDS, such as death(), to the NUMBERth thread of PID, which may come later (libunbound's
    begins with the first question)."""
    there = threads(pid)
    comes_later = number >= len(there)
    return Strace(pid if comes_later else there[number], *words, follow=comes_later, output=output)


def count(path):
    """{(thread, names of a call): how often} in what strace wrote to PATH."""
    forms = {name: names for names in CALLS for name in names}
    found = collections.Counter()
    with open(path, encoding="latin-1") as file:
        for line in file:
            match = LINE.match(line)
            if match and match.group(2) in forms:
                found[int(match.group(1)), forms[match.group(2)]] += 1
    return found


def death(names, number):
    """The words for an end by SIGKILL before the NUMBERth of those calls."""
    calls = ",".join(names)
    return [f"--trace={calls}", f"--inject={calls}:signal=SIGKILL:when={number}"]
