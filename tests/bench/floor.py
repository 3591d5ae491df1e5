# SPDX-License-Identifier: ISC
"""What nobody can be faster than on this machine: the same client against a server that
throws everything away, and the disk with nothing but one commit for a group of files."""
import os
import statistics
import time

from cases import Case, finish_sources, start_source
from servers import Sink

GROUP_SIZES = (1, 50)
COMMITS = 15


def sink_rate(case, messages):
    """Messages a second of smtp-source straight into smtp-sink, for a load like CASE."""
    messages = max(1, messages // case.divisor)
    sink = Sink()
    plain = Case("accept", case.sessions, case.size, case.keep)
    try:
        begin = time.monotonic()
        finish_sources([start_source(sink.port, messages, plain, "user@sink.example")])
        return messages / (time.monotonic() - begin)
    finally:
        sink.stop()


def commit_seconds(directory, files, size=10240):
    """The median time for FILES new files and one fsync of their directory."""
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    taken = []
    try:
        for number in range(COMMITS):
            begin = time.monotonic()
            for i in range(files):
                file = os.open(f"{number}-{i}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600,
                               dir_fd=folder)
                os.write(file, bytes(size))
                os.close(file)
            os.fsync(folder)
            taken.append(time.monotonic() - begin)
    finally:
        os.close(folder)
    return statistics.median(taken)


def commits(disk):
    """{files: seconds}."""
    return {files: commit_seconds(disk.directory(f"floor{files}"), files)
            for files in GROUP_SIZES}
