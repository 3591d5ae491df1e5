# SPDX-License-Identifier: ISC
"""What every command does with a wrong word, without a queue, and when nobody reads what it
prints: nothing fails silently, and the exit status tells."""

import os
import re
import select
import signal
import subprocess

import pytest
from stagepost import PATIENCE, as_user, wait_until

TEXT = b"Subject: hello\n\nA line.\n"
COMMANDS = """mailbox mailbox/status mailbox/list mailbox/repair serve reload upgrade stop check config manual enqueue mailq trace transcript limits tls tls-report sendmail completion
version queue queue/list queue/show queue/hold queue/release queue/retry queue/requeue queue/bounce
queue/remove queue/drain queue/stats queue/repair queue/adopt trigger trigger/list trigger/wait
trigger/release directory directory/accept directory/check directory/get directory/put directory/set directory/del directory/list directory/repair directory/watch
directory/stats directory/status directory/import directory/export directory/passwd newaliases
node node/list node/put node/drain node/activate node/forget nodes""".split()
MAIL = ("sendmail", "newaliases", "mailbox")  # exit as sysexits.h has it; enqueue as qmail-queue does
PRINTING = ["check", "config", "manual", "version", "queue/list", "queue/list/--json", "mailq",
            "queue/stats", "queue/stats/--json", "queue/stats/--by=reason", "trigger/list",
            "trigger/list/--json", "help", "help/queue/list", "completion/bash", "--help"]


@pytest.fixture
def run(ground):
    def run(node, *words, **settings):
        settings.setdefault("stdin", subprocess.DEVNULL)
        settings.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [*as_user(), os.path.join(ground.programs, "stagepost"), *words], check=False,
            timeout=PATIENCE, env={**os.environ, "STAGEPOST_CONF": node.conf},
            cwd=node.directory, stderr=subprocess.PIPE, **settings)

    return run


def fill(ground, node, count=1):
    recipients = [f"bob{i}@b.test" for i in range(count)]
    for recipient in recipients:
        subprocess.run(
            [*as_user(), os.path.join(ground.programs, "stagepost"), "sendmail", "-C", node.conf,
             "-f", "anna@a.test", recipient], input=TEXT, check=True, timeout=PATIENCE)


def test_commands_are_all(node, run):
    """The list above lacks none."""
    found = []
    for name in re.findall(r"^  ([\w-]+) ", run(node(start=False), "help").stdout.decode(), re.M):
        found.append(name)
        told = run(node("other", start=False), "help", name).stdout.decode()
        found += [f"{name}/{sub}" for sub in re.findall(rf"^  {name} (\w+) ", told, re.M)]
    assert sorted(found) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_wrong_options(node, run, command):
    mx = node(start=False)
    words = command.split("/")
    for help_words in ([*words, "--help"], ["help", *words]):
        ended = run(mx, *help_words)
        assert (ended.returncode, ended.stderr) == (0, b"")
        text = ended.stdout.decode()
        assert text.startswith(f"Usage: stagepost {' '.join(words)}")
        assert "Exit status:" in text or f'"stagepost {command} COMMAND --help"' in text
        assert all(len(line) <= 100 for line in text.splitlines())
    ended = run(mx, *words, "--bogus")
    assert ended.returncode == (64 if command in MAIL else 81 if command == "enqueue" else 2)
    assert ended.stdout == b"" and b"bogus" in ended.stderr or command == "sendmail"
    assert not os.path.exists(mx.queue)


