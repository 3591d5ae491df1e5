# SPDX-License-Identifier: ISC
"""Stagepost as a service of a real systemd, on a minimal Debian 12 that was booted for it: what
"make install" puts there is all that it has."""

import os
import re
import subprocess
import tempfile

import pytest
from extent import extent

from machine import CONFIG, Machine
from stagepost import PATIENCE, ROOT, is_root

MAIL = """\
import socket, sys
client = socket.create_connection(("127.0.0.1", 25))
replies = client.makefile("r")

def expect(code):
    line = replies.readline()
    while line[3:4] == "-":
        line = replies.readline()
    if not line.startswith(code):
        sys.exit(line)

def say(text, *codes):
    client.sendall(text.encode())
    for code in codes:
        expect(code)

count = int(sys.argv[2])
expect("220")
say("EHLO client.example\\r\\n", "250")
for i in range(int(sys.argv[1])):
    say("MAIL FROM:<eve@example.net>\\r\\n" + "".join(
        f"RCPT TO:<u{j}@example.org>\\r\\n" for j in range(count)) + "DATA\\r\\n",
        *["250"] * (count + 1), "354")
    say("Subject: hello\\r\\n\\r\\nA line.\\r\\n.\\r\\n", "250")
say("QUIT\\r\\n", "221")
"""

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")


@pytest.fixture(name="booted", scope="module")
def fixture_booted():
    machine = Machine(tempfile.mkdtemp(prefix="stagepost-machine-"))
    try:
        machine.make()
        machine.write("/usr/local/bin/mail-some", "#!/usr/bin/python3\n" + MAIL, 0o755)
        machine.boot()
        yield machine
    finally:
        machine.end()


@pytest.fixture(name="machine")
def fixture_machine(booted):
    yield booted
    booted.run("systemctl", "stop", "stagepost", check=False)
    booted.run("systemctl", "reset-failed", "stagepost", check=False)
    booted.configure()
    booted.run("sh", "-c", "rm -rf /etc/systemd/system/stagepost.service.d; "
               "systemctl daemon-reload; find /var/spool/stagepost -mindepth 1 -delete")


def start(machine):
    ended = machine.run("systemctl", "start", "stagepost", check=False)
    assert ended.returncode == 0, ended.stderr + machine.status()


def fails_for_good(machine, *reasons):
    """The start fails, nothing tries again, and who asks is told why."""
    assert machine.run("systemctl", "start", "stagepost", check=False).returncode != 0
    status = machine.status()  # at once: what it said last is among the lines of its unit
    unit = machine.unit("ActiveState", "SubState", "ExecMainStatus", "NRestarts", "StatusText")
    assert unit["ActiveState"] == "failed", status
    assert unit["ExecMainStatus"] == "78", status
    journal = status.split("\n\n", 1)[1]
    assert all(reason in journal for reason in reasons), status
    assert all(reason in unit["StatusText"] for reason in reasons), unit


def delivered(machine, count=1):
    try:
        machine.wait(lambda: machine.journal().count("event=delivered ") >= count,
                     f"{count} deliveries")
    except AssertionError as why:
        raise AssertionError(machine.journal()[-4000:]) from why


def test_started_is_ready(machine):
    start(machine)
    # at once: a port that is bound, a queue that takes mail, somebody who delivers it
    machine.run("mail-some", "1", "1")
    delivered(machine)
    assert "event=serve_ready" in machine.journal()
    assert machine.unit("ActiveState", "SubState") == {"ActiveState": "active",
                                                       "SubState": "running"}
    assert "All processes are ready" in machine.status()
    machine.run("systemctl", "stop", "stagepost")
    assert machine.unit("ActiveState", "Result") == {"ActiveState": "inactive",
                                                     "Result": "success"}


