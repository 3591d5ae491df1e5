# SPDX-License-Identifier: ISC
"""stagepost check: what this machine does not have fails there as it would in stagepost serve."""

import json
import os
import subprocess

import pytest

from stagepost import PATIENCE

BASE = """hostname = "mx.example.org"
queue = "{0}/queue"
run = "{0}/run"
user = ""
queue_unsafe = yes
listen smtp {{ address = {{ "127.0.0.1:{1}" }} }}
service maildir {{ kind = maildir path = "{0}/mail/%d/%u" }}
"""

PORT = 2525


def run(ground, folder, more="", change=lambda text: text, words=()):
    path = os.path.join(folder, "stagepost.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(change(BASE.format(folder, PORT)) + more)
    return subprocess.run([os.path.join(ground.programs, "stagepost"), "check", "-c", path, *words],
                          check=False, capture_output=True, text=True, timeout=PATIENCE)


def check(*where, **how):
    ended = run(*where, **how)
    return ended.returncode, ended.stderr


def test_what_is_right(ground, tmp_path):
    assert check(ground, str(tmp_path)) == (0, "")


@pytest.mark.parametrize("more, line", (
    ('process smtpd { user = "nobody-there" }\n',
     ":8: process smtpd.user: there is no user nobody-there on this machine"),
    ('service box { kind = pipe command = "/nowhere/program" user = "daemon" }\n',
     ":8: service box.command: /nowhere/program: No such file or directory"),
    ('service box { kind = pipe command = "/etc/passwd" user = "daemon" }\n',
     ":8: service box.command: /etc/passwd cannot be run: no executable file"),
))
def test_what_is_missing(ground, tmp_path, more, line):
    status, said = check(ground, str(tmp_path), more)
    assert status == 1 and line in said, said


def test_a_pipe_that_nobody_writes_to(ground, tmp_path):
    """The configuration, or a file of it: nothing waits."""
    os.mkfifo(tmp_path / "more.conf")
    status, said = check(ground, str(tmp_path), 'include "more.conf"\n')
    assert status == 1 and ":8: a pipe to which nobody writes: found" in said, said
    ended = subprocess.run([os.path.join(ground.programs, "stagepost"), "check", "-c", tmp_path / "more.conf"],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (1, f"{tmp_path}/more.conf: a pipe to which nobody writes\n")


def test_a_pipe_of_the_shell(ground, tmp_path):
    """bash's <(command), whose text comes in a while."""
    text = BASE.format(tmp_path, PORT)
    ended = subprocess.run(["bash", "-c", '"$1" check -c <(sleep 0.3; printf %s "$2")', "-",
                            os.path.join(ground.programs, "stagepost"), text],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_is_missing_in_a_file_that_is_included(ground, tmp_path):
    os.mkdir(tmp_path / "conf.d")
    (tmp_path / "conf.d" / "box.conf").write_text(
        '\nservice box { kind = pipe command = "/nowhere/program" user = "daemon" }\n')
    status, said = check(ground, str(tmp_path), 'include "conf.d/*.conf"\n')
    assert status == 1 and said.startswith(
        f"{tmp_path}/conf.d/box.conf:2: service box.command: "), said


def test_a_queue_inside_run(ground, tmp_path):
    status, said = check(ground, str(tmp_path), change=lambda text: text.replace(
        f"{tmp_path}/queue", f"{tmp_path}/run/queue"))
    assert status == 1 and ":2: queue: " in said and "is inside run" in said, said


def test_a_queue_that_cannot_be_made(ground, tmp_path):
    status, said = check(ground, str(tmp_path), change=lambda text: text.replace(
        f"{tmp_path}/queue", f"{tmp_path}/a/b/queue"))
    assert status == 1 and f"there is no {tmp_path}/a/b" in said, said


def test_warnings(ground, tmp_path):
    status, said = check(ground, str(tmp_path), change=lambda text: text.replace("/%u", "").replace(
        f'listen smtp {{ address = {{ "127.0.0.1:{PORT}" }} }}\n', ""))
    assert status == 0
    assert "warning: service maildir.path: " in said and "warning: listen: " in said, said


def test_json(ground, tmp_path):
    """Nothing of what the text has is left out."""
    def objects(status, more):
        ended = run(ground, str(tmp_path), more, words=["--json"])
        assert (ended.returncode, ended.stderr) == (status, ""), ended
        return [json.loads(line) for line in ended.stdout.splitlines()]

    file = f"{tmp_path}/stagepost.conf"
    nothing = {"found": "", "allowed": ""}
    assert objects(0, "") == []
    assert objects(1, "nul = maybe\nfoo = 1\n") == [
        {"severity": "error", "file": file, "line": 8, "setting": "nul", "problem": "unknown word",
         "found": "maybe", "allowed": "reject, remove"},
        {"severity": "error", "file": file, "line": 9, "setting": "foo", "problem": "unknown setting",
         "found": "", "allowed": "see stagepost.conf(5)"}]
    (tmp_path / "more.conf").write_text('service shared { kind = maildir path = "/tmp/%d" }\n'
                                        'process smtpd { user = "nobody-there" }\n')
    told = sorted(objects(1, 'include "more.conf"\n'), key=lambda one: one["line"])
    more = f"{tmp_path}/more.conf"
    assert told == [
        {"severity": "warning", "file": more, "line": 1, "setting": "service shared.path",
         "problem": "/tmp/%d has no %u: all addresses of a domain share one mailbox", **nothing},
        {"severity": "error", "file": more, "line": 2, "setting": "process smtpd.user",
         "problem": "there is no user nobody-there on this machine", **nothing}]
    (one,) = objects(1, 'include "nowhere.conf"\n')
    assert one["line"] == 8 and one["problem"] == "No such file or directory"


def test_json_of_a_file_that_is_not_there(ground):
    ended = subprocess.run([os.path.join(ground.programs, "stagepost"), "check", "-c", "/nowhere", "--json"],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["file"], told["line"], told["problem"]) == (
        1, "/nowhere", 0, "No such file or directory")
