# SPDX-License-Identifier: ISC
"""The store that follows LDAP (directory/store/ldap/ldap.h) with real servers: what is read and told, and what
becomes of it when servers change, go, fall behind or say nothing."""

import os
import shutil
import subprocess
import threading
import time

import pytest
import slapd
from directory_tls import make_certificates
from extent import extent
from slapd import BASE, START, Slapd, person
from stagepost import BUILD, POLL, wait_until
from store_lines import Store, closing

MANY = extent(20000, 5000)
PEOPLE = f"ou=people,{BASE}"
GROUPS = f"ou=groups,{BASE}"
ANN = "ann@example.org|kind mailbox|user ann"
OTHERS = START.count("\ndn: ") + START.startswith("dn: ")  # entries beside people
SOON = 1  # seconds from the change in LDAP to the push


def group(name, *members, more=""):
    named = "".join(f"member: uid={member},{PEOPLE}\n" for member in members)
    return (f"dn: cn={name},{GROUPS}\nobjectClass: rfc822MailGroup\ncn: {name}\n"
            f"mail: {name}@example.org\n{named}{more}\n")


def change(name, text):
    return f"dn: {name}\nchangetype: modify\n{text}\n"


def rename(name, new, below=None):
    return (f"dn: {name}\nchangetype: modrdn\nnewrdn: {new}\ndeleteoldrdn: 1\n"
            + (f"newsuperior: {below}\n" if below else ""))


