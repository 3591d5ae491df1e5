# SPDX-License-Identifier: ISC
"""The commands of operators and users, with and without a daemon."""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from stagepost import as_user, give_to_user, is_root, wait_until

TEXT = b"Subject: hello\n\nA line.\n"


@pytest.fixture
def run(ground):
    """run(node, "queue", "list", ...) is the ended process; or by another name."""

    def run(node, *words, name="stagepost", user=True, **settings):
        program = os.path.join(ground.programs, name)
        if not os.path.lexists(program):
            os.symlink("stagepost", program)
        settings.setdefault("capture_output", True)
        if "input" not in settings:
            settings.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            (as_user() if user else []) + [program, *words], check=False, timeout=60,
            env={**os.environ, "STAGEPOST_CONF": node.conf}, cwd=node.directory, **settings)

    return run


@pytest.fixture
def enqueue(run, tmp_path):
    """As programs call qmail-queue: the envelope comes on descriptor 1."""

    def enqueue(node, text, envelope, *words):
        path = tmp_path / "envelope"
        path.write_bytes(envelope)
        with open(path, "rb") as file:
            return run(node, "enqueue", *words, input=text, stdout=file, stderr=subprocess.PIPE,
                       capture_output=False)

    return enqueue


def listing(run, node, *words):
    ended = run(node, "queue", "list", "--json", *words)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def addresses(message):
    return [recipient["address"] for recipient in message["recipients"]]


def data_of(run, node, message):
    return node.queued_message(message["number"])


# --- enqueue ---


def test_enqueue_then_a_daemon(node, run, enqueue):
    mx = node(start=False)
    ended = enqueue(mx, TEXT, b"Fanna@a.test\0Tbob@a.test\0Teve@b.test\0\0")
    assert (ended.returncode, ended.stderr) == (0, b"")
    (message,) = listing(run, mx)
    assert message["state"] == "queued" and message["stage"] == "submit"
    assert message["sender"] == "anna@a.test" and addresses(message) == ["bob@a.test", "eve@b.test"]
    data = data_of(run, mx, message)
    assert data.endswith(b"\r\nSubject: hello\r\n\r\nA line.\r\n")
    trace = data[:-len(b"Subject: hello\r\n\r\nA line.\r\n")]
    assert re.fullmatch(rb"Received: \(uid \d+\)\r\n\tby mx\.stagepost\.test with local id "
                        + message["id"].encode() + rb";\r\n\t[^\r\n]+\r\n", trace)
    mx.start()
    assert mx.maildir("bob@a.test").wait()[0].endswith(TEXT)


def test_enqueue_beside_a_daemon_is_seen_at_once(node, enqueue):
    mx = node()
    mark = mx.log.mark()
    assert enqueue(mx, TEXT, b"F\0Tbob@a.test\0\0", "-s", "arrive").returncode == 0
    mx.log.wait("delivered", since=mark, timeout=10, to="bob@a.test")


@pytest.mark.parametrize("first", (b" ", b"\t"))
def test_enqueue_keeps_the_first_line_out_of_the_trace(node, run, enqueue, first):
    mx = node(start=False)
    text = first + b"by mail.example.com;\nA line.\n"
    assert enqueue(mx, text, b"F\0Tbob@a.test\0\0").returncode == 0
    (message,) = listing(run, mx)
    assert data_of(run, mx, message).endswith(b"\r\n\r\n" + text.replace(b"\n", b"\r\n"))


@pytest.mark.parametrize("text, envelope, status", [
    (b"a\0b\n", b"F\0Tbob@a.test\0\0", 31),
    (TEXT, b"F\0Tbob@a.test\0", 91),
    (TEXT, b"", 91),
    (TEXT, b"F\0\0", 91),
    (TEXT, b"Tbob@a.test\0\0", 91),
    (TEXT, b"F\0T@a.test\0\0", 31),
    (TEXT, b"F\0T" + b"b" * 300 + b"@a.test\0\0", 11),
    (TEXT, b"F" + b"b" * 300 + b"@a.test\0Tbob@a.test\0\0", 11),
    (TEXT, b"F\0Tbob@a.test\nto: 2 <x@y.z>\0\0", 31),
    (b"x" * 5000, b"F\0Tbob@a.test\0\0", 31),
    (TEXT, b"F\0" + b"Tbob@a.test\0" * 4 + b"\0", 31),
])
def test_enqueue_refuses(node, run, enqueue, text, envelope, status):
    """As qmail's programs understand it: 11 to 40 are for ever."""
    mx = node(start=False, settings="maxsize = 4096\nmaxrecipients = 3\n")
    ended = enqueue(mx, text, envelope)
    assert ended.returncode == status and ended.stderr.startswith(b"stagepost enqueue: ")
    assert listing(run, mx) == []
    assert os.listdir(os.path.join(mx.queue, "pid")) == []


