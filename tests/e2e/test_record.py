# SPDX-License-Identifier: ISC
"""The database of messages (record/record.h) in real servers: one contract for all
(tests/unit/record_contract.c), which also loses connections, stops servers and fills their disks."""

import os
import subprocess

import mariadb
import postgresql
import pytest
from disk import Image
from stagepost import ROOT

SIZE = 400 << 20  # bytes of a server's disk


@pytest.fixture
def disk(ground):
    image = Image(ground.directory("disk"), SIZE)
    yield image.path
    image.close()


def run(program, *words):
    path = os.path.join(os.environ.get("STAGEPOST_BUILD", os.path.join(ROOT, "build")), "tests",
                        "unit", program)
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


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
