# SPDX-License-Identifier: ISC
"""Records come into the directory and go out of it as text, and other mail systems ask it."""

import base64
import csv
import hashlib
import hmac
import io
import json
import os
import pty
import random
import re
import select
import smtplib
import socket
import sqlite3
import subprocess
import threading
import time
import warnings

import pytest
from directory import HASH
from peers import Postfix, postfix_command
from stagepost import PATIENCE, as_user, free_port, listening, wait_until

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import crypt

HERE = os.path.dirname(os.path.abspath(__file__))


class Commands:
    """Of one node, as its own user."""

    def __init__(self, programs, node):
        self.programs = programs
        self.node = node

    def run(self, *words, name="stagepost", text="", status=0):
        program = os.path.join(self.programs, name)
        if not os.path.lexists(program):
            os.symlink("stagepost", program)
        ended = subprocess.run(
            as_user() + [program, *words], input=text, text=True, capture_output=True,
            check=False, timeout=120, cwd=self.node.directory,
            env={**os.environ, "STAGEPOST_CONF": self.node.conf})
        assert ended.returncode == status, (ended.returncode, ended.stdout, ended.stderr)
        return ended

    def write(self, name, text):
        path = os.path.join(self.node.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def load(self, *words, status=0, **files):
        """import of the one of FILES, by its format."""
        (form, text), = files.items()
        return self.run("directory", "import", "--format", form, *words, "-", text=text,
                        status=status)

    def records(self, *words):
        lines = self.run("directory", "export", *words).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def keys(self):
        return [record["key"] for record in self.records()]


@pytest.fixture
def directory(node, ground):
    """directory(...): the commands of a node with a directory; MORE settings of its section."""

    def make(name="dir", more="", **options):
        made = node(name, start=False, domains=(), hostname="d.test", **options)
        made.settings = (f'directory {{ path = "{made.directory}/directory.db" {more}\n'
                         f'aliases = "{made.directory}/aliases" }}\n')
        made.write_configuration()
        made.start()
        return Commands(ground.programs, made)

    return make


def forward(name, *targets, **more):
    return {"table": "address", "key": f"{name}@d.test", "kind": "forward",
            "target": [f"{target}@d.test" for target in targets], **more}


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


# --- import ---

def test_a_wrong_file_changes_nothing(directory):
    one = directory()
    text = "a: b\nc: |/bin/x\nd e\na: f\n"
    said = one.load("--domain", "d.test", aliases=text, status=1).stderr
    assert re.match(r"-:2: \|/bin/x is a program: .*\n-:3: no \"name: .*\n"
                    r"-:4: the same key is in line 1\n.*3 lines are wrong, nothing was changed",
                    said), said
    assert one.keys() == []
    ended = one.load("--domain", "d.test", "--dry-run", aliases=text, status=1)
    assert ended.stdout.startswith("add address a@d.test\nwould be 1 added")
    assert one.keys() == []
    ended = one.load("--domain", "d.test", "--partial", aliases=text, status=1)
    assert ended.stdout == "1 added, 0 changed, 0 removed; 0 the same, 3 wrong\n"
    assert one.records() == [forward("a", "b")]


def test_only_differences_are_put(directory):
    one = directory()
    def changes():
        return sum(int(event["changes"]) for event in one.node.log.find("directory_changed"))

    one.load(json=lines(forward("a", "x"), forward("b", "x")))
    ended = one.load("--update", json=lines(forward("a", "x"), forward("b", "y"), forward("c", "z")))
    assert ended.stdout == "1 added, 1 changed, 0 removed; 1 the same\n"
    wait_until(lambda: changes() == 4, "the log has all changes")
    one.load(json=lines(forward("a", "x"), forward("b", "y"), forward("c", "z")))
    one.load(json=lines(forward("d", "z")))  # what is logged before this is there when this is
    wait_until(lambda: one.node.log.find("directory_changed", key="d@d.test"), "the log has the last change")
    assert changes() == 5


LEFT = {
    # what is there, then of each file: its format, its text, the line that tells the difference
    "domain": ({"table": "domain", "key": "e.test", "kind": "local", "service": "maildir"}, [
        ("postfix", "e.test x\n", None),
        ("postfix", "@e.test @d.test\n", "domain e.test kind: local -> alias"),
        ("csv", "table,key,kind,service\ndomain,e.test,local,other\n", "domain e.test service: maildir -> other")]),
    "mailbox": ({"table": "address", "key": "a@d.test", "kind": "mailbox", "quota": "1G", "state": "disabled"}, [
        ("mailboxes", "a@d.test d.test/a/\n", None),
        ("csv", "table,key,kind,state\naddress,a@d.test,mailbox,active\n",
         "address a@d.test state: disabled -> active"),
        ("csv", "table,key,kind,state\naddress,a@d.test,mailbox,\n", None)]),
    "user": ({"table": "user", "key": "ann", "name": "Ann", "password": [HASH]}, [
        ("csv", "table,key,name\nuser,ann,Ann\n", None),
        ("csv", "table,key,name,password\nuser,ann,Anne,\n", "user ann name: Ann -> Anne"),
        ("json", '{"table": "user", "key": "ann", "password": "$6$other$' + HASH.split("$")[3] + '"}\n',
         "user ann password: $6$... -> $6$...")]),
}


@pytest.mark.parametrize("kind", LEFT)
def test_what_is_there_is_left_alone(directory, kind):
    """An import only adds; what differs is named, and with --update only the field that the file
    names is set. A dry run says so before, and nothing is said of what the file does not name."""
    one = directory()
    there, files = LEFT[kind]
    for form, text, difference in files:
        one.load("--replace", "--yes", json=lines(there))
        ended = one.load(**{form: text}, status=1 if difference else 0)
        assert ended.stderr == (f"-:{len(text.splitlines())}: {difference} (left as it is)\n" if difference else "") or (
            "alias" in difference and f"{difference} (left as it is)\n" in ended.stderr), ended
        assert ("1 different and left as they are (see --update)" in ended.stdout) == bool(difference)
        assert one.records("--table", there["table"]) == [there]
        if "alias" in (difference or ""):
            for words in (["--dry-run"], []):
                refused = one.load("--update", *words, **{form: text}, status=1).stderr
                assert 'domain e.test: there is no field "service" of kind alias' in refused
            continue
        planned = one.load("--update", "--dry-run", **{form: text}).stdout.splitlines()
        assert planned[:-1] == ([f"change {difference}"] if difference else [])
        assert one.records("--table", there["table"]) == [there]
        one.load("--update", **{form: text})
        (after,) = one.records("--table", there["table"])
        named = (difference or "x x nothing:").split(" ")[2].rstrip(":")
        assert {key: value for key, value in after.items() if key != named} == {
            key: value for key, value in there.items() if key != named}
        assert (after.get(named) != there.get(named)) == bool(difference)


def test_a_dry_run_shows_each_field(directory):
    one = directory()
    one.load(json=lines({"table": "domain", "key": "e.test", "kind": "local", "service": "maildir"},
                        forward("a", "x"), forward("gone", "x")))
    text = lines({"table": "domain", "key": "e.test", "kind": "local"},
                 forward("a", "x", "y", state="disabled"), forward("new", "z"))
    said = one.load("--replace", "--dry-run", json=text).stdout
    assert sorted(said.splitlines()[:-1]) == sorted([
        "change domain e.test service: maildir -> (none)",
        "change address a@d.test target: x@d.test -> x@d.test, y@d.test",
        "change address a@d.test state: (none) -> disabled",
        "add address new@d.test",
        "remove address gone@d.test"])
    told = [json.loads(line) for line in
            one.load("--replace", "--dry-run", "--json", json=text).stdout.splitlines()]
    assert told[-1] == {"event": "sum", "dry_run": True, "added": 1, "changed": 2, "removed": 1, "same": 0,
                        "different": 0, "kept": 0, "wrong": 0}
    (changed,) = [event for event in told if event.get("key") == "a@d.test"]
    assert changed == {"event": "change", "file": "-", "line": 2, "table": "address", "key": "a@d.test",
                       "differences": [
                           {"field": "target", "was": ["x@d.test"], "becomes": ["x@d.test", "y@d.test"]},
                           {"field": "state", "was": [], "becomes": ["disabled"]}]}
    wrong = json.loads(one.load("--json", "--partial", aliases="x\n", status=1).stdout.splitlines()[0])
    assert wrong == {"event": "wrong", "file": "-", "line": 1, "text": 'no "name: address, address"'}
    assert one.run("directory", "import", "--update", "--replace", "x.json", status=2).stderr.startswith(
        "stagepost directory import: --update keeps what --replace drops")


def test_what_is_removed_is_agreed_to(directory):
    one = directory()
    one.load(json=lines(forward("a", "x"), forward("b", "x"),
                        {"table": "domain", "key": "d.test", "kind": "relay"}))
    text = lines(forward("a", "x"))
    said = one.load("--replace", json=text, status=1).stderr
    assert "1 records that - does not have would be removed; --yes" in said
    assert len(one.keys()) == 3
    assert one.load("--replace", "--dry-run", json=text).stdout.startswith("remove address b@d.test")
    one.load("--replace", "--yes", json=text)
    assert one.keys() == ["d.test", "a@d.test"], "a table that the file does not have stays"


def random_records(chance):
    """Of all kinds; their addresses have what addresses may have."""
    locals_ = ["ann", "o'neil", '"a b"', '"x,y"', "#1", "|pipe", "/slash", "jos\u00e9", "a+b", "{x}"]
    addresses = [f"{local}@{domain}" for local in locals_ for domain in ("d.test", "e.test")]
    made = {}
    for key in addresses + [f"user{i}@d.test" for i in range(200)]:
        kind = chance.choice(["mailbox", "forward", "alias", "list", "refused"])
        record = {"table": "address", "key": key, "kind": kind}
        others = [address for address in addresses if address != key]
        if kind == "forward":
            record["target"] = chance.sample(addresses, chance.randint(1, 9))
        elif kind == "alias":
            record["target"] = [chance.choice(others)]
        elif kind == "list":
            record["owner"] = chance.choice(addresses)
            for member in chance.sample(others, 4):
                made["member", f"{key} {member}"] = {"table": "member", "key": f"{key} {member}"}
        elif kind == "refused":
            record["text"] = chance.choice(['Say "no"', "a, b", "\u00fc \U0001f600", "\\n"])
        made["address", key] = record
    made["user", "ann"] = {"table": "user", "key": "ann", "password": [
        HASH, "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"],
                           "name": "Ann \"the\" Lee, jr."}
    return made


@pytest.mark.parametrize("form", ["json", "csv"])
def test_everything_comes_back(directory, form):
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    made = random_records(random.Random(seed))
    one, two = directory("one"), directory("two")
    one.load(json=lines(*made.values()))
    exported = one.records()
    assert {(record["table"], record["key"]): record for record in exported} == made
    assert [r["key"].encode() for r in exported if r["table"] == "address"] == sorted(
        r["key"].encode() for r in exported if r["table"] == "address")
    text = one.run("directory", "export", "--format", form).stdout
    two.load(**{form: text})
    assert two.records() == exported
    ended = two.load("--replace", "--yes", **{form: text})
    assert ended.stdout == f"0 added, 0 changed, 0 removed; {len(made)} the same\n"


def test_csv_is_as_others_read_it(directory):
    one = directory()
    one.load(json=lines(forward("a", "x", "y"), {"table": "address", "key": "b@d.test",
                                                 "kind": "refused", "text": 'Say "no", please'}))
    text = one.run("directory", "export", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["key"] for row in rows] == ["a@d.test", "b@d.test"]
    assert rows[0]["target"].split("\n") == ["x@d.test", "y@d.test"]
    assert rows[1]["text"] == 'Say "no", please' and rows[1]["target"] == ""


def test_postfix_reads_what_is_exported(directory, tmp_path):
    """Its own postmap finds in our files what the directory has."""
    one = directory()
    one.load(postfix="ann@d.test bob@e.test, carl@e.test\n@f.test all@d.test\n@g.test @d.test\n")
    virtual = tmp_path / "virtual"
    virtual.write_text(one.run("directory", "export", "--format", "postfix").stdout)
    for key, value in (("ann@d.test", "bob@e.test, carl@e.test"), ("@f.test", "all@d.test"),
                       ("@g.test", "@d.test")):
        found = postfix_command(tmp_path, "postmap", "-q", key, f"texthash:{virtual}")
        assert (found.returncode, found.stdout) == (0, value + "\n"), found
    one.load("--domain", "d.test", aliases="x: y, z@e.test\n")
    aliases = tmp_path / "aliases"
    aliases.write_text(one.run("directory", "export", "--format", "aliases", "--domain",
                               "d.test").stdout)
    made = postfix_command(tmp_path, "postalias", f"hash:{aliases}")
    assert made.returncode == 0, made
    found = postfix_command(tmp_path, "postalias", "-q", "x", f"hash:{aliases}")
    assert (found.returncode, found.stdout) == (0, "y@d.test, z@e.test\n"), found


def test_many_lines(directory):
    one = directory()
    count = 20000
    text = "".join(f"user{i}@d.test box{i}@e.test\n" for i in range(count))
    begin = time.monotonic()
    assert one.load(postfix=text).stdout == f"{count} added, 0 changed, 0 removed; 0 the same\n"
    print(f"{count / (time.monotonic() - begin):.0f} lines a second")
    assert len(one.keys()) == count


def test_broken_off_and_done_again(directory):
    """The directory ends in the middle: what is in stays, and the next run has the rest."""
    one = directory()
    count = 30000
    path = one.write("virtual", "".join(f"u{i}@d.test b{i}@e.test\n" for i in range(count)))
    program = os.path.join(one.programs, "stagepost")
    importing = subprocess.Popen(
        as_user() + [program, "directory", "import", "--format", "postfix", path],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "STAGEPOST_CONF": one.node.conf})
    one.node.log.wait("directory_changed", count=2)
    one.node.kill_and_wait("directory")
    said = importing.communicate(timeout=120)
    one.node.log.wait("directory_up", count=2)
    added = re.compile(r"(\d+) added, 0 changed, 0 removed; (\d+) the same")
    found = added.match(one.run("directory", "import", "--format", "postfix", path).stdout)
    assert int(found[1]) + int(found[2]) == count and int(found[2]) > 0, said
    assert len(one.keys()) == count


