# SPDX-License-Identifier: ISC
"""A copy of the program that is set-group-ID to the group of setting submit_group: every user of
the machine queues mail with it while the node runs, and can do nothing else to the queue."""

import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess

import pytest
from smtp import deliver
from stagepost import PATIENCE, Node, is_root, wait_until
from test_local_users import DENIED, LIMITS, as_stranger
from test_set_user_id import NEW_ETC

GROUP = "uucp"  # one that exists anyway, and that no process of the node has
USER, OTHER = "daemon", "games"  # who own nothing of the queue, and are not in the node's group
TEXT = b"Subject: hello\n\nA line.\n"
KILLS = 12

pytestmark = pytest.mark.skipif(not is_root(), reason="needs two users and a mount namespace")


def uid_of(user):
    return int(subprocess.check_output(["id", "-u", user]))


class Machine:
    """A node, and a program that its users may run."""

    def __init__(self, node, programs):
        self.node = node
        self.etc = os.path.join(node.directory, "etc")
        self.bin = os.path.join(node.directory, "bin")
        os.makedirs(os.path.join(self.etc, "stagepost"))
        os.mkdir(self.bin)
        shutil.copy(node.conf, os.path.join(self.etc, "stagepost", "stagepost.conf"))
        for name in ("sendmail", "mailq", "stagepost"):
            path = os.path.join(self.bin, name)
            shutil.copy(os.path.join(programs, "stagepost"), path)
            shutil.chown(path, "root", GROUP)
            os.chmod(path, 0o2755)

    def command(self, name, *words, user=USER, shell="exec {}"):
        line = shlex.join([os.path.join(self.bin, name), *words])
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", NEW_ETC, "sh", self.etc,
                "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--",
                "/bin/bash", "-c", shell.format(line)]

    def run(self, name, *words, user=USER, shell="exec {}", **settings):
        return subprocess.run(self.command(name, *words, user=user, shell=shell), check=False,
                              capture_output=True, timeout=PATIENCE, cwd="/", **settings)

    def begin(self, *words, user=USER):
        """A sendmail that waits for its message, and has its place in the queue."""
        return subprocess.Popen(self.command("sendmail", *words, user=user), cwd="/",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)


@pytest.fixture
def machine(ground):
    with Node(ground.programs, ground.directory("submit"), switch_user=True, unsafe=ground.unsafe,
              settings=f'submit_group = "{GROUP}"\n') as node:
        yield Machine(node, ground.programs)


