# SPDX-License-Identifier: ISC
"""Every message of the corpus arrives byte for byte by every way there is, but for its NULs, and
for lines that are too long for SMTP."""

import hashlib
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from corpus import corpus
from dovecot import Dovecot
from exim import Exim
from peers import Postfix, Sink
from smtp import Client
from stagepost import as_user, split_trace

SENDERS = 6
LENIENT = "nul = remove\n"
SERVICES = """service dovecot {{ kind = lmtp address = "unix:{dovecot}" }}
service sink {{ kind = lmtp address = "127.0.0.1:{sink}" }}
"""


@pytest.fixture(scope="module")
def samples():
    return corpus()


def send_all(server, samples, recipients_of):
    """Sends SAMPLES over a few connections; RECIPIENTS_OF(sample) is a list."""
    waiting = list(samples)
    refusals = []

    def work():
        with Client(server) as client:
            while waiting:
                try:
                    sample = waiting.pop()
                except IndexError:
                    return
                reply = client.deliver("sender@client.test", recipients_of(sample), sample.data)
                if not reply.startswith("250 "):
                    refusals.append(f"{sample.name}: {reply}")

    threads = [threading.Thread(target=work) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not refusals, refusals
    assert not waiting, "a connection was lost"


def digest(text):
    return hashlib.sha256(text).hexdigest()


def broken(line):
    """A line as SMTP takes it: 998 bytes at most, the others begin with a space; broken where one is, if
    that is not only behind the name of a field."""
    while len(line) > 998:
        begin = len(line) - len(line.lstrip(b" \t"))
        at = max(line.rfind(b" ", begin + 1, 999), line.rfind(b"\t", begin + 1, 999))
        if at < 0 or line[at - 1:at] == b":":
            at = 998
            while at > 995 and line[at] & 0xc0 == 0x80:
                at -= 1
        yield line[:at]
        line = line[at:] if line[at:at + 1] in (b" ", b"\t") else b" " + line[at:]
    yield line


def in_short_lines(text):
    return b"\n".join(part for line in text.split(b"\n") for part in broken(line))


def check_all(stored_of, samples, form=lambda text: text):
    """STORED_OF(sample) is what has arrived of it: each once, as FORM makes it, but for trace
    headers."""
    wrong = []
    for sample in samples:
        stored = stored_of(sample)
        if len(stored) != 1:
            wrong.append(f"{sample.name}: {len(stored)} times")
            continue
        try:
            wanted = form(sample.stored)
            trace = split_trace(stored[0], wanted)
        except AssertionError as error:
            wrong.append(f"{sample.name}: {error}: {stored[0][:300]!r}")
            continue
        assert digest(stored[0][len(stored[0]) - len(wanted):]) == digest(wanted)
    assert not wrong, f"{len(wrong)} of {len(samples)}: " + "\n".join(wrong[:10])


def in_maildir(server, domain, samples):
    """What has arrived there, which is waited for as long as others of SAMPLES come: those that are
    looked at first were sent last, and peers take their time."""
    def count():
        return sum(len(server.maildir(f"{sample.name}@{domain}").files()) for sample in samples)

    def stored_of(sample):
        known = -1
        while True:
            try:
                return server.maildir(f"{sample.name}@{domain}").wait()
            except AssertionError:
                if count() == known:
                    raise
                known = count()

    return stored_of


def in_dumps(sink):
    """What smtp-sink has taken by now."""
    found = {}
    for recipients, message in sink.transactions():
        for to in recipients:
            found.setdefault(to.partition("@")[0], []).append(message)
    return lambda sample: found.get(sample.name, [])


@pytest.fixture
def dovecot(ground, samples):
    made = Dovecot([f"{sample.name}@dovecot.test" for sample in samples],
                   f"{ground.directory('dovecot')}/%u")
    yield made
    made.close()


def test_corpus_to_maildir_and_another_node(node, samples):
    """smtplib -> Stagepost -> its Maildir, and another Stagepost's"""
    other = node("other", domains=["b.test"], settings=LENIENT)
    mx = node(settings=LENIENT, routes=[f"b.test:127.0.0.1;{other.port}"])
    send_all(mx, samples, lambda s: [f"{s.name}@a.test", f"{s.name}@b.test"])
    check_all(in_maildir(mx, "a.test", samples), samples)
    check_all(in_maildir(other, "b.test", samples), samples, in_short_lines)
    mx.wait_empty()
    other.wait_empty()


def test_corpus_by_lmtp(node, ground, samples, dovecot):
    """smtplib -> Stagepost -> Dovecot's Maildir, and smtp-sink"""
    with Sink(ground.directory("sink"), "-L") as sink:
        mx = node(domains=['domain "dovecot.test" { service = dovecot }',
                           'domain "sink.test" { service = sink }'],
                  settings=LENIENT + SERVICES.format(dovecot=dovecot.path, sink=sink.port))
        send_all(mx, samples, lambda s: [f"{s.name}@dovecot.test", f"{s.name}@sink.test"])
        check_all(in_maildir(dovecot, "dovecot.test", samples), samples)
        mx.wait_empty()
        check_all(in_dumps(sink), samples)


@pytest.mark.parametrize("peer", [Postfix, Exim])
def test_corpus_through(node, ground, samples, peer):
    """smtplib -> Stagepost -> peer -> another Stagepost -> its Maildir. Both ways in one,
    since the peers take most of the time. Exim sends by BDAT."""
    proper = [sample for sample in samples if sample.is_proper]
    last = node("last", domains=["b.test"])
    with peer(ground.directory("peer"), next_port=last.port) as hop:
        mx = node(routes=[f"b.test:127.0.0.1;{hop.port}"])
        send_all(mx, proper, lambda s: [f"{s.name}@b.test"])
        check_all(in_maildir(last, "b.test", proper), proper, in_short_lines)
        mx.wait_empty()
        last.wait_empty()


def test_corpus_by_command(node, ground, samples, tmp_path):
    """stagepost enqueue, first without a daemon, then beside it -> its Maildir"""
    mx = node(start=False, settings=LENIENT)
    program = os.path.join(ground.programs, "stagepost")

    def enqueue(sample):
        envelope = tmp_path / sample.name
        envelope.write_bytes(f"Fsender@client.test\0T{sample.name}@a.test\0\0".encode())
        with open(envelope, "rb") as file:
            ended = subprocess.run(
                as_user() + [program, "enqueue", "-c", mx.conf], check=False, timeout=60,
                input=sample.data, stdout=file, stderr=subprocess.PIPE)
        assert ended.returncode == 0, (sample.name, ended.stderr)

    half = len(samples) // 2
    enqueue(samples[0])  # which makes the queue
    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(enqueue, samples[1:half]))
        mx.start()
        list(pool.map(enqueue, samples[half:]))
    check_all(in_maildir(mx, "a.test", samples), samples)
    mx.wait_empty()