# --- newaliases ---

def test_newaliases(directory):
    one = directory()
    one.load(json=lines(forward("hand", "x")))
    one.write("aliases", "root: ann\nstaff: ann, bob\nowner-staff: ann\n")
    ended = one.run(name="newaliases")
    assert re.fullmatch(r".*/aliases: 3 aliases, the longest of \d+ bytes, \d+ bytes in all\n",
                        ended.stdout), ended.stdout
    one.write("aliases", "hand: y\nstaff: bob\nowner-staff: ann\nbad: |x\n")
    said = one.run("newaliases", status=65).stderr
    assert "aliases:1: hand@d.test is in the directory already, made by hand" in said
    assert "aliases:4: |x is a program" in said
    assert one.records() == [
        forward("hand", "x"), forward("owner-staff", "ann", source="aliases"),
        {"table": "address", "key": "staff@d.test", "kind": "list", "owner": "owner-staff@d.test",
         "source": "aliases"},
        {"table": "member", "key": "staff@d.test bob@d.test"}]
    one.write("aliases", "")
    one.run("-bi", name="sendmail")
    assert one.keys() == ["hand@d.test"]


def test_newaliases_of_several_files(directory):
    """What one has stays the other's; a list's members may stand in a file of their own."""
    one = directory()
    one.node.settings = one.node.settings.replace(
        f'aliases = "{one.node.directory}/aliases"',
        f'aliases = {{ "{one.node.directory}/first", "{one.node.directory}/second" }}')
    one.node.write_configuration()
    members = one.write("members", "# who\nann, bob\nCarl <carl@e.test>\n")
    one.write("first", "a: x\n")
    one.write("second", f"b: y\na: z\nowner-l: o\nl: :include:{members}\n")
    ended = one.run("newaliases", status=65)
    assert "second:2: the same key is in line 1 of a file before" in ended.stderr
    assert [line.partition(":")[2].split(",")[0] for line in ended.stdout.splitlines()] == [
        " 1 aliases", " 4 aliases"]
    assert one.keys() == ["a@d.test", "b@d.test", "l@d.test", "owner-l@d.test", "l@d.test ann@d.test",
                          "l@d.test bob@d.test", "l@d.test carl@e.test"]
    assert one.records()[0]["target"] == ["x@d.test"]
    one.write("members", "carl@e.test\n")
    one.write("first", "")
    one.write("second", f"b: y\nowner-l: o\nl: :include:{members}\n")
    one.run("newaliases")
    assert one.keys() == ["b@d.test", "l@d.test", "owner-l@d.test", "l@d.test carl@e.test"]


