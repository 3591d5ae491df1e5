# SPDX-License-Identifier: ISC
"""stagepost directory get, put, set, del, list, watch, stats."""

import concurrent.futures
import json
import os
import select
import signal
import subprocess

import pytest
from directory import HASH
from stagepost import PATIENCE, as_user, wait_until


OTHER_HASH = HASH[:-1] + ("a" if HASH[-1] != "a" else "b")


@pytest.fixture
def command(node):
    """command(WORD...) of a node with a directory: (exit status, output, errors)."""
    made = node("dir", start=False, domains=())
    made.settings = f'default_domain = "a.test"\ndirectory {{ path = "{made.directory}/data/directory.db" }}\n'
    made.write_configuration()
    made.start()

    def run(*words):
        ended = subprocess.run(
            as_user() + [os.path.join(made.programs, "stagepost"), "directory", words[0],
                         "-c", made.conf, *words[1:]],
            check=False, capture_output=True, text=True, timeout=PATIENCE)
        return ended.returncode, ended.stdout, ended.stderr

    run.node = made
    return run


def run_beside(run, commands):
    """What RUN(WORD...) returns for each of COMMANDS, in their order. All run at once: who finds nobody
    asks again for two seconds before he says so."""
    with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda words: run(*words), commands))


def test_records_come_and_go(command):
    assert command("put", "--table", "domain", "Example.org", "kind=local", "service=maildir") == (
        0, "", "")
    assert command("put", "Ann@example.org", "kind=mailbox")[0] == 0
    assert command("put", "--table", "user", "ann", "name=Ann = x", f"password={HASH}")[0] == 0
    assert command("get", "--table", "user", "ann") == (
        0, "user ann password=$6$... name=Ann = x\n", "")
    assert json.loads(command("get", "--json", "--table", "user", "ann")[1]) == {
        "table": "user", "key": "ann", "password": ["$6$..."], "name": "Ann = x"}
    assert command("list") == (0, "address ann@example.org kind=mailbox\n", "")
    assert command("list", "b") == (0, "", "")
    assert json.loads(command("list", "--json", "--table", "domain")[1])["kind"] == "local"
    assert command("del", "ann@example.org") == (0, "", "")
    command.node.log.wait("directory_changed", count=4)  # the log comes after the answer
    mark = command.node.log.mark()
    assert command("del", "ann@example.org") == (
        1, "", "stagepost directory del: there is no address ann@example.org\n")
    assert command("get", "--table", "address", "ann@example.org") == (
        1, "", "stagepost directory get: there is no address ann@example.org\n")
    assert command("put", "bob@example.org", "kind=mailbox")[0] == 0
    command.node.log.wait("directory_changed", since=mark)  # and what was not there was none before
    (change,) = command.node.log.find("directory_changed", since=mark)
    assert change["key"] == "bob@example.org" and change["changes"] == "1"


def test_no_field_is_lost(command):
    """A user is disabled, and has his password afterwards."""
    def fields():
        (line,) = [json.loads(line) for line in command("export", "--format", "json")[1].splitlines()
                   if '"user"' in line]
        return {name: line[name] for name in line if name not in ("table", "key")}

    assert command("put", "--table", "user", "ann", f"password={HASH}", "name=Ann", "send_as=@x.test",
                   f"password={OTHER_HASH}") == (0, "", "")
    before = fields()
    command.node.log.wait("directory_changed")
    mark = command.node.log.mark()
    assert command("put", "--table", "user", "ann", "state=disabled", "name=Ann") == (
        1, "", "stagepost directory put: user ann has other fields, which would be gone: password, send_as; "
        '"stagepost directory set" changes single fields, --replace drops those. Nothing was changed.\n')
    assert fields() == before and not command.node.log.find("directory_changed", since=mark)
    assert command("set", "--table", "user", "ann", "state=disabled", "name=")[0] == 0
    assert fields() == {"password": [HASH, OTHER_HASH], "send_as": before["send_as"], "state": "disabled"}
    assert command("set", "--table", "user", "ann", f"password={HASH}")[0] == 0
    assert fields() == {"password": [HASH], "send_as": before["send_as"], "state": "disabled"}
    assert command("put", "--replace", "--table", "user", "ann", "state=active")[0] == 0
    assert fields() == {"state": "active"}
    assert command("set", "--table", "user", "bob", "state=disabled") == (
        1, "", "stagepost directory set: there is no user bob\n")