@pytest.mark.parametrize("size", [0, 60_000, 70_000, 3_000_000])
def test_every_user_sends(machine, size):
    """By value, and in a file that is shared."""
    line = b"0123456789" * 7 + b"\n"
    text = TEXT + line * (size // len(line))
    for user in (USER, OTHER):
        mark = machine.node.log.mark()
        ended = machine.run("sendmail", f"{user}@a.test", user=user, input=text)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
        (mail,) = machine.node.maildir(f"{user}@a.test").wait()
        assert mail.endswith(text.partition(b"\n\n")[2])
        assert f"Received: (uid {uid_of(user)})\n".encode() in mail
        assert f"\nFrom: {user} <{user}@mx.stagepost.test>\n".encode() in mail
        assert machine.node.log.find("message_queued", since=mark, uid=uid_of(user))
    machine.node.wait_empty()
    queue = os.stat(machine.node.queue).st_uid
    assert {os.stat(os.path.join(folder, name)).st_uid
            for folder, _, names in os.walk(machine.node.queue) for name in names} <= {queue}


def test_enqueue_and_a_session(machine):
    envelope = r"printf 'Flisa@a.test\0Tbob@a.test\0\0' > $d/e"
    ended = machine.run("stagepost", "enqueue", input=TEXT,
                        shell=f"d=$(mktemp -d); {envelope}; exec {{}} 1<$d/e")
    assert ended.returncode == 0, ended
    (mail,) = machine.node.maildir("bob@a.test").wait()
    assert f"Received: (uid {uid_of(USER)})\n".encode() in mail
    script = (b"EHLO me\r\nMAIL FROM:<lisa@a.test>\r\nRCPT TO:<eve@a.test>\r\nDATA\r\n"
              b"Subject: one\r\n\r\nhello\r\n.\r\nMAIL FROM:<lisa@a.test>\r\n"
              b"RCPT TO:<eve@a.test>\r\nDATA\r\nSubject: two\r\n\r\nhello\r\n.\r\nQUIT\r\n")
    ended = machine.run("sendmail", "-bs", input=script)
    assert ended.returncode == 0 and ended.stdout.count(b"queued as") == 2, ended
    for mail in machine.node.maildir("eve@a.test").wait(2):
        assert f"Received: (uid {uid_of(USER)})\n".encode() in mail


def test_only_the_owner_chooses_stage_and_trigger(machine):
    assert machine.run("stagepost", "enqueue", "-s", "arrive", input=TEXT).returncode == 62
    assert machine.run("stagepost", "enqueue", "--trigger", "x", input=TEXT).returncode == 62


def test_without_a_node(machine):
    machine.node.stop()
    ended = machine.run("sendmail", "bob@a.test", input=TEXT)
    assert ended.returncode == 75
    assert ended.stderr.decode() == (f"sendmail: {machine.node.run}/submit: no mail can be queued "
                                     "now, Stagepost does not run\n")
    machine.node.start()
    assert machine.run("sendmail", "bob@a.test", input=TEXT).returncode == 0


def test_without_the_group(machine):
    os.chmod(os.path.join(machine.bin, "sendmail"), 0o755)
    ended = machine.run("sendmail", "bob@a.test", input=TEXT)
    assert ended.returncode == 77 and b"must be set-group-ID of group uucp" in ended.stderr
    for name in ("queue", "send", "notify", "submit"):
        kind = socket.SOCK_DGRAM if name == "notify" else socket.SOCK_SEQPACKET
        address = f"{machine.node.run}/{name}"
        assert as_stranger(
            lambda: socket.socket(socket.AF_UNIX, kind).connect(address)) in DENIED


@pytest.mark.parametrize("name, words", [
    ("sendmail", ["-C", "/dev/null", "bob@a.test"]), ("stagepost", ["enqueue", "-c", "/dev/null"]),
    ("mailq", ["-c", "/dev/null"]), ("stagepost", ["queue", "list"]), ("stagepost", ["serve"]),
    ("stagepost", ["check"]), ("stagepost", ["trigger", "wait", "x"])])
def test_nothing_else(machine, name, words):
    ended = machine.run(name, *words, input=TEXT)
    assert ended.returncode in (2, 64, 81) and ended.stdout == b""
    assert b"is not for programs that act as another user" in ended.stderr


def test_the_queue_is_not_shown(machine):
    ended = machine.run("mailq")
    assert ended.returncode != 0 and ended.stdout == b""
    group = int(re.search(r":(\d+):", subprocess.check_output(["getent", "group", GROUP],
                                                              text=True)).group(1))
    assert not [folder for folder, names, files in os.walk(machine.node.queue)
                for path in [folder, *(os.path.join(folder, f) for f in files)]
                if os.stat(path).st_gid == group]


@pytest.mark.parametrize("limit", LIMITS)
def test_with_limits_of_the_callers(machine, limit):
    ended = machine.run("sendmail", "bob@a.test", input=TEXT, shell=LIMITS[limit])
    assert 0 <= ended.returncode < 128, ended
    if ended.returncode == 0:
        (mail,) = machine.node.maildir("bob@a.test").wait()
        assert mail.endswith(b"\nA line.\n") or limit in ("no_input", "nothing_open")
    assert machine.run("sendmail", "eve@a.test", user=OTHER, input=TEXT).returncode == 0
    machine.node.maildir("eve@a.test").wait()


def groups_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        text = status.read()
    return re.search(r"^Gid:\t(.*)$", text, re.M).group(1).split(), \
        re.search(r"^Uid:\t(.*)$", text, re.M).group(1).split()


def test_the_group_is_gone_before_the_message_is_read(machine):
    waiting = machine.begin("bob@a.test")

    def has_connected():
        descriptors = f"/proc/{waiting.pid}/fd"
        return any(os.readlink(os.path.join(descriptors, d)).startswith("socket:")
                   for d in os.listdir(descriptors))

    def has_dropped():
        gids, uids = groups_of(waiting.pid)
        with open(f"/proc/{waiting.pid}/comm", encoding="ascii") as comm:
            return comm.read() == "sendmail\n" and has_connected() and len(set(gids)) == 1 \
                and set(uids) == {str(uid_of(USER))}

    wait_until(has_dropped, "it has connected, and only the user's group", PATIENCE)
    traced = subprocess.run(
        ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--",
         "cat", f"/proc/{waiting.pid}/environ"], check=False, capture_output=True, timeout=PATIENCE)
    assert traced.returncode != 0
    assert waiting.communicate(TEXT, PATIENCE) == (b"", b"") and waiting.returncode == 0
    machine.node.maildir("bob@a.test").wait()


