# SPDX-License-Identifier: ISC
"""Policies of MTA-STS (RFC 8461): fetched from a real HTTPS server, right and wrong, kept, and
applied to mail."""

import collections
import os
import signal
import threading
import time

import pytest
from directory_tls import make_certificates
from extent import extent
from lying_dns import SERVFAIL, TXT, Answer, LyingServer, a
from policies import (FETCH, FOUND, INVALID, NONE, PATH, WEBPKI, Asker, HttpsServer, Served, policy,
                      published, txt)
from shim import Shim
from stagepost import PATIENCE, wait_until

DAY = 86400

GOOD = policy("mx.good.test", "*.good.test")
MANY = "".join(f"mx: m{n}.huge.test\n" for n in range(4000))

# domain: what its host serves, or None: nothing listens for it
SERVED = {
    "good.test": Served(GOOD),
    "testing.test": Served(policy("mx.testing.test", mode="testing")),
    "off.test": Served(policy(mode="none")),
    "lf.test": Served(policy("mx.lf.test").replace("\r\n", "\n"), kind="text/plain; charset=utf-8"),
    "pieces.test": Served(policy("mx.pieces.test"), delay=0.05, pieces=20),
    "garbage.test": Served("<html>Welcome</html>\n"),
    "version.test": Served(policy("mx.version.test", version="STSv2")),
    "html.test": Served(policy("mx.html.test"), kind="text/html"),
    "untyped.test": Served(policy("mx.untyped.test"), kind=None),
    "huge.test": Served(policy("mx.huge.test") + MANY),
    "endless.test": Served(policy("mx.endless.test") + MANY * 20,
                           headers={"Transfer-Encoding": "identity", "Connection": "close"}),
    "moved.test": Served("", status=301, headers={"Location": "https://mta-sts.good.test" + PATH}),
    "found.test": Served(GOOD, status=302, headers={"Location": "https://mta-sts.good.test" + PATH}),
    "gone.test": Served(GOOD, status=410),
    "foreign.test": Served(policy("mx.foreign.test")),
    "expired.test": Served(policy("mx.expired.test")),
    "other.test": Served(policy("mx.other.test")),  # its certificate is for good.test
    "common.test": Served(policy("mx.common.test")),  # has the host as its common name only
}
KNOWN = {
    "good.test": (FOUND, "enforce", ["mx.good.test", "*.good.test"]),
    "testing.test": (FOUND, "testing", ["mx.testing.test"]),
    "off.test": (FOUND, "none", []),
    "lf.test": (FOUND, "enforce", ["mx.lf.test"]),
    "pieces.test": (FOUND, "enforce", ["mx.pieces.test"]),
}
WRONG = {
    "garbage.test": INVALID, "version.test": INVALID, "html.test": INVALID, "untyped.test": INVALID,
    "huge.test": INVALID, "endless.test": INVALID, "moved.test": FETCH, "found.test": FETCH,
    "gone.test": FETCH, "foreign.test": WEBPKI, "expired.test": WEBPKI, "other.test": WEBPKI, "common.test": WEBPKI,
    "closed.test": FETCH, "nowhere.test": FETCH,
}
RECORDS = {
    "none.test": None,
    "servfail.test": Answer(code=SERVFAIL),
    "twice.test": Answer([txt("v=STSv1; id=1"), txt("v=STSv1; id=2")]),
    "noid.test": Answer([txt("v=STSv1; no=1")]),
    "other-text.test": Answer([txt("v=spf1 -all")]),
}


@pytest.fixture(scope="module")
def keys(ground):
    """{host: (certificate, key)}, and the authority."""
    prefixes = {"foreign.test": "foreign-", "expired.test": "expired-", "common.test": "common-"}
    names = {f"mta-sts.{domain}": f"{prefixes.get(domain, '')}mta-sts.{domain}"
             for domain in SERVED if domain != "other.test"}
    folder = make_certificates(ground.directory("certificates"), *names.values())
    files = {host: (f"{folder}/{name}.pem", f"{folder}/{name}.key") for host, name in names.items()}
    return files, f"{folder}/authority.pem"


def answers_of_dns():
    answers = {}
    for domain in (*SERVED, "closed.test", "nowhere.test"):
        answers.update(published(domain))
    answers["mta-sts.closed.test", 1] = Answer(a("127.0.0.77"))
    del answers["mta-sts.nowhere.test", 1]
    # some servers have other texts there as well, and cut theirs into pieces
    answers["_mta-sts.testing.test", TXT] = Answer([txt("v=spf1 -all"), txt("v=STS", "v1; id", "=1")])
    for domain, answer in RECORDS.items():
        answers.update(published(domain))
        answers["_mta-sts." + domain, TXT] = answer or Answer()
    return answers


@pytest.fixture
def names():
    with LyingServer(answers_of_dns()) as server:
        yield server


