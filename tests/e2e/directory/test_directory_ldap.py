# SPDX-License-Identifier: ISC
"""A node whose directory is in LDAP, the process with its sandbox and mail that goes by it."""

import os
import shutil
import smtplib

import directory
import pytest
import slapd
from inside import NEEDS, inside
from slapd import BASE, START, Slapd, person
from stagepost import give_to_user, wait_until

PEOPLE = f"ou=people,{BASE}"
SETTINGS = """directory {{
  backend = ldap
  path = "{path}/data/ldap.db"
  url = {{ {urls} }}
  base = "{base}"
  bind_dn = "{reader}"
  password_file = "{password}"
  map = {{ "domain.service='maildir'" }}
  ttl = {ttl}
}}
"""


@pytest.fixture
def server(ground):
    path = ground.directory("slapd")
    one = Slapd(os.path.join(path, "one")).load(START + person("ann")).start()
    yield one
    one.stop()
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def mx(node, server):
    """mx(ttl): a node that follows the server, by its name."""
    def make(name="mx", ttl="1h", **options):
        made = node(name, start=False, domains=(), **options)
        password = os.path.join(made.directory, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write(slapd.PASSWORD + "\n")
        give_to_user(password)
        made.settings = SETTINGS.format(
            path=made.directory, base=BASE, reader=slapd.READER, password=password, ttl=ttl,
            urls=f'"{server.url.replace("127.0.0.1", "localhost")}"')
        made.write_configuration()
        return made.start()

    return make


def answer(made, address):
    """The code of RCPT."""
    with smtplib.SMTP("127.0.0.1", made.port, timeout=20) as client:
        client.ehlo()
        client.mail("eve@example.net")
        return client.rcpt(address)[0]


@pytest.mark.parametrize("switch_user", [False, True])
def test_mail(mx, server, switch_user):
    """Addresses of LDAP are known at RCPT, mail arrives, changes are seen; in the sandbox."""
    made = mx(switch_user=switch_user)
    made.log.wait("ldap_followed", changed="5")
    wait_until(lambda: answer(made, "ann@example.org") == 250, "ann is known")
    assert answer(made, "bob@example.org") == 550
    server.add(person("bob", more="mailLocalAddress: rob@example.org\n"))
    wait_until(lambda: answer(made, "rob@example.org") == 250, "bob is known")
    with smtplib.SMTP("127.0.0.1", made.port, timeout=20) as client:
        client.sendmail("eve@example.net", ["rob@example.org"], "Subject: x\r\n\r\nx\r\n")
    made.log.wait("delivered", to="bob@example.org")
    assert os.listdir(os.path.join(made.mail, "example.org", "bob", "new"))
    client = directory.Client(os.path.join(made.run, "directory"))
    assert client.ask("put", "address", "eve@example.org", "kind mailbox")[1][0] == "storage"
    client.close()
    server.delete(f"uid=bob,{PEOPLE}")
    wait_until(lambda: answer(made, "rob@example.org") == 550, "bob is gone")
    assert not made.log.find("sandbox_lacks") and not made.log.find("ldap_lost")


def test_no_false_refusal(mx, server):
    """A server that says nothing: answers until the TTL is over, then for now none, never 5yz."""
    made = mx(ttl="8s")
    wait_until(lambda: answer(made, "ann@example.org") == 250, "ann is known")
    server.freeze()
    codes = []

    def ask():
        codes.append(answer(made, "ann@example.org"))
        return codes[-1] != 250

    wait_until(ask, "the TTL is over")
    made.log.wait("ldap_lost", reason="it says nothing any more")
    assert {code // 100 for code in codes} == {2, 4}
    assert answer(made, "nobody@example.org") // 100 == 4
    server.thaw()
    wait_until(lambda: answer(made, "ann@example.org") == 250, "it is followed again")
    assert answer(made, "nobody@example.org") == 550


def test_a_lost_link_refuses_nobody(mx, server):
    """Without the server those that exist are known to the end of a long TTL; that others do not
    exist, which was known, is not said any more: neither by the copy nor by who keeps answers."""
    made = mx(ttl="1h")
    wait_until(lambda: answer(made, "ann@example.org") == 250, "ann is known")
    assert answer(made, "bob@example.org") == 550
    mark = made.log.mark()
    server.stop()
    made.log.wait("ldap_lost", mark)
    wait_until(lambda: answer(made, "bob@example.org") == 451, "bob may exist by now")
    for _ in range(3):
        assert answer(made, "bob@example.org") == 451
        assert answer(made, "never-asked@example.org") == 451
        assert answer(made, "x@far.test") == 451
        assert answer(made, "ann@example.org") == 250
    server.load(person("bob")).start()
    wait_until(lambda: answer(made, "bob@example.org") == 250, "bob is there")
    assert answer(made, "never-asked@example.org") == 550


def test_an_outage_is_told_once(mx, server):
    """That the server was lost, and why it cannot be reached: not what was asked meanwhile."""
    made = mx()
    wait_until(lambda: answer(made, "ann@example.org") == 250, "ann is known")
    made.log.wait("ldap_followed")
    for outage in range(1, 3):
        server.stop()
        made.log.wait("ldap_lost", count=2 * outage)
        mark = made.log.mark()
        for number in range(30):
            assert answer(made, f"u{number}@example.org") == 451
        made.log.wait("command_refused", mark, count=30)
        lost = [event["reason"] for event in made.log.find("ldap_lost")]
        assert len(lost) == 2 * outage and len(set(lost)) == 2, lost
        server.start()
        made.log.wait("ldap_followed", mark)
        wait_until(lambda: answer(made, "nobody@example.org") == 550, "it is followed again")
    assert not made.log.find("store_error") and not made.log.find("directory_error")


def test_reload(mx):
    """A wrong map is refused, and all goes on; another one is taken, and all is read again."""
    made = mx()
    wait_until(lambda: answer(made, "ann@example.org") == 250, "ann is known")
    made.log.wait("ldap_followed")  # later: lines of the log come by way of the supervisor
    settings = made.settings
    made.settings = settings.replace("domain.service", "domain.servant")
    made.write_configuration()
    made.reload("config_refused")
    assert answer(made, "ann@example.org") == 250
    made.settings = settings.replace("domain.service='maildir'",
                                     "domain.service='maildir'\", \"address.key=cn")
    made.write_configuration()
    mark = made.log.mark()
    made.reload()
    made.log.wait("ldap_followed", mark, loaded="full")
    assert made.log.find("ldap_entry_bad", mark, dn=f"uid=ann,{PEOPLE}")
    wait_until(lambda: answer(made, "ann@example.org") == 550, "ann has no address")


def test_killed(mx, server):
    """Killed while LDAP changes: the next one goes on from where the copy is."""
    made = mx()
    made.log.wait("ldap_followed")
    wait_until(lambda: answer(made, "ann@example.org") == 250, "ann is known")
    for i in range(3):
        mark = made.log.mark()
        server.add("".join(person(f"p{i}{n}") for n in range(100)))
        made.kill_and_wait("directory")
        followed = made.log.wait("ldap_followed", mark)
        assert (followed["loaded"], followed["entries"]) == ("changes", str(5 + 100 * (i + 1)))
        wait_until(lambda: answer(made, f"p{i}99@example.org") == 250, "the last is known")


@NEEDS[0]
@NEEDS[1]
def test_sandbox(mx):
    """What directory-ldap may do besides what any directory may: find and reach its servers."""
    made = mx(switch_user=True)
    made.log.wait("ldap_followed")
    pid = made.pids("directory")[0]
    read = lambda path: ("openat", -100, f"={path}", os.O_RDONLY, 0)
    data = os.path.join(made.directory, "data", "ldap.db")
    for what in (read("/etc/hosts"), read("/etc/nsswitch.conf"), read(data),
                 ("socket", 2, 1, 0), ("socket", 2, 2, 0)):
        result = inside(pid, *what)
        assert not result.startswith("-"), (what, result)
        assert inside(pid, "close", result) == "0"
    for what in (read("/etc/passwd"), read("/etc/shadow"), read(made.conf),
                 read(os.path.join(made.directory, "password")), read(made.queue + "/format"),
                 ("execve", "=/bin/true", 0, 0), ("clone", 17, 0, 0, 0, 0),
                 ("mmap", 0, 4096, 7, 0x22, -1, 0), ("kill", os.getpid(), 0),
                 ("socket", 17, 3, 0), ("setuid", 0)):
        assert inside(pid, *what) in ("-EPERM", "-EACCES"), what
    assert not made.log.find("ldap_lost")


def test_wrong_settings(node):
    """What is wrong in the settings is said, and the process is tried again."""
    made = node("wrong", start=False, domains=())
    made.settings = SETTINGS.format(path=made.directory, base="nothing", reader="", password="",
                                    ttl="1h", urls='"ldap://127.0.0.1:1"')
    made.write_configuration()
    with pytest.raises(AssertionError):
        made.start(timeout=5)
    told = made.log.wait("directory_error", operation="open")
    assert told["reason"] == 'base "nothing" is not the name of an entry'
