# SPDX-License-Identifier: ISC
"""Who may open what, on a booted machine: "stagepost check" by root says before the start, as each user of
the unit and within its paths, what would fail; and systemctl says it within a second where it does."""

import time

import pytest

from stagepost import is_root
from test_machine import (delivered, fails_for_good, fixture_booted, fixture_machine, make_certificate,  # noqa: F401 # pylint: disable=unused-import
                          start)

CONF = "/etc/stagepost/stagepost.conf"
UNIT = " within stagepost.service: "
EDIT = " (systemctl edit stagepost.service)"
MAIL = 'service other { kind = maildir path = "PATH/%d/%u" }\ndomain other.example { service = other }\n'
HOMES = ('service homes { kind = maildir path = "/home/%u/Maildir" user = "%u" }\n'
         'domain homes.example { service = homes }\n')
BOX = ('service box { kind = pipe command = "/usr/local/bin/box" user = stagepost-program }\n'
       'domain box.example { service = box }\n')
LMTP = 'service imap { kind = lmtp address = "unix:/run/imap/lmtp" }\ndomain imap.example { service = imap }\n'
KEYS = 'process keys { user = "stagepost-keys" }\n'
TLS = KEYS + ('certificate main { chain = "/etc/stagepost/tls/mx.example.org.pem" '
              'key = "/etc/stagepost/tls/mx.example.org.key" }\n')
DIRECTORY = 'process directory { user = "stagepost-directory" }\ndirectory { path = "/var/lib/stagepost/data/d.db" }\n'
RECORD = ('process mailbox { user = "stagepost-mailbox" }\nservice once { kind = mailbox path = "/var/mail/once/%u" }\n'
          'domain once.example { service = once }\n')
SOCKET = "import socket, os; socket.socket(socket.AF_UNIX).bind('/run/imap/lmtp'); os.chmod('/run/imap/lmtp', 0o600)"

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")

# What is added to the configuration, what is done to the machine, and what is said of which setting: then
# what puts it right.
WRONG = (
    ("", "chown root:root /var/spool/stagepost",
     "queue: user stagepost cannot write to /var/spool/stagepost (mode 0700 root:root)",
     "chown stagepost:stagepost /var/spool/stagepost"),
    ("", f"chmod 0600 {CONF}",
     f"the configuration: user stagepost-supervisor cannot read {CONF} (mode 0600 root:root)",
     f"chgrp stagepost {CONF}; chmod 0640 {CONF}"),
    ("", "chown root:root /run/stagepost",
     "run: user stagepost-supervisor cannot write to /run/stagepost (mode 0751 root:root)",
     "chown stagepost-supervisor:stagepost /run/stagepost"),
    (TLS, "true",
     "certificate main.key: user stagepost-keys cannot read /etc/stagepost/tls/mx.example.org.key (mode 0600 root:root)",
     "chgrp stagepost-keys /etc/stagepost/tls/mx.example.org.key; chmod 0640 /etc/stagepost/tls/mx.example.org.key"),
    (TLS, "chmod 0700 /etc/stagepost/tls",
     "certificate main.chain: user stagepost-keys cannot read /etc/stagepost/tls/mx.example.org.pem: "
     "no access to /etc/stagepost/tls (mode 0700 root:root)",
     "chmod 0755 /etc/stagepost/tls; chgrp stagepost-keys /etc/stagepost/tls/mx.example.org.key; "
     "chmod 0640 /etc/stagepost/tls/mx.example.org.key"),
    (DIRECTORY, "install -d -o stagepost-directory /var/lib/stagepost/data; "
     "install -m 0600 /dev/null /var/lib/stagepost/data/d.db",
     "directory.path: user stagepost-directory cannot write to /var/lib/stagepost/data/d.db (mode 0600 root:root)",
     "rm /var/lib/stagepost/data/d.db"),
    (DIRECTORY, "chown root /var/lib/stagepost/data",
     "directory.path: user stagepost-directory cannot write to /var/lib/stagepost/data (mode 0755 root:root)",
     "chown stagepost-directory /var/lib/stagepost/data"),
    (RECORD, "chown root /var/lib/stagepost/record",
     "record.path: user stagepost-mailbox cannot write to /var/lib/stagepost/record (mode 0700 root:stagepost)",
     "chown stagepost-mailbox /var/lib/stagepost/record"),
    (MAIL.replace("PATH", "/var/mail/other"), "install -d -m 0700 /var/mail/other",
     "service other.path: user stagepost-local cannot write to /var/mail/other (mode 2700 root:mail)",
     "chmod 2770 /var/mail/other"),
    (BOX, "install -m 0700 /bin/true /usr/local/bin/box",
     "service box.command: user stagepost-program cannot run /usr/local/bin/box (mode 0700 root:root)",
     "chmod 0755 /usr/local/bin/box"),
    (LMTP, f'mkdir -p /run/imap; rm -f /run/imap/lmtp; python3 -c "{SOCKET}"',
     "service imap.address: user stagepost cannot connect to /run/imap/lmtp (mode 0600 root:root)",
     "chmod 0666 /run/imap/lmtp"),
    (MAIL.replace("PATH", "/srv/mail"), "install -d -o stagepost-local /srv/mail",
     "service other.path: user stagepost-local cannot write to /srv/mail" + UNIT +
     "with ProtectSystem, ReadWritePaths must name it" + EDIT, "UNIT=ReadWritePaths=/srv"),
    (MAIL.replace("PATH", "/home/mail"), "install -d -o stagepost-local /home/mail",
     "service other.path: user stagepost-local cannot write to /home/mail" + UNIT + "ProtectHome hides it" + EDIT,
     "UNIT='ProtectHome=no\nReadWritePaths=/home/mail'"),
    (HOMES, "true", "service homes.path: nobody can write to /home" + UNIT + "ProtectHome hides it" + EDIT,
     "UNIT='ProtectHome=no\nReadWritePaths=/home'"),
    (MAIL.replace("PATH", "/tmp/mail"), "install -d -o stagepost-local /tmp/mail",
     "service other.path: user stagepost-local cannot write to /tmp/mail" + UNIT + "PrivateTmp gives it another one" + EDIT,
     "UNIT=PrivateTmp=no; UNIT=ReadWritePaths=/tmp"),
)


