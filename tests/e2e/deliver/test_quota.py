# SPDX-License-Identifier: ISC
"""Mailboxes that hold no more than they may: by the setting of their service, by their record in
the directory, and as Dovecot counts them beside."""

import os
import signal
import subprocess
import tempfile

import pytest
from dovecot import Dovecot
from records import Records
from smtp import deliver
from stagepost import PATIENCE, as_user, wait_until

KIB = b"Subject: a kilobyte\r\n\r\n" + b"x" * 70 * 13 + b"\r\n"

DOVECOT = """mail_plugins = quota
protocol imap {
  mail_plugins = quota imap_quota
}
plugin {
  quota = maildir:User quota
  quota_rule = *:storage=20K:messages=6
}
"""


def fill(text, size):
    """A message of about SIZE bytes."""
    return b"Subject: " + text + b"\r\n\r\n" + b"".join(
        b"%070d\r\n" % i for i in range(size // 72)) + b"\r\n"


@pytest.fixture
def mx(node):
    """A node whose mailboxes are at service box, with SETTINGS of quotas."""
    def make(settings, directory=False):
        made = node("mx", start=False, domains=[])
        made.settings = (f'service box {{ kind = maildir path = "{made.mail}/%d/%u" '
                         f'{settings} }}\n')
        if directory:
            made.settings += f'directory {{ path = "{made.directory}/directory.db" }}\n'
        else:
            made.settings += 'domain d.test { service = box }\n'
        made.write_configuration()
        made.start()
        if directory:
            with Records(made) as records:
                records.put("domain", "d.test", "kind local", "service box")
                records.put("address", "ann@d.test", "kind mailbox")
                records.put("address", "bob@d.test", "kind mailbox", "quota 3K")
        return made

    return make


def maildirsize(mx, address):
    with open(os.path.join(mx.maildir(address).path, "maildirsize"), encoding="ascii") as file:
        return file.read()


def ends(mx, address, mark):
    return [event for name in ("delivered", "deferred", "failed")
            for event in mx.log.find(name, mark, to=address)]


def outcome(mx, address, message=KIB, send=deliver):
    """The status that the log has for its delivery."""
    mark = mx.log.mark()
    send(mx, address, message)
    wait_until(lambda: ends(mx, address, mark), "an outcome")
    return ends(mx, address, mark)[0]["status"]


def enqueue(mx, address, message):
    """Without an SMTP server, which asks for the address itself."""
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as envelope:
        text.write(message)
        envelope.write(b"Fsender@client.test\0T" + address.encode() + b"\0\0")
        text.seek(0)
        envelope.seek(0)
        subprocess.run(as_user() + [os.path.join(mx.programs, "stagepost"), "enqueue", "-c",
                                    mx.conf], check=True, stdin=text, stdout=envelope,
                       timeout=PATIENCE)


def retry(mx):
    """All that waits is tried now, and delivered."""
    subprocess.run(as_user() + [os.path.join(mx.programs, "stagepost"), "queue", "retry", "-c",
                                mx.conf, "--all", "--yes"], check=True, capture_output=True,
                   timeout=PATIENCE)
    mx.wait_empty()


def test_dovecot_counts_the_same(mx):
    made = mx('quota = "20K,6"')
    dovecot = Dovecot(["ann@d.test"], f"{made.mail}/%d/%n", DOVECOT)
    try:
        for _ in range(4):
            assert outcome(made, "ann@d.test", fill(b"a", 4000)) == "2.0.0"
        assert maildirsize(made, "ann@d.test").startswith("20480S,6C\n")
        session = dovecot.imap("ann@d.test")
        told = session.getquotaroot("INBOX")[1][1][0].decode()
        total = sum(os.path.getsize(path) for path in made.maildir("ann@d.test").files())
        assert f"STORAGE {-(-total // 1024)} 20 MESSAGE 4 6" in told
        assert outcome(made, "ann@d.test", fill(b"b", 6000)) == "4.2.2"
        # what the reader removes makes room, in the file that both keep
        session.select()
        session.store("1:2", "+FLAGS", "\\Deleted")
        session.expunge()
        assert maildirsize(made, "ann@d.test").startswith("20480S,6C\n")
        retry(made)
        for _ in range(3):
            assert outcome(made, "ann@d.test") == "2.0.0"
        assert outcome(made, "ann@d.test") == "4.2.2", "there are six messages"
        assert not dovecot.complaints()
    finally:
        dovecot.close()


def test_over_quota_is_refused(mx):
    made = mx('quota = 5K over_quota = refuse')
    assert outcome(made, "ann@d.test", fill(b"a", 4000)) == "2.0.0"
    assert outcome(made, "ann@d.test", fill(b"b", 2000)) == "5.2.2"
    assert outcome(made, "ann@d.test", fill(b"c", 6000)) == "5.2.3"
    assert outcome(made, "ann@d.test", fill(b"d", 200)) == "2.0.0"


def test_larger_than_the_quota_is_refused_at_once(mx):
    made = mx("quota = 5K")
    assert outcome(made, "ann@d.test", fill(b"c", 6000)) == "5.2.3"


def test_the_record_goes_before_the_setting(mx):
    made = mx("quota = 9K", directory=True)
    assert outcome(made, "bob@d.test", fill(b"a", 2000)) == "2.0.0"
    assert outcome(made, "bob+tag@d.test", fill(b"b", 2000)) == "4.2.2"
    assert maildirsize(made, "bob@d.test").startswith("3072S\n")
    assert outcome(made, "ann@d.test", fill(b"a", 5000)) == "2.0.0"
    assert maildirsize(made, "ann@d.test").startswith("9216S\n")
    with Records(made) as records:
        records.put("address", "bob@d.test", "kind mailbox", "quota 1M")
        records.put("address", "ann@d.test", "kind mailbox", "quota none")
    retry(made)
    assert maildirsize(made, "bob@d.test").startswith("1048576S\n")
    assert outcome(made, "ann@d.test", fill(b"b", 20000)) == "2.0.0"


def test_only_what_records_say(mx):
    made = mx("quota = none", directory=True)
    assert outcome(made, "bob@d.test", fill(b"a", 4000)) == "5.2.3"
    assert outcome(made, "ann@d.test", fill(b"a", 50000)) == "2.0.0"
    assert not os.path.exists(os.path.join(made.maildir("ann@d.test").path, "maildirsize"))


def test_quotas_begin_with_a_reload(mx):
    made = mx("", directory=True)
    assert outcome(made, "bob@d.test", fill(b"a", 4000)) == "2.0.0"
    made.settings = made.settings.replace("/%d/%u\"", "/%d/%u\" quota = none")
    made.write_configuration()
    made.reload()
    wait_until(lambda: outcome(made, "bob@d.test", fill(b"a", 500)) == "4.2.2", "it is counted")


def test_mail_waits_for_no_directory(mx):
    """What is not known keeps nobody's mail."""
    made = mx("quota = none", directory=True)
    assert outcome(made, "bob@d.test", fill(b"a", 2000)) == "2.0.0"
    directory = made.pids("directory")[0]
    os.kill(directory, signal.SIGSTOP)
    try:
        made.kill_and_wait("local")  # what it knew is gone; where bob's mail goes others know
        assert outcome(made, "bob@d.test", fill(b"b", 2000), enqueue) == "2.0.0"
    finally:
        os.kill(directory, signal.SIGCONT)
    wait_until(lambda: outcome(made, "bob@d.test", fill(b"c", 2000)) == "4.2.2", "it answers")