@pytest.mark.parametrize("command, arguments", [
    ("serve", []), ("reload", []), ("upgrade", []), ("stop", []), ("check", []), ("config", []), ("mailq", []),
    ("queue list", []), ("queue show", ["1"]), ("queue hold", ["1"]), ("queue release", ["1"]),
    ("queue retry", ["1"]), ("queue requeue", ["1"]),
    ("queue bounce", ["1", "--yes"]), ("queue remove", ["1", "--yes"]),
    ("queue drain", []), ("queue stats", []), ("queue repair", []), ("queue adopt", ["/"]), ("trigger list", []),
    ("transcript", ["--peer", "::1"]), ("limits", []), ("trigger wait", ["x"]), ("trigger release", ["x"]), ("directory get", ["a@b"]),
    ("directory put", ["a@b"]), ("directory set", ["a@b", "kind=mailbox"]), ("directory del", ["a@b"]), ("directory list", []),
    ("directory watch", []), ("directory repair", []), ("directory stats", []),
    ("directory status", []), ("node list", []), ("node put", ["a1", "weight=1"]),
    ("node drain", ["a1"]), ("node activate", ["a1"]), ("node forget", ["a1", "--yes"]), ("nodes", [])])
def test_a_wrong_configuration(node, run, command, arguments):
    """A missing file and one with an error: said, with its line; nothing is done."""
    mx = node(start=False)
    of_records = "directory get", "directory put", "directory set", "directory del"  # 1: there is no such record
    of_nodes = command.startswith("node ")  # likewise
    status = 78 if command == "serve" else 3 if command in of_records or of_nodes else 1
    ended = run(mx, *command.split(), *arguments, "-c", mx.conf + ".none")
    assert (ended.returncode, ended.stdout) == (status, b"")
    assert ended.stderr == f"{mx.conf}.none: No such file or directory\n".encode()
    with open(mx.conf, "a", encoding="ascii") as conf:
        conf.write("bogus = 1\n")
    ended = run(mx, *command.split(), *arguments)
    assert (ended.returncode, ended.stdout) == (status, b"")
    assert re.match(rb"\S+stagepost\.conf:\d+: bogus: ", ended.stderr)
    assert not os.path.exists(mx.queue)


@pytest.mark.parametrize("words", [
    ["queue", "list"], ["queue", "list", "--json"], ["queue", "show", "1"], ["queue", "stats"],
    ["queue", "hold", "1"], ["queue", "repair"], ["queue", "adopt", "/"], ["trigger", "list"],
    ["trigger", "wait", "x"], ["mailq"]])
def test_without_a_queue(node, run, words):
    mx = node(start=False)
    ended = run(mx, *words)
    assert (ended.returncode, ended.stdout) == (1, b"")
    said = f'stagepost: {mx.queue}: there is no queue yet; "stagepost serve" makes it\n'
    assert ended.stderr.decode() == said


def test_an_empty_queue(node, run):
    mx = node()
    assert run(mx, "queue", "list").stdout == b"Mail queue is empty\n"
    assert run(mx, "queue", "list", "--json").stdout == b""
    assert run(mx, "trigger", "list", "--json").stdout == b""
    for verb in ("hold", "release", "retry", "requeue", "bounce", "remove"):
        ended = run(mx, "queue", verb, "--all", "--yes")
        assert (ended.returncode, ended.stdout) == (0, f"{verb}: 0 done, 0 refused\n".encode())
        ended = run(mx, "queue", verb, "1", "x", "1-1", "--yes")
        assert ended.returncode == 1 and b"no message id" in ended.stderr
        assert f"{verb}: 0 done, 3 refused\n".encode() in ended.stdout


@pytest.mark.parametrize("verb", ["retry", "requeue", "bounce", "remove"])
def test_without_a_daemon(node, run, ground, verb):
    mx = node(start=False)
    fill(ground, mx)
    ended = run(mx, "queue", verb, "--all", "--yes")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert f"stagepost queue {verb}: no manager runs".encode() in ended.stderr