def test_every_user_queues_mail(machine):
    """By a sendmail that is set-group-ID, with the rights that the unit leaves to the service."""
    program = machine.run("sh", "-c", "readlink -f $(command -v stagepost)").stdout.strip()
    machine.run("chgrp", "stagepost-submit", program)
    machine.run("chmod", "2755", program)
    try:
        machine.configure(lambda text: text + 'submit_group = "stagepost-submit"\n')
        start(machine)
        machine.run("setpriv", "--reuid=games", "--regid=games", "--clear-groups", "--",
                    "stagepost", "sendmail", "bob@example.org", data="Subject: hello\n\nA line.\n")
        delivered(machine)
        uid = machine.run("id", "-u", "games").stdout.strip()
        assert re.search(rf"event=message_queued .*uid={uid}\b", machine.journal())
        assert machine.run("stat", "-c", "%G %a", "/run/stagepost/submit").stdout.split() == [
            "stagepost-submit", "660"]
        machine.run("systemctl", "reload", "stagepost")
        machine.run("setpriv", "--reuid=games", "--regid=games", "--clear-groups", "--",
                    "stagepost", "sendmail", "bob@example.org", data="Subject: after a reload\n\nA line.\n")
        refused = machine.run("setpriv", "--reuid=games", "--regid=games", "--clear-groups", "--",
                              "stagepost", "queue", "list", check=False)
        assert refused.returncode != 0  # the rest of the queue is not his
    finally:
        machine.run("chgrp", "root", program)
        machine.run("chmod", "0755", program)


def test_a_killed_one_comes_back(machine):
    start(machine)
    machine.run("systemctl", "kill", "-s", "KILL", "--kill-who=main", "stagepost")
    machine.wait(lambda: machine.unit("NRestarts", "ActiveState") ==
                 {"NRestarts": "1", "ActiveState": "active"}, "another start")


def test_stopped_stays_stopped(machine):
    start(machine)
    machine.run("stagepost", "stop")
    machine.wait(lambda: machine.unit("ActiveState")["ActiveState"] != "deactivating", "its end")
    assert machine.unit("ActiveState", "SubState", "NRestarts") == {
        "ActiveState": "inactive", "SubState": "dead", "NRestarts": "0"}


@pytest.mark.parametrize("command", (["systemctl", "reload", "stagepost"], ["stagepost", "reload"]))
def test_reload(machine, command):
    start(machine)
    machine.configure(lambda text: text + 'domain "other.org" { service = maildir }\n')
    machine.run(*command)
    assert machine.journal().count("event=config_reloaded") >= 1
    for change, reason in ((lambda text: text + "nonsense = 1\n", "nonsense"),
                           (lambda text: text.replace('user = "stagepost-smtpd"', 'user = "nobody"'),
                            "can only be changed by a restart"),
                           (lambda text: text.replace('"127.0.0.1:25"', '"192.0.2.1:25"'),
                            "a listening socket cannot be bound")):
        machine.configure(change)
        ended = machine.run(*command, check=False)
        assert ended.returncode != 0, reason
        said = ended.stderr if command[0] == "stagepost" else machine.journal()
        assert reason in said, said
        machine.run("mail-some", "1", "1")  # it goes on as before
    machine.configure()
    machine.run(*command)


def test_a_listener_that_moves(machine):
    """To all addresses and back, under the service manager, which keeps just what listens."""
    start(machine)
    for place, listening in ("0.0.0.0:25", "00000000:0019"), ("127.0.0.1:25", "0100007F:0019"):
        machine.configure(lambda text, at=place: text.replace('"127.0.0.1:25"', f'"{at}"'))
        machine.run("systemctl", "reload", "stagepost")
        for _ in range(2):
            lines = [line.split() for line in machine.run("cat", "/proc/net/tcp").stdout.splitlines()]
            assert [line[1] for line in lines if line[1].endswith(":0019") and line[3] == "0A"] == [listening]
            machine.run("mail-some", "1", "1")
            machine.run("systemctl", "restart", "stagepost")


def test_a_taken_port(machine):
    taker = ("import socket, time; s = socket.socket(); "
             "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', 25)); s.listen(); "
             "time.sleep(600)")
    machine.run("systemd-run", "--unit=taker", "-p", "Type=exec", "python3", "-c", taker)
    try:
        machine.wait(lambda: ":0019 00000000:0000 0A" in machine.run("cat", "/proc/net/tcp").stdout, "a taken port")
        assert machine.run("systemctl", "start", "stagepost", check=False).returncode != 0
        assert re.search("127.0.0.1:25.*Address already in use", machine.status())
        assert re.search("127.0.0.1:25.*Address already in use", machine.unit("StatusText")["StatusText"])
    finally:
        machine.run("systemctl", "stop", "taker")
    machine.wait(lambda: machine.unit("ActiveState")["ActiveState"] == "active",
                 "a start when the port is free")


