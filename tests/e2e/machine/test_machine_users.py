# SPDX-License-Identifier: ISC
"""Mail for the users of a machine, on one that was booted for it, with the unit as it is shipped: what
cron and mail(1) send to root arrives at the user whom /etc/aliases names."""

import os
import re
import shutil
import tempfile

import pytest
import recipes
from machine import CONFIG as machine_config
from machine import Machine
from stagepost import BUILD, PATIENCE, is_root

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")

CONFIG, SESSION, MAILDIRS = (recipes.blocks()[f"stagepost-users.7/{number}"].text for number in range(3))
PROCESSES = "".join(line + "\n" for line in machine_config.splitlines() if line.startswith(("user", "process"))) + """\
process directory { user = "stagepost-directory" }
"""

ASK = """\
import socket, sys
client = socket.create_connection(("127.0.0.1", 25))
replies = client.makefile("r")
for line in "", "HELO a", "MAIL FROM:<>", *(f"RCPT TO:<{to}>" for to in sys.argv[1:]):
    client.sendall(line.encode() + b"\\r\\n" if line else b"")
    reply = replies.readline()
    if line.startswith("RCPT"):
        print(reply[:9])
"""


@pytest.fixture(name="machine", scope="module")
def fixture_machine():
    machine = Machine(tempfile.mkdtemp(prefix="stagepost-machine-"))
    try:
        machine.make()
        machine.write("/etc/stagepost/stagepost.conf", CONFIG + PROCESSES)
        machine.write("/etc/aliases", "postmaster: root\nroot: anna\n")
        machine.write("/usr/local/bin/ask", "#!/usr/bin/python3\n" + ASK, 0o755)
        library = "/usr/lib/x86_64-linux-gnu/libnss_lying.so.2"
        shutil.copy(os.path.join(BUILD, "tests/e2e/libnss_lying.so.2"), machine.root + library)
        machine.boot()
        machine.run("sed", "-i", "s/^passwd:.*/passwd: files lying/", "/etc/nsswitch.conf")
        machine.run("useradd", "anna")
        machine.run("sh", "-ec", "install -g stagepost-submit -m 2755 $(command -v stagepost) /usr/sbin/sendmail")
        started = machine.run("systemctl", "start", "stagepost", check=False)
        assert started.returncode == 0, machine.status()
        yield machine
    finally:
        machine.end()


def box(machine, user="anna"):
    path = f"{machine.root}/var/mail/{user}"
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def arrives(machine, text, user="anna", seconds=PATIENCE):
    try:
        machine.wait(lambda: text in box(machine, user), f"{text} for {user}", seconds)
    except AssertionError as why:
        raise AssertionError(machine.journal()[-4000:]) from why


def ask(machine, *recipients):
    return [line[:3] for line in machine.run("ask", *recipients, timeout=60).stdout.splitlines()]


def test_as_printed(machine):
    """The commands of stagepost-users(7), after its configuration."""
    for command, printed, _ in recipes.sessions(SESSION):
        if "stat" in command:
            arrives(machine, "Subject: hello")
        ended = machine.run("sh", "-c", command)
        assert ended.stdout == printed, (command, ended.stdout)
    machine.write("/etc/stagepost/maildirs.conf", CONFIG.replace(
        re.search("^service.*$", CONFIG, re.M).group(), MAILDIRS.strip()) + PROCESSES)
    machine.run("stagepost", "check", "-c", "/etc/stagepost/maildirs.conf")


def test_the_configuration_has_no_fault(machine):
    checked = machine.run("stagepost", "check")
    assert "warning" not in checked.stdout + checked.stderr, checked.stdout + checked.stderr
    said = machine.run("stagepost", "check", "--running", check=False)
    assert not re.search(r"^local ", said.stdout + said.stderr, re.M), said.stdout + said.stderr
    machine.run("stagepost", "directory", "check")


