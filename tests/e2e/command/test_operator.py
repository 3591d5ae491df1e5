# SPDX-License-Identifier: ISC
"""What operators do to a queue: triggers, holds, retries, bounces, removals."""

import json
import os
import pathlib
import pty
import smtplib
import subprocess
import tempfile

import pytest
from stagepost import as_user, free_port, wait_until

TEXT = b"Subject: hello\n\nA line.\n"


@pytest.fixture
def run(ground):
    """run(node, "queue", "hold", ...) is the ended process."""

    def run(node, *words, **settings):
        settings.setdefault("capture_output", True)
        if "input" not in settings:
            settings.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            as_user() + [os.path.join(ground.programs, "stagepost"), *words], check=False,
            timeout=60, env={**os.environ, "STAGEPOST_CONF": node.conf}, cwd=node.directory,
            **settings)

    return run


@pytest.fixture
def tell(run):
    """tell(node, "hold", "--all") is (exit status, summary)."""

    def tell(mx, *words):
        ended = run(mx, "queue", *words, "--json")
        assert ended.returncode in (0, 1), ended.stderr
        *refusals, summary = [json.loads(line) for line in ended.stdout.splitlines()]
        assert len(refusals) == summary["refused"]
        return ended.returncode, summary

    return tell


def send(run, mx, *recipients, sender="anna@a.test"):
    for recipient in recipients:
        assert run(mx, "sendmail", "-f", sender, recipient, input=TEXT).returncode == 0


@pytest.fixture
def stuck(node, run, listing):
    """A node whose next hop is dead, with COUNT messages that have been tried or wait;
    the next hop can be started."""

    def stuck(count=3, **settings):
        port = free_port()
        hop = node("hop", start=False, domains=["b.test"], port=port)
        mx = node("mx", routes=[f":127.0.0.1;{port}"], **settings)
        send(run, mx, *(f"bob{i}@b.test" for i in range(count)))
        wait_until(lambda: mx.trigger_files(), "a trigger is set")
        wait_until(lambda: any(m["state"] == "preprocessed" for m in listing(mx)),
                   "the attempt is recorded")
        assert len(listing(mx)) == count
        return mx, hop

    return stuck


# --- turns ---


def test_a_paused_transport_is_told(node, run, listing):
    """Mail that has not been tried waits for its setting, and says so until that is changed."""
    hop = node("hop", domains=["b.test"])
    mx = node("mx", routes=[f":127.0.0.1;{hop.port}"], settings="transport remote { paused = yes }")
    send(run, mx, "bob@b.test")
    reason = "remote: the transport is paused by its setting"
    pause = {"destination": "remote", "reason": "the transport is paused by its setting"}
    wait_until(lambda: listing(mx)[0].get("pause") == pause, "the reason")
    assert f"({reason})" in run(mx, "queue", "list").stdout.decode()
    assert f"({reason})" in run(mx, "mailq").stdout.decode()
    number = listing(mx)[0]["id"]
    assert f"\n({reason})\n" in run(mx, "queue", "show", number).stdout.decode()
    assert json.loads(run(mx, "queue", "show", number, "--json").stdout)["pause"] == pause
    told = run(mx, "queue", "retry", "--all").stdout.decode()
    assert told == f"retry: 1 done, 0 refused\n         1  will be tried later: {reason}\n"
    message, summary = map(json.loads, run(mx, "queue", "retry", "--all", "--json").stdout.splitlines())
    assert message == {"message": listing(mx)[0]["id"], "waits": pause}
    assert (summary["done"], summary["waiting"]) == (1, [{"reason": reason, "count": 1}])
    mx.settings = ""
    mx.write_configuration()
    mx.reload()
    wait_until(lambda: not listing(mx), "it is delivered")


