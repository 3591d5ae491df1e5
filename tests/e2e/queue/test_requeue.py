# SPDX-License-Identifier: ISC
"""queue requeue: mail that waits goes where its addresses lead today, and nobody who has it gets
it again."""

import json
import os
import signal
import subprocess
import time

import pytest
from records import Records
from smtp import deliver
from stagepost import as_user, free_port, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"


@pytest.fixture
def run(ground):
    def run(node, *words):
        return subprocess.run(
            as_user() + [os.path.join(ground.programs, "stagepost"), *words], check=False,
            timeout=60, env={**os.environ, "STAGEPOST_CONF": node.conf}, cwd=node.directory,
            capture_output=True, stdin=subprocess.DEVNULL)

    return run


@pytest.fixture
def requeue(run):
    """requeue(mx, "--all") is how many were."""

    def requeue(mx, *words):
        ended = run(mx, "queue", "requeue", "--json", *words)
        assert ended.returncode == 0, ended.stderr + ended.stdout
        (told,) = [json.loads(line) for line in ended.stdout.splitlines()]
        assert told["command"] == "requeue" and told["refused"] == 0
        return told["done"]

    return requeue


@pytest.fixture
def requeue_until(requeue):
    """A change is known everywhere within a second: an order given earlier may see the old one."""

    def requeue_until(mx, condition, what, *words):
        def is_so():
            if not condition():
                requeue(mx, *words)
            return condition()

        wait_until(is_so, what)

    return requeue_until


@pytest.fixture
def mx(node):
    """d.test is of the directory; the hop of b.test is dead, and nothing is tried by itself."""

    def mx(**more):
        made = node("mx", start=False, domains=[], routes=[f"b.test:127.0.0.1;{free_port()}"],
                    **more)
        made.settings = (f'directory {{ path = "{made.directory}/directory.db" }}\n'
                         "probe_delay = 10m\nrescan = 10m\n")
        made.write_configuration()
        made.start()
        with Records(made) as records:
            records.put("domain", "d.test", "kind local", "service maildir")
            for name in "ann", "bob", "carl":
                records.put("address", f"{name}@d.test", "kind mailbox")
        return made

    return mx


def send(mx, recipient, listing, sender="source@client.test"):
    """One that waits for its host: its entry."""
    deliver(mx, recipient, TEXT, sender=sender)

    def waiting():
        found = [m for m in listing(mx) if any(
            d["state"] == "waiting" for d in m.get("deliveries", []))]
        return found[0] if found else None

    return wait_until(waiting, "the attempt is recorded")


def put(mx, address, *targets):
    with Records(mx) as records:
        records.put("address", address, "kind forward", *(f"target {t}" for t in targets))


def test_a_domain_that_became_local(mx, run, requeue_until, listing):
    one = mx()
    send(one, "bob@b.test", listing)
    with Records(one) as records:
        records.put("domain", "b.test", "kind local", "service maildir")
        records.put("address", "bob@b.test", "kind mailbox")
    run(one, "queue", "retry", "--all")
    one.log.wait("deferred", count=2)  # as ever
    requeue_until(one, lambda: one.maildir("bob@b.test").files(), "it is stored", "--all")
    one.wait_empty()
    assert one.log.find("requeued")


def test_a_route_that_changed(mx, node, requeue, listing):
    one = mx()
    hop = node("hop", domains=["b.test"])
    waiting = send(one, "bob@b.test", listing)
    one.routes = [f"b.test:127.0.0.1;{hop.port}"]
    one.write_configuration()
    one.reload()
    assert requeue(one, waiting["id"]) == 1
    hop.maildir("bob@b.test").wait(1)
    one.wait_empty()


def test_an_alias_of_which_one_is_done(mx, requeue_until, listing):
    one = mx()
    put(one, "team@d.test", "ann@d.test", "x@b.test")
    send(one, "team@d.test", listing)
    one.maildir("ann@d.test").wait(1)
    put(one, "team@d.test", "Ann@D.test", "bob@d.test", "carl@d.test")
    requeue_until(one, lambda: not listing(one), "all have it", "--all")
    for name in "ann", "bob", "carl":
        assert len(one.maildir(f"{name}@d.test").files()) == 1


