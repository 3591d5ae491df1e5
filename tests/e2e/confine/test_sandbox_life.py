# SPDX-License-Identifier: ISC
"""What the sandbox must not break: mail that flows, reloads, disks that are mounted, kernels
without."""

import os
import re
import shutil
import signal
import subprocess
import threading

import pytest
from inside import NEEDS, PROCESSES, USERS, WITHOUT, inside, status_of
from smtp import Client, deliver
from stagepost import ALL_USERS, PATIENCE, Maildir, free_port, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"

pytestmark = NEEDS


def test_a_new_mailbox_directory_needs_a_new_process(node):
    """It is started again when what is in flight is done: nothing is lost or comes twice."""
    mx = node(switch_user=True, settings=PROCESSES)
    shutil.chown(mx.mail, USERS["local"])
    other = os.path.join(mx.directory, "other")
    os.mkdir(other)
    shutil.chown(other, USERS["local"])
    (old,) = mx.pids("local")
    accepted = []
    over = threading.Event()

    def load():
        with Client(mx) as client:
            while not over.is_set():
                name = f"u{len(accepted)}"
                assert client.deliver("s@c.test", f"{name}@a.test", TEXT).startswith("250 ")
                accepted.append(name)

    thread = threading.Thread(target=load)
    thread.start()
    wait_until(lambda: len(accepted) > 100, "messages are accepted")
    mark = mx.log.mark()
    mx.settings += f'service new {{ kind = maildir path = "{other}/%u" }}\n'
    mx.domains.append('domain "new.test" { service = new }')
    mx.write_configuration()
    mx.reload()
    mx.log.wait("sandbox_outgrown", since=mark)
    mx.log.wait("process_stopped", since=mark, program="local", pid=old, status="exit 0")
    mx.log.wait("process_started", since=mark, program="local")
    deliver(mx, "anna@new.test", TEXT)
    Maildir(os.path.join(other, "anna")).wait()
    over.set()
    thread.join()
    mx.wait_empty()
    counts = {name: len(mx.maildir(f"{name}@a.test").files()) for name in accepted}
    assert {name: count for name, count in counts.items() if count != 1} == {}
    assert not mx.log.find("process_ended")
    assert [e["program"] for e in mx.log.find("process_stopped")] == ["local"]


def test_a_directory_in_place_of_another_is_noticed(node):
    """As when a disk is mounted over it."""
    mx = node(switch_user=True, settings=PROCESSES)
    os.rename(mx.mail, mx.mail + ".old")
    os.mkdir(mx.mail)
    shutil.chown(mx.mail, USERS["local"])
    mx.log.wait("sandbox_outgrown", timeout=30)
    mx.log.wait("process_stopped", program="local")
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()


REFUSAL = re.compile(r"^\d+ +(\w+)\((.*)\) += -1 (EPERM|EACCES|ENOSYS) ")


def refusals(mx, trace):
    """[(call, arguments)] of calls that were refused to processes, but for the directories above
    all mailboxes, which are synced where that is allowed, and clone3()."""
    found = []
    with open(trace, encoding="utf-8", errors="replace") as lines:
        for call, arguments, error in (m.groups() for m in map(REFUSAL.match, lines) if m):
            path = re.search(r'AT_FDCWD, "([^"]*)", .*O_DIRECTORY', arguments)
            is_above = path and (mx.mail + "/").startswith(path.group(1).rstrip("/") + "/")
            if not (call == "clone3" and error == "ENOSYS") and not is_above:
                found.append((call, arguments))
    return found


@pytest.mark.parametrize("sync", ["files", "filesystem", "ordered"])
def test_nothing_that_is_done_is_refused(node, ground, sync):
    """Whatever way a message takes, and after each process was killed."""
    homes = ground.directory("homes")
    os.chmod(homes, 0o777)
    mx = node(switch_user=True, routes=[f"c.test:127.0.0.1;{free_port()}"],
              domains=["a.test", 'domain "own.test" { service = own }',
                       'domain "box.test" { service = box }'],
              settings=ALL_USERS + PROCESSES + f'queue_sync = {sync}\nprobe_delay = 1\nspares = 2\n'
              f'service box {{ kind = pipe command = "/bin/false" user = www-data }}\n'
              f'service own {{ kind = maildir path = "{homes}/%u" user = "%u" }}\n')
    shutil.chown(mx.mail, USERS["local"])
    trace = os.path.join(mx.directory, "trace")
    pids = [word for pid in [mx.process.pid, *mx.pids()] for word in ("-p", str(pid))]
    tracer = subprocess.Popen(["strace", "-f", "-Z", "-o", trace, *pids], stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: status_of(mx.pids()[-1])["TracerPid"] != ["0"], "they are traced")
        for program in (None, "queue", "send", "local", "remote", "smtpd"):
            if program:
                mx.kill_and_wait(program)
            with Client(mx) as client:
                for number in range(4):
                    reply = client.deliver("", [f"u{number}@a.test", "late@c.test",
                                                "games@own.test", "x@box.test"], TEXT)
                    assert reply[0] in "24", reply
        mx.reload()
        for number in range(3):  # the first group of a "queue" is not like the others
            name = f"late{number}@c.test"
            deliver(mx, [name, f"anna{number}@a.test"], TEXT)
            wait_until(lambda: any(name in text and "\nmapped:" in text
                                   for text in mx.control_files().values()), "it waits")
            for order in "hold", "remove":
                subprocess.run([os.path.join(mx.programs, "stagepost"), "queue", order, "--all",
                                "--yes", "-c", mx.conf], check=True, timeout=PATIENCE,
                               stdout=subprocess.DEVNULL)
            wait_until(lambda: not mx.control_files() and not mx.data_files(), "all is removed")
            deliver(mx, f"bob{number}@a.test", TEXT)
            mx.maildir(f"bob{number}@a.test").wait()
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(PATIENCE)
    assert os.path.getsize(trace) > 0
    assert not refusals(mx, trace)
    assert not mx.log.find("queue_error") and not mx.log.find("process_error")


@pytest.mark.parametrize("switch_user", [True, False], ids=["root", "user"])
def test_a_kernel_without_is_warned_of(node, switch_user):
    mx = node(start=False, switch_user=switch_user, settings=PROCESSES if switch_user else "")
    mx.prefix = [WITHOUT]
    if switch_user:
        shutil.chown(mx.mail, USERS["local"])
    mx.start()
    assert [(e["feature"], e["level"]) for e in mx.log.find("sandbox_lacks")] == [
        ("landlock", "warning"), ("seccomp", "warning")]
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()
    mx.wait_empty()
    if switch_user:
        results = [inside(mx.pids("smtpd")[0], "openat", -100, "=/etc/passwd", 0)]
        assert not results[0].startswith("-")


def test_users_that_do_not_exist(node):
    mx = node(start=False, switch_user=True, settings="process smtpd { user = nobody-at-all }\n")
    with pytest.raises(AssertionError):
        mx.start()
    assert any("there is no user nobody-at-all" in str(event) for event in mx.log.read())
    ended = subprocess.run([os.path.join(mx.programs, "stagepost"), "check", "-c", mx.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert "process smtpd.user: there is no user nobody-at-all" in ended.stderr
