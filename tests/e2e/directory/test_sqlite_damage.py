# SPDX-License-Identifier: ISC
"""A directory's SQLite file that the disk has changed, that was cut, or that is none: each address is
answered rightly or by 451, the log names the command, and the command leads out."""

import json
import os
import random
import sqlite3
import subprocess

import pytest
from records import Records
from smtp import Client
from stagepost import PATIENCE, as_user, give_to_user, wait_until

NAMES = [f"user{number:03}" for number in range(300)]
PAGE = 4096


class Site:
    def __init__(self, made, path):
        self.made, self.path = made, path

    def fill(self):
        with Records(self.made) as records:
            records.put("domain", "d.test", "kind local", "service maildir")
            for name in NAMES:
                records.put("address", f"{name}@d.test", "kind mailbox")
        self.answers("user000", 250)
        self.made.stop()
        with open(self.path, "rb") as file:
            self.whole = file.read()
        return self

    def write(self, content):
        for end in "-wal", "-shm":
            if os.path.exists(self.path + end):
                os.unlink(self.path + end)
        with open(self.path, "wb") as file:
            file.write(content)
        give_to_user(self.path)

    def put_back(self):
        with open(self.path + ".copy", "wb") as file:
            file.write(self.whole)
        give_to_user(self.path + ".copy")
        os.rename(self.path + ".copy", self.path)

    def start(self, content=None):
        if content is not None:
            self.write(content)
        self.mark = self.made.log.mark()
        self.made.start()

    def replies(self, names):
        with Client(self.made) as client:
            client.docmd("MAIL FROM:<sender@client.test>")
            return [client.docmd(f"RCPT TO:<{name}@d.test>")[0] for name in names]

    def answers(self, name, code):
        wait_until(lambda: self.replies([name]) == [code], f"{name} is answered {code}")

    def command(self, *words):
        ended = subprocess.run(
            as_user() + [os.path.join(self.made.programs, "stagepost"), "directory", words[0],
                         "-c", self.made.conf, *words[1:]],
            check=False, capture_output=True, text=True, timeout=PATIENCE)
        return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture
def site(node, ground):
    path = os.path.join(ground.directory("data"), "directory.db")
    made = node("mx", start=False, domains=[])
    made.settings = ("maxerrors = 10000\nmaxcommands = 100000\n"
                     f'directory {{ negative_ttl = 1s  path = "{path}" }}\n')
    made.write_configuration()
    return Site(made.start(), path).fill()


def test_a_record_that_is_changed(site):
    """One address waits, the others do not; after the repair it can be put in again."""
    assert site.whole.count(b"user123@d.testmailbox") == 1
    site.start(site.whole.replace(b"user123@d.testmailbox", b"user123@d.testmailbux"))
    site.answers("user122", 250)
    assert site.replies(["user123", "user124", "nobody"]) == [451, 250, 550]
    said = site.made.log.wait("store_damaged", since=site.mark)
    assert (said["table"], said["key"]) == ("address", "user123@d.test")
    assert said["reason"] == 'its checksum differs: run "stagepost directory repair"'
    assert site.command("repair") == (
        1, "address user123@d.test: its checksum differs\n300 records are good, 1 are damaged\n"
           "nothing was changed (use --apply)\n", "")
    assert site.replies(["user123"]) == [451]
    code, out, err = site.command("repair", "--apply")
    assert (code, err) == (1, "") and os.path.exists(site.path + ".damaged-1")
    assert out.splitlines()[2:] == [f"the damaged file is now {site.path}.damaged-1",
                                    "put in again what is lost"]
    site.answers("user123", 550)
    assert site.command("put", "user123@d.test", "kind=mailbox")[0] == 0
    site.answers("user123", 250)
    assert set(site.replies(NAMES[:90])) == {250}
    assert site.command("repair") == (0, "301 records are good, 0 are damaged\n", "")


def test_the_checksums_alone_are_damaged(site):
    """Nothing is lost: the records add up."""
    with sqlite3.connect(site.path) as file:
        (root,) = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'checksum'").fetchone()
    file.close()
    at = (root - 1) * PAGE
    site.start(site.whole[:at] + bytes(PAGE) + site.whole[at + PAGE:])
    site.answers("user001", 451)
    site.made.log.wait("store_held", since=site.mark)
    code, out, err = site.command("repair", "--json")
    assert (code, err) == (1, "")
    last = json.loads(out.splitlines()[-1])
    assert (last["good"], last["damaged"], last["kept"]) == (301, 0, "") and last["problem"]
    code, out, err = site.command("repair", "--apply")
    assert (code, err) == (0, ""), out
    site.answers("user001", 250)
    assert set(site.replies(NAMES[:90])) == {250} and site.replies(["nobody"]) == [550]