def test_newaliases_that_cannot(directory, node, ground):
    one = directory()
    assert "aliases: No such file" in one.run("newaliases", status=66).stderr
    one.write("aliases", "a: b\n")
    one.node.stop()
    said = one.run("newaliases", status=75).stderr
    assert said.startswith("newaliases: the directory cannot be asked: ")
    assert "/directory: Connection refused" in said or "/directory: No such file" in said
    one.run("newaliases", "x", status=64)
    one.write("stagepost.conf", "nonsense")
    one.run("newaliases", status=78)
    without = Commands(ground.programs, node("without", start=False))
    without.run("newaliases")


def test_mail_follows_aliases(directory):
    """An alias is used a moment after newaliases has ended."""
    one = directory()
    one.load(json=lines({"table": "domain", "key": "d.test", "kind": "local",
                         "service": "maildir"},
                        {"table": "address", "key": "ann@d.test", "kind": "mailbox"}))
    one.write("aliases", "boss: ann\n")
    one.run("newaliases")
    with smtplib.SMTP("127.0.0.1", one.node.port, timeout=PATIENCE) as client:
        client.sendmail("a@client.test", ["boss@d.test"], b"Subject: x\r\n\r\nx\r\n")
        # an address counts as it is when the queue first looks it up: not when it was accepted
        assert len(one.node.maildir("ann@d.test").wait()) == 1
        one.write("aliases", "")
        one.run("newaliases")
        with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
            client.sendmail("a@client.test", ["boss@d.test"], b"Subject: x\r\n\r\nx\r\n")
        assert refused.value.recipients["boss@d.test"][0] == 550
    assert len(one.node.maildir("ann@d.test").messages()) == 1


