# SPDX-License-Identifier: ISC
"""What people do wrong at a machine: each path of the configuration is missing, empty, of the wrong kind, of another
owner, full of nonsense. "stagepost check" names path, setting and reason, and for whom it is so; the unit fails, or
waits, with the path in its status; or it is ready, and nothing is wrong. It is never silent."""

import ast
import tempfile

import pytest
from extent import some

from machine import CONFIG, Machine
from stagepost import PATIENCE, is_root
from test_machine import make_certificate

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")

MORE = """\
process keys { user = "stagepost-keys" }
process mailbox { user = "stagepost-mailbox" }
process lmtp { user = "stagepost-lmtp" }
process decode { user = "stagepost-decode" }
process directory { user = "stagepost-directory" }
policy_path = "/var/lib/stagepost/policy"
tls_authorities = "/etc/stagepost/tls/authorities.pem"
relay_passwords = "/etc/stagepost/relay-passwords"
smtproutes = "relay.example:relay.example;587|ann"
mta_sts = yes
certificate main { chain = "/etc/stagepost/tls/mx.example.org.pem" key = "/etc/stagepost/tls/mx.example.org.key" }
listen smtp { address = { "127.0.0.1:2525" } client_certificates = yes client_authority = "/etc/stagepost/tls/clients.pem" }
directory { path = "/var/lib/stagepost/data/directory.db" aliases = "/etc/aliases" }
service once { kind = mailbox path = "/var/mail/once/%d/%u" }
record { path = "/var/lib/stagepost/record/record.db" }
service there { kind = lmtp address = "unix:/run/there/lmtp" }
service program { kind = pipe command = "/usr/local/bin/program" user = "stagepost-program" }
domain "once.example" { service = once }
domain "there.example" { service = there }
domain "program.example" { service = program }
include "/etc/stagepost/more.conf"
"""

class Place:
    """A path of the configuration: which SETTING names it, as which USER what KIND of thing is opened."""

    def __init__(self, path, setting, kind, user):
        self.path = path
        self.setting = setting
        self.kind = kind
        self.user = user

    def __str__(self):
        return self.setting or "configuration"


PLACES = [
    Place("/etc/stagepost/stagepost.conf", "", "text", "stagepost-supervisor"),
    Place("/etc/stagepost/more.conf", "include", "text", "stagepost-supervisor"),
    Place("/var/spool/stagepost", "queue", "folder", "stagepost"),
    Place("/etc/stagepost/tls/mx.example.org.pem", "certificate main.chain", "file", "stagepost-keys"),
    Place("/etc/stagepost/tls/mx.example.org.key", "certificate main.key", "file", "stagepost-keys"),
    Place("/etc/stagepost/tls/authorities.pem", "tls_authorities", "file", "stagepost-policy"),
    Place("/etc/stagepost/tls/clients.pem", "listen smtp.client_authority", "file", "stagepost-keys"),
    Place("/etc/stagepost/relay-passwords", "relay_passwords", "file", "stagepost-keys"),
    Place("/var/lib/stagepost/policy", "policy_path", "folder", "stagepost-policy"),
    Place("/var/lib/stagepost/data", "directory.path", "folder", "stagepost-directory"),
    Place("/var/lib/stagepost/data/directory.db", "directory.path", "file", "stagepost-directory"),
    Place("/var/lib/stagepost/record", "record.path", "folder", "stagepost-mailbox"),
    Place("/var/lib/stagepost/record/record.db", "record.path", "file", "stagepost-mailbox"),
    Place("/var/mail", "service maildir.path", "folder", "stagepost-local"),
    Place("/usr/local/bin/program", "service program.command", "program", "stagepost-program"),
]

# What somebody does to a path, by shell.
MISTAKES = {
    "missing": "rm -rf $P",
    "of root alone": "chown -h root:root $P; chmod go= $P",
    "in a folder of root alone": "mv $P $P.moved; mkdir $P.root; mv $P.moved $P.root/it; chmod 700 $P.root; ln -s $P.root/it $P",
    "empty": "rm -rf $P; install -m 644 /dev/null $P",
    "nonsense": "rm -rf $P; head -c 4000 /dev/urandom > $P; chmod 644 $P",
    "another kind": "if [ -d $P ]; then rm -rf $P; echo text > $P; else rm -f $P; mkdir $P; fi",
    "a link to nowhere": "rm -rf $P; ln -s /nowhere/at/all $P",
    "a link to itself": "rm -rf $P; ln -s $P $P",
    "a pipe": "rm -rf $P; mkfifo -m 666 $P",
    "another's": "chown -hR games:games $P; chmod go= $P",
}

# Of whom only some may have it: who may not is named.
ABOUT_USERS = ("of root alone", "in a folder of root alone", "another's")

# What is no mistake, and why.
HARMLESS = {
    ("include", "empty"): "a file without settings",
    ("directory.path", "missing"): "the file is made; a folder's absence is one",
    ("record.path", "missing"): "likewise",
}

TRY = """\
import subprocess, sys

def check():
    try:
        ended = subprocess.run(["stagepost", "check"], capture_output=True, text=True, errors="replace", timeout=5)
        return ended.returncode, ended.stderr
    except subprocess.TimeoutExpired:
        return None, "does not end"

for place, path, mistake, script in eval(sys.stdin.read()):  # the machine's Python has no json
    subprocess.run(["sh", "-ec", f"P={path}; {script}"], check=True)
    print(repr((place, path, mistake, *check())), flush=True)
    subprocess.run(["sh", "-ec", f"rm -rf {path} {path}.root; cp -a /root/right{path} {path}"], check=True)
"""


