# SPDX-License-Identifier: ISC
"""Users of a node's directory, as its operator adds them by commands."""

import json
import os
import subprocess

from stagepost import PATIENCE, as_user

HASHES = {}  # of a password by some methods: to make them is slow on purpose


def directory(node, command, *words, stdin=""):
    """What the COMMAND of "stagepost directory" printed."""
    ended = subprocess.run(
        [*as_user(), os.path.join(node.programs, "stagepost"), "directory", command, "-c", node.conf, *words],
        check=False, capture_output=True, text=True, timeout=PATIENCE, input=stdin)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def add_user(node, name, password, methods, *more):
    """A user with PASSWORD, and MORE fields. Users of different nodes may have the same hashes."""
    key = password, methods
    if key not in HASHES:
        users = [json.loads(line)["key"] for line in directory(node, "export", "--table", "user").splitlines()]
        directory(node, "passwd", *([] if name in users else ["--create"]), "--method", methods, name,
                  stdin=password + "\n")
        records = [json.loads(line) for line in directory(node, "export", "--table", "user").splitlines()]
        record, = [record for record in records if record["key"] == name]
        HASHES[key] = [f"password={text}" for text in record["password"]]
    directory(node, "put", "--replace", "--table", "user", name, *HASHES[key], *more)