def test_who_is_gone_is_reported(mx, requeue_until, listing):
    one = mx()
    put(one, "team@d.test", "x@b.test")
    send(one, "team@d.test", listing, sender="ann@d.test")
    put(one, "team@d.test", "nobody@d.test")
    requeue_until(one, lambda: one.maildir("ann@d.test").files(), "it is reported", "--all")
    (report,) = one.maildir("ann@d.test").wait(1)
    assert b"\nStatus: 5.1.1\n" in report and b"team@d.test" in report
    one.wait_empty()


def test_a_hold_stays(mx, run, requeue_until, listing):
    one = mx()
    put(one, "team@d.test", "x@b.test")
    waiting = send(one, "team@d.test", listing)
    assert run(one, "queue", "hold", waiting["id"]).returncode == 0
    put(one, "team@d.test", "bob@d.test")

    def addresses():
        (message,) = listing(one)
        return [d["address"] for d in message["deliveries"]]

    requeue_until(one, lambda: addresses() == ["bob@d.test"], "it is mapped anew", waiting["id"])
    assert listing(one)[0]["held"] and not one.maildir("bob@d.test").files()
    assert run(one, "queue", "release", waiting["id"]).returncode == 0
    one.maildir("bob@d.test").wait(1)


def test_many_and_twice(mx, requeue, requeue_until, listing):
    """The same order again, and one for mail that is being delivered by then."""
    one = mx()
    for number in range(60):
        put(one, f"team{number}@d.test", "x@b.test")
        deliver(one, f"team{number}@d.test", TEXT)
    wait_until(lambda: len(listing(one)) == 60, "all wait")
    for number in range(60):
        put(one, f"team{number}@d.test", "bob@d.test", "carl@d.test")
    assert requeue(one, "--all") == 60
    requeue_until(one, lambda: not listing(one), "all is delivered", "--all")
    for name in "bob", "carl":
        assert len(one.maildir(f"{name}@d.test").files()) == 60


def test_an_order_outlasts_a_crash(mx, run, requeue, listing):
    """While the directory does not answer the order is on the disk, with the map as it was."""
    one = mx()
    put(one, "team@d.test", "ann@d.test", "x@b.test")
    waiting = send(one, "team@d.test", listing)
    put(one, "team@d.test", "ann@d.test", "bob@d.test")
    (directory,) = one.pids("directory")
    os.kill(directory, signal.SIGSTOP)
    try:
        one.kill_and_wait("resolve")  # what it knew of the directory with it
        assert requeue(one, waiting["id"]) == 1
        (control,) = one.control_files()
        wait_until(lambda: "\nrequeue: " in one.control_files()[control], "it is on the disk")
        assert "x@b.test" in one.control_files()[control]
        assert b"is to be looked up anew" in run(one, "mailq").stdout
        (entry,) = listing(one)
        assert [d.get("requeued", False) for d in entry["deliveries"]] == [False, True]
        one.kill_and_wait("send")
    finally:
        os.kill(directory, signal.SIGCONT)
    one.maildir("bob@d.test").wait(1)
    one.wait_empty()
    assert len(one.maildir("ann@d.test").files()) == 1


@pytest.mark.parametrize("moment", range(6))
def test_kills_while_it_is_carried_out(mx, requeue, listing, moment):
    """Whenever "send" ends: each has it once."""
    one = mx()
    for number in range(20):
        put(one, f"team{number}@d.test", "ann@d.test", "x@b.test")
        deliver(one, f"team{number}@d.test", TEXT)
    one.maildir("ann@d.test").wait(20)
    wait_until(lambda: sum(m["state"] == "preprocessed" for m in listing(one)) == 20,
               "all that is done is recorded")
    for number in range(20):
        put(one, f"team{number}@d.test", "ann@d.test", "bob@d.test", "carl@d.test")
    assert requeue(one, "--all") == 20
    time.sleep(0.004 * moment)
    one.kill_and_wait("send")
    wait_until(lambda: one.log.find("serve_ready"), "it runs")
    if moment == 0:  # it may have been lost before it was on the disk
        requeue(one, "--all")
    wait_until(lambda: requeue(one, "--all") >= 0 and not listing(one), "all is delivered")
    assert len(one.maildir("ann@d.test").files()) == 20
    for name in "bob", "carl":
        assert len(one.maildir(f"{name}@d.test").files()) >= 20
