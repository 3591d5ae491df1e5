# SPDX-License-Identifier: ISC
"""Many recipients that are answered long and differently at each attempt: the control file does
not grow with the attempts, can always be read, and in the end the sender hears of all."""
import json
import os
import subprocess

import lmtp
from smtp import Client
from stagepost import as_user, wait_until

RECIPIENTS = 800
ATTEMPTS = 14
LENGTH = 460  # of a reply
KEPT = 1 << 20  # bytes up to which a control file is not written anew


class Answers:
    """Each recipient waits, with a text that nobody else gets, until told to fail."""

    def __init__(self):
        self.is_last = False
        self.given = 0

    def __call__(self, address):
        self.given += 1
        code = "550 5.1.1" if self.is_last else "450 4.2.2"
        return f"{code} {address} {self.given} ".ljust(LENGTH, "x")


def control_file(mx):
    """The only one's names: info/ and remote/."""
    names = [os.path.join(folder, name) for top in ("info", "remote")
             for folder, _, files in os.walk(os.path.join(mx.queue, top)) for name in files]
    return sorted(names)


def test_a_week_of_long_replies(node):
    answers = Answers()
    server = lmtp.Server(recipient=answers)
    mx = node(routes=[f"b.test:{server.address.replace(':', ';')}"], domains=["a.test"])

    def run(*words):
        done = subprocess.run(
            [*as_user(), os.path.join(mx.programs, "stagepost"), *words], check=False,
            env={**os.environ, "STAGEPOST_CONF": mx.conf}, cwd=mx.directory,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    with Client(mx) as client:
        reply = client.deliver("anna@a.test", [f"u{i}@b.test" for i in range(RECIPIENTS)],
                               b"Subject: hello\r\n\r\nhello\r\n")
    assert reply.startswith("250 "), reply
    sizes = []
    for attempt in range(1, ATTEMPTS + 1):
        mx.log.wait("deferred", count=attempt * RECIPIENTS)
        wait_until(lambda: len(control_file(mx)) == 2, "it is preprocessed")

        def is_recorded():
            with open(control_file(mx)[0], encoding="utf-8") as file:
                return f" {answers.given} " in file.read()

        wait_until(is_recorded, "the attempt is recorded")
        infos = [os.stat(path) for path in control_file(mx)]
        sizes.append(infos[0].st_size)
        assert len({info.st_ino for info in infos}) == 1
        (message,) = [json.loads(line) for line in run("queue", "list", "--json").splitlines()]
        assert run("queue", "show", message["id"]).count("@b.test") >= RECIPIENTS
        if attempt < ATTEMPTS:
            run("queue", "retry", "--all", "--yes")
    needed = RECIPIENTS * (LENGTH + 200)
    assert needed < KEPT
    assert sum(later < before for before, later in zip(sizes, sizes[1:])) > 2, sizes
    assert max(sizes) <= max(KEPT, 2 * needed), sizes
    answers.is_last = True
    run("queue", "retry", "--all", "--yes")
    (report,) = mx.maildir("anna@a.test").wait(1)
    assert report.count(b"Final-Recipient:") == RECIPIENTS
    mx.wait_empty()
    assert not mx.log.find("queue_error") and not mx.log.find("message_damaged")
    server.close()