# --- passwords ---

def hashes(one, name="ann"):
    user, = [record for record in one.records("--table", "user") if record["key"] == name]
    return user.get("password", [])


def test_passwd(directory):
    one = directory()
    assert "no such user" in one.run("directory", "passwd", "ann", text="x\n", status=1).stderr
    one.load(json=lines({"table": "user", "key": "ann", "server": "s1", "name": "Ann"}))
    assert one.run("directory", "passwd", "Ann", text="pencil\n").stderr == ""
    assert [kept.split("$")[0] for kept in hashes(one)] == ["SCRAM-SHA-256", "SCRAM-SHA-1"]
    assert one.run("directory", "passwd", "--method", "yescrypt", "Ann", text="pencil\n").stderr.count(
        "cannot log in as this user") == 2
    kept, = hashes(one)
    assert kept.startswith("$y$") and crypt.crypt("pencil", kept) == kept
    one.run("directory", "passwd", "--method", "bcrypt,scram-sha-256", "ann", text="other")
    first, second = hashes(one)
    assert first.startswith("$2b$12$") and crypt.crypt("other", first) == first
    assert re.fullmatch(r"SCRAM-SHA-256\$32768:[\w+/=]+\$[\w+/=]+:[\w+/=]+", second)
    assert one.records("--table", "user")[0]["name"] == "Ann", "the rest of the record stays"
    assert one.records("--table", "user")[0]["server"] == "s1"
    for bad in ("", "\n", "a\x07\n", "x" * 2000):
        one.run("directory", "passwd", "ann", text=bad, status=1)
    assert hashes(one) == [first, second]
    one.run("directory", "passwd", "--remove", "ann")
    assert hashes(one) == []
    one.run("directory", "passwd", "--create", "bob", text="x\n")
    assert len(hashes(one, "bob")) == 2
    one.run("directory", "put", "--table", "user", "cid", "state=disabled")
    assert "the user is disabled" in one.run("directory", "passwd", "cid", text="x\n").stderr
    one.run("directory", "passwd", "ann", "pencil", status=2)
    one.run("directory", "passwd", "--method", "md5", "ann", status=2)