def test_a_node_that_does_not_run_is_told(stuck, run, listing):
    """Also of mail that a trigger holds back while it runs; what has a time of its own shows that."""
    mx, _ = stuck(2)
    (trigger,) = mx.trigger_files()
    untried = [m for m in listing(mx) if m["state"] == "queued"]
    assert [m["trigger"] for m in untried] == [trigger]
    assert "connection" in untried[0]["trigger_reason"].lower(), untried
    assert f"    ({untried[0]['trigger_reason']})\n    (waits for {trigger})\n" in run(mx, "mailq").stdout.decode()
    mx.stop()
    reason = "nothing is tried, because Stagepost does not run, or has not begun yet"
    [stopped] = [m for m in listing(mx) if m["state"] == "queued"]
    assert stopped["pause"] == {"destination": "send", "reason": reason}
    assert f"(send: {reason})" in run(mx, "queue", "show", stopped["id"]).stdout.decode()


def test_who_has_sent_it_selects(node, run, listing):
    """By its user or its client, in listings and orders; from outside, from users, by a command."""
    hop = node("hop", domains=["b.test"])
    mx = node("mx", routes=[f":127.0.0.1;{hop.port}"], settings="transport remote { paused = yes }")
    send(run, mx, "bob@b.test")
    with smtplib.SMTP("127.0.0.1", mx.port, local_hostname="client.test") as client:
        client.sendmail("x@a.test", ["carl@b.test"], TEXT)
    def who(*words):
        return sorted(r["address"] for m in listing(mx, *words) for r in m["recipients"])
    wait_until(lambda: len(listing(mx)) == 2, "both are there")
    (local,), (smtp,) = listing(mx, "--sender", "anna@a.test"), listing(mx, "--sender", "x@a.test")
    user = local["received"]["user"]
    assert local["received"] == {"protocol": "local", "user": user, "uid": local["received"]["uid"]}
    assert smtp["received"].pop("port") > 0 and smtp["received"] == {
        "protocol": "smtp", "address": "127.0.0.1", "helo": "client.test"} | {
            name: smtp["received"][name] for name in ("name",) if name in smtp["received"]}
    assert who("--user", user.upper()) == ["bob@b.test"] and who("--user", "nobody-else") == []
    assert who("--client", "127.0.0.1") == who("--client", "127.0.0.0/8") == ["carl@b.test"]
    assert who("--client", "::/0") == ["carl@b.test"] and who("--client", "192.0.2.0/24") == []
    assert who("--client", "127.0.0.1", "--user", user) == []
    wrong = run(mx, "queue", "list", "--client", "somewhere")
    assert wrong.returncode == 2 and wrong.stderr.decode().startswith(
        "stagepost queue list: --client somewhere: not an IP network; allowed: an address, or a network")
    assert json.loads(run(mx, "queue", "hold", "--client", "127.0.0.1", "--json").stdout)["done"] == 1
    assert [m.get("held") for m in listing(mx, "--client", "127.0.0.1")] == [True]
    assert json.loads(run(mx, "queue", "remove", "--yes", "--user", user, "--json").stdout)["done"] == 1
    wait_until(lambda: who() == ["carl@b.test"], "only that of the user is removed")


# --- triggers ---


def test_trigger_list(stuck, run):
    mx, _ = stuck()
    (line,) = run(mx, "trigger", "list", "--count", "--json").stdout.splitlines()
    trigger = json.loads(line)
    assert trigger["name"].startswith("host.") and 1 <= trigger["messages"] <= 3
    assert trigger["since"].endswith("Z") and trigger["reason"]
    text = run(mx, "trigger", "list").stdout.decode()
    assert trigger["name"] in text and trigger["reason"] in text
    assert b"waits for " + trigger["name"].encode() in run(mx, "queue", "list").stdout