def test_a_bad_configuration(machine):
    machine.configure(lambda text: text + "nonsense = 1\n")
    fails_for_good(machine, "stagepost.conf:" + str(CONFIG.count("\n") + 1), "nonsense")


def test_an_unknown_user(machine):
    machine.configure(lambda text: text.replace("stagepost-smtpd", "stagepost-nobody"))
    fails_for_good(machine, "stagepost.conf:3: process smtpd.user: there is no user "
                            "stagepost-nobody on this machine")


def test_a_queue_on_tmpfs(machine):
    machine.run("mount", "-t", "tmpfs", "-o", "mode=0700,uid=stagepost,gid=stagepost", "queue",
                "/var/spool/stagepost")
    try:
        fails_for_good(machine, "/var/spool/stagepost", "tmpfs")
    finally:
        machine.run("umount", "/var/spool/stagepost")


def test_a_forbidden_call(machine):
    machine.write("/etc/systemd/system/stagepost.service.d/test.conf",
                  "[Service]\nSystemCallFilter=~fsync fdatasync syncfs\n"
                  "SystemCallErrorNumber=\n")
    machine.run("systemctl", "daemon-reload")
    fails_for_good(machine, "was killed by a system call filter")


def test_a_full_disk(machine):
    start(machine)
    machine.run("systemctl", "stop", "stagepost")
    machine.run("sh", "-c", "cat /dev/zero > /var/spool/fill || true", timeout=10 * PATIENCE)
    try:
        start(machine)  # the queue may be emptied, and takes nothing more
        ended = machine.run("mail-some", "1", "1", check=False)
        assert ended.returncode != 0 and "452" in ended.stderr, ended.stderr
    finally:
        machine.run("rm", "/var/spool/fill")


def test_an_upgrade(machine):
    """The files are replaced under it, as a package does, and it is restarted."""
    start(machine)
    machine.run("mail-some", "5", "2")
    machine.run("sh", "-ec", "cd /usr/local; for file in bin/stagepost libexec/stagepost/*; do "
                "cp -p $file $file.new; mv $file.new $file; done")
    machine.run("mail-some", "5", "2")
    machine.run("systemctl", "restart", "stagepost")
    machine.run("mail-some", "5", "2")
    machine.run("systemctl", "is-active", "stagepost")
    delivered(machine, 30)


def test_an_upgrade_from_a_supervisor_of_roots(machine):
    """As the unit had it before there was a user for it; what that one leaves is in the way of none."""
    machine.run("sh", "-ec", "rm -rf /run/stagepost; install -d -m 750 -o root -g stagepost /run/stagepost")
    machine.write("/etc/systemd/system/stagepost.service.d/before.conf",
                  "[Service]\nUser=root\nGroup=root\nAmbientCapabilities=\nRuntimeDirectory=\n")
    machine.run("systemctl", "daemon-reload")
    before = machine.journal().count("event=delivered ")
    start(machine)
    machine.run("mail-some", "1", "2")
    assert owners(machine) == {"root:stagepost"} | {f"root:{group}" for group in ("root", "stagepost")}
    machine.run("sh", "-ec", "rm -r /etc/systemd/system/stagepost.service.d; systemctl daemon-reload; "
                "systemctl restart stagepost")
    machine.run("mail-some", "1", "2")
    machine.run("stagepost", "reload")
    machine.run("stagepost", "check", "--running")
    delivered(machine, before + 4)
    assert owners(machine) == {"stagepost-supervisor:stagepost"}