def test_of_changes_at_once_none_is_lost(command):
    """Each sets a field of its own of the same user."""
    assert command("put", "--table", "user", "ann", f"password={HASH}")[0] == 0
    fields = ("name", "server", "state", "send_as")
    values = {"name": "Ann", "server": "s1", "state": "disabled", "send_as": "@x.test"}
    for turn in range(3):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for name in fields:
                assert command("set", "--table", "user", "ann", f"{name}=")[0] == 0
            ended = list(pool.map(lambda name: command("set", "--table", "user", "ann",
                                                       f"{name}={values[name]}"), fields))
        assert [one[0] for one in ended] == [0] * 4, ended
        (line,) = [json.loads(line) for line in command("export")[1].splitlines() if '"ann"' in line]
        assert {name: line[name] for name in fields} == values, (turn, line)


def test_what_dangles_is_told(command):
    """By put, which makes the record all the same, and by check, until it is there."""
    def put(*words):
        status, told, warnings = command("put", *words)
        assert (status, told) == (0, ""), warnings
        return warnings.replace("stagepost directory put: warning: ", "").splitlines()

    def check():
        status, told, errors = command("check")
        assert (status, errors) == (1 if told else 0, ""), errors
        return told.splitlines()

    assert not check()
    assert put("ann@a.test", "kind=mailbox") == ["its domain is not one of ours"]
    assert put("--table", "domain", "a.test", "kind=local", "service=elsewhere") == [
        'postmaster@a.test: The configuration has no service "elsewhere"']
    assert put("--table", "domain", "a.test", "kind=local", "service=maildir") == []
    assert not check()
    assert put("--table", "domain", "b.test", "kind=alias", "target=c.test") == [
        "c.test: there is no such record"]
    assert put("x@a.test", "kind=forward", "target=ann@a.test", "target=gone@a.test") == [
        "gone@a.test: No such user here"]
    assert put("y@a.test", "kind=alias", "target=z@a.test") == ["z@a.test: No such user here"]
    assert put("z@a.test", "kind=alias", "target=y@a.test") == [
        "The address leads to itself: z@a.test > y@a.test > z@a.test"]
    assert put("u@a.test", "kind=mailbox", "user=ute") == [
        'The directory has no user "ute", whose mailbox it is']
    assert put("--table", "user", "ute", "server=s1") == ["s1: there is no such record"]
    assert put("--table", "server", "s1", "service=gone") == [
        "gone: the configuration has no such service"]
    assert put("all@a.test", "kind=list", "owner=boss@a.test") == ["boss@a.test: No such user here"]
    assert put("--table", "member", "all@a.test left@a.test") == ["left@a.test: No such user here"]
    assert put("--table", "member", "none@a.test ann@b.example") == [
        "none@a.test: there is no such record"]
    assert put("@a.test", "kind=forward", "target=x@elsewhere.test") == []
    assert put("--replace", "@a.test", "kind=refused", "text=Nobody") == []
    assert put("old@a.test", "kind=refused", "text=Ann has left") == []
    assert command("del", "@a.test")[0] == 0
    assert sorted(check()) == sorted([
        "domain b.test: c.test: there is no such record",
        "address all@a.test: boss@a.test: No such user here",
        'address u@a.test: The configuration has no service "gone"',
        "address x@a.test: gone@a.test: No such user here",
        "address y@a.test: The address leads to itself: y@a.test > z@a.test > y@a.test",
        "address z@a.test: The address leads to itself: z@a.test > y@a.test > z@a.test",
        "member all@a.test left@a.test: left@a.test: No such user here",
        "member none@a.test ann@b.example: none@a.test: there is no such record",
        "server s1: gone: the configuration has no such service",
    ])