def test_enqueue_wrong_usage(node, run):
    mx = node(start=False)
    assert run(mx, "enqueue", "-x").returncode == 81
    assert run(mx, "enqueue", "-s", "remote").returncode == 81
    assert run(mx, "enqueue", "-c", os.path.join(mx.directory, "none")).returncode == 55
    assert b"Exit status" in run(mx, "enqueue", "--help").stdout
    with open("/dev/null", "wb") as null:  # who forgets the envelope
        ended = run(mx, "enqueue", input=TEXT, stdout=null, stderr=subprocess.PIPE, capture_output=False)
    assert ended.returncode == 54
    assert b"the envelope cannot be read from descriptor 1 (1< FILE in a shell): " in ended.stderr


def test_enqueue_large_message_in_little_memory(node, run, enqueue):
    mx = node(start=False, settings="maxsize = 200M\n")
    text = b"Subject: large\n\n" + b"x" * 70 + b"\n" * 1 + b"0123456789\n" * (8 << 20)
    assert enqueue(mx, text, b"F\0Tbob@a.test\0\0").returncode == 0
    (message,) = listing(run, mx)
    assert message["size"] > len(text)
    assert data_of(run, mx, message).endswith(text.replace(b"\n", b"\r\n"))


@pytest.mark.skipif(not is_root(), reason="needs two users")
def test_enqueue_as_another_user_is_refused(node, run, enqueue):
    mx = node(start=False)
    assert enqueue(mx, TEXT, b"F\0Tbob@a.test\0\0").returncode == 0
    ended = run(mx, "sendmail", "bob@a.test", input=TEXT, user=False)
    assert ended.returncode == 77 and b"belongs to another user" in ended.stderr
    assert b"setting submit_group" in ended.stderr


# --- sendmail ---


def test_sendmail(node, run):
    mx = node(start=False)
    ended = run(mx, "-i", "-f", "anna@a.test", "-F", "Anna A.", "bob@a.test", "carl",
                name="sendmail", input=b"Subject: x\n\nbody\n.\nmore\n")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    (message,) = listing(run, mx)
    assert message["sender"] == "anna@a.test"
    assert addresses(message) == ["bob@a.test", "carl@mx.stagepost.test"]
    data = data_of(run, mx, message)
    assert b'\r\nFrom: "Anna A." <anna@a.test>\r\n' in data
    assert b"\r\nMessage-ID: <" + message["id"].encode() + b"@mx.stagepost.test>\r\n" in data
    assert b"\r\nDate: " in data and data.endswith(b"\r\n\r\nbody\r\n.\r\nmore\r\n")


def test_sendmail_recipients_from_the_header(node, run):
    mx = node(start=False)
    text = (b'From: root\r\nTo: "Lee, Bob" <bob@a.test>, team: carl@a.test, dora;\r\n'
            b"Cc: bob@A.test (again),\r\n eve@b.test\r\nBcc: secret@a.test,\r\n more@a.test\r\n"
            b"Subject: x\r\n\r\nbody\r\n.\r\nnot sent\r\n")
    assert run(mx, "-t", "-oem", "-odb", "fred@a.test", name="sendmail", input=text).returncode == 0
    (message,) = listing(run, mx)
    assert addresses(message) == [
        "fred@a.test", "bob@a.test", "carl@a.test", "dora@mx.stagepost.test", "eve@b.test",
        "secret@a.test", "more@a.test"]
    data = data_of(run, mx, message)
    assert b"ecret" not in data and b"more@" not in data and b"not sent" not in data
    assert b"\r\nFrom: root@mx.stagepost.test\r\n" in data
    assert b"dora@mx.stagepost.test;\r\n" in data and data.count(b"\r\nFrom:") == 1


@pytest.mark.parametrize("field, recipients", [
    ("ann@a.test <ann@a.test>", ["ann@a.test"]),
    ("Scanner [2nd floor] <ann@a.test>", ["ann@a.test"]),
    ("Scanner: 2nd floor <ann@a.test>", ["ann@a.test"]),
    ("Ann <ann@a.test>;", ["ann@a.test"]),
    ("ann@a.test; bob@a.test", ["ann@a.test", "bob@a.test"]),
    ("Ann <ann@a.test> Bob <bob@a.test>", ["ann@a.test", "bob@a.test"]),
    ("Last, First <ann@a.test>", ["ann@a.test"]),
    ("undisclosed-recipients:, ann@a.test", ["ann@a.test"])])
