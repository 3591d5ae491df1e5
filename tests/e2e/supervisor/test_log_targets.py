# SPDX-License-Identifier: ISC
"""Where the log goes: syslog, the journal; and what the commands that queue mail tell it."""

import json
import os
import re
import subprocess

import pytest
from stagepost import PATIENCE, as_user, give_to_user, is_root, parse_logfmt, wait_until
from system_log import SystemLog

TEXT = b"Subject: hello\n\nA line.\n"
FACILITY_MAIL = 2 * 8  # RFC 3164
PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3}
needs_root = pytest.mark.skipif(not is_root(), reason="needs a mount namespace")


@pytest.fixture
def logged(node):
    """logged(name, ...) is a node that logs to syslog, and who collects that."""
    collectors = []

    def logged(*arguments, settings="", **more):
        mx = node(*arguments, start=False, settings="log_target = syslog\n" + settings, **more)
        collector = SystemLog(mx.directory, mx.log.path)
        collectors.append(collector)
        mx.prefix = collector.prefix()
        return mx, collector

    yield logged
    for collector in collectors:
        collector.close()


def run(mx, *words, **settings):
    """A command of the unprivileged user, who has the same /dev as the node."""
    settings.setdefault("stdin", subprocess.DEVNULL)
    if "input" in settings:
        settings.pop("stdin")
    return subprocess.run(
        [*mx.prefix, *as_user(), os.path.join(mx.programs, "stagepost"), *words], check=False,
        timeout=PATIENCE, env={**os.environ, "STAGEPOST_CONF": mx.conf}, capture_output=True,
        **settings)


@needs_root
def test_everything_goes_to_syslog(logged):
    mx, collector = logged(domains=['domain "a.test" { service = maildir  addresses = { "b" } }'])
    mx.start()
    mx.stop()
    assert collector.strange == []
    # what it was sent last it may not have read yet
    wait_until(lambda: b"event=serve_stopped" in collector.messages[-1][2], "the last line")
    events = [parse_logfmt(text.decode()) for _, _, text in collector.messages]
    assert "listening" in [e["event"] for e in events]
    for (priority, pid, _), event in zip(collector.messages, events):
        assert event["process"].endswith(f"[{pid}]")
        assert priority == FACILITY_MAIL + PRIORITY[event["level"]]
    assert len({pid for _, pid, _ in collector.messages}) > 1  # not the supervisor alone


@needs_root
def test_a_warning_has_its_priority(logged):
    mx, collector = logged()
    mx.start()
    mx.kill_and_wait("remote")
    (warning,) = [m for m in collector.messages if b"event=process_ended" in m[2]]
    assert warning[0] == FACILITY_MAIL + PRIORITY["warning"]