def test_what_becomes_of_an_address_is_told_in_words(command):
    for words in (["--table", "domain", "a.test", "kind=local", "service=maildir"],
                  ["ann@a.test", "kind=mailbox"],
                  ["info@a.test", "kind=forward", "target=ann@a.test", "target=x@b.test"],
                  ["all@a.test", "kind=list", "owner=ann@a.test", "verp=yes"],
                  ["gone@a.test", "kind=refused", "text=Ann has left", "status=5.1.6"],
                  ["moved@a.test", "kind=mailbox", "state=deferred"]):
        assert command("put", *words) == (0, "", "")
    wanted = {
        "ann+x@a.test": (0, "is delivered to ann+x@a.test by service maildir"),
        "info@a.test": (0, "is delivered to ann@a.test by service maildir\n"
                           "info@a.test is sent on to x@b.test"),
        "all@a.test": (0, "is sent to the members of all@a.test, as from ann@a.test, a sender for "
                          "each"),
        "gone@a.test": (1, "is refused with 5.1.6: gone@a.test: Ann has left"),
        "moved@a.test": (1, "is deferred with 4.2.1: moved@a.test: "
                            "This address takes no mail for now"),
        "x@b.test": (0, "is sent to the servers of its domain, which is not ours"),
    }
    for address, (status, text) in wanted.items():
        assert command("get", address) == (status, f"{address} {text}\n", "")
    status, text, _ = command("get", "--json", "info@a.test")
    told = json.loads(text)
    assert status == 0 and told["address"] == "info@a.test" and told["ttl_ms"] > 3000000
    assert told["results"] == ["local maildir ann@a.test", "remote x@b.test"]
    assert "address info@a.test" in told["depends_on"]
    assert command("get", "nobody@a.test")[0] == 1


def test_what_is_wrong_is_said(command):
    status, text, error = command("put", "ann@a.test", "kind=nothing")
    assert (status, text) == (3, "") and "kind" in error and "mailbox" in error
    assert command("put", "ann@a.test", "kind") [0] == 2
    assert command("put")[0] == 2
    assert command("get")[0] == 2
    assert command("get", "a", "b")[0] == 2
    assert command("get", "--table", "nothing", "a")[0] == 2
    assert command("list", "a", "b")[0] == 2
    assert command("watch", "x")[0] == 2
    command.node.stop()
    asked = (["get", "a@b"], ["put", "a@b", "kind=mailbox"], ["list"], ["stats"])
    for words, (status, text, error) in zip(asked, run_beside(command, asked)):
        assert (status, text) == (3, "")
        assert error.startswith(f"stagepost directory {words[0]}: ") and error.count("\n") == 1
        assert f"cannot be asked: {command.node.run}/directory: " in error, error
    os.chmod(command.node.run, 0)
    status, _, error = command("get", "a@b")
    os.chmod(command.node.run, 0o755)
    assert status == 3 and f"{command.node.run}/directory: Permission denied" in error, error
    command.node.settings = ""
    command.node.write_configuration()
    status, _, error = command("get", "a@b")
    assert status == 3 and "no section" in error
    command.node.start()


def test_every_command_that_connects_says_what_is_forbidden(command):
    """The path and the true error, not that nothing runs or answers: the command that would mend
    that is another one."""
    mx = command.node
    def run(*words, text=""):
        return subprocess.run(
            as_user() + [os.path.join(mx.programs, "stagepost"), *words], check=False, input=text,
            capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "STAGEPOST_CONF": mx.conf}, cwd=mx.directory)

    aliases = os.path.join(mx.directory, "aliases")
    with open(aliases, "w", encoding="ascii") as file:
        file.write("a@a.test: b@b.test\n")
    os.chmod(aliases, 0o644)
    mx.settings = mx.settings.replace("}", f'aliases = "{aliases}" }}')
    mx.write_configuration()
    os.chmod(mx.run, 0)
    try:
        forbidden = (
            ["directory", "get", "a@b"], ["directory", "put", "a@b", "kind=mailbox"],
            ["directory", "del", "a@b"], ["directory", "list"], ["directory", "check"],
            ["directory", "export"], ["directory", "import", "--format", "aliases", aliases],
            ["directory", "stats"], ["newaliases"],
            ["queue", "hold", "--all"], ["queue", "release", "--all"],
            ["queue", "retry", "--all"], ["queue", "bounce", "--all", "--yes"],
            ["queue", "remove", "--all", "--yes"], ["trigger", "wait", "x"],
            ["trigger", "release", "x"], ["reload"], ["stop"])
        for words, ended in zip(forbidden, run_beside(run, forbidden)):
            assert ended.returncode != 0, words
            assert mx.run in ended.stderr and "Permission denied" in ended.stderr, (
                words, ended.stderr)
        with subprocess.Popen(
                as_user() + [os.path.join(mx.programs, "stagepost"), "directory", "watch", "-c",
                             mx.conf],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True, cwd=mx.directory) as watch:
            said = watch.stderr.readline()  # it goes on, for the day when it may
            os.chmod(mx.run, 0o755)
            again = watch.stderr.readline()
            watch.terminate()
        assert mx.run in said and "Permission denied" in said and "connected again" in again
    finally:
        os.chmod(mx.run, 0o755)