def test_sendmail_reads_fields_as_they_are_written(node, run, field, recipients):
    mx = node(start=False)
    ended = run(mx, "-t", name="sendmail", input=f"To: {field}\r\nSubject: x\r\n\r\n".encode())
    assert ended.returncode == 0, ended.stderr
    (message,) = listing(run, mx)
    assert addresses(message) == recipients
    assert f"\r\nTo: {field}\r\n".encode() in data_of(run, mx, message)
    assert (b"taken for a part of a name, in To: Last" in ended.stderr) == ("Last" in field)


def test_sendmail_sends_to_good_recipients_though_some_are_bad(node, run):
    """Whoever tried again because of the bad ones would double the mail of the others."""
    mx = node(start=False)
    ended = run(mx, "-t", "-f", "ann@a.test", "bob@a.test", "carl and dora", name="sendmail",
                input=b"To: eve@a.test, two words\r\nCc: f@a..test\r\nSubject: secret\r\n\r\nbody\r\n")
    assert ended.returncode == 0
    for text in (b"in the command line: carl and dora\n", b"in To: two words\n", b"in Cc: f@a..test\n"):
        assert b"sendmail: not an address of a recipient, " + text in ended.stderr
    message, report = sorted(listing(run, mx), key=lambda one: one["sender"] == "")
    assert (message["sender"], addresses(message)) == ("ann@a.test", ["bob@a.test", "eve@a.test"])
    assert (report["sender"], addresses(report)) == ("", ["ann@a.test"])
    data = data_of(run, mx, report)
    for text in (b"<two words>:\r\n", b"Final-Recipient: rfc822; f@a..test\r\n",
                 b"Final-Recipient: rfc822; carl and dora\r\n", b"Status: 5.1.3\r\n", b"Subject: secret\r\n"):
        assert text in data, data
    assert b"body" not in data


@pytest.mark.parametrize("words", [["-N", "never"], ["-f", "<>"]])
def test_sendmail_makes_no_report_that_nobody_wants(node, run, words):
    mx = node(start=False)
    ended = run(mx, "-t", *words, name="sendmail", input=b"To: bob@a.test, two words\r\n\r\n")
    assert ended.returncode == 0 and b"in To: two words\n" in ended.stderr
    (message,) = listing(run, mx)
    assert addresses(message) == ["bob@a.test"]


def test_sendmail_with_only_bad_recipients(node, run):
    mx = node(start=False)
    ended = run(mx, "-t", name="sendmail", input=b"To: two words, \xff@a.test\r\n\r\n")
    assert ended.returncode == 65 and b"in To: two words\n" in ended.stderr
    assert not mx.control_files()


@pytest.mark.parametrize("first", [b"From ann Fri Nov 20\n", b">From ann Fri Nov 20\n",
                                   b"From ann Fri Nov 20\n>From bob x\n"])
def test_sendmail_skips_the_line_of_a_mailbox_file(node, run, first):
    """As procmail and formail write it, too."""
    mx = node(start=False)
    ended = run(mx, "-t", name="sendmail", input=first + b"To: bob@a.test\n\nbody\n")
    assert ended.returncode == 0, ended.stderr
    (message,) = listing(run, mx)
    assert addresses(message) == ["bob@a.test"] and b"ann Fri" not in data_of(run, mx, message)


def test_sendmail_notify_and_return(node, run):
    mx = node(start=False)
    assert run(mx, "sendmail", "-N", "success,delay", "-R", "hdrs", "-V", "x", "-f", "<>",
               "bob@a.test", input=TEXT).returncode == 0
    (text,) = mx.control_files().values()
    assert "\nfrom: <> ret=hdrs envid=x\n" in text and "notify=success,delay" in text


def test_several_make_the_queue_at_once(node, run):
    """Each of them may be the first, and none is told to wait."""
    count = 8
    for _ in range(3):
        mx = node(start=False)
        send = lambda i, mx=mx: run(mx, "sendmail", f"user{i}@a.test", input=TEXT)
        with ThreadPoolExecutor(count) as pool:
            for ended in pool.map(send, range(count)):
                assert ended.returncode == 0, ended.stderr
        assert len(listing(run, mx)) == count
        assert not os.path.exists(os.path.join(mx.queue, "format.new"))


@pytest.mark.parametrize("given, envid", [
    ("QQ+3D1", "QQ+3D1"), ("a=1", "a+3D1"), ("order no. 7+8", "order+20no.+207+2B8"),
    ("x" * 100, "x" * 100)], ids=["xtext", "an equals sign", "spaces and a plus", "long"])
