#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""How fast copies are appended to mailboxes: to a Maildir, and to Dovecot by IMAP, beside files that
are written and synced alone.

usage: mailstore.py [SECONDS [DIRECTORY]]

for each measurement (5), with all mailboxes below DIRECTORY (a temporary one): its file system is
what is measured. The programs are those in build/.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e/support"), os.path.join(ROOT, "tests/common")]
from dovecot import Dovecot  # noqa: E402

PROGRAM = os.path.join(os.environ.get("STAGEPOST_BUILD", os.path.join(ROOT, "build")),
                       "tests/bench/bench_mailstore")


def measure(*words):
    subprocess.run([PROGRAM, *map(str, words)], check=True, umask=0o077)


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    base = tempfile.mkdtemp(prefix="mailstore-", dir=sys.argv[2] if len(sys.argv) > 2 else None)
    os.chmod(base, 0o777)
    try:
        for group in (1, 8, 64):
            bare = os.path.join(base, f"bare{group}")
            os.mkdir(bare)
            measure("bare", bare, 1, group, seconds)
            measure("maildir", f"{base}/maildir{group}", 1, group, seconds)
        measure("maildir", f"{base}/shared", 4, 8, seconds)
        dovecot = Dovecot(["user@bench.test"], f"{base}/dovecot/%u")
        try:
            os.mkdir(f"{base}/dovecot")
            os.chmod(f"{base}/dovecot", 0o777)
            for threads in (1, 4):
                measure("imap", dovecot.port, threads, 8, seconds)
        finally:
            dovecot.close()
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