def test_changes_are_watched(command):
    mx = command.node
    with subprocess.Popen(
            as_user() + [os.path.join(mx.programs, "stagepost"), "directory", "watch", "-c",
                         mx.conf],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as watch:
        # watchers look like any other connection: each gets the change
        wait_until(lambda: command("put", "bob@a.test", "kind=mailbox")[0] == 0
                   and select.select([watch.stdout], [], [], 0.1)[0], "it watches")
        command("put", "ann@a.test", "kind=mailbox")
        key = None
        while key != "ann@a.test":
            version, table, key = watch.stdout.readline().split()
            assert (table, key) in (("address", "ann@a.test"), ("address", "bob@a.test"))
        mx.kill_and_wait("directory")
        command("del", "ann@a.test")
        assert watch.stdout.readline().split() == [str(int(version) + 1), table, key]
        watch.send_signal(signal.SIGTERM)


def test_no_configuration_is_no_answer(command):
    """Nor is it one where the last good one is lost, too."""
    command.node.settings += "colour = red\n"
    command.node.write_configuration()
    os.unlink(f"{command.node.run}/stagepost.conf")
    for words in (("get", "ann@a.test"), ("del", "ann@a.test"), ("put", "ann@a.test", "kind=mailbox")):
        status, told, errors = command(*words)
        assert (status, told) == (3, "") and "colour" in errors, errors


def test_lists_of_a_member(command):
    command("put", "all@a.test", "kind=list", "owner=ann@a.test")
    command("put", "--table", "member", "all@a.test ann@a.test")
    command("put", "--table", "member", "some@a.test ann@a.test")
    command("put", "--table", "member", "some@a.test anna@a.test")
    status, told, errors = command("list", "--table", "membership", "ann@a.test ")
    assert (status, errors) == (0, "")
    assert told.splitlines() == [
        "membership ann@a.test all@a.test", "membership ann@a.test some@a.test"]
    assert json.loads(command("list", "--table", "membership", "--json", "anna")[1]) == {
        "table": "membership", "key": "anna@a.test some@a.test"}
    for words in (("get", "--table", "membership", "ann@a.test all@a.test"),
                  ("put", "--table", "membership", "ann@a.test all@a.test"),
                  ("del", "--table", "membership", "ann@a.test all@a.test")):
        status, told, errors = command(*words)
        assert (status, told) == (2, "") and "there is no such table" in errors, errors


@pytest.mark.parametrize("words, allowed", [
    ("get --table x y", "domain, address, member, user, server, node"),
    ("list --table x", "domain, address, member, user, server, node, membership"),
    ("import --table x y.csv", "domain, address, member, user, server, node"),
    ("import --format x y", "json, csv, aliases, postfix, mailboxes"),
    ("export --format x", "json, csv, aliases, postfix, mailboxes"),
    ("export --table x", "domain, address, member, user, server, node"),
    ("passwd --method x y", "yescrypt, bcrypt, argon2, scram-sha-256, scram-sha-1")])
def test_what_is_allowed_is_said(command, words, allowed):
    status, told, errors = command(*words.split())
    assert (status, told) == (2, "") and f"; allowed: {allowed}\n" in errors, errors


def test_stats_tell_of_the_data(command):
    command("put", "ann@a.test", "kind=mailbox")
    command("put", "all@a.test", "kind=list", "owner=ann@a.test")
    command("put", "--table", "member", "all@a.test ann@a.test")
    status, text, _ = command("stats", "--json", "--count")
    told = json.loads(text)
    assert status == 0
    assert (told["state"], told["version"], told["changes"]) == ("up", 3, 3)
    assert {name: told[name] for name in ("address", "member", "domain", "user", "server")} == {
        "address": 2, "member": 1, "domain": 0, "user": 0, "server": 0}
    assert "state        up\n" in command("stats")[1]