def use_unit(machine, lines):
    machine.write("/etc/systemd/system/stagepost.service.d/paths.conf", "[Service]\n" + lines + "\n")
    machine.run("systemctl", "daemon-reload")


def check(machine):
    ended = machine.run("stagepost", "check", check=False)
    return ended.returncode, [line for line in ended.stderr.splitlines() if "warning: " not in line]


def put_right(machine, how):
    before, _, lines = how.partition("UNIT=")
    machine.run("sh", "-ec", before or "true")
    if lines:
        use_unit(machine, lines.strip("'").replace("; UNIT=", "\n"))


def test_what_the_unit_needs_is_there(machine):
    assert check(machine) == (0, [])


@pytest.mark.parametrize("more, wrong, said, right", WRONG, ids=[row[2].split(":")[0] + f"-{i}" for i, row in enumerate(WRONG)])
def test_wrong_permissions(machine, more, wrong, said, right):
    """The exact sentence, with file and line; and nothing once that is put right."""
    make_certificate(machine, "mx.example.org")
    machine.run("install", "-d", "-m", "0751", "-o", "stagepost-supervisor", "-g", "stagepost", "/run/stagepost")
    machine.configure(lambda text: text + more)
    try:
        machine.run("sh", "-ec", wrong)
        status, lines = check(machine)
        assert status == 1 and any(line.startswith(f"{CONF}:") and line.endswith(f": {said}") for line in lines), lines
        put_right(machine, right)
        assert check(machine) == (0, [])
    finally:
        put_right(machine, right.partition("UNIT=")[0].replace("rm ", "rm -f "))
        machine.run("sh", "-c", f"chown root:root {CONF}; chmod 0644 {CONF}; rm -rf /srv/mail /home/mail /tmp/mail")


def test_a_directory_that_cannot_be_opened(machine):
    """What no attempt mends fails at once, and says who could not do what."""
    machine.configure(lambda text: text + DIRECTORY)
    machine.run("sh", "-ec", "install -d -o stagepost-directory /var/lib/stagepost/data; "
                "install -m 0600 /dev/null /var/lib/stagepost/data/d.db")
    began = time.monotonic()
    try:
        fails_for_good(machine, "user stagepost-directory cannot write to /var/lib/stagepost/data/d.db (mode 0600 root:root)")
        assert time.monotonic() - began < 10
    finally:
        machine.run("rm", "/var/lib/stagepost/data/d.db")


def test_a_queue_outside_the_unit(machine):
    machine.run("install", "-d", "-o", "stagepost", "-g", "stagepost", "-m", "0700", "/srv/queue")
    machine.configure(lambda text: text + 'queue = "/srv/queue"\n')
    fails_for_good(machine, "/srv/queue: Read-only file system", "ReadWritePaths of its unit")
    use_unit(machine, "ReadWritePaths=/srv/queue")
    start(machine)


def test_a_mailbox_outside_the_unit(machine):
    """All else works; the log and the reason of the delay say what is to be changed."""
    machine.run("install", "-d", "-o", "stagepost-local", "/srv/mail")
    machine.configure(lambda text: text + MAIL.replace("PATH", "/srv/mail"))
    start(machine)
    assert "user stagepost-local cannot write to /srv/mail: Read-only file system (a service may write only to " in machine.journal()
    machine.run("sendmail", "ann@other.example", data="Subject: hello\n\nA line.\n")
    machine.wait(lambda: "Read-only file system (a service may write only to ReadWritePaths of its unit)" in
                 machine.run("stagepost", "queue", "list").stdout, "the reason and what to change")
    use_unit(machine, "ReadWritePaths=/srv/mail")
    before = machine.journal().count("event=delivered ")
    machine.run("systemctl", "restart", "stagepost")
    machine.run("stagepost", "queue", "retry", "--all")
    delivered(machine, before + 1)