def test_mail_to_root(machine):
    """By any user; it is the alias's, nobody else reads it, and it says from whom it is."""
    machine.run("runuser", "-u", "www-data", "--", "s-nail", "-s", "of the web", "root", data="Hello\n")
    arrives(machine, "Subject: of the web")
    assert machine.run("stat", "-c", "%U:%G %a", "/var/mail/anna").stdout.split() == ["anna:mail", "600"]
    assert re.search(r"^From: .*www-data", box(machine), re.M)
    assert re.search(r"^Delivered-To: anna@mx.example.org$", box(machine), re.M)
    shown = machine.run("runuser", "-u", "anna", "--", "s-nail", "-n", "-N", "-f", "/var/mail/anna",
                        data="headers\nexit\n").stdout
    assert "of the web" in shown
    machine.run("sh", "-c", "printf 'Subject: the postmaster\n\nx\n' | sendmail postmaster")
    arrives(machine, "Subject: the postmaster")


def test_mail_of_cron(machine):
    machine.write("/etc/cron.d/test", "* * * * * root echo the output of a job\n")
    machine.run("systemctl", "restart", "cron")
    try:
        arrives(machine, "the output of a job", seconds=90)
    finally:
        os.unlink(machine.root + "/etc/cron.d/test")


def test_users_come_and_go(machine):
    """At once: nothing is remembered of them. The accounts of the system have mail by an alias only."""
    machine.write("/etc/aliases", "postmaster: root\nroot: anna\nalarm: anna\n")
    machine.run("stagepost", "newaliases")
    assert ask(machine, "anna@mx.example.org", "bob@mx.example.org", "alarm@mx.example.org",
               "www-data@mx.example.org", "games@mx.example.org", "nobody@mx.example.org", "root@mx.example.org",
               "postmaster@mx.example.org") == ["250", "550", "250", "550", "550", "550", "250", "250"]
    machine.run("useradd", "bob")
    assert ask(machine, "bob@mx.example.org") == ["250"]
    machine.run("s-nail", "-s", "welcome", "bob", data="Hello\n")
    arrives(machine, "Subject: welcome", "bob")
    machine.run("userdel", "bob")
    assert ask(machine, "bob@mx.example.org") == ["550"]


def test_mail_for_nobody_comes_back(machine):
    machine.run("runuser", "-u", "anna", "--", "s-nail", "-s", "lost", "nobody-here", data="Hello\n")
    arrives(machine, "No user is called nobody-here")


def test_a_name_service_that_is_away(machine):
    """Whether there is a user is not known: mail waits, and nobody is refused."""
    machine.write("/etc/lying", "away\n")
    try:
        machine.wait(lambda: ask(machine, "anna@mx.example.org", "carl@mx.example.org") == ["250", "451"],
                     "an answer for now")
        machine.run("s-nail", "-s", "for later", "carl", data="Hello\n")
        machine.wait(lambda: re.search(r"event=deferred .*carl@mx.example.org.*Cannot look the user up", machine.journal()),
                     "a deferral")
    finally:
        os.unlink(machine.root + "/etc/lying")
    machine.run("useradd", "carl")
    machine.run("stagepost", "queue", "retry", "--all", "--yes")
    arrives(machine, "Subject: for later", "carl")


def test_a_name_service_that_does_not_answer(machine):
    """No look-up takes more than ten seconds, and then everything goes on."""
    machine.write("/etc/lying", "hang\n")
    try:
        assert ask(machine, "dora@mx.example.org") == ["451"]
        machine.run("s-nail", "-s", "much later", "dora", data="Hello\n")
        machine.wait(lambda: re.search(r"event=deferred .*dora@mx.example.org", machine.journal()), "a deferral",
                     3 * PATIENCE)
    finally:
        os.unlink(machine.root + "/etc/lying")
    machine.run("useradd", "dora")
    machine.wait(lambda: ask(machine, "anna@mx.example.org", "dora@mx.example.org") == ["250", "250"], "answers")
    machine.run("stagepost", "queue", "retry", "--all", "--yes")
    arrives(machine, "Subject: much later", "dora")
    assert "event=process_ended" not in machine.journal()