def test_unknown_names(node, run, ground):
    mx = node(start=False)
    fill(ground, mx)
    for words in (["list", "--transport", "maildri"], ["hold", "--transport", "maildri"]):
        ended = run(mx, "queue", *words)
        assert ended.returncode == 2 and b"there is no transport maildri" in ended.stderr
    for words in (["--stage", "submit"], ["--stage", "arrive"], ["--transport", "remote"],
                  ["--transport", "list"], ["--transport", "maildir"]):
        assert run(mx, "queue", "list", *words).returncode == 0
    ended = run(mx, "queue", "list", "--stage", "maildir")
    assert ended.returncode == 2 and b"--stage is submit or arrive" in ended.stderr
    assert run(mx, "queue", "show", "x").stderr == b"stagepost: x is no message id\n"
    assert run(mx, "queue", "show", "1").stderr == b"stagepost: no message 1\n"
    ended = run(mx, "bogus")
    assert ended.returncode == 2 and b'no command "bogus"' in ended.stderr
    assert run(mx, "help", "queue", "bogus").returncode == 2


def slips(word):
    """WORD with a letter too few, too many, wrong, or two exchanged, in its midst."""
    at = len(word) // 2
    return {word[:at] + word[at + 1:], word[:at] + "q" + word[at:], word[:at] + "q" + word[at + 1:],
            word[:at] + word[at + 1] + word[at] + word[at + 2:]} - {word}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_slip_of_the_finger(node, run, command):
    """Of every command and every long option the one is named that was meant."""
    mx = node(start=False)
    words = command.split("/")
    told = run(mx, *words, "--help").stdout.decode()
    options = re.findall(r"^  +(--[a-z][a-z-]+)", told, re.M)
    for option in {one for one in options if len(one) > 6} - {"--help"}:
        if words[0] in ("sendmail", "newaliases"):
            continue  # their options are those of other systems' commands
        for slip in slips(option):
            if slip in options:
                continue
            error = run(mx, *words, slip).stderr.decode()
            meant = re.search(r"unknown option (\S+); did you mean (\S+)\?", error)
            assert meant and meant[1] == slip and meant[2] in options, (slip, error)
    if len(words[-1]) > 4 and not command.startswith("mailbox/"):  # "mailbox" takes a message
        for slip in slips(words[-1]):
            error = run(mx, *words[:-1], slip).stderr.decode()
            assert re.search(rf'no command "{re.escape(slip)}"; did you mean "[a-z-]+"\?', error), (slip, error)
    assert b"did you mean" not in run(mx, *words[:-1], "zzzzzzzz").stderr


def test_an_argument_behind_an_equals_sign(node, run, ground):
    mx = node(start=False)
    fill(ground, mx, 2)
    one = run(mx, "queue", "list", "--recipient=bob1@b.test", "--sender=anna@a.test", "--json")
    assert one.returncode == 0 and len(one.stdout.splitlines()) == 1
    assert run(mx, "queue", "list", "--json=yes").returncode == 2
    assert b"needs a word" in run(mx, "queue", "list", "--sender=").stderr


@pytest.mark.parametrize("command", PRINTING)
def test_what_cannot_be_printed_is_an_error(node, run, ground, command):
    mx = node(start=False)
    fill(ground, mx, 3)
    assert run(mx, "trigger", "wait", "x").returncode == 0
    with open("/dev/full", "wb") as full:
        ended = run(mx, *command.split("/"), stdout=full)
    assert ended.returncode == 1, ended
    assert re.fullmatch(rb"stagepost: standard output: [^\n]+\n", ended.stderr)


@pytest.mark.parametrize("command", ["queue list", "queue list --json", "manual"])
def test_a_broken_pipe(node, run, ground, command):
    """As every command does: it ends by the signal, and says nothing."""
    mx = node(start=False)
    fill(ground, mx)
    reader, writer = os.pipe()
    os.close(reader)
    poll = select.poll()
    poll.register(writer, 0)
    # a process that was being started elsewhere has the other end, too, for a moment
    wait_until(lambda: poll.poll(0), "nobody can read")
    ended = run(mx, *command.split(), stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (-signal.SIGPIPE, b"")


def test_a_clean_stop_warns_of_nothing(node):
    """On a busy machine the processes may see each other's end first: once in three."""
    mx = node()
    warnings = []
    for _ in range(3):
        mark = mx.log.mark()
        mx.restart()
        warnings.append([e for e in mx.log.read()[mark:] if e["level"] != "info"])
    assert [] in warnings, warnings