def test_a_start_by_root(machine):
    """Once, by hand, before the unit: what it leaves is in the way of none."""
    start(machine)
    machine.run("systemctl", "stop", "stagepost")
    machine.run("systemd-run", "--unit=by-hand", "-p", "Type=notify", "-p", "NotifyAccess=all", "stagepost", "serve",
                timeout=2 * PATIENCE)
    machine.run("mail-some", "1", "1")
    try:
        assert machine.run("systemctl", "start", "stagepost", check=False).returncode != 0
        assert "another mail system runs here" in machine.status()
        assert "another mail system runs here" in machine.unit("StatusText")["StatusText"]
    finally:
        machine.run("systemctl", "stop", "stagepost", "by-hand")
    start(machine)
    before = machine.journal().count("event=delivered ")
    machine.run("mail-some", "1", "1")
    delivered(machine, before + 1)
    machine.run("stagepost", "reload")
    machine.run("systemctl", "stop", "stagepost")
    assert owners(machine) <= {"stagepost-supervisor:stagepost"}


def owners(machine):
    """Of the run directory and all in it."""
    return set(machine.run("find", "/run/stagepost", "-printf", "%u:%g\n").stdout.split())


def mail_to_a_user(machine, code):
    """Whether the directory's user exists, as a client is told; 451 also before it answers."""
    script = ("import socket; client = socket.create_connection(('127.0.0.1', 25)); replies = client.makefile(); "
              "said = [(replies.readline(), client.sendall(line.encode() + b'\\r\\n')) for line in "
              "('HELO a', 'MAIL FROM:<eve@example.net>', 'RCPT TO:<ann@dir.example>', 'QUIT')]; "
              "print(said[-1][0][:3])")
    machine.wait(lambda: machine.run("python3", "-c", script).stdout.strip() == code, f"{code} for a user")


def test_a_directory_that_is_emptied(machine):
    """The supervisor has no rights in the queue; what was seen of the directory is remembered all the same."""
    machine.run("install", "-d", "-o", "stagepost-directory", "-g", "stagepost", "/var/lib/stagepost/data")
    machine.configure(lambda text: text + 'process directory { user = "stagepost-directory" }\n'
                      'directory { path = "/var/lib/stagepost/data/directory.db" }\n')
    start(machine)
    machine.run("stagepost", "directory", "put", "--table", "domain", "dir.example", "kind=local",
                "service=maildir")
    machine.run("stagepost", "directory", "put", "ann@dir.example", "kind=mailbox")
    mail_to_a_user(machine, "250")
    machine.run("systemctl", "stop", "stagepost")
    assert machine.run("stat", "-c", "%U", "/var/spool/stagepost/directory").stdout.strip() == "stagepost"
    machine.run("sh", "-c", "rm /var/lib/stagepost/data/directory.db*")
    start(machine)
    mail_to_a_user(machine, "451")
    assert "event=store_held" in machine.journal()
    machine.run("systemctl", "stop", "stagepost")
    machine.run("sh", "-c", "rm -rf /var/spool/stagepost/directory; install -d /var/spool/stagepost/directory")
    machine.run("systemctl", "start", "--no-block", "stagepost")
    machine.wait(lambda: "what was seen of the directory cannot be opened" in machine.journal(), "the reason")
    machine.run("rmdir", "/var/spool/stagepost/directory")
    machine.wait(lambda: machine.unit("ActiveState")["ActiveState"] == "active", "a start when the file can be opened")


def test_groups_beside_mailboxes_of_users(machine):
    """One service delivers as each user; the mailboxes of another are still made by its process's group, "mail"."""
    machine.configure(lambda text: text + 'service users { kind = maildir path = "/var/mail/users/%u" user = "%u" }\n'
                      'domain users.example { service = users }\n')
    machine.run("sh", "-ec", "useradd gina; rm -rf /var/mail/example.org; "
                "install -d -o gina -g gina -m 700 /var/mail/users/gina")
    start(machine)
    for name in "ann", "bob":  # the second by a thread that has delivered as a user before
        before = machine.journal().count("event=delivered ")
        for recipient in "gina@users.example", f"{name}@example.org":
            machine.run("sendmail", recipient, data="Subject: hello\n\nA line.\n")
        delivered(machine, before + 2)
        assert machine.run("stat", "-c", "%U", f"/var/mail/example.org/{name}").stdout == "stagepost-local\n"
    assert machine.run("sh", "-c", "stat -c %U:%G /var/mail/users/gina/new/*").stdout.split() == ["gina:gina"] * 2