def type_at_terminal(one, words, prompt, *answers):
    """(exit status, what the terminal showed) of the command, to whose PROMPTs ANSWERS are typed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["STAGEPOST_CONF"] = one.node.conf
        command = as_user() + [os.path.join(one.programs, "stagepost"), *words]
        os.execvp(command[0], command)
    shown = b""

    def read(until):
        nonlocal shown
        while not re.search(until, shown):
            assert select.select([terminal], [], [], PATIENCE)[0], shown
            try:
                piece = os.read(terminal, 1000)
            except OSError:
                return  # it has ended
            shown += piece

    for answer in answers:
        read(prompt + rb" $")
        os.write(terminal, answer)
        shown += b"|"
    read(rb"(?!)")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def passwd_at_terminal(one, *answers):
    return type_at_terminal(one, ["directory", "passwd", "ann"], rb"(New password|Again):", *answers)


def is_scram_of(kept, password):
    """By RFC 5803: METHOD$ROUNDS:SALT$STORED:SERVER."""
    method, begin, keys = kept.split("$")
    rounds, salt = begin.split(":")
    name = method.removeprefix("SCRAM-").replace("-", "").lower()
    salted = hashlib.pbkdf2_hmac(name, password, base64.b64decode(salt), int(rounds))
    stored = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
    return base64.b64decode(keys.split(":")[0]) == stored


def test_passwd_at_a_terminal(directory):
    one = directory()
    one.load(json=lines({"table": "user", "key": "ann"}))
    status, shown = passwd_at_terminal(
        one, b"wrong\x15pencit\xc3\xa9\x7f\x7fl\n", b"pencil\n")
    assert status == 0 and b"pencil" not in shown, shown
    kept = hashes(one)
    assert [is_scram_of(one_of, b"pencil") for one_of in kept] == [True, True]
    status, shown = passwd_at_terminal(one, b"pencil\n", b"pen\n")
    assert status == 1 and b"they are not the same" in shown
    status, shown = passwd_at_terminal(one, b"\x03")
    assert status == 1 and b"no password was given" in shown
    assert hashes(one) == kept


def test_removal_is_agreed_to_at_a_terminal(directory):
    one = directory()
    one.load(json=lines(forward("a", "x"), forward("b", "x")))
    words = ["directory", "import", "--replace", one.write("a.json", lines(forward("a", "x")))]
    status, shown = type_at_terminal(one, words, rb"\[y/N\]", b"n\n")
    assert status == 1 and b"1 records that " in shown and len(one.keys()) == 2
    status, shown = type_at_terminal(one, words, rb"\[y/N\]", b"y\n")
    assert status == 0 and b"0 added, 0 changed, 1 removed; 1 the same" in shown
    assert one.keys() == ["a@d.test"]


# --- socketmap ---

@pytest.fixture
def ask(tmp_path):
    """ask(key, port, name): Postfix's postmap looks KEY up in the map NAME."""
    def ask(key, port, name="virtual"):
        return postfix_command(tmp_path, "postmap", "-q", key,
                               f"socketmap:inet:127.0.0.1:{port}:{name}")

    return ask


