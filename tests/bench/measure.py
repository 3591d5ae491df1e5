# SPDX-License-Identifier: ISC
"""What processes cost: processor time, memory, system calls."""
import os
import re
import signal
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return file.read().rpartition(")")[2].split()


def tree(root):
    """ROOT and all its descendants that live."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                children.setdefault(int(_stat(name)[1]), []).append(int(name))
            except (OSError, IndexError):
                continue
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def processor_seconds(root):
    """Of ROOT and all its descendants, those that ended and were waited for
    included."""
    ticks = 0
    for pid in tree(root):
        try:
            ticks += sum(int(field) for field in _stat(pid)[11:15])
        except OSError:
            continue
    return ticks / TICK


def pss_of(pid):
    """0 when it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1)) * 1024
    except OSError:
        return 0


def pss_bytes(root):
    return sum(pss_of(pid) for pid in tree(root))


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


class SystemCalls:
    """strace of every process below ROOT while the block runs; COUNTS is
    {process: {call: count}}."""

    def __init__(self, root, directory):
        self.root = root
        self.directory = directory
        self.tracers = []
        self.counts = {}

    def __enter__(self):
        for pid in tree(self.root):
            output = os.path.join(self.directory, f"strace.{pid}")
            process = subprocess.Popen(["strace", "-c", "-f", "-o", output, "-p", str(pid)],
                                       stderr=subprocess.DEVNULL)
            self.tracers.append((name_of(pid), output, process))
        time.sleep(0.5 + 0.1 * len(self.tracers))
        return self

    def __exit__(self, *unused):
        for _, _, process in self.tracers:
            process.send_signal(signal.SIGINT)
        for name, output, process in self.tracers:
            process.wait()
            counts = self.counts.setdefault(name, {})
            with open(output, encoding="ascii") as file:
                for line in file:
                    fields = line.split()
                    if len(fields) >= 5 and fields[3].isdigit() and fields[-1] != "total":
                        counts[fields[-1]] = counts.get(fields[-1], 0) + int(fields[3])


class Instructions:
    """Those of every process below ROOT, while the block runs; COUNT is None where the
    processor does not count them."""

    def __init__(self, root, directory):
        self.output = os.path.join(directory, "perf")
        self.count = None
        self.tracer = None
        self.pids = ",".join(str(pid) for pid in tree(root))

    @staticmethod
    def are_counted():
        try:
            done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions", "true"],
                                  capture_output=True, text=True, check=False, timeout=20)
        except OSError:
            return False
        return done.returncode == 0 and done.stderr[:1].isdigit()

    def __enter__(self):
        if self.are_counted():
            self.tracer = subprocess.Popen(
                ["perf", "stat", "-x,", "-e", "instructions", "-p", self.pids, "-o", self.output],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.5)
        return self

    def __exit__(self, *unused):
        if self.tracer is None:
            return
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.wait(20)
        with open(self.output, encoding="ascii") as file:
            self.count = sum(int(line.split(",")[0]) for line in file if line[:1].isdigit())
