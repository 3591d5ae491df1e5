# SPDX-License-Identifier: ISC
"""What lines of the log say of a client, of a limit, and of a delivery. That each line has the fields of its
event, and none that is empty, is judged in every test (log_rows.py)."""

import json
import os
import re
import signal
import subprocess

import log_rows
import pytest
from smtp import Client, deliver
from stagepost import PATIENCE, parse_logfmt, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
LINE = ("time=2026-11-20T08:33:11.482913Z level={level} process=send[1] event=delivered id=4-5f from={sender} size=1 "
        "delay={delay} delivery=1 to=a@b.c by=maildir status=2.0.0{more}")


@pytest.mark.parametrize("words, fault", [
    ({}, None),
    ({"sender": '""'}, None),
    ({"more": " text=stored original=x@b.c"}, None),
    ({"more": ' text=""'}, "text is ''"),
    ({"delay": "7"}, "delay is '7'"),
    ({"more": " trigger=x"}, "has no trigger"),
    ({"level": "error"}, "its level is info"),
])
def test_the_judge_of_lines(words, fault):
    line = LINE.format(**{"level": "info", "sender": "a@b.c", "delay": "0.250", "more": "", **words})
    assert log_rows.fault_of(parse_logfmt(line)) == fault
    assert log_rows.fault_of(parse_logfmt(line.replace(" to=a@b.c", ""))) in (fault, "lacks to")
    assert log_rows.fault_of(parse_logfmt(line.replace("=delivered", "=deliver"))) == "no such event"


def recipients(client):
    client.docmd("MAIL FROM:<a@b.c>")
    for _ in range(3):
        code, _ = client.docmd("RCPT TO:<ann@a.test>")
    return code


def size(client):
    return client.docmd("MAIL FROM:<a@b.c> SIZE=100001")[0]


def errors(client):
    for _ in range(4):
        code, _ = client.docmd("NONSENSE")
    return code


def commands(client):
    for _ in range(9):
        code, _ = client.docmd("NOOP")
        if code != 250:
            return code
    return code


@pytest.mark.parametrize("setting, limit, do, code", [
    ("maxrecipients", 2, recipients, 452), ("maxsize", 100000, size, 552), ("maxerrors", 3, errors, 421),
    ("maxcommands", 5, commands, 421)])
def test_a_refusal_names_its_limit(node, setting, limit, do, code):
    mx = node(settings=f"{setting} = {limit}\n")
    with Client(mx) as client:
        assert do(client) == code
        event = mx.log.wait("command_refused", code=code)
        assert (event["setting"], event["limit"]) == (setting, str(limit))
        assert int(event["client_port"]) == client.sock.getsockname()[1] if client.sock else True
    client.close()


def test_a_client_with_too_many_sessions(node):
    mx = node(settings="maxsessions_client = 1\nsmtpd_workers = 1\n", relay_from=[])
    with Client(mx), pytest.raises(Exception, match="too many connections"):
        Client(mx)
    event = mx.log.wait("command_refused", code=421)
    assert (event["setting"], event["limit"]) == ("maxsessions_client", "1")


def test_a_trace_follows_a_session(node):
    """All that a client did, and what became of its messages; nothing of others."""
    mx = node()
    with Client(mx) as client:
        assert client.deliver("anna@a.test", "bob@a.test", TEXT).startswith("250")
        assert client.docmd("NONSENSE")[0] == 500
        assert client.deliver("anna@a.test", "carl@a.test", TEXT).startswith("250")
    deliver(mx, "dora@a.test", TEXT)
    mx.wait_empty()
    # each process writes its own lines in order, but not those of others
    first, second, other = sorted(mx.log.wait("message_accepted", count=3), key=lambda event: event["time"])
    assert first["session"] == second["session"] != other["session"]
    assert re.fullmatch(r"\d+:[0-9a-f]+", first["session"])
    told = subprocess.run([f"{mx.programs}/stagepost", "trace", first["session"], mx.log.path],
                          capture_output=True, check=True, timeout=PATIENCE).stdout.decode()
    for words in ("delivered to <bob@a.test>", "delivered to <carl@a.test>", "refused for 127.0.0.1: 50",
                  f"session {first['session']}"):
        assert words in told, told
    assert "dora" not in told


def test_a_delivery_says_of_what_and_how_long(node):
    mx = node()
    deliver(mx, "bob@a.test", TEXT, sender="")
    event = mx.log.wait("delivered")
    assert event["from"] == "" and int(event["size"]) > len(TEXT)
    assert re.fullmatch(r"\d+\.\d{3}", event["delay"]) and float(event["delay"]) < PATIENCE
    assert not {"tls", "policy", "until", "original"} & event.keys()


def test_json_has_one_value_of_its_kind_a_field(node):
    mx = node()
    mx.settings += "log_format = json\n"
    mx.write_configuration()
    os.kill(mx.process.pid, signal.SIGHUP)
    wait_until(lambda: '"config_reloaded"' in mx.log.tail(1000), "it writes JSON")
    deliver(mx, "bob@a.test", TEXT)
    wait_until(lambda: '"message_done"' in mx.log.tail(1000), "it is delivered")
    lines = [json.loads(line) for line in mx.log.tail(1000).splitlines() if line.startswith("{")]
    kinds = {"TEXT": str, "SENDER": str, "ID": str, "NUMBER": int, "SECONDS": float}
    patterns = {pattern: kinds[name] for name, pattern in log_rows.KINDS.items()}
    assert {"message_accepted", "delivered", "message_queued"} <= {line["event"] for line in lines}
    for line in lines:
        assert log_rows.fault_of({name: str(value) for name, value in line.items() if name != "delay"} |
                                 ({"delay": f"{line['delay']:.3f}"} if "delay" in line else {})) is None, line
        for name, value in line.items():
            if name not in log_rows.START:
                assert isinstance(value, patterns[log_rows.FIELDS[name]]), (name, line)
    mx.settings = mx.settings.replace("log_format = json\n", "")
    mx.write_configuration()
    mx.reload()
    mx.log.strange.clear()  # the lines in JSON