def test_sendmail_names_the_message(node, run, given, envid):
    """What is xtext stays; what is not becomes so."""
    mx = node(start=False)
    assert run(mx, "sendmail", "-V", given, "bob@a.test", input=TEXT).returncode == 0
    (text,) = mx.control_files().values()
    assert f" envid={envid}\n" in text


SESSION = (b"EHLO program.test\r\nMAIL FROM:<ann@a.test>\r\nRCPT TO:<bob@a.test>\r\n"
           b"RCPT TO:<far@elsewhere.test>\r\nDATA\r\n")


def test_sendmail_speaks_smtp(node, run):
    """As frameworks start it: pipelined or not, two messages, one of them large."""
    mx = node(start=False)
    large = TEXT.replace(b"\n", b"\r\n") + b"y" * 900 + b"\r\n" + b"x" * 70 + b"\r\n" * 60000
    ended = run(mx, "sendmail", "-bs", input=SESSION + TEXT.replace(b"\n", b"\r\n") + b".\r\n"
                + SESSION.partition(b"\r\n")[2] + large + b".\r\nQUIT\r\n")
    assert ended.returncode == 0 and ended.stderr == b""
    replies = ended.stdout.split(b"\r\n")
    assert replies[0].startswith(b"220 mx.stagepost.test ESMTP") and replies[-2].startswith(b"221")
    assert sum(b"queued as" in reply for reply in replies) == 2
    one, two = mx.control_files().values()
    for text in (one, two):
        assert "local uid=" in text and "stage: submit" in text.lower()
        assert "bob@a.test" in text and "far@elsewhere.test" in text
    sizes = sorted(len(data) for _, data in mx.queued_messages())
    assert sizes[0] < 1000 and sizes[1] > 120000


def test_sendmail_session_in_lines_of_this_system(node, run):
    """A program that ends its first line with LF ends all of them so, and a message, too."""
    mx = node(start=False)
    script = (SESSION + TEXT + b".\n" + SESSION.partition(b"\n")[2] + TEXT + b"..x\n.\nQUIT\n").replace(b"\r\n", b"\n")
    ended = run(mx, "sendmail", "-bs", input=script)
    replies = ended.stdout.split(b"\r\n")
    assert replies[-2].startswith(b"221") and sum(b"queued as" in reply for reply in replies) == 2
    messages = sorted((data for _, data in mx.queued_messages()), key=len)
    assert len(messages) == 2 and b"\r\n.x\r\n" in messages[1]
    assert all(b"\n" not in data.replace(b"\r\n", b"") for data in messages)


def test_sendmail_session_in_lines_of_the_protocol_ends_no_message_by_others(node, run):
    """What a web page has passed to a program is no end of its message."""
    mx = node(start=False)
    smuggled = b"x\n.\nMAIL FROM:<evil@a.test>\nRCPT TO:<bob@a.test>\nDATA\nSubject: evil\n\ny\n.\n"
    ended = run(mx, "sendmail", "-bs", input=SESSION + TEXT.replace(b"\n", b"\r\n") + smuggled + b"\r\n.\r\nQUIT\r\n")
    assert ended.stdout.count(b"queued as") == 1
    (only,) = mx.queued_messages()
    assert b"MAIL FROM:<evil@a.test>" in only[1]


def test_sendmail_session_that_ends_early_leaves_nothing(node, run):
    mx = node(start=False)
    for cut in (SESSION, SESSION + TEXT, SESSION[:30], b""):
        assert run(mx, "sendmail", "-bs", input=cut).returncode == 0
    assert not mx.control_files()


def test_sendmail_session_says_what_the_queue_refuses(node, run):
    mx = node(start=False, settings="maxsize = 2000\n")
    ended = run(mx, "sendmail", "-bs", input=SESSION + b"x\r\n" * 1000 + b".\r\n")
    assert b"552 5.3.4" in ended.stdout and not mx.control_files()


def test_sendmail_session_of_a_program_that_names_no_domain(node, run):
    """cron, PHP and scanners on this machine write the names of its users."""
    mx = node(start=False)
    script = b"HELO x\r\nMAIL FROM:<root>\r\nRCPT TO:root\r\nRCPT\tTO: <bob@a.test.>\r\nDATA\r\n"
    ended = run(mx, "sendmail", "-bs", input=script + TEXT.replace(b"\n", b"\r\n") + b".\r\nQUIT\r\n")
    assert b"queued as" in ended.stdout
    (message,) = listing(run, mx)
    assert message["sender"] == "root@mx.stagepost.test"
    assert addresses(message) == ["root@mx.stagepost.test", "bob@a.test"]


