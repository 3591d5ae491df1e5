# SPDX-License-Identifier: ISC
"""Every message of the corpus arrives byte for byte, by every way there is."""

import hashlib
import os
import subprocess
import threading

import pytest
from corpus import corpus
from peers import Postfix
from smtp import Client
from stagepost import as_user, split_trace

SENDERS = 6


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


def check_all(maildir_of, samples):
    """Each is there once, and the same but for trace headers."""
    wrong = []
    for sample in samples:
        stored = maildir_of(sample).wait(timeout=60)
        if len(stored) != 1:
            wrong.append(f"{sample.name}: {len(stored)} times")
            continue
        try:
            trace = split_trace(stored[0], sample.stored)
        except AssertionError as error:
            wrong.append(f"{sample.name}: {error}: {stored[0][:300]!r}")
            continue
        assert digest(stored[0][len(trace):]) == digest(sample.stored)
    assert not wrong, f"{len(wrong)} of {len(samples)}: " + "\n".join(wrong[:10])


def test_corpus_to_maildir_postfix_and_another_node(node, ground, samples):
    """smtplib -> Stagepost -> its Maildir, Postfix's Maildir, and another Stagepost's."""
    names = [sample.name for sample in samples]
    with Postfix(ground.directory("postfix"), users=names) as postfix:
        other = node("other", domains=["b.test"])
        mx = node(routes=[f"b.test:127.0.0.1;{other.port}",
                          f"postfix.test:127.0.0.1;{postfix.port}"])
        send_all(mx, samples, lambda s: [f"{s.name}@a.test", f"{s.name}@b.test"]
                 + [f"{s.name}@postfix.test"] * s.is_proper)
        check_all(lambda s: mx.maildir(f"{s.name}@a.test"), samples)
        check_all(lambda s: other.maildir(f"{s.name}@b.test"), samples)
        check_all(lambda s: postfix.maildir(f"{s.name}@postfix.test"),
                  [s for s in samples if s.is_proper])
        mx.wait_empty()
        other.wait_empty()


def test_corpus_from_postfix(node, ground, samples):
    """smtplib -> Postfix -> Stagepost -> its Maildir"""
    proper = [sample for sample in samples if sample.is_proper]
    mx = node()
    with Postfix(ground.directory("postfix"), next_port=mx.port) as postfix:
        send_all(postfix, proper, lambda s: [f"{s.name}@a.test"])
        check_all(lambda s: mx.maildir(f"{s.name}@a.test"), proper)
        mx.wait_empty()


def test_corpus_by_command(node, ground, samples, tmp_path):
    """stagepost enqueue, first without a daemon, then beside it -> its Maildir"""
    mx = node(start=False)
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
    for sample in samples[:half]:
        enqueue(sample)
    mx.start()
    for sample in samples[half:]:
        enqueue(sample)
    check_all(lambda s: mx.maildir(f"{s.name}@a.test"), samples)
    mx.wait_empty()