def test_a_listener_changes_its_address(machine):
    """Also between one address and all: what systemd keeps of the last start is not in the way."""
    for address in "127.0.0.1:25", "0.0.0.0:25", "127.0.0.1:25":
        machine.configure(lambda text, address=address: text.replace('"127.0.0.1:25"', f'"{address}"'))
        assert address in machine.run("stagepost", "config").stdout
        machine.run("systemctl", "restart", "stagepost", check=False)
        assert machine.unit("ActiveState")["ActiveState"] == "active", machine.status()
        machine.run("mail-some", "1", "1")


LOGIN = """\
import socket
client = socket.create_connection(("127.0.0.1", 587))
replies = client.makefile()
client.sendall(b"EHLO client.example\\r\\nAUTH PLAIN AGFubkBkaXIuZXhhbXBsZQBzZWNyZXQgb2YgYW5u\\r\\nQUIT\\r\\n")
print(replies.read())
"""


def test_users_log_in(machine):
    """The process that checks passwords is not the directory's owner, and has a user of its own."""
    machine.run("install", "-d", "-o", "stagepost-directory", "-g", "stagepost", "/var/lib/stagepost/users")
    machine.configure(lambda text: text + 'process directory { user = "stagepost-directory" }\n'
                      'directory { path = "/var/lib/stagepost/users/directory.db" }\n'
                      'listen submission { address = "127.0.0.1:587" auth_without_tls = yes }\n')
    start(machine)
    machine.run("stagepost", "directory", "put", "--table", "domain", "dir.example", "kind=local", "service=maildir")
    machine.run("stagepost", "directory", "put", "ann@dir.example", "kind=mailbox")
    machine.run("stagepost", "directory", "passwd", "--create", "ann@dir.example", data="secret of ann\n")
    machine.wait(lambda: "\n235 " in machine.run("python3", "-c", LOGIN).stdout, "a login")
    machine.run("stagepost", "directory", "passwd", "ann@dir.example", data="another one\n")
    machine.wait(lambda: "\n535 " in machine.run("python3", "-c", LOGIN).stdout, "the end of a password")
    assert "Not with this role" not in machine.journal()


# All that a port says until it has heard QUIT.
HELLO = """\
import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
replies = client.makefile()
greeting = replies.readline()
if greeting.startswith("220 "):
    client.sendall(b"EHLO client.example\\r\\nQUIT\\r\\n")
print(greeting + replies.read())
"""


def make_certificate(machine, *names):
    """As certbot leaves them: the keys are root's alone."""
    folder = f"{machine.root}/etc/stagepost/tls"
    os.makedirs(folder, exist_ok=True)
    subprocess.run([os.path.join(ROOT, "tests/common/make-certificates"), folder, *names], check=True)
    machine.run("sh", "-ec", "cd /etc/stagepost/tls; chown root:root *; chmod 644 *.pem; chmod 600 *.key")


def with_certificate(text, name):
    return text + (f'process keys {{ user = "stagepost-keys" }}\ncertificate main {{ chain = "/etc/stagepost/tls/{name}.pem" '
                   f'key = "/etc/stagepost/tls/{name}.key" }}\nlisten smtp {{ address = {{ "127.0.0.1:2525" }} tls = none }}\n')


def test_a_key_that_cannot_be_read(machine):
    """Nobody who is to have TLS gets less; the rest works; and systemctl says what is the matter."""
    make_certificate(machine, "mx.example.org", "other.example.org")
    machine.configure(lambda text: with_certificate(text, "mx.example.org"))
    machine.run("systemctl", "start", "--no-block", "stagepost")
    machine.wait(lambda: "mx.example.org.key: Permission denied" in machine.unit("StatusText")["StatusText"],
                 "the file and the reason")
    machine.wait(lambda: "listen smtp has no certificate" in machine.unit("StatusText")["StatusText"], "what lacks it")
    assert machine.unit("ActiveState")["ActiveState"] == "activating"
    assert machine.run("python3", "-c", HELLO, "25").stdout.startswith("421 ")
    assert "STARTTLS" not in machine.run("python3", "-c", HELLO, "2525").stdout
    assert "250 " in machine.run("python3", "-c", HELLO, "2525").stdout
    machine.run("chgrp", "stagepost-keys", "/etc/stagepost/tls/mx.example.org.key")
    machine.run("chmod", "640", "/etc/stagepost/tls/mx.example.org.key")
    machine.wait(lambda: machine.unit("ActiveState")["ActiveState"] == "active", "a start when the key can be read")
    assert machine.unit("StatusText")["StatusText"] == "All processes are ready"
    assert "STARTTLS" in machine.run("python3", "-c", HELLO, "25").stdout
    machine.configure(lambda text: with_certificate(text, "other.example.org"))
    ended = machine.run("stagepost", "reload", check=False)
    assert ended.returncode != 0 and "other.example.org.key: Permission denied" in ended.stderr, ended.stderr
    assert "STARTTLS" in machine.run("python3", "-c", HELLO, "25").stdout
    machine.run("chgrp", "stagepost-keys", "/etc/stagepost/tls/other.example.org.key")
    machine.run("chmod", "640", "/etc/stagepost/tls/other.example.org.key")
    machine.run("stagepost", "reload")