@pytest.mark.parametrize("words, text, sender, recipient, needs", [
    (["jörg@b.test"], "", None, "jörg@b.test", True),
    (["ann@bücher.test"], "", None, "ann@xn--bcher-kva.test", False),
    (["-f", "jörg@a.test", "ann@b.test"], "", "jörg@a.test", "ann@b.test", True),
    (["-f", "ann@bücher.test", "ann@b.test."], "", "ann@xn--bcher-kva.test", "ann@b.test", False),
    (["-t"], "To: ann@bücher.test\n", None, "ann@xn--bcher-kva.test", False),
    (["-t"], "To: Jörg <jörg@b.test>\n", None, "jörg@b.test", True),
    (["x" * 200 + "@b.test"], "", None, "x" * 200 + "@b.test", False),
], ids=["recipient", "domain", "sender", "domain of the sender", "domain in To", "To", "long"])
def test_sendmail_addresses_in_utf_8(node, run, words, text, sender, recipient, needs):
    """SMTPUTF8 is demanded only where a local part needs it: A-labels are enough for a domain."""
    mx = node(start=False)
    ended = run(mx, "sendmail", *words, input=text.encode() + TEXT)
    assert (ended.returncode, ended.stderr) == (0, b"")
    (message,) = listing(run, mx)
    assert addresses(message) == [recipient] and sender in (None, message["sender"])
    (control,) = mx.control_files().values()
    assert (" smtputf8" in control) == needs


@pytest.mark.parametrize("envelope, sender, recipient", [
    (b"Froot\0Tbob\0\0", "root@mx.stagepost.test", "bob@mx.stagepost.test"),
    ("F#@[]\0Tjörg@b.test\0\0".encode(), "#@[]", "jörg@b.test"),
    ("Fowner-@a.test-@[]\0Tann@bücher.test\0\0".encode(), "owner-@a.test-@[]", "ann@xn--bcher-kva.test"),
])
def test_enqueue_takes_what_qmail_takes(node, run, enqueue, envelope, sender, recipient):
    mx = node(start=False)
    assert enqueue(mx, TEXT, envelope).returncode == 0
    (message,) = listing(run, mx)
    assert message["sender"] == sender and addresses(message) == [recipient]


@pytest.mark.parametrize("words, status, said", [
    (["-bd", "-q30m"], 64, b"stagepost serve"),
    (["-Z"], 64, b"unknown option -Z"),
    (["-f"], 64, b"argument is missing after -f"),
    ([], 64, b"no recipients"),
    (["-t"], 64, b"no recipients"),
    (["two words"], 65, b"not an address of a recipient"),
    (["-f", "two words", "bob@a.test"], 65, b"not an address of a sender"),
    (["-N", "never,delay", "bob@a.test"], 64, b'"never" excludes the other values'),
    (["-V", "x" * 101, "bob@a.test"], 64, b"wrong value of -V"),
    (["-V", "two\nlines", "bob@a.test"], 64, b"wrong value of -V"),
    (["-V", "", "bob@a.test"], 64, b"wrong value of -V"),
    (["-bi"], 0, b""),
    (["-a", "-E", "-J", "job.log", "-q"], 0, b""),
    (["-q"], 0, b""),
])
def test_sendmail_options(node, run, words, status, said):
    mx = node(start=False)
    ended = run(mx, *words, name="sendmail", input=TEXT)
    assert ended.returncode == status and said in ended.stderr
    assert listing(run, mx) == [] if os.path.exists(os.path.join(mx.queue, "format")) else True


def test_newaliases(node, run):
    assert run(node(start=False), name="newaliases").returncode == 0


# --- mailq, queue ---


def fill(run, mx):
    for sender, recipient in (("anna@a.test", "bob@b.test"), ("dora@a.test", "carl@c.test")):
        assert run(mx, "sendmail", "-f", sender, recipient, input=TEXT).returncode == 0


def test_mailq(node, run):
    mx = node(start=False)
    fill(run, mx)
    text = run(mx, name="mailq").stdout.decode()
    assert text.startswith("-Queue ID-") and "-- 1 Kbytes in 2 Requests.\n" in text
    assert re.search(r"^\d+-[0-9a-f]+ +\d+ \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d  anna@a\.test$",
                     text, re.M)
    assert run(mx, "-bp", name="sendmail").stdout.decode() == text