@pytest.fixture(name="machine", scope="module")
def fixture_machine():
    machine = Machine(tempfile.mkdtemp(prefix="stagepost-mistakes-"))
    try:
        machine.make()
        machine.boot()
        furnish(machine)
        yield machine
    finally:
        machine.end()


def furnish(machine):
    """All that the configuration names is there and right, and a copy of each thing in /root/right."""
    make_certificate(machine, "mx.example.org")
    machine.run("sh", "-ec", "cd /etc/stagepost/tls; cp authority.pem authorities.pem; cp authority.pem clients.pem; "
                "chgrp stagepost-keys mx.example.org.key; chmod 640 mx.example.org.key")
    machine.write("/etc/stagepost/relay-passwords", "relay.example;587|ann|secret\n", 0o640)
    machine.write("/etc/stagepost/more.conf", 'domain "more.example" { service = maildir }\n')
    machine.write("/etc/aliases", "root: postmaster@example.org\n")
    machine.write("/usr/local/bin/program", "#!/bin/sh\ncat > /dev/null\n", 0o755)
    machine.write("/usr/local/bin/try-mistakes", TRY, 0o755)
    machine.run("sh", "-ec", "chgrp stagepost-keys /etc/stagepost/relay-passwords; "
                "install -d -m 700 -o stagepost-directory -g stagepost /var/lib/stagepost/data")
    machine.configure(lambda text: text + MORE)
    machine.run("stagepost", "check")
    machine.run("systemctl", "start", "stagepost")
    machine.run("stagepost", "sendmail", "bob@once.example", data="Subject: the record is made\n\nA line.\n")
    machine.wait(lambda: "event=delivered " in machine.journal(), "a message that is recorded")
    machine.run("systemctl", "stop", "stagepost")
    machine.run("sh", "-ec", "mkdir /root/right; for path in $1; do cp -a --parents $path /root/right; done", "sh",
                " ".join(place.path for place in PLACES))


def is_answered(place, path, mistake, status, said):
    """Whether one line names all that is to be looked at."""
    wanted = [path] + ([place] if place != "include" else [])  # a problem of a file has its path before its line
    if mistake in ABOUT_USERS:
        wanted.append(next(each.user for each in PLACES if each.path == path))
    return status == 1 and any(all(word in line for word in wanted) for line in said.splitlines())


def test_check_says_what_is_wrong(machine):
    right = machine.run("stagepost", "check", check=False)
    assert right.returncode == 0, right.stderr
    cases = [(place.setting, place.path, mistake, script) for place in PLACES for mistake, script in MISTAKES.items()]
    ended = machine.run("python3", "/usr/local/bin/try-mistakes", data=repr(cases), timeout=20 * PATIENCE)
    answers = [ast.literal_eval(line) for line in ended.stdout.splitlines()]
    assert len(answers) == len(cases)
    poor = [answer for answer in answers if not is_answered(*answer) and (answer[0], answer[2]) not in HARMLESS]
    assert not poor, f"{len(poor)} of {len(answers)}:\n" + "\n".join(map(str, poor))


# What is read only when it is needed: then the reason is in the log, and that of the mail that waits.
LATER = {"relay_passwords"}
# systemd cannot make the unit's view of the files: its status says 226/NAMESPACE, and the journal at which path.
OF_SYSTEMD = {("queue", "a link to itself"), ("service maildir.path", "a link to itself")}
UNIT_CASES = [(place, mistake) for place in PLACES for mistake in MISTAKES if place.setting not in LATER]


def answer_of_the_unit(machine, place, is_of_systemd):
    """(state, whether it names PLACE) once the unit is active or has failed, or waits and says so. The answer is in
    what systemctl shows, or, when it goes on without what is wrong, in a warning of the journal; or in the journal if
    nothing of ours was started."""
    since = machine.run("date", "+%s.%N").stdout.strip()
    before = machine.unit("InactiveExitTimestampMonotonic")
    machine.run("systemctl", "start", "--no-block", "stagepost")
    said = [None, False]

    def is_settled():
        if machine.unit("InactiveExitTimestampMonotonic") == before:
            return False  # it shows what the start before has said
        said[0] = machine.unit("ActiveState")["ActiveState"]
        if said[0] == "active":
            lines = machine.run("journalctl", "-u", "stagepost", "-o", "cat", "-p", "warning", f"--since=@{since}").stdout
        elif is_of_systemd:
            lines = machine.run("journalctl", "-o", "cat", "--grep=mount namespacing", f"--since=@{since}", check=False).stdout
        else:
            lines = machine.status()
        said[1] = place.path in lines
        return said[1] or said[0] == "active"

    try:
        machine.wait(is_settled, "an answer")
    except AssertionError:
        pass
    return said


@pytest.mark.parametrize("place, mistake", some(UNIT_CASES, 8), ids=str)
def test_the_unit_says_what_is_wrong(machine, place, mistake):
    machine.run("sh", "-ec", f"P={place.path}; {MISTAKES[mistake]}")
    try:
        state, is_named = answer_of_the_unit(machine, place, (place.setting, mistake) in OF_SYSTEMD)
        assert is_named or (place.setting, mistake) in HARMLESS, (state, machine.status(), machine.journal()[-2000:])
    finally:
        machine.run("systemctl", "stop", "stagepost", check=False)
        machine.run("systemctl", "reset-failed", "stagepost", check=False)
        machine.run("sh", "-ec", f"rm -rf {place.path} {place.path}.root; cp -a /root/right{place.path} {place.path}")
