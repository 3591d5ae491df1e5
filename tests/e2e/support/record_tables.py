# SPDX-License-Identifier: ISC
"""Tables of stagepost-record(5) in a file of SQLite, with a message that is filed."""

import os
import sqlite3
import subprocess

from stagepost import BUILD


def make(ground):
    path = os.path.join(ground.directory("record"), "record")
    program = os.path.join(BUILD, "tests", "bench", "bench_record")
    subprocess.run([program, "1", "1", "1", "sqlite", path], check=True, capture_output=True)
    tables = sqlite3.connect(path)
    # of the two messages that were only counted, no more is wanted
    tables.execute("PRAGMA foreign_keys = ON")
    tables.execute("DELETE FROM message WHERE number < (SELECT max(number) FROM message)")
    tables.commit()
    return tables