def test_list_filters(node, run):
    mx = node(start=False)
    fill(run, mx)
    for words, expected in (
            (["--sender", "ANNA@a.test"], 1), (["--sender", "anna"], 0),
            (["--recipient", "carl@c.test"], 1), (["--domain", "B.test"], 1),
            (["--domain", "b.test", "--sender", "dora@a.test"], 0), (["--stage", "submit"], 2),
            (["--stage", "arrive"], 0), (["--transport", "remote"], 0), (["--older", "0"], 2),
            (["--older", "1h"], 0), (["--younger", "1h"], 2), (["--younger", "0"], 0),
            (["--reason", "anything"], 0)):
        assert len(listing(run, mx, *words)) == expected, words
    assert run(mx, "queue", "list", "--older", "soon").returncode == 2
    assert run(mx, "queue", "list", "--bogus").returncode == 2
    assert run(mx, "queue", "bogus").returncode == 2


def test_list_in_order(node, run):
    mx = node(start=False)
    fill(run, mx)
    def senders(*words):
        return [message["sender"][0] for message in listing(run, mx, "--sort", *words)]
    assert senders("age") == ["a", "d"] and senders("age", "--reverse") == ["d", "a"]
    assert senders("sender") == senders("domain") == ["a", "d"]
    assert run(mx, "queue", "list", "--sort", "colour").returncode == 2
    assert run(mx, "queue", "list", "--reverse").returncode == 2


def test_a_message_that_waits(node, run):
    mx = node(routes=[":127.0.0.1;1"])
    assert run(mx, "sendmail", "-f", "anna@a.test", "bob@b.test", input=TEXT).returncode == 0
    mx.log.wait("deferred", to="bob@b.test")
    def waiting():
        return [m for m in listing(run, mx, "--transport", "remote")
                if m["deliveries"] and m["deliveries"][0]["state"] == "waiting"
                and m["state"] == "preprocessed"]
    (message,) = wait_until(waiting, "the outcome is recorded")
    (delivery,) = message["deliveries"]
    assert delivery["stage"] == "remote"
    assert delivery["attempts"] == 1 and delivery["status"].startswith("4.")
    text = run(mx, "mailq").stdout.decode()
    assert f"    ({delivery['text']})\n" in text
    assert listing(run, mx, "--reason", delivery["status"]) == [message]
    assert listing(run, mx, "--reason", delivery["text"][:10].upper()) == [message]
    stats = json.loads(run(mx, "queue", "stats", "--json").stdout)
    stats |= {place["name"]: place for place in stats["places"]}
    assert stats["preprocessed"]["messages"] == stats["remote"]["messages"] == 1
    assert stats["local maildir"]["messages"] == 0 and stats["oldest"] == message["born"]


def test_show(node, run):
    mx = node(start=False)
    assert run(mx, "sendmail", "bob@a.test",
               input=b"Subject: \x1b[31mred\n\nunseen\n").returncode == 0
    (message,) = listing(run, mx)
    for name in (message["id"], str(message["number"])):
        text = run(mx, "queue", "show", name).stdout.decode()
        assert text.startswith("stagepost 2\nid: " + message["id"])
        assert "Subject: ?[31mred\n" in text and "unseen" not in text
    for words in (["--json", message["id"]], [message["id"], "--json", "-c", mx.conf]):
        shown = json.loads(run(mx, "queue", "show", *words).stdout)
    assert "\r\nSubject: \x1b[31mred\r\n" in shown["header"] and shown["id"] == message["id"]
    assert run(mx, "queue", "show", f"{message['number']}-1").returncode == 1
    assert run(mx, "queue", "show", "1").returncode == 1
    assert run(mx, "queue", "show", "x").returncode == 1
    assert run(mx, "queue", "show").returncode == 2