RECORDS = lines({"table": "domain", "key": "d.test", "kind": "local", "service": "maildir"},
                {"table": "domain", "key": "r.test", "kind": "relay"},
                {"table": "address", "key": "ann@d.test", "kind": "mailbox"},
                forward("info", "ann"),
                {"table": "address", "key": "both@d.test", "kind": "forward",
                 "target": ["ann@d.test", "bob@postfix.test"]})


def test_socketmap(directory, ask):
    port = free_port()
    one = directory(more=f'socketmap = "127.0.0.1:{port}"')
    assert ask("ann@d.test", port).returncode == 1, "there is nothing yet"
    one.load(json=RECORDS)
    for name, key, value in (
            ("virtual", "ann@d.test", "ann@d.test"), ("virtual", "INFO@D.test", "ann@d.test"),
            ("virtual", "both@d.test", "ann@d.test,bob@postfix.test"),
            ("alias", "info@d.test", "ann@d.test"), ("alias", "info", "ann@d.test"),
            ("mailbox", "ann@d.test", "ann@d.test"), ("domain", "d.test", "local"),
            ("relay", "r.test", "relay")):
        found = ask(key, port, name)
        assert (found.returncode, found.stdout) == (0, value + "\n"), (name, key, found)
    for name, key in (("virtual", "nobody@d.test"), ("virtual", "x@elsewhere.test"),
                      ("alias", "ann@d.test"), ("mailbox", "info@d.test"), ("domain", "r.test"),
                      ("domain", "x.test"), ("transport", "ann@d.test")):
        found = ask(key, port, name)
        assert (found.returncode, found.stdout) == (1, ""), (name, key, found)
    assert "there is no map x" in ask("a@d.test", port, "x").stderr