def test_all_who_wait_are_counted(stuck, run, listing):
    """Also those that were never tried: nothing on the disk says what they wait for."""
    mx, hop = stuck(5, settings="probe_delay = 10m\n")
    (name,) = mx.trigger_files()

    def counted():
        return json.loads(run(mx, "trigger", "list", "--count", "--json").stdout)["messages"]

    wait_until(lambda: counted() == 5, "all are behind the trigger")
    untried = [m for m in listing(mx) if m["state"] == "queued"]
    assert untried and all(m["trigger"] == name for m in untried)
    assert len(listing(mx, "--trigger", name)) == 5
    mailq = run(mx, "mailq").stdout.decode()
    assert mailq.count(f"(waits for {name})") == 5
    assert run(mx, "queue", "hold", untried[0]["id"]).returncode == 0
    wait_until(lambda: counted() == 5, "the held one waits for the host as well")
    mx.stop()
    assert counted() == 5 - len(untried)


def test_a_trigger_file_removed_by_hand_is_noticed(stuck, run):
    mx, hop = stuck(3, settings="probe_delay = 10m\nrescan = 1\n")
    hop.start()
    (name,) = mx.trigger_files()
    os.unlink(os.path.join(mx.queue, "trigger", name))
    mx.log.wait("trigger_released", trigger=name)
    mx.wait_empty()


def test_a_trigger_file_made_by_hand_is_noticed(node, run):
    mx = node(settings="rescan = 1\n")
    pathlib.Path(mx.queue, "trigger", "the.moon").write_text("since: now\nreason: it is new\n")
    wait_until(lambda: run(mx, "trigger", "release", "the.moon").returncode == 0,
               "the manager knows it")
    mx.log.wait("trigger_released", trigger="the.moon")


def enqueue(run, mx, envelope, *words):
    """The envelope comes on descriptor 1."""
    with tempfile.TemporaryFile() as file:
        file.write(envelope)
        file.seek(0)
        return run(mx, "enqueue", *words, input=TEXT, stdout=file, stderr=subprocess.PIPE,
                   capture_output=False)


def test_enqueue_waits_for_a_trigger(node, run, listing):
    """Also when nothing runs, and over a restart."""
    mx = node(start=False)
    envelope = b"Fanna@a.test\0Tbob@a.test\0\0"
    for name in "host.x", "hold.1-1", "Moon", "":
        ended = enqueue(run, mx, envelope, "--trigger", name)
        assert (ended.returncode == 81) == (name != ""), name
        assert (b"no name of a trigger to wait for; allowed: 1 to 200 " in ended.stderr) == (name != "")
    assert enqueue(run, mx, envelope, "--trigger", "the.moon").returncode == 0
    mx.start()
    assert enqueue(run, mx, envelope, "--trigger", "the.moon").returncode == 0

    def both_wait():
        return [m.get("trigger") for m in listing(mx)] == 2 * ["the.moon"]

    mx.log.wait("delivered", to="bob@a.test")  # the one that names none
    wait_until(both_wait, "both wait")
    mx.stop()
    mx.start()
    wait_until(both_wait, "both wait again")
    assert run(mx, "trigger", "release", "the.moon").returncode == 0
    mx.wait_empty()
    assert len(mx.maildir("bob@a.test").messages()) == 3


@pytest.mark.parametrize("runs", [True, False])
def test_hold_until_a_trigger(stuck, run, tell, listing, runs):
    mx, hop = stuck(2, settings="probe_delay = 10m\n")
    if not runs:
        mx.stop()
    assert tell(mx, "hold", "--all", "--until", "the.moon")[1]["done"] == 2
    assert sorted(mx.trigger_files())[:2] == sorted("hold." + m["id"] for m in listing(mx))
    if not runs:
        mx.start()
    hop.start()
    for name in mx.trigger_files():
        if name.startswith("host."):
            assert run(mx, "trigger", "release", name).returncode == 0
    wait_until(lambda: all(m["held"] for m in listing(mx)), "they are held")
    assert [m["held_until"] for m in listing(mx)] == 2 * ["the.moon"]
    told = run(mx, "queue", "list", "--trigger", "the.moon").stdout
    assert told.count(b"    (held by the operator until the.moon is released)\n") == 2
    counts = [json.loads(line) for line in run(mx, "trigger", "list", "--count", "--json").stdout.splitlines()]
    assert [one["messages"] for one in counts if one["name"] == "the.moon"] == [2]
    assert run(mx, "trigger", "release", "the.moon").returncode == 0
    mx.wait_empty()
    assert not mx.trigger_files()