PROGRAM = """\
set -e
grep -qP '^A l[h-j]ne' # compiles what it looks for to machine code
/usr/local/bin/set-group-id -g -n > /var/lib/program/groups
"""


def recipe():
    """What stagepost-serve(8) prints for programs."""
    with open(os.path.join(ROOT, "doc/manual/stagepost-serve.8.in"), encoding="ascii") as page:
        return page.read().split(".Bd -literal -offset indent\n[Service]")[1].split(".Ed")[0]


def test_programs(machine):
    """One with code made at run time, a set-group-ID helper and a folder of its own."""
    machine.write("/usr/local/bin/program", "#!/bin/sh\n" + PROGRAM, 0o755)
    machine.run("sh", "-ec", "mkdir -p /var/lib/program; "
                "chown stagepost-program: /var/lib/program; cp /usr/bin/id /usr/local/bin/set-group-id; "
                "chgrp mail /usr/local/bin/set-group-id; chmod 2755 /usr/local/bin/set-group-id")
    machine.configure(lambda text: text.replace(
        'domain "example.org" { service = maildir }',
        'service box { kind = pipe command = "/usr/local/bin/program" user = stagepost-program }\n'
        'domain "example.org" { service = box }'))
    start(machine)
    before = machine.journal().count("event=deferred ") + machine.journal().count("event=failed ")
    machine.run("mail-some", "1", "1")
    machine.wait(lambda: machine.journal().count("event=deferred ") +
                 machine.journal().count("event=failed ") > before, "what the unit forbids")
    machine.run("systemctl", "stop", "stagepost")
    machine.write("/etc/systemd/system/stagepost.service.d/programs.conf",
                  "[Service]" + recipe())
    machine.run("systemctl", "daemon-reload")
    count = machine.journal().count("event=delivered ")
    start(machine)
    machine.run("mail-some", "1", "1")
    delivered(machine, count + 1)
    assert machine.run("cat", "/var/lib/program/groups").stdout == "mail\n"


def test_no_line_is_lost(machine):
    count = machine.journal().count("event=delivered ")
    start(machine)
    messages, recipients = extent(120, 40), 100
    machine.run("mail-some", str(messages), str(recipients), timeout=5 * PATIENCE)
    machine.wait(lambda: machine.run("stagepost", "queue", "stats", check=False).returncode == 0 and
                 "Mail queue is empty" in machine.run("stagepost", "queue", "list").stdout,
                 "an empty queue", 5 * PATIENCE)
    machine.run("systemctl", "stop", "stagepost")
    machine.run("journalctl", "--sync")
    assert machine.journal().count("event=delivered ") - count == messages * recipients


@pytest.mark.parametrize("more", [
    "", 'submit_group = "stagepost-submit"\n',
    'transport remote { paused = yes }\nclass "*" { queue = 5 refuse = 9 }\n'])
def test_nothing_differs_from_the_table(machine, more):
    """What check --running says of a node under the shipped unit, by root and by the unit's user, before and
    after mail and a reload."""
    machine.configure(lambda text: text + more)
    start(machine)
    for words in (["mail-some", "1", "2"], ["stagepost", "reload"], ["mail-some", "1", "1"]):
        ended = machine.run("stagepost", "check", "--running", check=False)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
        machine.run(*words)