def test_socketmap_without_data(directory, node, ask):
    """What cannot be known now is no miss: Postfix is to try again."""
    port = free_port()
    upstream = directory("upstream")
    upstream.load(json=RECORDS)
    relay = node("relay", start=False, domains=())
    relay.settings = (f'directory {{ backend = servers servers = "unix:{upstream.node.run}/directory"'
                      f' socketmap = "127.0.0.1:{port}" ttl = 0s negative_ttl = 0s }}\n')
    relay.write_configuration()
    relay.start()
    wait_until(lambda: ask("info@d.test", port).stdout == "ann@d.test\n", "the relay answers")
    upstream.node.stop()
    assert ask("info@d.test", port).stdout == "ann@d.test\n", "what it holds is good for its TTL"
    for name, key in (("virtual", "ann@d.test"), ("virtual", "nobody@d.test"),
                      ("domain", "d.test"), ("relay", "x.test"), ("mailbox", "both@d.test")):
        found = ask(key, port, name)
        assert found.returncode == 1 and re.search("lookup|TEMP|timeout", found.stderr, re.I), found
    upstream.node.start()
    wait_until(lambda: ask("info@d.test", port).stdout == "ann@d.test\n", "the relay answers again")


def rename(path, over, renamed):
    """An alias and what it stands for, in one transaction, again and again."""
    data = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)
    number = 0
    while not over.is_set():
        number += 1
        data.execute("BEGIN IMMEDIATE")
        data.execute("INSERT INTO address (address, kind) VALUES (?, 'mailbox')",
                     (f"u{number}@d.test",))
        data.execute("UPDATE target SET target = ? WHERE address = 'alias@d.test'",
                     (f"u{number}@d.test",))
        data.execute("DELETE FROM address WHERE address = ?", (f"u{number - 1}@d.test",))
        data.execute("COMMIT")
        renamed.set()
    data.close()