def test_a_hold_is_over_with_its_trigger(stuck, run, tell, listing):
    """Also where the mail then waits for something else, and is not tried."""
    mx, _ = stuck(2, settings="probe_delay = 10m\n")
    assert tell(mx, "hold", "--all", "--until", "the.moon")[1]["done"] == 2
    assert len(run(mx, "queue", "list", "--held", "--json").stdout.splitlines()) == 2
    assert run(mx, "trigger", "release", "the.moon").returncode == 0
    assert run(mx, "queue", "list", "--held", "--json").stdout == b""
    assert b"held by" not in run(mx, "queue", "list").stdout
    assert len(listing(mx)) == 2


def test_hold_until_needs_a_name(node, run):
    ended = run(node(start=False), "queue", "hold", "--all", "--until", "host.x")
    assert ended.returncode == 2 and b"--until needs a name" in ended.stderr


def test_trigger_release_delivers_all_at_once(stuck, run):
    mx, hop = stuck(20, settings="probe_delay = 10m\n")
    (name,) = mx.trigger_files()
    hop.start()
    assert run(mx, "trigger", "release", name).returncode == 0
    mx.wait_empty(10)
    assert not mx.trigger_files()
    ended = run(mx, "trigger", "release", name)
    assert ended.returncode == 1 and b"nothing waits for that" in ended.stderr


def test_trigger_wait(node, run):
    mx = node()
    assert run(mx, "trigger", "wait", "the.moon", "until it", "is full").returncode == 0
    assert "reason: until it is full\n" in mx.trigger_files()["the.moon"]
    assert run(mx, "trigger", "release", "the.moon").returncode == 0
    assert run(mx, "trigger", "list").stdout == b"Nothing is waited for\n"


@pytest.mark.parametrize("words, said", [
    (["wait", "The Moon"], b"lower-case"), (["wait", "../x"], b"lower-case"),
    (["wait"], b"NAME is missing"), (["release"], b"NAME is missing"),
    (["release", "a", "b"], b"one NAME"), (["list", "x"], b"unexpected"), (["x"], b"no command")])
def test_trigger_wrong_usage(node, run, words, said):
    ended = run(node(start=False), "trigger", *words)
    assert ended.returncode == 2 and said in ended.stderr


def test_trigger_without_a_daemon(node, run):
    mx = node()
    mx.stop()
    assert run(mx, "trigger", "wait", "the.moon").returncode == 0
    assert list(mx.trigger_files()) == ["the.moon"]
    mx.start()
    assert run(mx, "trigger", "release", "the.moon").returncode == 0
    mx.stop()
    assert run(mx, "trigger", "release", "the.moon").returncode == 1


# --- stats ---


def test_stats_by(stuck, run):
    mx, _ = stuck(3)
    send(run, mx, "x@127.0.0.9.c.test", sender="<>")
    by = lambda what: [json.loads(line) for line in
                       run(mx, "queue", "stats", "--by", what, "--json").stdout.splitlines()]
    found = {group["name"]: (group["deliveries"], group["messages"])
             for group in by("destination")}
    assert found == {"b.test": (3, 3), "127.0.0.9.c.test": (1, 1)}
    assert by("destination")[0]["name"] == "b.test"
    reasons = by("reason")
    assert sum(group["deliveries"] for group in reasons) == 4
    assert any(group["name"].startswith("4.4.1 connect to") for group in reasons)
    assert b"destination" in run(mx, "queue", "stats", "--by", "destination").stdout
    assert run(mx, "queue", "stats", "--by", "x").returncode == 2


