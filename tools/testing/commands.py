# SPDX-License-Identifier: ISC
"""How the parts of tools/test run commands, and what they cost."""
import collections
import contextlib
import os
import pathlib
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PRINTING = threading.Lock()
RUNNING = set()  # parts and shares, now


class Failed(Exception):
    """A step that is not itself a test went wrong."""


class Part(threading.local):
    """What this thread runs is a part of."""
    name = "setup"
    nice = 0  # 0: it is alone, its output streams past


PART = Part()
SPENT = collections.Counter()  # seconds of a processor, by part and by file


def call(words, name, **options):
    """Runs WORDS: the exit status, and the output if it is a pipe. NAME is charged, and the part."""
    with subprocess.Popen([str(word) for word in words], cwd=ROOT, **options) as child:
        output = child.stdout.read() if child.stdout is not None else b""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    with PRINTING:
        for charged in {name, PART.name}:
            SPENT[charged] += usage.ru_utime + usage.ru_stime
    return child.returncode, output


def run(*command, environment=None):
    """Runs COMMAND, its output streaming past; beside others, who come first, all at once when it is
    over. Its exit status."""
    words = [str(word) for word in command]
    options = {"env": os.environ | (environment or {})}
    if PART.nice == 0:
        print("$", *words, flush=True)
        return call(words, PART.name, **options)[0]
    status, output = call(["nice", "-n", PART.nice, *words], PART.name, **options,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print_whole(f"$ {' '.join(words)}\n".encode() + output)
    return status


def print_whole(output):
    with PRINTING:
        sys.stdout.flush()
        sys.stdout.buffer.write(output)
        sys.stdout.flush()


@contextlib.contextmanager
def running(name):
    RUNNING.add(name)
    try:
        yield
    finally:
        RUNNING.discard(name)
