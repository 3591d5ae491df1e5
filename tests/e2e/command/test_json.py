# SPDX-License-Identifier: ISC
"""What programs read: every command that has --json, and what is in it. Keys are words of a-z, 0-9 and _;
a number is a number, a time is in UTC as RFC 3339 has it, and no text has several facts in it."""

import json
import os
import re
import select
import smtplib
import subprocess

import pytest
from directory import HASH
from once import IDENTITY, MESSAGE, site  # noqa: F401
from stagepost import PATIENCE, as_user, wait_until

TEXT = b"Subject: hello\n\nA line.\n"
# RFC 8460 names these keys, and what is counted there is a part of a report
TLSRPT = re.compile(r"[a-z]+(-[a-z]+)+")
KEY = re.compile(r"[a-z][a-z0-9_]*")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# the names of keys whose values are texts of others, in their words
TEXTS = {"text", "reason", "problem", "control", "header", "subject", "meaning", "value", "default", "allowed",
         "command", "said", "event_text"}
# the fields of records are texts, as "directory import" reads them
RECORDS = {"directory get", "directory list", "directory import"}
DIGITS_ARE_TEXT = {"part", "id", "name", "key", "message", "serial", "value", "default", "text", "subject"}


def judge(command, value, key="", where=""):
    """What is wrong with VALUE of KEY."""
    found = []
    if isinstance(value, dict):
        for name, inner in value.items():
            if not KEY.fullmatch(name) and not (command == "tls-report" and TLSRPT.fullmatch(name)):
                found.append(f"{where}: key {name!r}")
            found += judge(command, inner, name, f"{where}.{name}")
    elif isinstance(value, list):
        for inner in value:
            found += judge(command, inner, key, f"{where}[]")
    elif isinstance(value, str):
        if re.fullmatch(r"-?\d+(\.\d+)?", value) and key not in DIGITS_ARE_TEXT:
            found.append(f"{where}: a number as text: {value!r}")
        if value in ("yes", "no", "true", "false") and key not in TEXTS and command not in RECORDS:
            found.append(f"{where}: a truth as text: {value!r}")
        if re.match(r"\d{4}-\d\d-\d\d[T ]", value) and not TIME.fullmatch(value):
            found.append(f"{where}: a time that is not RFC 3339 in UTC: {value!r}")
        if key not in TEXTS and (re.search(r"\S+=\S+ \S+=", value) or re.search(r"^\S+ \S+:\d+ ", value)
                                 or re.fullmatch(r"\w+: [^:]*", value)):
            found.append(f"{where}: several facts: {value!r}")
    return found