def test_stats_in_bounded_memory(node, run):
    mx = node(start=False, settings="maxrecipients = 3000\n")
    send(run, mx, "first@b.test")
    words = [f"x@host{i}.test" for i in range(1500)]
    assert run(mx, "sendmail", "-f", "<>", *words, "y@b.test", input=TEXT).returncode == 0
    lines = run(mx, "queue", "stats", "--by", "destination", "--json").stdout.splitlines()
    groups = [json.loads(line) for line in lines]
    assert len(groups) == 1001 and groups[-1]["rest"]
    assert sum(group["deliveries"] for group in groups) == 1502


# --- hold, release ---


def test_hold_survives_a_restart(stuck, run, tell, listing):
    mx, hop = stuck(settings="probe_delay = 1\n")
    first = listing(mx)[0]
    assert tell(mx, "hold", first["id"]) == (
        0, {"command": "hold", "done": 1, "refused": 0, "reasons": [], "waiting": []})
    (held,) = [m for m in listing(mx) if m.get("held")]
    assert held["id"] == first["id"]
    assert b"(held by the operator)" in run(mx, "queue", "list").stdout
    assert b"held by the operator" in run(mx, "queue", "show", first["id"]).stdout
    assert len(listing(mx, "--trigger", "hold." + first["id"])) == 1
    assert [m["id"] for m in listing(mx, "--held")] == [first["id"]]
    assert b"hold." not in run(mx, "trigger", "list", "--json").stdout
    assert b"\n1 held by operators: " in run(mx, "trigger", "list").stdout
    assert ("hold." + first["id"]).encode() in run(mx, "trigger", "list", "--holds").stdout
    mx.stop()
    hop.start()
    mx.start()
    assert tell(mx, "retry", "--domain", "b.test")[1]["refused"] <= 1
    wait_until(lambda: len(listing(mx)) == 1, "the others leave")
    status, summary = tell(mx, "retry", first["id"])
    assert status == 1 and summary["reasons"] == [{"reason": "it is held", "count": 1}]
    mx.restart()
    assert [m["id"] for m in listing(mx)] == [first["id"]]
    assert tell(mx, "release", "--all")[0] == 0
    mx.wait_empty()
    assert not mx.trigger_files()


def test_release_of_all_where_nothing_is_held(stuck, run, tell, listing):
    mx, _ = stuck()
    nothing = (0, {"command": "release", "done": 0, "refused": 0, "reasons": [], "waiting": []})
    assert tell(mx, "release", "--all") == nothing
    assert tell(mx, "release", "--domain", "b.test") == nothing
    named = listing(mx)[0]["id"]
    assert tell(mx, "release", named) == (
        1, {"command": "release", "done": 0, "refused": 1, "reasons": [{"reason": "it is not held", "count": 1}],
            "waiting": []})
    assert run(mx, "queue", "list", "--sender", "nobody@a.test").stdout == (
        b"No message matches; 3 in the queue\n")


def test_hold_without_a_daemon(node, run, tell, listing):
    mx = node(start=False)
    send(run, mx, "bob@a.test", "carl@a.test")
    assert tell(mx, "hold", "--recipient", "bob@a.test")[1]["done"] == 1
    for verb in ("retry", "bounce", "remove"):
        ended = run(mx, "queue", verb, "--all", "--yes")
        assert ended.returncode == 1 and b"no manager runs" in ended.stderr
    mx.start()
    assert mx.maildir("carl@a.test").wait()
    (held,) = wait_until(lambda: [m for m in listing(mx) if len(listing(mx)) == 1], "one is left")
    mx.stop()
    assert tell(mx, "release", held["id"])[1]["done"] == 1
    assert tell(mx, "release", held["id"])[1]["reasons"] == [{"reason": "it is not held", "count": 1}]
    mx.start()
    assert mx.maildir("bob@a.test").wait()


# --- retry, bounce, remove ---


def test_retry(stuck, tell, listing):
    mx, hop = stuck(3, settings="probe_delay = 10m\n")
    hop.start()
    (name,) = mx.trigger_files()
    assert tell(mx, "retry", listing(mx)[0]["id"]) == (
        0, {"command": "retry", "done": 1, "refused": 0, "reasons": [], "waiting": []})
    mx.wait_empty()  # its success released the trigger
    assert name not in mx.trigger_files()


