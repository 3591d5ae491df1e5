# SPDX-License-Identifier: ISC
"""Commands, and sendmail for every user, while the configuration is being edited or is closed to them:
on a booted machine, under the shipped unit."""

import pytest

from stagepost import is_root
from test_machine import delivered, fixture_booted, fixture_machine, start  # noqa: F401 # pylint: disable=unused-import

CONF = "/etc/stagepost/stagepost.conf"
GOOD = "/run/stagepost/stagepost.conf"
TEXT = "Subject: hello\n\nA line.\n"
SECRET = "open-sesame"
TEMPFAIL = 75
# As "make install submit_group=stagepost-submit" leaves it: a program of its own, as "stagepost" has no bit.
SET_GROUP = """\
file=$(command -v sendmail)
cp --remove-destination "$(readlink -f "$(command -v stagepost)")" "$file"
chgrp stagepost-submit "$file"
chmod 2755 "$file"
"""

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")


@pytest.fixture(name="open_machine")
def fixture_open_machine(machine):
    """One whose users may send mail."""
    machine.run("sh", "-ec", SET_GROUP)
    machine.configure(for_users)
    yield machine
    machine.run("chown", "root:root", CONF)
    machine.run("chmod", "0644", CONF)
    machine.run("sh", "-ec", "ln -sf $(command -v stagepost) $(command -v sendmail)")


def for_users(text):
    return text + (f'submit_group = "stagepost-submit"\nsmtproutes = "a.example:b.example|ann|{SECRET}"\n'
                   'log_target = syslog\n')


def with_a_mistake(text):
    return for_users(text) + "listen smpt { }\n"


def as_user(machine, *command, **settings):
    return machine.run("setpriv", "--reuid=games", "--regid=games", "--clear-groups", "--", *command, check=False,
                       **settings)


def send(machine):
    return as_user(machine, "sendmail", "bob@example.org", data=TEXT)


def lines_of(machine, word):
    machine.run("journalctl", "--sync")
    return machine.run("journalctl", "-o", "cat", "--no-pager").stdout.count(word)


def is_delivered(machine, act):
    """By cron's and PHP's way: what ACT sends is delivered, and nothing was printed."""
    before = lines_of(machine, "event=delivered ")
    ended = act(machine)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", ""), ended
    machine.wait(lambda: lines_of(machine, "event=delivered ") > before, "its delivery")


def test_a_wrong_line(open_machine):
    machine = open_machine
    start(machine)
    assert SECRET not in machine.run("cat", GOOD).stdout
    machine.configure(with_a_mistake)
    said = lines_of(machine, "process=sendmail")
    is_delivered(machine, send)
    assert lines_of(machine, "process=sendmail") > said
    for command in ("queue", "list"), ("queue", "stats"), ("limits",), ("trigger", "list"), ("mailq",):
        ended = machine.run("stagepost", *command)
        assert ended.stderr.startswith(f"{CONF}:") and "smpt" in ended.stderr, ended.stderr
        assert ended.stderr.endswith(f"; the last good configuration is used, {GOOD}\n") and ended.stderr.count("\n") == 1
    for command in ("check",), ("config",), ("reload",), ("serve",):
        ended = machine.run("stagepost", *command, check=False)
        assert ended.returncode in (1, 78) and ended.stderr.startswith(f"{CONF}:"), ended
        assert GOOD not in ended.stderr
    machine.run("stagepost", "stop")
    machine.wait(lambda: machine.unit("ActiveState")["ActiveState"] == "inactive", "its end")


def test_a_reload_that_is_accepted_is_the_last_good(open_machine):
    machine = open_machine
    start(machine)
    machine.configure(lambda text: for_users(text) + "maxrecipients = 1234\n")
    machine.run("stagepost", "reload")
    assert "maxrecipients = 1234\n" in machine.run("cat", GOOD).stdout
    machine.configure(with_a_mistake)
    assert machine.run("systemctl", "reload", "stagepost", check=False).returncode != 0
    assert "maxrecipients = 1234\n" in machine.run("cat", GOOD).stdout
    assert machine.run("stat", "-c", "%U %a", GOOD).stdout == "stagepost-supervisor 644\n"


def test_a_file_that_users_may_not_read(open_machine):
    """As stagepost-serve(8) suggests: that is no mistake, and nobody hears of it."""
    machine = open_machine
    machine.run("chown", "root:stagepost", CONF)
    machine.run("chmod", "0640", CONF)
    start(machine)
    said = lines_of(machine, "config_refused")
    is_delivered(machine, send)
    assert lines_of(machine, "config_refused") == said
    ended = as_user(machine, "stagepost", "queue", "list")  # not his: but that is another reason
    assert ended.stderr.startswith(f"{CONF}: Permission denied; the last good configuration is used, {GOOD}\n"), ended


def test_where_no_node_was_since_the_boot(open_machine):
    """The caller keeps the message, or its user is told; and the log says what no caller shows."""
    machine = open_machine
    machine.run("rm", "-f", GOOD)
    machine.configure(with_a_mistake)
    said = lines_of(machine, "process=sendmail")
    for act in (send, lambda machine: machine.run("sendmail", "bob@example.org", data=TEXT, check=False)):
        ended = act(machine)
        assert ended.returncode == TEMPFAIL, ended
        assert ended.stderr.startswith(f"{CONF}:") and "sendmail: the message is not queued\n" in ended.stderr
    assert lines_of(machine, "process=sendmail") >= said + 2
    assert machine.run("stagepost", "enqueue", data=TEXT, check=False).returncode == 55  # as of qmail-queue(8)