@pytest.fixture
def https(keys):
    hosts = {"mta-sts." + domain: served for domain, served in SERVED.items()}
    with HttpsServer(hosts, keys[0]) as server:
        yield server


def settings(names, authority, path, more=""):
    return (f'dns_server = "{names.dns_server}"\nmta_sts = yes\nhttps_private = yes\ntls_authorities = "{authority}"\n'
            f'policy_path = "{path}"\n{more}')


@pytest.fixture
def mx(node, names, https, keys, ground):
    made = node(start=False)
    made.policies = os.path.join(made.directory, "policies")
    made.settings = settings(names, keys[1], made.policies)
    made.write_configuration()
    return made.start()


def test_policies(mx, https):
    """Each is what it must be, and says why if it is not."""
    with Asker(mx) as asker:
        for domain, (kind, mode, patterns) in KNOWN.items():
            known = asker.ask(domain)
            assert (known.kind, known.mode, known.patterns) == (kind, mode, patterns), domain
            assert known.id == "1" and known.problem == 0
            assert 80000 < known.until_us / 1e6 - time.time() < 86401
        for domain, problem in WRONG.items():
            known = asker.ask(domain)
            assert (known.kind, known.problem) == (NONE, problem), (domain, known)
            event = mx.log.wait("policy_failed", domain=domain)
            assert event["policy"] == "1" and event["reason"], event
        for domain in RECORDS:
            known = asker.ask(domain)
            assert (known.kind, known.problem) == (NONE, 0), (domain, known)
            assert https.count("mta-sts." + domain) == 0
    assert not [path for host, path in https.asked if path != PATH]
    assert https.count("mta-sts.good.test") == 1, "a redirect was followed"


def test_answers_are_kept(mx, https, names):
    with Asker(mx) as asker:
        for _ in range(20):
            for domain in "good.test", "gone.test", "none.test":
                asker.ask(domain)
    assert https.count("mta-sts.good.test") == 1 and https.count("mta-sts.gone.test") == 1
    for domain in "good.test", "gone.test", "none.test":
        assert names.asked["_mta-sts." + domain] <= 2


def test_a_slow_server_holds_up_nobody(mx, https):
    """One that says a byte a second, and one that accepts and says nothing."""
    https.hosts["mta-sts.lf.test"] = Served(policy("mx.lf.test") * 3, delay=1.0, pieces=1000)
    with Asker(mx) as slow, Asker(mx) as asker:
        slow.socket.settimeout(3 * PATIENCE)
        for tag in range(100):
            slow.send(tag, "lf.test")
        wait_until(lambda: https.count("mta-sts.lf.test"), "the slow policy is asked for")
        begin = time.monotonic()
        assert asker.ask("good.test").kind == FOUND
        slow.send(200, "testing.test")  # over the same connection, too
        assert slow.receive()[0] == 200
        assert time.monotonic() - begin < 5
        assert https.count("mta-sts.lf.test") == 1
        for tag in range(100):
            answered, known = slow.receive()
            assert (answered, known.kind, known.problem) == (tag, NONE, FETCH)
        assert 25 < time.monotonic() - begin < 45


def test_policies_outlive_a_restart(mx, https, names):
    with Asker(mx) as asker:
        assert asker.ask("good.test").kind == FOUND
        assert asker.ask("testing.test").kind == FOUND
    file = os.path.join(mx.policies, "mta-sts", "good.test")
    for domain in "good.test", "testing.test":
        wait_until(lambda name=domain: os.path.exists(os.path.join(mx.policies, "mta-sts", name)),
                   "the policy is on disk")
    with open(file, encoding="ascii", newline="") as text:
        head, _, body = text.read().partition("\n\n")
    assert body == GOOD and head.startswith("id: 1\nfetched: 20") and f"size: {len(GOOD)}" in head
    https.hosts.clear()  # nobody serves them any more
    pid, = mx.pids("policy")
    os.kill(pid, signal.SIGKILL)
    mx.log.wait("process_started", since=mx.log.mark() - 1, program="policy")
    mx.restart()
    with Asker(mx) as asker:
        known = asker.ask("good.test")
        assert (known.kind, known.patterns) == (FOUND, ["mx.good.test", "*.good.test"])
        assert asker.ask("testing.test").mode == "testing"


@pytest.fixture
def shim():
    made = Shim(wait_ms=10)
    yield made
    made.close()


