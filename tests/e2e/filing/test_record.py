# SPDX-License-Identifier: ISC
"""The database of messages (filing/record/record.h) in real servers: one contract for all
(tests/unit/filing/record/record_contract.c), which also loses connections, stops servers and fills their
disks."""

import contextlib
import os
import re
import subprocess

import mariadb
import postgresql
import pytest
import record_tables
from disk import Image
from stagepost import BUILD, ROOT

SIZE = 400 << 20  # bytes of a server's disk


@pytest.fixture
def disk(ground):
    image = Image(ground.directory("disk"), SIZE)
    yield image.path
    image.close()


def run(program, *words):
    path = os.path.join(BUILD, "tests", "unit", "filing", "record", program)
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def documented():
    """The columns of each table, as the manual page has them."""
    with open(os.path.join(ROOT, "doc/manual/stagepost-record.5.in"), encoding="utf-8") as page:
        sections = re.split(r"^\.Ss (\w+)\n", page.read().split(".Sh EXAMPLES")[0], flags=re.M)
    for name, text in zip(sections[1::2], sections[2::2]):
        columns = re.findall(r"^\.It Li (.+)$", text, re.M)
        if columns:
            yield name, {column for line in columns for column in line.split(" , ")}


def test_the_manual_has_every_column(ground):
    with contextlib.closing(record_tables.make(ground)) as tables:
        names = [name for name, in tables.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        assert dict(documented()) == {
            name: {column for _, column, *_ in tables.execute(f"PRAGMA table_info({name})")}
            for name in names}


def test_postgresql_keeps_the_contract(disk):
    server = postgresql.Server(disk, fsync="on")
    try:
        run("test_record_postgresql", server.conninfo(), disk)
    finally:
        server.stop()


def test_mariadb_keeps_the_contract(disk):
    server = mariadb.Server(disk)
    try:
        run("test_record_mariadb", server.socket, disk, str(server.process.pid))
    finally:
        server.stop()
