# SPDX-License-Identifier: ISC
"""A copy of the program that has the set-user-ID bit of the queue's owner: other users send mail
with it, and can do nothing else."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from smtp import deliver
from stagepost import PATIENCE, USER, as_user, is_root
from test_local_users import LIMITS

TEXT = b"Subject: hello\n\nA line.\n"
OTHER = "daemon"  # a user who owns nothing of the queue
# The usual configuration, in a mount namespace of its own: the folder $1 above /etc, read-only, so
# that any number of processes may have it at the same time.
NEW_ETC = """set -e
mount -t overlay -o "lowerdir=$1:/etc" etc /etc
shift
exec "$@"
"""

pytestmark = pytest.mark.skipif(not is_root(), reason="needs two users and a mount namespace")


@pytest.fixture
def other(node, ground):
    """other(node, name, ...) is the ended process of another user, by a copy of that NAME."""

    def other(mx, name, *words, shell="exec {}", **settings):
        programs = os.path.join(mx.directory, "bin")
        etc = os.path.join(mx.directory, "etc")
        if not os.path.exists(etc):
            os.makedirs(os.path.join(etc, "stagepost"))
            shutil.copy(mx.conf, os.path.join(etc, "stagepost", "stagepost.conf"))
            os.mkdir(programs)
        path = os.path.join(programs, name)
        shutil.copy(os.path.join(ground.programs, "stagepost"), path)
        shutil.chown(path, USER)
        os.chmod(path, 0o4755)
        return subprocess.run(
            ["unshare", "--mount", "--propagation=private", "sh", "-c", NEW_ETC, "sh", etc,
             *as_user(OTHER), "/bin/bash", "-c", shell.format(shlex.join([path, *words]))],
            check=False, capture_output=True, timeout=PATIENCE,
            env={**os.environ, "STAGEPOST_CONF": "/dev/null"}, cwd="/", **settings)

    return other


def owners(mx):
    return {os.stat(os.path.join(folder, name)).st_uid
            for folder, _, names in os.walk(mx.queue) for name in names}


def test_another_user_sends(node, other):
    mx = node()
    ended = other(mx, "sendmail", "bob@a.test", input=TEXT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    (mail,) = mx.maildir("bob@a.test").wait()
    assert b"\nFrom: daemon <daemon@mx.stagepost.test>\n" in mail
    uid = int(subprocess.check_output(["id", "-u", OTHER]))
    assert f"Received: (uid {uid})".encode() in mail
    found = mx.log.wait("message_found")
    assert found["received"] == f"local uid={uid} user={OTHER}"
    assert owners(mx) == {os.stat(mx.queue).st_uid} != {uid}


@pytest.mark.parametrize("limit", LIMITS)
def test_with_limits_of_the_callers(node, other, limit):
    """His message is queued whole, or he is told that it is not; the others' go on."""
    mx = node()
    ended = other(mx, "sendmail", "bob@a.test", input=TEXT, shell=LIMITS[limit])
    assert 0 <= ended.returncode < 128, ended
    if ended.returncode == 0:
        (mail,) = mx.maildir("bob@a.test").wait()
        assert mail.endswith(b"\nA line.\n") or limit in ("no_input", "nothing_open")
    deliver(mx, "eve@a.test", TEXT.replace(b"\n", b"\r\n"))
    mx.maildir("eve@a.test").wait()
    mx.wait_empty()
    assert len(owners(mx)) <= 1


def test_the_control_file_names_the_user(node, other):
    mx = node(start=False)
    assert other(mx, "sendmail", "bob@a.test", input=TEXT).returncode == 0
    (control,) = mx.control_files().values()
    assert re.search(rf"^received: local uid=\d+ user={OTHER}$", control, re.M)
    listed = other(mx, "mailq")
    assert listed.returncode == 0 and b"bob@a.test" in listed.stdout
    assert other(mx, "sendmail", "-bp").stdout == listed.stdout


def test_others_mail_is_not_shown(node, other, ground):
    mx = node(start=False)
    assert other(mx, "sendmail", "bob@a.test", input=TEXT).returncode == 0
    own = [*as_user(), os.path.join(ground.programs, "stagepost"), "sendmail", "-C", mx.conf]
    subprocess.run([*own, "eve@a.test"], input=TEXT, check=True, timeout=PATIENCE)
    listed = other(mx, "mailq").stdout
    assert b"bob@a.test" in listed and b"eve@a.test" not in listed and b"in 1 Request." in listed
    listed = subprocess.run([*own, "-bp"], check=True, capture_output=True, timeout=PATIENCE).stdout
    assert b"bob@a.test" in listed and b"eve@a.test" in listed


@pytest.mark.parametrize("name, words", [
    ("sendmail", ["-C", "/dev/null", "bob@a.test"]),
    ("sendmail", ["-bp", "-C", "/dev/null"]),
    ("mailq", ["-c", "/dev/null"]),
    ("stagepost", ["queue", "list"]),
    ("stagepost", ["queue", "remove", "--all", "--yes"]),
    ("stagepost", ["trigger", "wait", "x"]),
    ("stagepost", ["check"]),
    ("stagepost", ["serve"]),
    ("stagepost", ["trace", "1", "/etc/shadow"]),
    ("stagepost", ["enqueue", "-c", "/dev/null"]),
])
def test_nothing_else(node, other, name, words):
    mx = node(start=False)
    ended = other(mx, name, *words, input=TEXT)
    usage = 64 if name == "sendmail" else 81 if "enqueue" in words else 2
    assert ended.returncode == usage and ended.stdout == b""
    assert b"is not for programs that act as another user" in ended.stderr
    assert not os.path.exists(mx.queue)