@pytest.fixture
def run(ground):
    """run(node, WORD..., seconds=N) is what the command prints; if it goes on, until it is
    ended, if SECONDS is given, after sessions that it may see."""

    def run(node, *words, text=b"", seconds=None):
        command = subprocess.Popen(
            [*as_user(), os.path.join(ground.programs, "stagepost"), *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=node.directory,
            env={**os.environ, "STAGEPOST_CONF": node.conf})
        if seconds is not None:
            while not select.select([command.stdout], [], [], 0.2)[0]:
                with smtplib.SMTP("127.0.0.1", node.port, local_hostname="client.test") as client:
                    client.noop()
            with smtplib.SMTP("127.0.0.1", node.port, local_hostname="client.test") as client:
                client.sendmail("x@a.test", ["carl@b.test"], TEXT)
            command.terminate()
        out, errors = command.communicate(text, timeout=PATIENCE)
        assert command.returncode in (0, 1, 3, -15), (words, command.returncode, errors)
        return out.decode()

    return run


def commands_with_json(run, node):
    """Their names, from the help."""
    found = []
    for name in re.findall(r"^  ([\w-]+) ", run(node, "help"), re.M):
        subs = [f"{name} {sub}" for sub in re.findall(rf"^  {name} (\w+) ", run(node, "help", name), re.M)]
        found += [one for one in [name] + subs if re.search(r"^  +--json", run(node, "help", *one.split()), re.M)]
    return found


@pytest.fixture
def queued(node, run):
    """With mail that waits, from a client and by a command, and is held; and records of all tables."""
    made = node("mx", start=False, domains=())
    made.settings = ('transport remote { paused = yes }\ndefault_domain = "a.test"\n'
                     'class "*" { queue = 9 refuse = 9 }\n'
                     f'directory {{ path = "{made.directory}/directory.db" }}\n')
    made.write_configuration()
    made.start()
    for words in ("--table domain a.test kind=local service=maildir", "ann@a.test kind=mailbox user=ann quota=1G",
                  f"--table user ann server=s1 password={HASH}", "--table server s1 service=maildir",
                  "--table node a1 address=a1.test:627 group=core group=out", "--table node 7 address=192.0.2.7:627",
                  "bob@a.test kind=forward target=ann@a.test target=x@b.test",
                  "all@a.test kind=list owner=ann@a.test verp=yes", "--table member all@a.test;ann@a.test",
                  "lost@a.test kind=alias target=nobody@a.test"):
        run(made, "directory", "put", *(word.replace(";", " ") for word in words.split()))
    run(made, "sendmail", "-f", "anna@a.test", "held@b.test", text=TEXT)
    with smtplib.SMTP("127.0.0.1", made.port, local_hostname="client.test") as client:
        client.sendmail("x@a.test", ["dora@b.test"], TEXT)
    wait_until(lambda: len(run(made, "queue", "list", "--json").splitlines()) == 2, "both wait")
    return made


def invocations(node, message):
    """Of each command, by its name: words, or (words, input), or (words, input, seconds)."""
    log = node.log.text() if hasattr(node.log, "text") else open(node.log.path, encoding="utf-8").read()
    wrong = "table,key,kind\naddress,z@a.test,nothing\naddress,ann@a.test,forward\naddress,n@a.test,mailbox\n"
    return {
        "check": [["check"], ["check", "--running"]],
        "config": [["config", "maxsize"], ["config", "queue"]],
        "directory check": [["directory", "check"]],
        "directory get": [["directory", "get", "bob@a.test"], ["directory", "get", "all@a.test"],
                          ["directory", "get", "--table", "user", "ann"], ["directory", "get", "no@a.test"]],
        "directory import": [(["directory", "import", "--format", "csv", "--dry-run", "--partial", "-"],
                              wrong.encode())],
        "directory list": [["directory", "list"], ["directory", "list", "--table", "member"]],
        "directory repair": [["directory", "repair"]],
        "directory stats": [["directory", "stats"]],
        "directory status": [["directory", "status"]],
        "directory watch": [],  # in a test of its own
        "limits": [["limits"]],
        "mailbox list": [], "mailbox status": [], "mailbox repair": [],  # likewise
        "mailq": [["mailq"]],
        "node drain": [],  # test_node_drain.py has it
        "node list": [["node", "list"], ["node", "list", "core"]],
        "nodes": [],  # test_node_status.py has it
        "queue list": [["queue", "list"], ["queue", "list", "--user", "nobody"]],
        "queue show": [["queue", "show", message["id"]]],
        "queue stats": [["queue", "stats"], ["queue", "stats", "--by", "reason"],
                        ["queue", "stats", "--warn", "messages=1,oldest=1h,free=1M"]],
        "queue hold": [["queue", "hold", message["id"], "0-1"]],
        "queue release": [["queue", "release", message["id"]]],
        "queue retry": [["queue", "retry", "--all"]],
        "queue requeue": [["queue", "requeue", message["id"]]],
        "queue drain": [],  # test_drain.py has it
        "queue repair": [],  # needs a queue that nobody serves
        "queue bounce": [["queue", "bounce", "--yes", message["id"]]],
        "queue remove": [["queue", "remove", "--yes", "--all"]],
        "tls": [["tls", f"127.0.0.1:{node.port}"]],
        "tls-report": [],  # test_tls_report.py has it
        "trace": [(["trace", message["id"]], log.encode())],
        "transcript": [(["transcript", "--peer", "127.0.0.0/8"], b"", 3)],
        "trigger list": [["trigger", "list", "--count"]],
    }


def test_every_command(queued, run):
    (message,) = [one for one in map(json.loads, run(queued, "queue", "list", "--json").splitlines())
                  if one["sender"] == "x@a.test"]
    run(queued, "trigger", "wait", "maintenance", "we move house")
    ways = invocations(queued, message)
    assert sorted(ways) == sorted(commands_with_json(run, queued))
    wrong = []
    for command, every in ways.items():
        for way in every:
            words, *more = way if isinstance(way, tuple) else (way,)
            out = run(queued, *words, "--json", **dict(zip(("text", "seconds"), more)))
            assert out or words[-2:] == ["--user", "nobody"] or command in ("directory repair", "check"), words
            for line in out.splitlines():
                wrong += judge(command, json.loads(line), where=" ".join(words))
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_what_is_seen_and_what_is_stopped(queued, run):
    """directory watch, and queue repair."""
    watch = subprocess.Popen(
        [*as_user(), os.path.join(queued.programs, "stagepost"), "directory", "watch", "--json", "-c", queued.conf],
        stdout=subprocess.PIPE, text=True)
    run(queued, "directory", "put", "first@a.test", "kind=mailbox")
    wait_until(lambda: run(queued, "directory", "put", "first@a.test", "kind=mailbox") == ""
               and bool(select.select([watch.stdout], [], [], 0.5)[0]), "a change is seen")
    line = watch.stdout.readline()
    watch.terminate()
    watch.wait(PATIENCE)
    watch.stdout.close()
    queued.stop()
    for command, out in ("directory watch", line), ("queue repair", run(queued, "queue", "repair", "--json")):
        objects = [json.loads(one) for one in out.splitlines()]
        assert objects and not [found for one in objects for found in judge(command, one, where=command)]


def test_mailboxes(site):  # noqa: F811
    box = site(more="sent = all", start=False)
    box.file(MESSAGE)
    for words in ("list",), ("status", IDENTITY), ("repair",):
        seen = box.look(*words)
        assert not [found for one in seen for found in judge("mailbox", one, where=f"mailbox {words[0]}")]
    assert box.look("list")


def test_names_in_the_sources():
    """Also of what no test has seen: each name that is written is a word."""
    found = 0
    for folder, _, names in os.walk(os.path.join(os.path.dirname(__file__), "..", "..", "..", "src")):
        for name in names:
            if not name.endswith(".c") or os.path.basename(folder) in ("reports", "tlsrpt"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for key in re.findall(r'json_field(?:_text|_number)?\([^,]+,\s*"([^"]*)"', file.read()):
                    assert KEY.fullmatch(key), f"{folder}/{name}: {key}"
                    found += 1
    assert found > 100