def test_bounce_yields_a_bounce(stuck, tell, listing):
    mx, _ = stuck()
    first = listing(mx)[0]
    assert tell(mx, "bounce", "--yes", first["id"])[0] == 0
    (report,) = mx.maildir("anna@a.test").wait()
    assert b"returned by the operator" in report
    assert first["recipients"][0]["address"].encode() in report
    wait_until(lambda: len(listing(mx)) == 2, "it leaves")


def test_remove_yields_none(stuck, tell, listing):
    mx, _ = stuck()
    assert tell(mx, "remove", "--yes", "--sender", "anna@a.test") == (
        0, {"command": "remove", "done": 3, "refused": 0, "reasons": [], "waiting": []})
    mx.wait_empty()
    assert mx.maildir("anna@a.test").messages() == [] and not mx.log.find("bounced")


def test_remove_what_is_held(stuck, tell, listing):
    mx, _ = stuck(2)
    assert tell(mx, "hold", "--all")[0] == 0
    assert tell(mx, "remove", "--all", "--yes")[1]["done"] == 2
    mx.wait_empty()
    wait_until(lambda: not any(n.startswith("hold.") for n in mx.trigger_files()), "holds end")


def test_many_messages_are_pipelined(stuck, tell, listing):
    mx, _ = stuck(60)
    assert tell(mx, "hold", "--domain", "b.test")[1]["done"] == 60
    assert all(m["held"] for m in listing(mx))
    assert tell(mx, "remove", "--domain", "b.test", "--yes")[1]["done"] == 60
    mx.wait_empty()


def test_a_host_s_messages(stuck, listing):
    mx, _ = stuck(1)
    (name,) = mx.trigger_files()
    host = name.removeprefix("host.")
    assert len(listing(mx, "--host", host)) == len(listing(mx, "--trigger", name)) == 1
    assert listing(mx, "--host", "other") == []


# --- what must be said ---


@pytest.mark.parametrize("words, said", [
    (["hold"], b"give IDs, or filters, or --all"),
    (["hold", "--all", "5"], b"give IDs, or filters, or --all"),
    (["hold", "--domain", "a.test", "5"], b"give IDs, or filters, or --all"),
    (["hold", "--domain", ""], b"needs a word"), (["hold", "--trigger", "A"], b"no name"),
    (["bounce", "--all"], b"--yes"), (["remove", "5"], b"--yes")])
def test_wrong_usage(node, run, words, said):
    ended = run(node(start=False), "queue", *words)
    assert ended.returncode == 2 and said in ended.stderr


def test_refusals(node, run, tell):
    mx = node()
    status, summary = tell(mx, "retry", "5", "x")
    assert status == 1 and summary["done"] == 0
    assert summary["reasons"] == [{"reason": "no such message", "count": 1}, {"reason": "that is no message id", "count": 1}]
    ended = run(mx, "queue", "retry", "--json", "5", "x")
    assert [json.loads(line) for line in ended.stdout.splitlines()[:-1]] == [
        {"message": "5", "refused": "no such message"},
        {"message": "x", "refused": "that is no message id"}]
    assert not ended.stderr
    ended = run(mx, "queue", "retry", "5")
    assert b"5: no such message" in ended.stderr and b"0 done, 1 refused" in ended.stdout


def on_terminal(run, mx, answer, *words):
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    try:
        return run(mx, *words, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_is_asked_at(stuck, run, listing):
    mx, _ = stuck(2)
    ended = on_terminal(run, mx, b"n\n", "queue", "remove", "--all")
    assert ended.returncode == 1 and b"remove 2 messages (1 KiB)? [y/N] " in ended.stderr
    assert b"nothing was done" in ended.stderr and len(listing(mx)) == 2
    ended = on_terminal(run, mx, b"y\n", "queue", "remove", "--all")
    assert ended.returncode == 0 and b"2 done" in ended.stdout
    mx.wait_empty()
