# SPDX-License-Identifier: ISC
"""Who clients are: the process auth with the directory's users, spoken to as smtpd does it."""

import concurrent.futures
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import warnings

import pytest
from auth_client import (ACCEPTED, CANCEL, CHALLENGE, ENDED, FAILED, FOLLOW, FORGIVE, INSECURE, LEAVE, MALFORMED,
                         REFUSED, TEMPORARY, UNFOLLOW, UNKNOWN, VALID, Client, elsewhere, text)
from passwords import USER as PASSWORD
from stagepost import PATIENCE, ROOT, stamp, wait_until
from users import add_user

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import crypt


@pytest.fixture(name="mx")
def fixture_mx(node):
    made = node("mx", start=False, domains=())
    made.auth = ""
    made.write_auth = lambda words="": write(made, words)
    made.write_auth()
    made.start()
    other = crypt.crypt("another one", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=64))
    add_user(made, "ann", PASSWORD, "yescrypt,scram-sha-256,scram-sha-1", f"password={other}")
    add_user(made, "bob@example.org", PASSWORD, "yescrypt")
    add_user(made, "gone", PASSWORD, "yescrypt", "state=disabled")
    return made


BINDING = {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-1-PLUS"}
BOTH = BINDING | {"SCRAM-SHA-256", "SCRAM-SHA-1"}
ALWAYS = {"PLAIN", "LOGIN"}


def wait_for_offer(client, names):
    while set(client.offer or ()) != names:  # nothing has come at first
        client.receive()


def write(node, words):
    node.settings = (f'directory {{ path = "{node.directory}/data/directory.db" }}\n'
                     f'auth {{ {words} }}\n')
    node.write_configuration()


@pytest.fixture(name="client")
def fixture_client(mx):
    with Client(mx) as made:
        yield made


def test_passwords_are_checked(mx, client):
    assert client.plain("ann", PASSWORD).outcome == ACCEPTED
    assert client.plain("Ann", "another one").user == "ann"  # one of several passwords
    assert client.login("BOB@Example.ORG", PASSWORD).user == "bob@example.org"
    event = mx.log.wait("auth_accepted", user="bob@example.org")
    assert (event["client"], event["mechanism"], event["protocol"]) == ("192.0.2.1", "LOGIN",
                                                                        "submission")
    for user, password, reason in (("ann", "wrong", "wrong credentials"),
                                   ("nobody", PASSWORD, "no such user"),
                                   ("gone", PASSWORD, "the user is not active")):
        mark = mx.log.mark()
        address = elsewhere()
        answer = client.plain(user, password, address=address)
        assert (answer.outcome, answer.refusal) == (REFUSED, FAILED)
        event = mx.log.wait("auth_failed", since=mark, user=user)
        assert event["reason"] == reason and event["client"] == address, event
    mark = mx.log.mark()
    assert client.plain('a "b\n c', "x", address=elsewhere()).refusal == FAILED
    assert "user" not in mx.log.wait("auth_failed", since=mark)  # what is not a name is not logged


def test_scram_with_every_binding(mx, client):
    wrong = []  # (password, more words of an exchange)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-1"):
        plus = mechanism + "-PLUS"
        assert client.scram("ann", PASSWORD, mechanism).user == "ann"
        wrong.append(("wrong", {"mechanism": mechanism}))
        for binding in ("tls-exporter", "tls-server-end-point"):
            assert client.scram("ann", PASSWORD, plus, binding).user == "ann"
            # somebody in between has a connection of his own to the client
            wrong.append((PASSWORD, {"mechanism": plus, "binding": binding, "bound": b"x" * 32}))
        wrong.append((PASSWORD, {"mechanism": plus, "binding": "tls-unique"}))
        # somebody has taken -PLUS out of the offer
        wrong.append((PASSWORD, {"mechanism": mechanism, "flag": "y"}))
        # without TLS's bindings nothing with -PLUS was offered
        assert client.scram("ann", PASSWORD, mechanism, flag="y", exporter=b"",
                            end_point=b"").user == "ann"
        assert client.ask(plus, b"p=tls-exporter,,n=ann,r=x", exporter=b"",
                          end_point=b"")[1].refusal == UNKNOWN
    # side by side: one after the other each would be answered later
    with contextlib.ExitStack() as stack, \
            concurrent.futures.ThreadPoolExecutor(len(wrong)) as pool:
        others = [stack.enter_context(Client(mx)) for _ in wrong]
        answers = pool.map(lambda other, case: other.scram("ann", case[0], address=elsewhere(), **case[1]),
                           others, wrong)
        assert [answer.refusal for answer in answers] == [FAILED] * len(wrong)


def test_only_what_is_offered(mx, client):
    add_user(mx, "bob@example.org", PASSWORD, "yescrypt,scram-sha-256,scram-sha-1")
    wait_for_offer(client, ALWAYS | BOTH)
    assert client.ask("CRAM-MD5")[1].refusal == UNKNOWN
    assert client.ask("OAUTHBEARER", b"n,,")[1].refusal == UNKNOWN
    assert client.plain("ann", PASSWORD, secured=False).refusal == INSECURE
    assert client.ask("PLAIN", b"nonsense")[1].refusal == MALFORMED
    mx.write_auth('mechanisms = { "PLAIN" }')
    mx.reload()
    while set(client.offer) != {"PLAIN"}:
        client.receive()
    assert client.ask("LOGIN")[1].refusal == UNKNOWN
    assert client.plain("ann", PASSWORD).outcome == ACCEPTED


def test_nobody_learns_who_exists(mx, client):
    """Unknown users have a salt, the same one each time, also after a restart; and wrong
    passwords are answered at the same time."""
    before = client.salt("nobody")
    assert before == client.salt("nobody") != client.salt("nobody2")
    assert len(before[0]) == len(client.salt("ann")[0]) and before[1] == client.salt("ann")[1]
    assert client.salt("bob@example.org")[1] == before[1]  # he has no SCRAM keys
    mx.kill_and_wait("auth")
    with Client(mx) as again:
        assert again.salt("nobody") == before
    with Client(mx) as timed:
        def seconds(user, address):
            began = time.monotonic()
            assert timed.plain(user, "wrong", address=address).refusal == FAILED
            return time.monotonic() - began
        known = min(seconds("ann", f"198.51.100.{n}") for n in range(1, 4))
        unknown = min(seconds(f"no{n}", f"203.0.113.{n}") for n in range(1, 4))
        assert abs(known - unknown) < 0.2, (known, unknown)


def test_failures_are_slowed_and_counted(mx, client):
    def seconds(user, address, password="wrong"):
        began = time.monotonic()
        answer = client.plain(user, password, address=address)
        return answer, time.monotonic() - began
    # how long exactly is tested where no time passes: tests/unit/auth/test_auth_failures.c
    assert seconds("ann", "192.0.2.1")[1] >= 0.45
    assert seconds("nobody", "192.0.2.1")[1] >= 0.95
    # the other addresses of a /64 are the same client
    assert seconds("x1", "2001:db8::1")[1] >= 0.45
    assert seconds("x2", "2001:db8::ffff:2")[1] >= 0.95
    # a user is attacked from everywhere: slower for everybody who fails, not for himself
    assert seconds("ann", "203.0.113.7")[1] >= 0.95
    assert seconds("ann", "203.0.113.8", PASSWORD)[0].outcome == ACCEPTED
    # his success forgives his own failures there, and no others
    assert seconds("ann", "192.0.2.1", PASSWORD)[0].outcome == ACCEPTED
    assert seconds("nobody2", "192.0.2.1")[1] >= 0.95
    counts = [int(event["count"]) for event in mx.log.find("auth_failed", client="192.0.2.1")]
    assert counts == [1, 2, 2]


def test_over_the_limit_a_client_is_refused_at_once(mx):
    mx.write_auth("failure_limit = 3 failure_memory = 2s")
    mx.reload()
    with Client(mx) as client:
        tags = [client.begin("PLAIN", f"\0u{n}\0wrong".encode(), address="192.0.2.77")
                for n in range(3)]
        assert {client.answer(tag).refusal for tag in tags} == {FAILED}
        event = mx.log.wait("auth_refused", client="192.0.2.77")
        assert event["count"] == "3"
        mark = mx.log.mark()
        began = time.monotonic()
        assert client.plain("ann", PASSWORD, address="192.0.2.77").refusal == FAILED
        assert time.monotonic() - began < 0.4
        assert not mx.log.find("auth_failed", since=mark), "it was checked"
        assert client.plain("ann", PASSWORD, address="192.0.2.78").outcome == ACCEPTED
        # the time is that since the last failure
        wait_until(lambda: client.plain("ann", PASSWORD, address="192.0.2.77").outcome == ACCEPTED,
                   "it is forgotten")
        last = max(stamp(event["time"]) for event in mx.log.find("auth_failed"))
        assert stamp(mx.log.wait("auth_accepted", client="192.0.2.77")["time"]) - last >= 2


def test_a_webmail_on_this_machine_is_not_refused_for_one_of_its_users(mx, client):
    """By default: twenty wrong passwords, and the others still get in."""
    for _ in range(2):
        tags = [client.begin("PLAIN", f"\0ann\0wrong{n}".encode(), address="127.0.0.1") for n in range(12)]
        assert {client.answer(tag).refusal for tag in tags} == {FAILED}
    assert client.plain("bob@example.org", PASSWORD, address="127.0.0.1").outcome == ACCEPTED
    assert not mx.log.find("auth_refused")


def test_while_the_directory_does_not_answer_nobody_has_failed(mx, client):
    assert client.plain("ann", PASSWORD).outcome == ACCEPTED
    os.kill(mx.pids("directory")[0], signal.SIGSTOP)
    try:
        answer = client.plain("bob@example.org", PASSWORD)
        assert (answer.outcome, answer.refusal) == (REFUSED, TEMPORARY)
        mx.log.wait("auth_unavailable", reason="the directory does not answer")
        assert not mx.log.find("auth_failed")
    finally:
        os.kill(mx.pids("directory")[0], signal.SIGCONT)
    wait_until(lambda: client.plain("bob@example.org", PASSWORD).outcome == ACCEPTED, "it is back")


def test_what_is_cancelled_is_not_answered(mx, client):
    (auth,) = mx.pids("auth")
    os.kill(auth, signal.SIGSTOP)  # so that it finds both, however busy the machine is
    tag = client.begin("PLAIN", f"\0ann\0{PASSWORD}".encode())
    client.send(4, tag)  # CANCEL
    os.kill(auth, signal.SIGCONT)
    assert client.plain("ann", PASSWORD).outcome == ACCEPTED
    assert tag not in client.early
    tag, answer = client.ask("LOGIN")
    assert answer.outcome == CHALLENGE
    client.send(4, tag)
    client.send(4, tag)  # the answer may have been on its way
    assert client.plain("ann", PASSWORD).outcome == ACCEPTED


def test_who_asks_for_keys_and_leaves_has_failed(mx, client):
    """With or without a word; unless the session then succeeds, as that of a client that goes on with
    another mechanism."""
    first = b"n,,n=%s,r=abc"
    for user, end in (("ann", (LEAVE, CANCEL)), ("nobody", (LEAVE, CANCEL)), ("ann", (CANCEL,))):
        mark = mx.log.mark()
        tag, answer = client.ask("SCRAM-SHA-256", first % user.encode())
        assert answer.outcome == CHALLENGE
        for kind in end:
            client.send(kind, tag)
        event = mx.log.wait("auth_failed", since=mark, user=user)
        assert (event["reason"], event["mechanism"]) == ("cancelled", "SCRAM-SHA-256")
        cancelled = mx.log.find("auth_cancelled", since=mark)
        assert [event["user"] for event in cancelled] == [user] * (LEAVE in end)
    mark = mx.log.mark()
    tag, answer = client.ask("SCRAM-SHA-256", first % b"ann", address="198.51.100.9")
    client.send(LEAVE, tag)
    assert client.plain("ann", PASSWORD, address="198.51.100.9").outcome == ACCEPTED
    client.send(FORGIVE, tag)
    tag, answer = client.ask("LOGIN", address="198.51.100.9")
    client.send(LEAVE, tag)  # nothing was learnt
    assert "user" not in mx.log.wait("auth_cancelled", since=mark, mechanism="LOGIN")
    assert client.plain("ann", PASSWORD, address="198.51.100.9").outcome == ACCEPTED
    assert not mx.log.find("auth_failed", since=mark)


def test_logins_are_followed(mx, client):
    """By what the user has logged in with, while it is there and the user is active."""
    def follow(tag, user, stamp):
        client.send(FOLLOW, tag, text(user) + text(stamp))
        return state(tag)

    def state(tag):
        while not any(one == tag for one, _ in client.states):
            client.receive()
        found, = [state for one, state in client.states if one == tag]
        client.states.clear()
        return found

    stamps = [client.plain("ann", PASSWORD).stamp, client.plain("ann", "another one").stamp,
              client.scram("ann", PASSWORD, "SCRAM-SHA-256").stamp]
    assert len(set(stamps)) == 3 and all(stamps)
    assert [follow(1000 + n, "ann", stamp) for n, stamp in enumerate(stamps)] == [VALID] * 3
    assert follow(1, "ann", stamps[0][:-1] + b"x") == ENDED
    assert follow(2, "bob@example.org", stamps[0]) == ENDED
    assert follow(3, "nobody", b"A") == ENDED and follow(4, "gone", b"A") == ENDED
    assert follow(5, "ann", b"A") == VALID
    client.send(UNFOLLOW, 1000)
    add_user(mx, "ann", PASSWORD, "yescrypt", "state=disabled")
    ended = set()
    while len(ended) < 3:
        client.receive()
        assert all(state == ENDED for _, state in client.states)
        ended = {tag for tag, _ in client.states} - {1, 2, 3, 4}
    assert ended == {1001, 1002, 5}, "and 1000 is not followed any more"


def test_what_is_offered_can_succeed(mx, client):
    """bob has a hash of crypt(5) only: no client is led to SCRAM, until he has keys, whether or not anybody logs
    in meanwhile, and from the first answer on."""
    wait_for_offer(client, ALWAYS)
    assert mx.log.wait("auth_withheld", method="scram-sha-256") and mx.log.wait("auth_withheld", method="scram-sha-1")
    assert {event["user"] for event in mx.log.find("directory_lacking")} == {"bob@example.org"}
    assert client.scram("ann", PASSWORD, "SCRAM-SHA-256").user == "ann"  # by clients that know of it
    add_user(mx, "bob@example.org", PASSWORD, "scram-sha-256")
    wait_for_offer(client, ALWAYS | {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"})
    add_user(mx, "bob@example.org", PASSWORD, "scram-sha-1,scram-sha-256")
    wait_for_offer(client, ALWAYS | BOTH)
    add_user(mx, "cid", PASSWORD, "bcrypt")
    wait_for_offer(client, ALWAYS)
    mx.kill_and_wait("auth")
    with Client(mx) as again:
        assert set(again.offer) == ALWAYS
        add_user(mx, "cid", PASSWORD, "bcrypt", "state=disabled")
        wait_for_offer(again, ALWAYS | BOTH)
        mx.write_auth('mechanisms = { "SCRAM-SHA-1", "PLAIN" }')  # as the operator says
        add_user(mx, "cid", PASSWORD, "bcrypt")
        wait_for_offer(again, ALWAYS)
        mx.reload()
        wait_for_offer(again, {"SCRAM-SHA-1", "PLAIN"})
        mx.write_auth()
        mx.reload()
        wait_for_offer(again, ALWAYS)


def test_a_login_shows_nothing_of_a_users_keys(mx, client):
    """By what is offered afterwards: for users who are there, and for nobody."""
    add_user(mx, "bob@example.org", PASSWORD, "scram-sha-256,scram-sha-1")
    wait_for_offer(client, ALWAYS | BOTH)
    client.offer = None
    for name in ("ann", "bob@example.org", "gone", "nobody"):
        client.scram(name, "wrong", "SCRAM-SHA-256", address=elsewhere())
        client.plain(name, "wrong", address=elsewhere())
    assert client.offer is None


def test_a_process_that_breaks_the_protocol_is_disconnected(mx):
    for message in ((2, 1, b""), (2, 1, b"\xff" * 60), (3, 9, b"\0\0\0\0"), (11, 1, b""), (4, 1, b"x"), (6, 1, b"x"), (8, 1, b"x")):
        with Client(mx) as client:
            client.send(*message)
            assert client.socket.recv(100) == b""
    with Client(mx) as client:
        assert client.plain("ann", PASSWORD).outcome == ACCEPTED


def test_one_client_cannot_fill_the_queue(mx):
    """Somebody who tries as much as possible holds up nobody else."""
    with Client(mx) as client, Client(mx) as other:
        tags = [client.begin("PLAIN", f"\0x{n}\0wrong".encode(), address="192.0.2.1")
                for n in range(200)]
        began = time.monotonic()
        assert other.plain("ann", PASSWORD, address="198.51.100.1").outcome == ACCEPTED
        assert time.monotonic() - began < 3
        answers = [client.answer(tag).refusal for tag in tags]
    assert set(answers) == {FAILED, TEMPORARY} and answers.count(FAILED) <= 40, answers


def test_many_addresses_do_not_hold_up_a_known_client(mx):
    """Each is new and fails only once, so nothing is refused at once; they would take half a minute."""
    with Client(mx) as good, Client(mx) as bad:
        assert good.plain("ann", PASSWORD, address="198.51.100.1").outcome == ACCEPTED
        for n in range(900):
            bad.begin("PLAIN", f"\0ann\0wrong{n}".encode(), address=f"10.{n % 50}.{n // 50}.{n % 250}")
        began = time.monotonic()
        for _ in range(5):
            assert good.plain("ann", PASSWORD, address="198.51.100.1").outcome == ACCEPTED
        assert time.monotonic() - began < 10
        assert len(mx.log.find("auth_failed")) < 600, "they were not waiting"


def read_memory(pid):
    found = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if "r" in line.split()[1] and "[v" not in line:
                try:
                    memory.seek(begin)
                    found.append(memory.read(end - begin))
                except (OSError, ValueError, OverflowError):
                    pass
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the memory of a process that hides it")
def test_no_secret_stays_in_memory_or_in_the_log(mx, client):
    secret = "Xylophon-7391-" * 2
    assert client.plain("ann", PASSWORD).outcome == ACCEPTED
    tags = [client.begin("PLAIN", f"\0ann\0{secret}".encode(), address=f"192.0.2.{n}")
            for n in range(1, 60)]
    assert {client.answer(tag).refusal for tag in tags} == {FAILED}
    assert client.login("ann", secret, address="198.51.100.1").refusal == FAILED
    pid, = mx.pids("auth")
    for needle in (secret, PASSWORD):
        pieces = [needle[:14].encode(), needle[-14:].encode()]
        places = sum(part.count(piece) for part in read_memory(pid) for piece in pieces)
        assert places == 0, f"{places} places hold {needle!r}"
    # the search would find it
    assert any(b"SCRAM-SHA-256-PLUS" in part for part in read_memory(pid))
    with open(mx.log.path, "rb") as log:
        assert secret[:14].encode() not in log.read()
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        assert re.search(r"^Threads:\t6$", status.read(), re.M)  # of the loop, four, and one for few strangers


def find_clients(node):
    ended = subprocess.run(
        ["fail2ban-regex", "-o", "ip", node.log.path,
         os.path.join(ROOT, "dist/fail2ban/filter.d/stagepost.conf")],
        check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended
    return sorted(ended.stdout.split())


def test_fail2ban_finds_the_client(mx, client):
    """Its own tool, on the lines that were really written; the filter that we ship."""
    if shutil.which("fail2ban-regex") is None:
        pytest.fail("fail2ban is not installed: tools/install-packages test")
    for address in ("192.0.2.33", "2001:db8::33"):
        client.plain("ann", "wrong", address=address)
    client.plain('x" client=203.0.113.1 event=auth_failed', "wrong", address="192.0.2.34")
    client.plain("client=203.0.113.2", "wrong", address="192.0.2.34")
    assert client.plain("ann", PASSWORD, address="192.0.2.35").outcome == ACCEPTED
    mx.log.wait("auth_failed", count=4)
    assert find_clients(mx) == ["192.0.2.33", "192.0.2.34", "192.0.2.34", "2001:db8::33"]
    mx.settings += "log_format = json\n"
    mx.write_configuration()
    os.kill(mx.process.pid, signal.SIGHUP)

    def says_so():
        client.plain("ann", "wrong", address="192.0.2.36")
        with open(mx.log.path, encoding="ascii") as log:
            return re.search(r'"auth_failed".*"192.0.2.36"', log.read())
    wait_until(says_so, "an event as JSON")
    assert "192.0.2.36" in find_clients(mx)
    mx.write_auth()
    os.kill(mx.process.pid, signal.SIGHUP)
    mx.log.wait("config_reloaded")
    mx.log.strange.clear()  # the lines in JSON