def cut_at_a_page(site):
    return site.whole[:len(site.whole) // PAGE // 2 * PAGE]


def cut_within_a_page(site):
    return site.whole[:len(site.whole) // 2 + 1000]


def some_text(_):
    return b"This is no database.\n" * 1000


def no_bytes(_):
    return b""


def no_beginning(site):
    return bytes(PAGE) + site.whole[PAGE:]


@pytest.mark.parametrize("harm", [cut_at_a_page, cut_within_a_page, some_text, no_bytes, no_beginning])
def test_a_file_that_is_cut_or_none(site, harm):
    """Nobody is refused; the damaged file is kept, and a copy that is put back ends it."""
    site.start(harm(site))
    site.answers("user001", 451)
    assert site.replies(["nobody", "user299"]) == [451, 451]
    said = site.made.log.wait("store_held", since=site.mark)
    assert "stagepost directory repair" in said["reason"] or harm is no_bytes, said
    code, out, err = site.command("repair")
    assert (code, err) == (1, "") and "nothing was changed" in out
    code, out, err = site.command("repair", "--apply")
    assert (code, err) == (1, "") and f"is now {site.path}.damaged-1\n" in out
    assert os.path.exists(site.path) == (harm in (cut_at_a_page, cut_within_a_page))
    assert 550 not in site.replies(NAMES[:90]) or os.path.exists(site.path)
    site.put_back()
    assert site.command("accept") == (0, "", "")
    site.answers("nobody", 550)  # what was left may have lost the domain, for which this client may relay then
    assert set(site.replies(NAMES[:90])) == {250}


def test_the_file_of_another_site(site, node, ground):
    """It is whole: whether it is meant, only an operator knows."""
    other = os.path.join(ground.directory("other"), "directory.db")
    made = node("other", start=False, domains=[])
    made.settings = f'directory {{ path = "{other}" }}\n'
    made.write_configuration()
    with Records(made.start()) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
    made.stop()
    with open(other, "rb") as file:
        site.start(file.read())
    site.answers("user001", 451)
    said = site.made.log.wait("store_held", since=site.mark)
    assert "other data" in said["reason"], said
    assert site.replies(["nobody"]) == [451]
    assert site.command("repair")[0] == 0, "nothing of it is damaged"
    site.put_back()
    site.answers("user001", 250)
    assert site.replies(["nobody"]) == [550]


def test_another_programs_file_is_left_alone(site):
    os.unlink(site.path)
    with sqlite3.connect(site.path) as file:
        file.execute("CREATE TABLE t(x)")
    file.close()
    give_to_user(site.path)
    site.start()
    site.answers("user001", 451)
    for words in ["repair"], ["repair", "--apply"]:
        code, out, err = site.command(*words)
        assert (code, out) == (1, "") and "another program" in err
    assert not os.path.exists(site.path + ".damaged-1")
    site.put_back()
    site.answers("user001", 250)


def test_who_changes_the_file_is_waited_for(site):
    site.start(site.whole.replace(b"user123@d.testmailbox", b"user123@d.testmailbux"))
    site.answers("user001", 250)
    with sqlite3.connect(site.path, isolation_level=None) as file:
        file.execute("BEGIN IMMEDIATE")
        assert site.command("repair", "--apply") == (
            1, "", f"stagepost directory repair: {site.path}: somebody changes it now\n")
        file.execute("ROLLBACK")
    file.close()
    assert site.command("repair", "--apply")[0] == 1
    site.answers("user123", 550)


def test_a_directory_without_a_file(site):
    site.made.settings = 'directory { backend = postgresql  database = "dbname=none" }\n'
    site.made.write_configuration()
    assert site.command("repair") == (
        1, "", "stagepost directory repair: the directory of this configuration has no SQLite file\n")


@pytest.mark.parametrize("seed", range(6))
def test_bytes_that_are_changed_at_random(site, seed):
    """Also while it runs: the file is repaired meanwhile."""
    chance = random.Random(seed)
    content = bytearray(site.whole)
    for _ in range(1 + seed):
        at = chance.randrange(len(content))
        if seed % 2 == 0:
            content[at] ^= 1 << chance.randrange(8)
        else:
            content[at // PAGE * PAGE:at // PAGE * PAGE + PAGE] = chance.randbytes(PAGE)
    site.start(bytes(content))
    asked = chance.sample(NAMES, 80)
    assert set(site.replies(asked)) <= {250, 451} and set(site.replies(["nobody"])) <= {550, 451}
    code, out, err = site.command("repair", "--apply", "--json")
    assert code in (0, 1), err
    lost = {line["key"] for line in map(json.loads, out.splitlines()) if "key" in line}
    if os.path.exists(site.path):
        assert site.command("accept") == (0, "", "")
        kept = [name for name in asked if f"{name}@d.test" not in lost and "d.test" not in lost]
        wait_until(lambda: set(site.replies(kept)) <= {250}, "what is kept is answered")