@needs_root
@pytest.mark.parametrize("log_format", ["logfmt", "json"])
def test_the_story_begins_with_the_user(logged, log_format):
    mx, collector = logged(settings=f"log_format = {log_format}\n")
    ended = run(mx, "sendmail", "-f", "anna@a.test", "bob@a.test", input=TEXT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    (number,) = mx.control_files()
    story = wait_until(lambda: run(mx, "trace", str(number), mx.log.path).stdout.decode(),
                       "the collector has written it")
    user = int(subprocess.check_output(["id", "-u", "nobody"]))
    assert re.fullmatch(
        r"\S+ sendmail\[\d+\]: accepted from user nobody \(uid %d\): from <anna@a\.test>, "
        r"1 recipients, \d+ bytes\n" % user, story)
    assert f"received: local uid={user} user=nobody\n" in mx.control_files()[number]
    assert len(collector.messages) == 1 and collector.strange == []


@needs_root
def test_enqueue_is_logged_too(logged, tmp_path):
    mx, collector = logged()
    envelope = tmp_path / "envelope"
    envelope.write_bytes(b"F\0Tbob@a.test\0\0")
    with open(envelope, "rb") as file:
        ended = subprocess.run(
            [*mx.prefix, os.path.join(mx.programs, "stagepost"), "enqueue", "-c", mx.conf],
            input=TEXT, stdout=file, stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, b"")
    event = parse_logfmt(wait_until(lambda: collector.messages, "it is logged")[0][2].decode())
    assert event["event"] == "message_accepted" and event["user"] == "root"
    assert event["uid"] == "0" and event["process"].startswith("enqueue[")


@needs_root
def test_a_refusal_is_logged_and_said(logged):
    mx, collector = logged()
    ended = run(mx, "sendmail", "-t", input=TEXT)
    assert ended.returncode == 64 and ended.stderr == b"sendmail: the message has no recipients\n"
    event = parse_logfmt(wait_until(lambda: collector.messages, "it is logged")[0][2].decode())
    assert event["event"] == "message_refused" and event["user"] == "nobody"
    assert event["text"] == "the message has no recipients" and event["exit_status"] == "64"


@needs_root
def test_what_the_command_mailbox_files_is_logged(logged):
    """Also what its caller, who may be another mail system, is not told: where the record is."""
    mx, collector = logged()
    boxes, record = os.path.join(mx.directory, "boxes"), os.path.join(mx.directory, "record")
    for path in (boxes, record):
        os.mkdir(path)
        give_to_user(path)
    mx.settings += (f'service once {{ kind = mailbox path = "{boxes}/%d/%u" }}\n'
                    f'record {{ path = "{record}/record.db" }}\n')
    mx.write_configuration()

    def file(body, status=0):
        ended = run(mx, "mailbox", "-r", "bob@a.test",
                    input=b"From: lisa@b.test\nMessage-ID: <1@b.test>\n\n" + body)
        assert ended.returncode == status, ended.stderr
        return ended.stderr

    def events():
        return [parse_logfmt(message[2].decode()) for message in collector.messages]

    assert file(b"one") == file(b"another") == b""
    wait_until(lambda: len(events()) >= 5, "both are logged")
    assert [event["event"] for event in events()] == [
        "message_recorded", "message_filed", "message_recorded", "message_id_shared", "message_filed"]
    assert all(event["message_id"] == "<1@b.test>" and event["process"].startswith("mailbox[")
               for event in events())
    os.chmod(record, 0)
    try:
        said = file(b"a third", status=75)
    finally:
        os.chmod(record, 0o700)
    failed = wait_until(lambda: events()[5:], "the failure is logged")[0]
    assert failed["event"] == "filing_failed" and record in failed["text"]
    assert said.startswith(b"4.3.0 ") and record.encode() not in said


@needs_root
@pytest.mark.parametrize("log_format", ["logfmt", "json"])
def test_a_long_line_comes_whole(logged, log_format):
    """Whatever a value holds: a line that was cut would be lost to stagepost trace."""
    mx, collector = logged(settings=f"log_format = {log_format}\n")
    assert run(mx, "sendmail", "-f", '"' * 1500, "a@a.test", input=TEXT).returncode == 65
    text = wait_until(lambda: collector.messages, "it is logged")[0][2].decode()
    event = json.loads(text) if log_format == "json" else parse_logfmt(text)
    assert event["event"] == "message_refused" and event["text"].count('"') > 900


@needs_root
def test_a_start_that_fails_is_said(logged):
    """Why is in the log; whoever typed the command is told that it has failed."""
    mx, collector = logged()
    mx.start()
    ended = run(mx, "serve")
    assert ended.returncode == 1 and ended.stderr == (
        b"stagepost serve: it has failed; why is in the log, which goes to syslog\n")
    wait_until(lambda: any(b"another mail system runs here" in text for _, _, text in collector.messages),
               "the reason is in the log")


def test_no_log_on_the_callers_standard_error(node):
    mx = node()
    mark = mx.log.mark()
    ended = subprocess.run(
        [*as_user(), os.path.join(mx.programs, "stagepost"), "sendmail", "-C", mx.conf,
         "bob@a.test"], input=TEXT, check=False, timeout=PATIENCE, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    found = mx.log.wait("message_found", since=mark)
    assert found["received"].startswith("local uid=")
    mx.log.wait("message_done", since=mark, id=found["id"])
    assert len(mx.log.find("message_found", since=mark)) == 1


@needs_root
def test_a_collector_that_does_not_read(logged):
    """Mail goes on; how many lines were lost is told, and adds up."""
    count = 1500
    mx, collector = logged(domains=['domain "a.test" { service = maildir  addresses = { "b" } }'],
                           settings=f"maxrecipients = {count}\n")
    mx.start()
    collector.pause()
    addresses = [f"none{i}@a.test" for i in range(count)]
    assert run(mx, "sendmail", "-f", "<>", *addresses, input=TEXT).returncode == 0
    mx.wait_empty()
    collector.resume()
    mark = mx.log.mark()
    assert run(mx, "sendmail", "b@a.test", input=TEXT).returncode == 0
    mx.log.wait("delivered", since=mark, to="b@a.test")
    lost = [event for event in mx.log.find("log_lost") if event["process"].startswith("send[")]
    assert int(lost[0]["lines"]) + len(mx.log.find("failed")) >= count
    assert len(mx.log.find("failed")) < count and len(lost) == 1


@pytest.mark.parametrize("log_format", ["logfmt", "json"])
def test_the_journal_gets_priorities(node, log_format):
    """Standard error is the journal's when JOURNAL_STREAM names it: sd-daemon(3)."""
    mx = node(start=False, settings=f"log_format = {log_format}\n")
    with open(mx.log.path, "ab") as log:
        status = os.fstat(log.fileno())
        process = subprocess.Popen(
            [*as_user(), os.path.join(mx.programs, "stagepost"), "serve", "-c", mx.conf],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=mx.directory,
            env={**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
    try:
        wait_until(lambda: b"serve_ready" in open(mx.log.path, "rb").read(), "it is ready")
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
    with open(mx.log.path, "rb") as log:
        lines = log.read().decode().splitlines()
    read = json.loads if log_format == "json" else parse_logfmt
    events = [read(line[3:]) for line in lines]
    assert [line[:3] for line in lines] == [f"<{PRIORITY[e['level']]}>" for e in events]
    assert events[-1]["event"] == "serve_stopped"
    assert {"stagepost", "queue"} <= {event["process"].split("[")[0] for event in events}
    os.truncate(mx.log.path, 0)  # no lines of ours for Node.stop()