def test_a_clock_that_jumps(node, names, https, keys, shim):
    """Ahead by a month and back, while the DNS cannot say anything: the policy holds until it is a
    day old; also if the node was started meanwhile, from the time on when the clock is right."""
    made = node(start=False)
    made.policies = os.path.join(made.directory, "policies")
    made.settings = settings(names, keys[1], made.policies)
    made.prefix = shim.prefix
    made.write_configuration()
    made.start()
    file = os.path.join(made.policies, "mta-sts", "good.test")

    def kind():
        with Asker(made) as asker:
            return asker.ask("good.test").kind

    assert kind() == FOUND
    wait_until(lambda: os.path.exists(file), "the policy is on disk")
    names.answers["_mta-sts.good.test", TXT] = Answer(code=SERVFAIL)
    for seconds in 30 * DAY, -30 * DAY, 0:
        shim.jump(seconds)
        shim.pass_time(180)
        assert kind() == FOUND
    made.stop()
    shim.jump(30 * DAY)
    made.start()
    shim.pass_time(180)
    assert kind() == NONE
    shim.jump(0)
    assert kind() == FOUND
    shim.pass_time(DAY, step=3600)
    assert kind() == NONE
    shim.pass_time(180)  # policy looks for old files once a minute
    wait_until(lambda: not os.path.exists(file), "the file is removed")
    assert https.count("mta-sts.good.test") == 1


def test_a_damaged_file_is_fetched_again(mx, https):
    with Asker(mx) as asker:
        assert asker.ask("good.test").kind == FOUND
    folder = os.path.join(mx.policies, "mta-sts")
    wait_until(lambda: os.path.exists(os.path.join(folder, "good.test")), "the policy is on disk")
    mx.stop()
    with open(os.path.join(folder, "good.test"), "r+b") as file:
        file.truncate(60)
    with open(os.path.join(folder, "lf.test"), "wb") as file:
        file.write(b"x" * 100000)
    mx.start()
    for domain in "good.test", "lf.test":
        mx.log.wait("policy_damaged", domain=domain)
    mx.log.wait("policy_fetched", domain="lf.test")
    with Asker(mx) as asker:
        assert asker.ask("good.test").patterns == ["mx.good.test", "*.good.test"]
    assert https.count("mta-sts.good.test") == 2


def test_a_new_id_is_noticed_and_failures_keep_the_old_policy(mx, https, names):
    with Asker(mx) as asker:
        assert asker.ask("good.test").kind == FOUND
    wait_until(lambda: os.path.exists(os.path.join(mx.policies, "mta-sts", "good.test")), "kept")
    # a start asks for the id again
    names.answers.update(published("good.test", "2"))
    https.hosts["mta-sts.good.test"] = Served("", status=500)
    mx.restart()
    with Asker(mx) as asker:
        assert asker.ask("good.test").id == "1"
        event = mx.log.wait("policy_failed", domain="good.test")
        assert event["policy"] == "2" and event["reason"] == "HTTP status 500"
        known = asker.ask("good.test")
        assert (known.kind, known.id, known.problem) == (FOUND, "1", FETCH)
        assert https.count("mta-sts.good.test") == 2  # the next one waits for minutes
    https.hosts["mta-sts.good.test"] = Served(policy("new.good.test", mode="testing"))
    mx.restart()
    with Asker(mx) as asker:
        assert asker.ask("good.test").id == "1"
        mx.log.wait("policy_fetched", domain="good.test", policy="2")
        known = asker.ask("good.test")
        assert (known.id, known.mode, known.patterns) == ("2", "testing", ["new.good.test"])


def test_many_at_once(mx, https, names):
    """Many domains of one who answers slowly, and one of another."""
    count = extent(1000, 300)
    for n in range(count):
        names.answers.update(published(f"d{n}.test"))
        https.hosts[f"mta-sts.d{n}.test"] = Served(GOOD)
    with Asker(mx) as many, Asker(mx) as asker:
        for n in range(count):
            many.send(n, f"d{n}.test")
        found = {}
        reader = threading.Thread(target=lambda: found.update(many.receive() for _ in range(count)))
        reader.start()
        assert asker.ask("good.test").kind == FOUND
        reader.join()
        assert len(found) == count
        # a busy machine's name server may have no time for some records; a minute later it is asked again
        for n in [n for n, known in found.items() if not known.problem]:
            found[n] = wait_until(lambda: (known := asker.ask(f"d{n}.test")).problem and known,
                                  f"d{n}.test is asked for again", 60 + PATIENCE)
    # no certificate is for them, and a busy machine's servers may have no time for some
    problems = collections.Counter((known.kind, known.problem) for known in found.values())
    assert problems[NONE, WEBPKI] >= count // 2, problems
    assert problems[NONE, WEBPKI] + problems[NONE, FETCH] == count, problems
    with open(f"/proc/{mx.pids('policy')[0]}/status", encoding="ascii") as status:
        most, = (int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert most < 150 << 10, f"{most} KiB"


@pytest.mark.parametrize("text", ["", "a..test", "UPPER.test", "a" * 243, "-a.test", "../x", "a/b"])
def test_a_wrong_question_ends_the_connection(mx, text):
    with Asker(mx) as asker:
        asker.send(1, text)
        assert asker.socket.recv(100) == b""
    mx.log.wait("ipc_refused")
    with Asker(mx) as asker:
        assert asker.ask("good.test").kind == FOUND
