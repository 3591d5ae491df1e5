# SPDX-License-Identifier: ISC
""""stagepost check --running": a node is as the table of rights says, also under load; and what
is not is found."""

import json
import os
import shutil
import subprocess
import threading

import pytest
from inside import NEEDS, OWNER, PROCESSES, USERS, WITHOUT, inside
from smtp import deliver
from stagepost import PATIENCE, as_user, free_port, services_for_helpers
from test_sandbox import world  # noqa: F401

ROOT_ONLY = NEEDS[0]
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"


def check(mx, *words):
    """The exit status, what was printed, and on standard error."""
    ended = subprocess.run(
        [os.path.join(mx.programs, "stagepost"), "check", "--running", "-c", mx.conf, *words],
        check=False, capture_output=True, text=True, timeout=PATIENCE)
    return ended.returncode, ended.stdout, ended.stderr


def findings(mx):
    status, out, errors = check(mx, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert status == (1 if found else 0) and not errors, (str(found), errors)
    return found


class Load:
    """Mail to each place of the world until it is closed."""

    def __init__(self, mx):
        self.mx = mx
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(number,)) for number in range(3)]
        self.count = 0
        for thread in self.threads:
            thread.start()

    def _run(self, number):
        large = TEXT + b"x" * 70 + b"\r\n" + b"y" * 70 + b"\r\n"
        while not self.is_over.is_set():
            text = TEXT + (large * 1000 if number == 0 else b"")
            deliver(self.mx, [f"u{number}@a.test", "bob@b.test", "x@l.test"], text)
            self.count += 1

    def close(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.usefixtures("world")
class TestRoots:
    """Of a node that root started, with a user for each process."""

    pytestmark = NEEDS

    def test_a_node_is_as_the_table_says(self, world):  # noqa: F811
        status, out, errors = check(world)
        assert (status, errors) == (0, "") and out.endswith(" processes: ok\n"), out

    def test_under_load(self, world):  # noqa: F811
        load = Load(world)
        try:
            for _ in range(5):
                assert findings(world) == []
        finally:
            load.close()
        assert load.count > 5

    @pytest.mark.parametrize("program, call, words", [
        ("launch", ("openat", -100, "=/etc/passwd", 0, 0), "/etc/passwd"),
        ("remote", ("openat", -100, "=/proc/self/status", 0, 0), None),
        ("launch", ("socket", 2, 2, 0), "a socket that is not connected"),
        ("launch", ("socket", 2, 3, 1), None),
        ("local", ("openat", -100, "=/proc/fs/ext4", 0, 0), None)])
    def test_what_is_open(self, world, program, call, words):  # noqa: F811
        pid = world.pids(program)[0]
        descriptor = inside(pid, *call)
        found = findings(world)
        if not descriptor.startswith("-"):
            inside(pid, "close", descriptor)
        if words is None:
            assert not found
            return
        (one,) = found
        assert (one["process"], one["pid"]) == (program, pid)
        assert words in one["found"] and one["found"].startswith(f"descriptor {descriptor}: ")
        assert findings(world) == []

    def test_whom_it_is_connected_with(self, world):  # noqa: F811
        """"launch" has no business with the directory."""
        pid = world.pids("launch")[0]
        descriptor = inside(pid, "socket", 1, 1, 0)
        assert inside(pid, "connect", descriptor, f"=@unix:{world.run}/directory", 110) == "0"
        found = findings(world)
        inside(pid, "close", descriptor)
        assert {(one["process"], one["found"].partition(": ")[2]) for one in found} == {
            ("launch", "a UNIX connection with directory"),
            ("directory", "a UNIX connection with launch")}

    def test_only_root_can(self, world):  # noqa: F811
        ended = subprocess.run(
            ["setpriv", f"--reuid={USERS['smtpd']}", "--regid=nogroup", "--clear-groups",
             os.path.join(world.programs, "stagepost"), "check", "--running", "-c", world.conf],
            check=False, capture_output=True, text=True, timeout=PATIENCE)
        assert ended.returncode == 1 and "\nstagepost check: " in f"\n{ended.stderr}", ended


# --- what a wrong start makes ---

WRAPPERS = {
    "a descriptor": ("exec 9</etc/passwd", "smtpd", "descriptor 9: /etc/passwd"),
    "a file to write": ("exec 9>>made", "resolve", "descriptor 9: "),
    "a pipe": ("exec 9< <(:)", "remote", "descriptor 9: pipe:"),
    "another log": ("exec 2> >(:)", "lmtp", "descriptor 2: pipe:"),
}


def wrap(programs, program, line):
    """LINE is done by a script in place of the PROGRAM, which then becomes it."""
    inner = os.path.join(programs, "inner")
    os.mkdir(inner)
    os.chmod(inner, 0o755)
    os.rename(os.path.join(programs, program), os.path.join(inner, program))
    with open(os.path.join(programs, program), "w", encoding="ascii") as file:
        file.write(f'#!/bin/bash\ncd {inner}\n{line}\nexec {inner}/{program} "$@"\n')
    os.chmod(os.path.join(programs, program), 0o755)


@ROOT_ONLY
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_program_in_a_wrapper(node, ground, name):
    line, program, words = WRAPPERS[name]
    programs = ground.directory("wrapped")
    for file in os.listdir(ground.programs):
        shutil.copy2(os.path.join(ground.programs, file), programs)
    wrap(programs, program, line)
    os.chmod(os.path.join(programs, "inner"), 0o777)
    mx = node(start=False, switch_user=True, settings=PROCESSES + services_for_helpers("www-data"))
    mx.programs = programs
    shutil.chown(mx.mail, USERS["local"])
    mx.start()
    found = findings(mx)
    assert {(one["process"], one["pid"]) for one in found} == {
        (program, pid) for pid in mx.pids(program)}
    for begin in words, f"it runs {programs}/inner/{program}":
        assert [one for one in found if one["found"].startswith(begin)], found
    assert len(found) == 2 * len(mx.pids(program)), found


OTHERS = {
    "a user": (f'process "smtpd" {{\n\tuser = "{USERS["smtpd"]}"', 'process "smtpd" {\n\tuser = "www-data"', "smtpd",
               {"real user", "effective user", "saved user", "file user", "real group",
                "effective group", "saved group", "file group"}),
    "a group": (f'user = "{OWNER}"', 'user = "www-data"', "smtpd", {"supplementary group"}),
}


@ROOT_ONLY
@pytest.mark.parametrize("name", OTHERS)
def test_the_configuration_says_otherwise(node, name):
    """That which it was told, by what it has noted of it."""
    before, after, program, words = OTHERS[name]
    mx = node(start=False, switch_user=True, settings=PROCESSES)
    shutil.chown(mx.mail, USERS["local"])
    mx.start()
    noted = os.path.join(mx.run, "stagepost.conf")
    with open(noted, encoding="utf-8") as file:
        text = file.read()
    assert before in text
    with open(noted, "w", encoding="utf-8") as file:
        file.write(text.replace(before, after))
    found = [one["found"] for one in findings(mx) if one.get("process") == program]
    assert words == {text.rpartition(" ")[0] for text in found}, found


@ROOT_ONLY
def test_no_sandbox(node):
    """Of a kernel that has none."""
    mx = node(start=False, switch_user=True, settings=PROCESSES + services_for_helpers("www-data"))
    shutil.chown(mx.mail, USERS["local"])
    mx.prefix = [WITHOUT]
    mx.start()
    found = findings(mx)
    assert {one["found"] for one in found} == {"no filter of its own, seccomp mode 2"}, found
    assert {one["process"] for one in found} == {
        "smtpd", "queue", "send", "resolve", "names", "remote", "lmtp", "local", "pipe"}, found


def test_an_owners_node(node):
    """All its processes are its owner's: he, or root, checks them."""
    mx = node()
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    assert findings(mx) == []


@ROOT_ONLY
def test_processes_that_are_hidden_from_the_owner(node):
    """What is connected with them is nothing that is wrong."""
    mx = node(settings=services_for_helpers())
    ended = subprocess.run(
        [*as_user(), os.path.join(mx.programs, "stagepost"), "check", "--running", "-c", mx.conf],
        check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stderr == (
        "stagepost check: what 1 process has open cannot be seen: only root can check that\n"), ended
    count = len(mx.pids())  # the supervisor is one more
    assert (ended.returncode, ended.stdout) == (0, f"{count} processes: ok\n")
    status, out, errors = check(mx)
    assert (status, out, errors) == (0, f"{count + 1} processes: ok\n", "")


def test_a_file_that_is_not_in_force(node):
    """It is said in which settings, by line; the node is judged by what it was told."""
    second = f'listen smtp {{ address = "127.0.0.1:{free_port()}" }}\n'  # a section of the same name
    mx = node(settings=f'domain "old.test" {{ service = maildir }}\nload_queue = 7\n{second}')
    def change(*pairs):
        text = open(mx.conf, encoding="utf-8").read()
        for before, after in pairs:
            assert before in text
            text = text.replace(before, after)
        with open(mx.conf, "w", encoding="utf-8") as file:
            file.write(text)
        return text
    assert check(mx)[2] == ""
    text = change(('"old.test"', '"new.test"'), ("load_queue = 7\n", ""),
                  (f'"127.0.0.1:{mx.port}"', f'"127.0.0.1:{mx.port}", "127.0.0.2:{mx.port}"'))
    lines = text.splitlines()
    at = {word: 1 + next(i for i, line in enumerate(lines) if word in line) for word in ("listen smtp", "new.test")}
    status, out, errors = check(mx)
    assert status == 0 and out.endswith(" processes: ok\n"), errors
    assert errors.splitlines() == [
        f"{mx.conf}: load_queue: is not in force yet; in force is 7",
        f'{mx.conf}:{at["listen smtp"]}: listen smtp.address: is not in force yet; in force is {{ "127.0.0.1:{mx.port}" }}',
        f"{mx.conf}:{at['new.test']}: domain new.test: is not in force yet",
        f"{mx.conf}: domain old.test: is in force still",
        f"stagepost check: {mx.conf} is not in force as it is: 4 differences; what runs is compared with what it was "
        "told, by the start or the last reload"]
    found = [json.loads(line) for line in check(mx, "--json")[1].splitlines()]
    assert [(one["severity"], one["setting"]) for one in found] == [("warning", setting) for setting in (
        "load_queue", "listen smtp.address", "domain new.test", "domain old.test")]
    change(("domain ", "domian "))
    status, out, errors = check(mx)
    assert status == 1 and out.endswith(" processes: ok\n") and "domian" in errors, (out, errors)
    change(("domian ", "domain "))
    mx.reload()
    assert check(mx)[::2] == (0, "")


def test_nothing_runs(node):
    mx = node()
    mx.stop()
    status, out, errors = check(mx)
    assert (status, out) == (1, "") and errors.startswith("stagepost check: nothing runs with ")