def test_a_socketmap_during_renames(directory):
    """What one question reads is of one state."""
    port = free_port()
    one = directory(more=f'socketmap = "127.0.0.1:{port}"')
    one.load(json=RECORDS + lines({"table": "address", "key": "u0@d.test", "kind": "mailbox"},
                                  {"table": "address", "key": "alias@d.test", "kind": "alias",
                                   "target": "u0@d.test"}))
    over, renamed = threading.Event(), threading.Event()
    thread = threading.Thread(target=rename, args=(f"{one.node.directory}/directory.db", over,
                                                   renamed))
    thread.start()
    try:
        assert renamed.wait(PATIENCE)
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            until = time.monotonic() + 6
            while time.monotonic() < until:
                client.sendall(b"20:virtual alias@d.test,")
                answer = client.recv(1000)
                assert b":OK u" in answer or b":TEMP " in answer, answer
    finally:
        over.set()
        thread.join()


def test_a_socketmap_that_a_reload_removes(directory, ask):
    """Nobody listens there any more, so it can be added again."""
    port = free_port()
    one = directory(more=f'socketmap = "127.0.0.1:{port}"')
    one.load(json=RECORDS)
    settings = one.node.settings
    for _ in range(2):
        assert ask("info@d.test", port).stdout == "ann@d.test\n"
        one.node.settings = settings.replace(f'socketmap = "127.0.0.1:{port}"', "")
        one.node.write_configuration()
        one.node.reload()
        wait_until(lambda: not listening(port), "nobody listens there")
        one.node.settings = settings
        one.node.write_configuration()
        one.node.reload()
        wait_until(lambda: listening(port), "it is there again")


@pytest.fixture
def postfix(ground):
    """postfix(port): one whose alias domains and aliases are the directory's at PORT."""
    started = []

    def make(port):
        made = Postfix(ground.directory("postfix"), users=("bob",),
                       more=f"virtual_alias_domains = socketmap:inet:127.0.0.1:{port}:domain\n"
                            f"virtual_alias_maps = socketmap:inet:127.0.0.1:{port}:virtual\n")
        started.append(made)
        return made

    yield make
    for made in started:
        made.stop()


def test_postfix_uses_the_directory(directory, postfix):
    port = free_port()
    one = directory(more=f'socketmap = "127.0.0.1:{port}"')
    one.load(json=RECORDS + lines({"table": "address", "key": "bobby@d.test", "kind": "forward",
                                   "target": ["bob@postfix.test"]}))
    peer = postfix(port)
    with smtplib.SMTP("127.0.0.1", peer.port, timeout=PATIENCE) as client:
        client.ehlo()
        client.mail("a@client.test")
        assert client.rcpt("bobby@d.test")[0] == 250
        assert client.rcpt("nobody@d.test")[0] == 550
        assert client.data(b"Subject: by the directory\r\n\r\nx\r\n")[0] == 250
    text, = peer.maildir("bob@postfix.test").wait()
    assert b"Subject: by the directory" in text
    one.node.stop()
    with smtplib.SMTP("127.0.0.1", peer.port, timeout=PATIENCE) as client:
        client.ehlo()
        client.mail("a@client.test")
        assert client.rcpt("bobby@d.test")[0] == 451, "no lookup is no refusal"
    one.node.start()
    with smtplib.SMTP("127.0.0.1", peer.port, timeout=PATIENCE) as client:
        client.sendmail("a@client.test", ["bobby@d.test"], b"Subject: again\r\n\r\nx\r\n")
    assert len(peer.maildir("bob@postfix.test").wait(2)) == 2