@pytest.fixture
def place(ground):
    path = ground.directory("ldap")
    os.chmod(path, 0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def server(place):
    """server(NAME, ...): a Slapd, stopped at the end."""
    made = []

    def make(name, text=START + person("ann"), **words):
        one = Slapd(os.path.join(place, name), **words)
        made.append(one)
        return (one if words.get("provider") else one.load(text)).start()

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def store(request, place):
    """store(SERVER or URL..., NAME=VALUE): closed at the end, which has to be clean."""
    with closing(request) as made:
        def make(*servers, wait=True, path="copy.db", **settings):
            words = [f"url={getattr(one, 'url', one)}" for one in servers]
            words += [f"path={os.path.join(place, path)}", f"base={settings.pop('base', BASE)}"]
            words += [f"{name}={value}" for name, value in settings.items()]
            made.append(Store(place, "ldap_store", *words, wait=wait))
            return made[-1]

        yield make


def keys_after(one, mark):
    """What was pushed since, in order."""
    return [" ".join(event[3:]) for event in one.events[mark:] if event[1] == "changed"]


def wait_record(one, table, key, text, timeout=slapd.PATIENCE):
    wait_until(lambda: one.record(table, key) == text, f"{key} is {text}", timeout)


class Watch:
    """Reads KEYS again and again: they must always be there, or the answer an error; and versions
    must never go back."""

    def __init__(self, one, *keys):
        self.one = one
        self.keys = keys
        self.errors = []
        self.wrong = []
        self.answers = 0
        self.version = 0
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over:
            answer = self.one.get("address", *self.keys)
            self.answers += 1
            if answer.error != "0":
                self.errors.append((time.monotonic(), answer.error))
            elif "-" in answer.records:
                self.wrong.append(answer)
            if answer.version < self.version:
                self.wrong.append((self.version, answer))
            self.version = max(self.version, answer.version)
            time.sleep(POLL)

    def stop(self):
        self.is_over = True
        self.thread.join(10)
        assert not self.wrong and self.answers > 1, self.wrong[:3]
        return self.errors


# --- what is read and told ---


def test_content(server, store):
    """A load maps people, lists and domains; LDAP is changed in LDAP."""
    one = server("one", START + group("staff", "ann", "bob", more="rfc822MailMember: x@y.org\n"
                                      f"owner: uid=bob,{PEOPLE}\n") + person("ann") +
                 person("bob", more="mailLocalAddress: rob@example.org\nmailHost: mx1\n"
                        "mailForwardingAddress: bob@example.net\n"
                        "userPassword: {CRYPT}$6$salt$hash\nuserPassword: {SSHA}x\n"))
    copy = store(one, bind_dn=slapd.READER, password_file=one.write("password",
                                                                    slapd.PASSWORD + "\n"))
    assert copy.get("address", "ann@example.org", "bob@example.org", "rob@example.org",
                    "staff@example.org", "eve@example.org").records == [
        ANN, "bob@example.org|kind forward|target bob@example.net",
        "rob@example.org|kind alias|target bob@example.org",
        "staff@example.org|kind list|owner bob@example.org", "-"]
    assert copy.record("user", "bob") == "bob|password $6$salt$hash|server mx1|name bob"
    assert copy.record("domain", "example.org") == "example.org|kind local"
    assert copy.ask("list", "member", "staff@example.org ", "", 10).records == [
        f"staff@example.org {name}" for name in ("ann@example.org", "bob@example.org", "x@y.org")]
    assert copy.ask("list", "membership", "ann@example.org ", "", 10).records == [
        "ann@example.org staff@example.org"]
    unusable = copy.log.wait("ldap_unusable")
    assert (unusable["values"], unusable["passwords"]) == ("0", "1")
    assert copy.put("address", "eve@example.org|kind mailbox").error == "EOPNOTSUPP"
    assert copy.ask("del", "address", "ann@example.org").error == "EOPNOTSUPP"
    assert copy.record("address", "ann@example.org") == ANN


def test_changes(server, store):
    """Each is pushed within a second, and read from then on."""
    one = server("one")
    copy = store(one)
    worst = 0

    def told(apply, *pushed):
        nonlocal worst
        mark = copy.mark()
        begun = time.monotonic()
        apply()
        for word in pushed:
            event = copy.wait_event("changed", None, *word.split(" ", 1), since=mark)
            worst = max(worst, event[0] - begun)

    told(lambda: one.add(person("bob")), "address bob@example.org", "user bob")
    told(lambda: one.add(group("staff", "ann", "bob")), "address staff@example.org",
         "member staff@example.org bob@example.org")
    told(lambda: one.modify(change(f"uid=bob,{PEOPLE}",
                                   "replace: mail\nmail: Robert@example.org\n")),
         "address bob@example.org", "address robert@example.org",
         "member staff@example.org bob@example.org",
         "member staff@example.org robert@example.org")
    assert copy.get("address", "bob@example.org", "robert@example.org").records == [
        "-", "robert@example.org|kind mailbox|user bob"]
    told(lambda: one.modify(rename(f"uid=bob,{PEOPLE}", "uid=rob")), "user bob", "user rob",
         "member staff@example.org robert@example.org")
    assert copy.record("member", "staff@example.org robert@example.org") == "-"
    told(lambda: one.modify(change(f"cn=staff,{GROUPS}",
                                   f"add: member\nmember: uid=rob,{PEOPLE}\n")),
         "member staff@example.org robert@example.org")
    told(lambda: one.modify(rename(PEOPLE, "ou=folk")),
         "member staff@example.org ann@example.org", "member staff@example.org robert@example.org")
    told(lambda: one.delete(f"uid=ann,ou=folk,{BASE}"), "address ann@example.org", "user ann")
    assert copy.record("address", "ann@example.org") == "-"
    assert worst < SOON
    # cookies tell of one server at a time, and all of them are gathered
    wait_until(lambda: int(copy.state()[3]) > 1_600_000, "the server is asked how far it is")
    wait_until(lambda: int(copy.state()[3]) < 1_500_000, "what is known is fresh", 10)
    assert copy.versions() == sorted(copy.versions())
    print(f"from the start of ldapmodify to the push at most {worst * 1000:.0f} ms")


def test_wrong_entries(server, store):
    """They are named with the reason; two entries for one address are reported."""
    one = server("one", START + person("ann") +
                 person("bob", more="mailLocalAddress: not an address\n"))
    copy = store(one)
    bad = copy.log.wait("ldap_entry_bad")
    assert bad["dn"] == f"uid=bob,{PEOPLE}"
    assert bad["reason"] == 'address "not an address": is not an address, LOCAL@DOMAIN'
    one.add(person("eve", "ann@example.org"))
    conflict = copy.log.wait("ldap_conflict")
    assert (conflict["key"], conflict["unused"]) == ("ann@example.org", f"uid=eve,{PEOPLE}")
    assert copy.record("address", "ann@example.org") == ANN
    one.delete(f"uid=ann,{PEOPLE}")
    wait_record(copy, "address", "ann@example.org", "ann@example.org|kind mailbox|user eve")


def test_elsewhere(server, store):
    """Changes that are not below the base leave the copy fresh."""
    one = server("one", START + person("ann") + group("staff", "ann"))
    copy = store(one, base=PEOPLE)
    assert copy.record("address", "staff@example.org") == "-"
    for i in range(8):
        one.modify(change(GROUPS, f"replace: description\ndescription: {i}\n"))
        time.sleep(1)
    assert int(copy.state()[3]) < 5_000_000


# --- going on ---


@pytest.mark.parametrize("sessions", [0, 1000])
def test_restart(server, store, sessions):
    """It goes on from the cookie; what was deleted meanwhile goes, whether the server can name
    that (it remembers so many sessions) or only who is left."""
    one = server("one", START + person("ann") + person("bob") + person("eve"), sessions=sessions)
    first = store(one)
    identity, version = first.state()[1:3]
    first.close()
    second = store(one)
    again = second.log.wait("ldap_followed")
    assert (again["loaded"], again["changed"], again["record_count"]) == ("changes", "0", "0")
    assert second.state()[1:3] == [identity, version]
    second.close()
    one.delete(f"uid=bob,{PEOPLE}")
    one.modify(change(f"uid=eve,{PEOPLE}", "replace: mail\nmail: eva@example.org\n"))
    one.add(person("joe"))
    third = store(one, wait=False)
    third.wait_event("up")
    again = third.log.wait("ldap_followed")
    assert (again["loaded"], again["changed"], again["deleted"]) == ("changes", "2", "1")
    assert third.get("address", *(f"{name}@example.org" for name in
                                  ("ann", "bob", "eve", "eva", "joe"))).records == [
        ANN, "-", "-", "eva@example.org|kind mailbox|user eve",
        "joe@example.org|kind mailbox|user joe"]
    assert third.state()[1] == identity
    # what is changed at the server we hear of, though its number stood in the cookie
    one.delete(f"uid=ann,{PEOPLE}")
    wait_record(third, "address", "ann@example.org", "-")


def test_restart_without_server(server, store):
    """The TTL goes on over a restart: answers until it is over, then an error."""
    one = server("one")
    first = store(one)
    first.close()
    one.kill()
    second = store(one, ttl=6000)
    assert second.record("address", "ann@example.org") == ANN
    second.wait_event("down", since=1)
    assert second.get("address", "ann@example.org", "no@example.org").error == "ENOTCONN"
    assert second.ask("list", "address", "", "", 10).error == "ENOTCONN"
    second.close()
    third = store(one, ttl=6000, wait=False)
    third.wait_event("down")
    assert third.get("address", "ann@example.org").error == "ENOTCONN"


def test_other_map(server, store):
    """Another map: the whole is read again, and what differs is changed."""
    one = server("one", START + person("ann") + person("bob"))
    store(one).close()
    second = store(one, map="address.service='box'")
    again = second.log.wait("ldap_followed")
    assert (again["loaded"], again["changed"], again["record_count"]) == ("full", "2", "2")
    assert second.record("address", "ann@example.org") == "ann@example.org|kind mailbox|service box"


def test_filled_anew(server, store):
    """A server that was filled anew has the same people, as other entries: whether it refuses the
    cookie or names who is there, no address is missing meanwhile, and what is the same is no
    change."""
    names = [f"p{i}" for i in range(300)]
    one = server("one", START + "".join(person(name) for name in names), hint=True)
    store(one).close()
    one.stop()
    one.empty()
    one.load(START + "".join(person(name) for name in names[1:]))
    one.start()
    copy = store(one, wait=False)
    copy.wait_event("up")
    watch = Watch(copy, "p1@example.org", "p299@example.org")
    again = copy.log.wait("ldap_followed")
    assert (again["entries"], again["deleted"], again["record_count"]) == ("303", "304", "2")
    wait_until(lambda: sorted(keys_after(copy, 0)) == ["address p0@example.org", "user p0"],
               "the difference is reported")
    assert watch.stop() == []
    assert copy.record("address", "p0@example.org") == "-"


def start_without_base(server, store):
    """A server that has ended the search of a store whose base was renamed. It looks for the base
    with the next change below it, and hangs then in one of twenty times: another one is tried."""
    for attempt in range(5):
        one = server(f"one{attempt}", START + person("ann") + person("bob"))
        copy = store(one, base=PEOPLE, path=f"copy{attempt}.db")
        watch = Watch(copy, "ann@example.org")
        mark = copy.mark()
        one.modify(rename(PEOPLE, "ou=folk"))
        try:
            one.modify(change(f"uid=ann,ou=folk,{BASE}", "replace: description\ndescription: x\n"),
                       timeout=10)
        except subprocess.TimeoutExpired:
            one.kill()
            watch.stop()
            continue
        return one, copy, watch, mark
    raise AssertionError("slapd hangs each time")


def test_cookie_refused(server, store):
    """The base is renamed: the server ends the search and refuses the cookie. While there is no
    base, what is known is answered; then all is loaded anew, and only what differs is a change."""
    one, copy, watch, mark = start_without_base(server, store)
    assert "(4096)" in copy.log.wait("ldap_lost")["reason"]
    one.delete(f"uid=bob,ou=folk,{BASE}")
    copy.log.wait("ldap_lost", reason=f"search below {PEOPLE}: No such object (32)")
    since = copy.log.mark()
    one.modify(rename(f"ou=folk,{BASE}", "ou=people"))
    again = copy.log.wait("ldap_followed", since)
    assert (again["loaded"], again["entries"], again["record_count"]) == ("full", "2", "2")
    wait_until(lambda: sorted(keys_after(copy, mark)) == ["address bob@example.org", "user bob"],
               "the difference is reported")
    assert watch.stop() == []


ONLY_BASE = {"access": f"access to dn.base={BASE} by * read\naccess to * by * none"}
NOTHING = {"access": f"access to dn.base={BASE} by * search\naccess to * by * none"}


@pytest.mark.parametrize("count, settings, reason", [
    (30, {"access": "access to * by * none"}, f"search below {BASE}: No such object (32)"),
    (30, ONLY_BASE, "it shows only 1 of 34 entries below the base; may the account read them?"),
    (30, NOTHING, "it shows only 0 of 34 entries below the base; may the account read them?"),
    (2, ONLY_BASE, "it shows only 1 of 6 entries below the base; may the account read them?"),
    (2, NOTHING, "it shows only 0 of 6 entries below the base; may the account read them?"),
    (30, {"limit": "10"}, f"search below {BASE}: Size limit exceeded (4)")])
def test_nothing_shown(server, store, count, settings, reason):
    """Access rules and limits that suddenly hide what is there are a mistake: nothing is
    deleted."""
    one = server("one", START + "".join(person(f"p{i}") for i in range(count)))
    store(one).close()
    one.delete(f"uid=p0,{PEOPLE}")
    one.stop()
    one.configure(**settings)
    one.start()
    copy = store(one, map="list.verp='no'")  # all is to be read again
    lost = copy.log.wait("ldap_lost")
    assert lost["reason"].startswith(reason)
    assert copy.get("address", *(f"p{i}@example.org" for i in range(count))).records == [
        f"p{i}@example.org|kind mailbox|user p{i}" for i in range(count)]
    one.stop()
    one.configure(access="access to * by * read", limit="unlimited")
    one.start()
    copy.log.wait("ldap_followed", loaded="full", entries=str(count + 3))
    wait_record(copy, "address", "p0@example.org", "-")


def test_half_is_left(server, store):
    """Half of a few entries is no mistake."""
    one = server("one", START + "".join(person(f"p{i}") for i in range(4)))
    store(one).close()
    for i in range(4):
        one.delete(f"uid=p{i},{PEOPLE}")
    copy = store(one, map="list.verp='no'")  # all is to be read again
    copy.log.wait("ldap_followed", loaded="full", entries="4")
    wait_record(copy, "address", "p0@example.org", "-")


def load_again(server, store, people, shown, name):
    """A server with so many PEOPLE, of whom a store that knew all is SHOWN some with its next load:
    the store."""
    one = server(name, START + "".join(person(f"p{i}") for i in range(people)))
    path = f"{name}.db"
    store(one, path=path).close()
    one.delete(*(f"uid=p{i},{PEOPLE}" for i in range(shown, people)))
    return store(one, path=path, wait=False, map="list.verp='no'")  # all is to be read again


@pytest.mark.parametrize("people", [5, 17, 40])
def test_few_are_guarded_too(server, store, people):
    """More than half of the entries, however few they are, do not go in one load, until the operator
    says that it is meant."""
    half = (people + OTHERS + 1) // 2 - OTHERS  # with them half of all
    copy = load_again(server, store, people, half, "half")
    copy.log.wait("ldap_followed", loaded="full", entries=str(half + OTHERS))
    copy.close()
    copy = load_again(server, store, people, half - 1, "fewer")
    reason = copy.log.wait("ldap_lost")["reason"]
    assert reason.startswith(f"it shows only {half + OTHERS - 1} of {people + OTHERS} entries below the base")
    assert copy.get("address", f"p{people - 1}@example.org").records == [
        f"p{people - 1}@example.org|kind mailbox|user p{people - 1}"]
    copy.accept()
    copy.log.wait("ldap_followed", loaded="full", entries=str(half + OTHERS - 1))
    wait_record(copy, "address", f"p{people - 1}@example.org", "-")


# --- several servers ---


@pytest.fixture
def pair(server):
    """A provider and a consumer that has its content."""
    provider = server("provider")
    consumer = server("consumer", number=2, provider=provider)
    wait_until(lambda: consumer.csn() and consumer.csn() == provider.csn(), "the consumer is there")
    return provider, consumer


def test_provider_killed(pair, store):
    provider, consumer = pair
    copy = store(provider, consumer)
    watch = Watch(copy, "ann@example.org")
    provider.add(person("bob"))
    wait_record(copy, "address", "bob@example.org", "bob@example.org|kind mailbox|user bob")
    wait_until(lambda: consumer.csn() == provider.csn(), "the consumer has it")
    mark = copy.log.mark()
    begun = time.monotonic()
    provider.kill()
    followed = copy.log.wait("ldap_followed", mark, url=consumer.url)
    print(f"the consumer is followed after {time.monotonic() - begun:.2f} s")
    assert (followed["loaded"], followed["changed"]) == ("changes", "0")
    provider.start()
    provider.add(person("eve"))  # comes by the consumer
    wait_record(copy, "address", "eve@example.org", "eve@example.org|kind mailbox|user eve")
    assert watch.stop() == []


def test_consumer_behind(pair, store):
    """What lacks changes that are known is not used until it has them."""
    provider, consumer = pair
    copy = store(provider, consumer, ttl=4000)
    watch = Watch(copy, "ann@example.org")
    consumer.stop()
    mark = copy.mark()
    provider.add(person("bob"))
    wait_record(copy, "address", "bob@example.org", "bob@example.org|kind mailbox|user bob")
    provider.stop()  # its database is whole
    consumer.start()
    # that it could not be reached while it was stopped may have been said before
    wait_until(lambda: any(lost["reason"].startswith("it lacks changes that are known here")
                           for lost in copy.log.find("ldap_lost", url=consumer.url)), "it is behind")
    assert copy.record("address", "bob@example.org") != "-"
    copy.wait_event("down", since=mark)
    mark = copy.mark()
    provider.start()
    copy.wait_event("up", since=mark, timeout=30)
    assert copy.record("address", "bob@example.org") == "bob@example.org|kind mailbox|user bob"
    errors = watch.stop()
    assert errors and {word for _, word in errors} == {"ENOTCONN"}


def test_silence(server, store):
    """A server that says nothing any more is given up; answers end when their TTL does."""
    one = server("one")
    copy = store(one, ttl=8000)
    watch = Watch(copy, "ann@example.org")
    wait_until(lambda: copy.log.find("ldap_followed"), "it is followed")
    mark = copy.mark()
    begun = time.monotonic()
    one.freeze()
    copy.log.wait("ldap_lost", reason="it says nothing any more")
    found_after = time.monotonic() - begun
    copy.wait_event("down", since=mark)
    down_after = time.monotonic() - begun
    assert copy.get("address", "ann@example.org", "no@example.org").error == "ENOTCONN"
    one.thaw()
    wait_until(lambda: copy.state()[0] == "up", "it is up again")
    errors = watch.stop()
    assert copy.record("address", "ann@example.org") == ANN
    assert found_after < 6 and 4 < down_after < 9
    assert {word for _, word in errors} <= {"ENOTCONN"}
    print(f"silence was noticed after {found_after:.1f} s, answers ended after {down_after:.1f} s")


# --- secrets ---


def test_bad_password(server, store):
    one = server("one")
    copy = store(one, wait=False, bind_dn=slapd.READER,
                 password_file=one.write("password", "wrong\n"))
    lost = copy.log.wait("ldap_lost")
    assert lost["reason"] == f"bind as {slapd.READER}: Invalid credentials (49)"
    assert lost["url"] == one.url
    copy.wait_event("down")


def test_tls(server, store, place):
    """ldaps:// and StartTLS, and who is not whom he should be."""
    made = make_certificates(place, "loopback-x", "foreign-x")
    one = server("one", tls={"certificate": f"{made}/loopback-x.pem",
                             "key": f"{made}/loopback-x.key"})
    for number, url in enumerate((f"ldaps://127.0.0.1:{one.secure_port}",
                                  f"{one.url}/????StartTLS")):
        right = store(url, path=f"right{number}.db", authority=f"{made}/authority.pem")
        assert right.record("address", "ann@example.org") == ANN
        for name, wrong, authority in (
                ("stranger", url, f"{made}/foreign.pem"),
                ("name", url.replace("127.0.0.1", "localhost"), f"{made}/authority.pem")):
            refused = store(wrong, path=f"{name}{number}.db", wait=False, authority=authority)
            refused.wait_event("down")
            assert "TLS failed; is its certificate" in refused.log.wait("ldap_lost")["reason"]


@pytest.mark.parametrize("words, why", [
    (["url=http://x"], '"http://x" is not ldap://HOST, ldaps://HOST or ldapi://'),
    (["url=ldap://x/dc=x"], "where to search is said by the setting base"),
    (["url=ldap://127.0.0.1/????x-tls"], "the extensions of a URL are StartTLS and x-no-tls"),
    (["url=ldap://127.0.0.1", "base=nothing"], 'base "nothing" is not the name of an entry'),
    (["url=ldap://127.0.0.1", "bind_dn=dc=x"], "bind_dn needs a password_file"),
    (["url=ldap://127.0.0.1", "bind_dn=dc=x", "password_file=/nowhere"],
     "password_file /nowhere: No such file or directory"),
    (["url=ldap://127.0.0.1", "map=address.kee=mail"], 'there is no field "address.kee"'),
    (["url=ldaps://127.0.0.1", "authority=/nowhere"],
     "/nowhere: cannot be used to check the servers' certificates"),
])
def test_wrong_settings(place, words, why):
    program = os.path.join(BUILD, "tests", "e2e", "ldap_store")
    ended = subprocess.run([program, f"path={place}/x.db", "base=dc=x", *words], text=True,
                           capture_output=True, timeout=20, check=False)
    assert ended.returncode == 1 and why in ended.stderr, ended.stderr


# --- many ---


def test_many(server, store):
    """So many people, and a list of them all."""
    names = [f"p{i}" for i in range(MANY)]
    one = server("one", START + group("all", *names) + "".join(
        person(name, more=f"mailLocalAddress: {name}.x@example.org\n") for name in names))
    begun = time.monotonic()
    copy = store(one, ttl=600000, wait=False)
    copy.wait_event("up", timeout=120)
    took = time.monotonic() - begun
    followed = copy.log.wait("ldap_followed")
    assert int(followed["record_count"]) == 4 * MANY + 2
    with open(f"/proc/{copy.process.pid}/status", encoding="ascii") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert copy.record("member", f"all@example.org p{MANY - 1}@example.org") != "-"
    mark = copy.mark()
    begun = time.monotonic()
    one.modify(change(f"uid=p5,{PEOPLE}", "replace: mail\nmail: five@example.org\n"))
    copy.wait_event("changed", None, "member", "all@example.org five@example.org", since=mark)
    small = time.monotonic() - begun
    copy.close()
    begun = time.monotonic()
    again = store(one, ttl=600000)
    again.log.wait("ldap_followed", loaded="changes", changed="0")
    print(f"{MANY} people: loaded in {took:.1f} s, at most {peak / 1024:.0f} MiB; a change in "
          f"{small * 1000:.0f} ms; a restart in {time.monotonic() - begun:.2f} s")