def test_one_user_leaves_place_for_others(machine):
    """He has 32 connections; the next is refused with a reason, other users and SMTP go on."""
    crowd = [machine.begin("bob@a.test") for _ in range(36)]
    try:
        machine.node.log.wait("ipc_refused", uid=uid_of(USER), peer="submit")
        ended = machine.run("sendmail", "eve@a.test", user=OTHER, input=TEXT)
        assert ended.returncode == 0, ended
        deliver(machine.node, "ann@a.test", TEXT.replace(b"\n", b"\r\n"))
        machine.node.maildir("ann@a.test").wait()
        statuses = []
        for one in crowd:
            _, said = one.communicate(TEXT, PATIENCE)
            statuses.append(one.returncode)
            assert one.returncode == 0 or b"this user has too many" in said, said
        assert set(statuses) == {0, 75} and statuses.count(0) >= 32, statuses
        machine.node.maildir("bob@a.test").wait(statuses.count(0))
    finally:
        for one in crowd:
            if one.poll() is None:
                one.kill()
                one.wait()


def test_killed_at_random(machine):
    """Of the command or of "queue": who was told 0 has his mail, and nothing is left of others."""
    chance = random.Random(5322)
    line = b"0123456789" * 7 + b"\n"
    accepted = 0
    for number in range(KILLS):
        text = TEXT + line * chance.choice([0, 3000])
        sender = machine.begin("bob@a.test")
        half = chance.randrange(len(text))
        sender.stdin.write(text[:half])
        sender.stdin.flush()
        if number % 2:
            sender.send_signal(signal.SIGKILL)
        else:
            machine.node.kill_and_wait("queue")
        try:
            sender.communicate(text[half:], PATIENCE)
        except BrokenPipeError:
            sender.wait(PATIENCE)
        assert sender.returncode in (0, 75, -signal.SIGKILL), sender.returncode
        accepted += sender.returncode == 0
    wait_until(lambda: machine.run("sendmail", "eve@a.test", input=TEXT).returncode == 0,
               "the node accepts again", PATIENCE)
    machine.node.maildir("eve@a.test").wait()
    if accepted:
        machine.node.maildir("bob@a.test").wait(accepted)
    machine.node.wait_empty()
    for mail in machine.node.maildir("bob@a.test").messages():
        assert mail.endswith((b"\nA line.\n", line))


def test_a_group_that_does_not_exist(node, ground):
    mx = node(start=False, settings='submit_group = "no-such-group"')
    ended = subprocess.run([os.path.join(ground.programs, "stagepost"), "check", "-c", mx.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert "submit_group: there is no group no-such-group on this machine" in ended.stdout + ended.stderr
    with pytest.raises(AssertionError, match="exit status 78"):
        mx.start()


def test_it_changes_only_by_a_restart(machine):
    machine.node.settings = ""
    machine.node.write_configuration()
    machine.node.reload("config_refused")
    assert machine.run("sendmail", "bob@a.test", input=TEXT).returncode == 0