@pytest.mark.parametrize("size", (0, 70, 3 << 20))
def test_show_the_content(node, run, size):
    mx = node(start=False)
    body = (b"\x1b[31m\xe4 0123456789" * (size // 16 + 1))[:size]
    lines = b"\n".join(body[first:first + 900] for first in range(0, size, 900))
    assert run(mx, "sendmail", "-oi", "bob@a.test",
               input=b"Subject: content\nDate: x\nFrom: y@a.test\nMessage-ID: <a@b>\n\n" + lines
               ).returncode == 0
    (message,) = listing(run, mx)
    shown = run(mx, "queue", "show", "--body", message["id"]).stdout
    assert len(shown) == message["size"]
    header, _, content = shown.partition(b"\r\n\r\n")
    assert b"Subject: content\r\n" in header
    assert content == lines.replace(b"\n", b"\r\n") + (b"\r\n" if size else b"")
    assert run(mx, "queue", "show", "--body", "--json", message["id"]).returncode == 2
    assert run(mx, "queue", "show", "--body", "1").returncode == 1


def test_a_damaged_message_is_listed(node, run):
    mx = node(start=False)
    fill(run, mx)
    (first, second) = listing(run, mx)
    for folder, _, names in os.walk(os.path.join(mx.queue, "todo")):
        if str(first["number"]) in names:
            with open(os.path.join(folder, str(first["number"])), "w", encoding="ascii") as file:
                file.write("stagepost 1\nid: x\n")
    found = {message["state"]: message["number"] for message in listing(run, mx)}
    assert found == {"damaged": first["number"], "queued": second["number"]}
    assert b"(damaged" in run(mx, "mailq").stdout


def test_a_damaged_envelope_is_shown(node, run):
    mx = node(start=False)
    assert run(mx, "sendmail", "bob@a.test", input=b"Subject: one\n\nunseen\n").returncode == 0
    (message,) = listing(run, mx)
    (path,) = (os.path.join(folder, name)
               for folder, _, names in os.walk(os.path.join(mx.queue, "todo")) for name in names)
    with open(path, "r+b") as file:
        text = file.read()
        file.seek(text.rindex(b"\nstage: ") + 8)
        file.write(b"?")
    shown = run(mx, "queue", "show", str(message["number"]))
    assert shown.returncode == 0 and b"stage: ?" in shown.stdout
    assert message["id"].encode() in shown.stdout and b"unseen" not in shown.stdout
    with open(path, "wb"):
        pass  # nothing at all is left of it
    shown = run(mx, "queue", "show", str(message["number"]))
    assert shown.returncode == 0
    assert re.fullmatch(rb"\(damaged: todo/\w+/\d+/\d+: the last line, [^\n]* 0 bytes from byte 0\)", shown.stdout.strip())


def test_no_queue(node, run):
    mx = node(start=False)
    ended = run(mx, "mailq")
    assert ended.returncode == 1 and mx.queue.encode() in ended.stderr


# --- trace ---


def test_trace_follows_the_bounce(node, run):
    mx = node(domains=['domain "a.test" { service = maildir  addresses = { "anna" } }'])
    assert run(mx, "sendmail", "-f", "anna@a.test", "none@a.test", input=TEXT).returncode == 0
    bounced = mx.log.wait("bounced")
    mx.log.wait("message_done", id=bounced["bounce"])
    story = run(mx, "trace", bounced["id"], mx.log.path).stdout.decode()
    lines = story.splitlines()
    assert lines == sorted(lines)
    assert "failed: <none@a.test> by none: 5.1.1" in story
    assert f"bounced to <anna@a.test> as {bounced['bounce']}" in story
    assert "delivered to <anna@a.test> by maildir" in lines[-2] and "done:" in lines[-1]
    with open(mx.log.path, "rb") as log:
        ended = run(mx, "trace", "--json", bounced["id"].split("-")[0], stdin=log)
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [e["event"] for e in events if e["id"] == bounced["bounce"]][-1] == "message_done"
    assert run(mx, "trace", "1-1", mx.log.path).returncode == 1
    ended = run(mx, "trace", bounced["id"], mx.log.path, mx.directory)
    assert (ended.returncode, ended.stdout.decode()) == (1, story)  # of the logs that can be read
    assert ended.stderr == f"stagepost trace: {mx.directory}: Is a directory\n".encode()
    assert run(mx, "trace", "x", mx.log.path).returncode == 2
    assert run(mx, "trace").returncode == 2


@pytest.mark.parametrize("program, reader", (("gzip", "zcat"), ("xz", "xzcat"), ("bzip2", "bzcat")))
def test_trace_takes_no_compressed_log_for_an_empty_one(node, run, program, reader):
    """As logrotate leaves them."""
    mx = node()
    path = os.path.join(mx.directory, "mail.log")
    shutil.copy(mx.log.path, path)
    packed = subprocess.run([program, "-c", path], check=True, capture_output=True).stdout
    with open(path, "wb") as log:
        log.write(packed)
    give_to_user(path)
    for words in ([path], ["-"]):
        with open(path, "rb") as log:
            ended = run(mx, "trace", "1-1", *words, stdin=log)
        assert (ended.returncode, ended.stdout) == (1, b"")
        assert ended.stderr.decode() == (f'stagepost trace: {words[0]} is not text: give what "{reader}" prints of it '
                                         "on standard input\n")



# --- reload, stop ---


def test_config(node, run):
    mx = node(start=False)
    changed = run(mx, "config", "--changed")
    assert f"queue = \"{mx.queue}\"  # {mx.conf}:" in changed.stdout.decode()
    explained = json.loads(run(mx, "config", "--json", "queue").stdout)
    assert explained["value"] == f'"{mx.queue}"' and explained["change"] == "restart"
    assert run(mx, "config", "domain", "a.test.service").stdout.startswith(
        b'domain a.test.service = "')
    wrong = run(mx, "config", "queu")
    assert wrong.returncode == 1 and b'did you mean "queue"' in wrong.stderr
    assert run(mx, "config", "--json").returncode == 2
    assert run(mx, "config", "--changed", "queue").returncode == 2


def test_reload(node, run):
    mx = node()
    mark = mx.log.mark()
    assert run(mx, "reload").returncode == 0
    mx.log.wait("config_reloaded", since=mark)
    mark = mx.log.mark()
    with open(mx.conf, "a", encoding="ascii") as conf:
        conf.write("bogus = 1\n")
    ended = run(mx, "reload")
    assert ended.returncode == 1 and b"bogus" in ended.stderr
    mx.write_configuration()
    assert not mx.log.find("config_refused", since=mark)


def test_reload_tells_what_this_machine_does_not_have(node, run):
    """All else is in force."""
    mx = node()
    with open(mx.conf, "a", encoding="ascii") as conf:
        conf.write('service box { kind = pipe command = "/bin/true" user = "gone" }\ntls_timeout = 31\n')
    mark = mx.log.mark()
    ended = run(mx, "reload")
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert re.fullmatch(r"[^\n]+: service box\.user: there is no user gone on this machine\n",
                        ended.stderr.decode()), ended
    mx.log.wait("config_reloaded", since=mark)


def test_reload_takes_no_certificate_that_is_not_there(node, run):
    """It would take TLS from who is to have it."""
    mx = node()
    with open(mx.conf, "a", encoding="ascii") as conf:
        conf.write('certificate main { chain = "/nowhere/a.pem" }\n')
    mark = mx.log.mark()
    ended = run(mx, "reload")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert "certificate main: /nowhere/a.pem: No such file or directory" in ended.stderr.decode(), ended
    assert mx.log.find("config_refused", since=mark) and not mx.log.find("config_reloaded", since=mark)


def test_stop(node, run):
    mx = node()
    assert run(mx, "serve").returncode == 1  # one is enough
    assert run(mx, "stop").returncode == 0
    assert mx.process.wait(10) == 0
    assert mx.log.find("serve_stopped")
    mx.process = None
    for word in ("stop", "reload"):
        ended = run(mx, word)
        assert ended.returncode == 1 and b"nothing runs" in ended.stderr


def test_a_stale_pid_file(node, run):
    mx = node()
    mx.kill_supervisor()
    assert os.path.exists(os.path.join(mx.run, "stagepost.pid"))
    assert b"nothing runs" in run(mx, "stop").stderr
    mx.start()
    assert run(mx, "reload").returncode == 0


@pytest.fixture
def complete(ground, run):
    """complete(node, "queue", "s") is what bash offers for the last word."""

    def complete(mx, *words):
        script = run(mx, "completion", "bash").stdout.decode()
        script += ('\nCOMP_WORDS=(stagepost "$@"); COMP_CWORD=$#; _stagepost\n'
                   'printf "%s\\n" "${COMPREPLY[@]}"\n')
        ended = subprocess.run(
            ["bash", "-c", script, "bash", *words], check=True, capture_output=True, text=True,
            env={**os.environ, "STAGEPOST_CONF": mx.conf,
                 "PATH": ground.programs + ":" + os.environ["PATH"]})
        assert ended.stderr == ""
        return sorted(ended.stdout.split())

    return complete


def test_completion(node, run, complete):
    mx = node(start=False)
    assert run(mx, "sendmail", "bob@a.test", input=TEXT).returncode == 0
    assert run(mx, "trigger", "wait", "the.moon").returncode == 0
    for words, expected in (
            (["se"], ["sendmail", "serve"]), (["queue", "s"], ["show", "stats"]),
            (["queue", "list", "--s"], ["--sender", "--sort", "--stage"]),
            (["queue", "list", "--sort", "s"], ["sender", "size"]),
            (["queue", "stats", "--by", ""], ["destination", "reason"]),
            (["enqueue", "-s", "a"], ["arrive"]),
            (["trigger", "release", "the"], ["the.moon"]),
            (["queue", "list", "--trigger", ""], ["the.moon"]),
            (["node", "d"], ["drain"]),
            (["check", "-c", mx.conf[:-1]], [mx.conf])):
        assert complete(mx, *words) == expected, words
    (message,) = listing(run, mx)
    offered = complete(mx, "queue", "hold", "")
    assert message["id"] in offered and "--all" in offered and "ID" not in offered
    assert run(mx, "completion", "tcsh").returncode == 2
