# SPDX-License-Identifier: ISC
"""Delivery to programs, and delivery as the mailbox's owner."""

import json
import os
import pwd
import signal
import smtplib
import stat
import subprocess

import pytest
from smtp import Client, deliver
from stagepost import ALL_USERS, as_user, is_alive, is_root, split_trace, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n.dots\r\n..\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
DOMAIN = 'domain "box.test" { service = box }'

REPORT = """
import json, os, sys, tempfile
seen = {
    "arguments": sys.argv[2:],
    "environment": dict(os.environ),
    "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")),
    "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()],
    "umask": os.umask(0o77),
    "directory": os.getcwd(),
    "leads": os.getsid(0) == os.getpid(),
    "ignored": [line for line in open("/proc/self/status") if line.startswith("SigIgn")],
    "input": sys.stdin.buffer.read().decode("latin-1"),
}
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(seen, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


class Program:
    """A Python program that may be run by everybody, and a directory it may write to."""

    def __init__(self, directory, text):
        self.directory = directory
        self.path = os.path.join(directory, "program")
        self.report_path = os.path.join(directory, "report")
        os.chmod(directory, 0o777)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(f"#!/usr/bin/python3 -BSE\n{text}\n")
        os.chmod(self.path, 0o755)

    def service(self, *arguments, more=""):
        command = ", ".join(f'"{word}"' for word in (self.path, *arguments))
        return f"service box {{ kind = pipe command = {{ {command} }} {more} }}\n"

    def report(self):
        wait_until(lambda: os.path.exists(self.report_path), "the program reports")
        with open(self.report_path, encoding="utf-8") as file:
            return json.load(file)


@pytest.fixture
def program(ground):
    return lambda text: Program(ground.directory("program"), text)


def outcome(mx, address):
    """(event, status, text) of the first attempt."""
    def find():
        return [e for e in mx.log.read() if e.get("to") == address
                and e["event"] in ("delivered", "deferred", "failed")]
    event = wait_until(find, f"an outcome for {address}")[0]
    return event["event"], event["status"], event["text"]


def test_what_a_program_is_given(node, program):
    tool = program(REPORT)
    mx = node(domains=[DOMAIN],
              settings=tool.service(tool.report_path, "-d", "%u@%d", "%x", "%s", "$(id);`id`"))
    deliver(mx, "Anna+Tag@box.test", TEXT)
    assert outcome(mx, "Anna+Tag@box.test")[:2] == ("delivered", "2.0.0")
    seen = tool.report()
    assert seen["arguments"] == ["-d", "anna@box.test", "Tag", "sender@client.test", "$(id);`id`"]
    number = seen["environment"].pop("QUEUE_ID")
    assert mx.log.find("delivered", id=number)
    seen["environment"].pop("LC_CTYPE", None)  # Python's own
    assert seen["environment"] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/sh",
        "SENDER": "sender@client.test", "RECIPIENT": "Anna+Tag@box.test", "LOCAL": "anna+tag",
        "EXTENSION": "Tag", "DOMAIN": "box.test"}
    assert seen["descriptors"] == [0, 1, 2]
    assert (seen["umask"], seen["directory"], seen["leads"]) == (0o77, "/", True)
    text = seen["input"].encode("latin-1")
    assert split_trace(text, STORED).startswith(
        b"Return-Path: <sender@client.test>\nDelivered-To: Anna+Tag@box.test\nReceived: ")


EXIT = "import sys; sys.stdin.read(); print('said', sys.argv[1]); sys.exit(int(sys.argv[1][1:]))"


WAITS = """
import os, sys
sys.stdin.read()
if not os.path.exists(sys.argv[1]):
    print("4.2.0 trigger=archive it is being moved")
    sys.exit(75)
"""


def test_a_program_may_let_mail_wait(node, program):
    """For what its own service's programs name, and nobody else's mail."""
    tool = program(WAITS)
    there = os.path.join(tool.directory, "there")
    mx = node(domains=[DOMAIN], settings=tool.service(there))
    deliver(mx, "anna@box.test", TEXT)
    assert outcome(mx, "anna@box.test")[:2] == ("deferred", "4.2.0")
    name = mx.log.wait("trigger_set")["trigger"]
    assert name == "pipe.box.archive" and name in mx.trigger_files()
    deliver(mx, "other@box.test", TEXT)  # is tried: it does not wait for that yet
    assert outcome(mx, "other@box.test")[:2] == ("deferred", "4.2.0")
    with open(there, "w", encoding="utf-8"):
        pass
    subprocess.run(as_user() + [os.path.join(mx.programs, "stagepost"), "trigger", "release", name],
                   env={**os.environ, "STAGEPOST_CONF": mx.conf}, timeout=60, check=True)
    mx.wait_empty()
    assert mx.log.find("delivered", to="anna@box.test")


def test_each_recipient_has_its_own_exit_status(node, program):
    tool = program(EXIT)
    mx = node(domains=[DOMAIN], settings=tool.service("%u") + "transport box { concurrency = 2 }\n")
    expected = {0: ("delivered", "2.0.0"), 67: ("failed", "5.1.1"), 75: ("deferred", "4.3.0"),
                77: ("failed", "5.7.0"), 1: ("deferred", "4.3.0"), 100: ("failed", "5.3.0")}
    deliver(mx, [f"x{code}@box.test" for code in expected], TEXT, sender="")
    for code, wanted in expected.items():
        event, status, text = outcome(mx, f"x{code}@box.test")
        assert (event, status) == wanted
        assert text == f"program ended with status {code}: said x{code}"
        if code != 0:
            mx.log.wait("program_failed", to=f"x{code}@box.test")
    assert not mx.log.find("program_failed", to="x0@box.test")


HANG = """
import os, sys, time
pid = os.fork()
if pid:
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(f"[{os.getpid()}, {pid}]")
    os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(300)
"""


def test_a_program_that_hangs_is_killed_with_its_children(node, program):
    tool = program(HANG)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path, more="timeout = 1"))
    deliver(mx, "anna@box.test", TEXT * 10000)
    pids = tool.report()
    assert outcome(mx, "anna@box.test") == (
        "deferred", "4.3.0", f"{tool.path} was killed after 1 seconds")
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "both are gone")


def test_much_output_is_thrown_away(node, program):
    tool = program("import sys\nfor i in range(2000): sys.stdout.write('much ' * 1000)\nsys.exit(69)")
    mx = node(domains=[DOMAIN], settings=tool.service(more="output_max = 100"))
    deliver(mx, "anna@box.test", TEXT, sender="")
    assert outcome(mx, "anna@box.test") == (
        "failed", "5.3.0", "program ended with status 69: " + ("much " * 20).strip())


def test_endless_output_ends(node, program):
    mx = node(domains=[DOMAIN], settings=program("while True: print('x' * 1000)").service(
        more="timeout = 1"))
    deliver(mx, "anna@box.test", TEXT)
    assert outcome(mx, "anna@box.test")[:2] == ("deferred", "4.3.0")


def test_a_crash_is_tried_again(node, program):
    tool = program("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    mx = node(domains=[DOMAIN], settings=tool.service())
    deliver(mx, "anna@box.test", TEXT)
    assert outcome(mx, "anna@box.test") == ("deferred", "4.3.0", "program was ended by signal 11")


def test_a_program_need_not_read(node, program):
    tool = program("import os, time; os.close(0); time.sleep(0.3)")
    mx = node(domains=[DOMAIN], settings=tool.service())
    deliver(mx, "anna@box.test", TEXT + b"line\r\n" * 200000)
    assert outcome(mx, "anna@box.test")[:2] == ("delivered", "2.0.0")


def test_a_large_message_comes_whole(node, program):
    tool = program(REPORT)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path))
    body = b"".join(b"line %d\r\n" % number for number in range(300000))
    deliver(mx, "anna@box.test", TEXT + body)
    split_trace(tool.report()["input"].encode("latin-1"), STORED + body.replace(b"\r\n", b"\n"))


def test_a_loop_ends(node, program):
    tool = program(REPORT)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path))
    deliver(mx, "anna@box.test", b"delivered-to: anna@box.test\r\n" + TEXT)  # anybody may write that
    copy = tool.report()["input"].encode("latin-1").replace(b"\n", b"\r\n")
    os.unlink(tool.report_path)
    deliver(mx, ["anna@box.test", "gone@elsewhere.invalid"], copy, sender="")
    mx.log.wait("failed", to="anna@box.test", status="5.4.6")
    assert not os.path.exists(tool.report_path)


def test_a_program_that_is_not_there_is_waited_for(node):
    mx = node(domains=[DOMAIN], settings="service box { kind = pipe command = /nowhere/x }\n")
    deliver(mx, "anna@box.test", TEXT)
    assert outcome(mx, "anna@box.test") == (
        "deferred", "4.3.5", "x ended with status 127: No such file or directory")


def test_an_address_cannot_be_an_option(node, program):
    tool = program(REPORT)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path, "%u"))
    with Client(mx) as client:  # later it would be a bounce, to whomever the client names
        assert client.deliver("", "-rf@box.test", TEXT).startswith("550 5.1.3")


def test_a_program_goes_on_when_its_service_is_gone(node, program):
    """It may have delivered already; it ends as it would have ended, after timeout at most. What
    is cut off is tried again: the recipient stays in the queue."""
    tool = program(HANG)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path, more="timeout = 4"))
    deliver(mx, "anna@box.test", TEXT)
    pids = tool.report()
    mx.settings = 'service box { kind = lmtp address = "unix:/nowhere" }\n'
    mx.write_configuration()
    mx.reload()
    assert is_alive(pids[0])
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "both are gone")
    assert not mx.log.find("failed") and len(mx.control_files()) == 1


@pytest.mark.parametrize("process", ["pipe", "launch"])
def test_a_program_ends_with_the_process_that_watches_it(node, program, process):
    tool = program(HANG)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path))
    deliver(mx, "anna@box.test", TEXT)
    pid = tool.report()[0]
    mx.kill_and_wait(process)
    wait_until(lambda: not is_alive(pid), "the program is gone")
    mx.settings = 'service box { kind = lmtp address = "unix:/nowhere" }\n'
    mx.write_configuration()
    mx.reload()


READ_ALL = """
import os, sys, time
while os.path.exists(__file__ + ".wait"):
    time.sleep(0.01)
size = len(sys.stdin.buffer.read())
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(size))
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


def programs_of(tool):
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and is_run_by(name, tool)]


def is_run_by(pid, tool):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return tool.path.encode() in line.read().split(b"\0") and is_alive(pid)
    except OSError:
        return False


def is_waiting_for_input(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as call:
        return call.read().split()[:2] == ["0", "0x0"]  # read, of descriptor 0


@pytest.mark.parametrize("killed, frozen", [("pipe", "launch"), ("launch", "pipe")])
def test_no_program_takes_a_part_for_the_whole(node, program, killed, frozen):
    """Who writes the message, or who could kill the program, is killed in the midst of it, while
    the other one stands still: the input does not end. In the end it is delivered whole."""
    tool = program(READ_ALL)
    hold = tool.path + ".wait"
    with open(hold, "w", encoding="ascii"):
        pass
    mx = node(domains=[DOMAIN], settings="probe_delay = 1\n" + tool.service(tool.report_path))
    text = TEXT + b"A line of a long message.\r\n" * 20000
    deliver(mx, "anna@box.test", text)
    (pid,) = wait_until(lambda: programs_of(tool), "the program has begun")
    (still,) = mx.pids(frozen)
    os.kill(still, signal.SIGSTOP)
    mx.kill(killed)
    os.unlink(hold)
    if killed == "pipe":
        wait_until(lambda: is_waiting_for_input(pid), "it has read what there is")
        assert not os.path.exists(tool.report_path)
    os.kill(still, signal.SIGCONT)
    wait_until(lambda: not is_alive(pid), "it is killed")
    wait_until(lambda: mx.control_files() or os.path.exists(tool.report_path), "it is tried again")
    subprocess.run([os.path.join(mx.programs, "stagepost"), "queue", "retry", "--all", "--yes",
                    "-c", mx.conf], check=True, stdout=subprocess.DEVNULL)
    assert int(tool.report()) > len(text.replace(b"\r\n", b"\n"))


# --- users ---

needs_root = pytest.mark.skipif(not is_root(), reason="only root can become others")


@pytest.mark.parametrize("user,who", [("games", "games"), ("%u", "daemon")])
@needs_root
def test_programs_run_as_their_user(node, program, user, who):
    tool = program(REPORT)
    other = ALL_USERS + 'service other { kind = maildir path = "/nowhere/%u" user = "%u" }\n'
    mx = node(domains=[DOMAIN], switch_user=True,
              settings=other + tool.service(tool.report_path, more=f'user = "{user}"'))
    deliver(mx, "daemon@box.test", TEXT)
    assert outcome(mx, "daemon@box.test")[:2] == ("delivered", "2.0.0")
    seen = tool.report()
    entry = pwd.getpwnam(who)
    assert seen["ids"] == [entry.pw_uid, entry.pw_uid, entry.pw_gid, entry.pw_gid, []]
    if user:
        assert seen["environment"]["USER"] == who
        assert seen["environment"]["HOME"] == entry.pw_dir
    for pid in set(mx.pids()) - set(mx.pids("local") + mx.pids("launch")):
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            assert "\nUid:\t0" not in status.read()


@pytest.mark.parametrize("user", ["", "nobody", "backup"])
@needs_root
def test_no_program_is_one_of_us(node, program, user):
    """It could stop the process that started it, or speak for it."""
    tool = program(REPORT)
    mx = node(switch_user=True, settings="process remote { user = backup }\n")
    mx.settings += tool.service(tool.report_path, more=f'user = "{user}"')
    mx.write_configuration()
    refused = mx.reload("config_refused")["problem"]
    assert "service box.user: " in refused and "no process of Stagepost runs" in refused


@needs_root
def test_no_program_has_the_group_of_the_sockets(node, program):
    """It could connect to them, and look addresses up."""
    tool = program(REPORT)
    mx = node(domains=[DOMAIN], switch_user=True, settings=tool.service(tool.report_path, more='user = "sync"'))
    deliver(mx, ["anna@box.test"], TEXT, sender="")
    told = mx.log.wait("deferred", to="anna@box.test")
    assert told["status"] == "4.3.5" and "whose group is that of our sockets" in told["text"]
    said = subprocess.run([os.path.join(mx.programs, "stagepost"), "check", "-c", mx.conf], check=False,
                          capture_output=True, text=True)
    assert said.returncode != 0 and "service box.user: the group of sync is that of nobody" in said.stdout + said.stderr
    assert not os.path.exists(tool.report_path)


def refusal(mx, address):
    """The code and the status of the reply to RCPT."""
    with smtplib.SMTP("127.0.0.1", mx.port) as client:
        client.ehlo("client.test")
        client.mail("")
        code, text = client.rcpt(address)
        return code, text.split()[0]


@needs_root
def test_no_recipient_makes_a_program_one_of_us(node, program):
    """The mailbox's name decides which user the program runs as: never root, nor a user of ours."""
    tool = program(REPORT)
    mx = node(domains=[DOMAIN], switch_user=True, settings=(
        ALL_USERS + "process remote { user = backup }\n" + tool.service(tool.report_path, more='user = "%u"')))
    deliver(mx, ["nobody@box.test", "backup@box.test", "sync@box.test"], TEXT, sender="")
    assert refusal(mx, "root@box.test") == (550, b"5.1.1")
    for name in "nobody", "backup", "sync":  # whose group is nobody's: it may connect to the sockets
        assert outcome(mx, f"{name}@box.test")[:2] == ("deferred", "4.3.5")
    assert not os.path.exists(tool.report_path)


ATTACK = """
import json, os, signal, socket, sys
seen = {"groups": os.getgroups(), "group": os.getgid()}
for what, act in (("stop", lambda: os.kill(os.getppid(), signal.SIGKILL)),
                  ("helper", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[2] + "/send")),
                  ("client", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[2] + "/queue")),
                  ("launcher", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[2] + "/launch")),
                  ("order", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect(sys.argv[2] + "/notify"))):
    try:
        act()
        seen[what] = "done"
    except OSError as error:
        seen[what] = os.strerror(error.errno)
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(seen, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
sys.stdin.read()
"""


@needs_root
def test_a_program_that_attacks_reaches_none_of_us(node, program):
    tool = program(ATTACK)
    mx = node(domains=[DOMAIN], switch_user=True, start=False)
    mx.settings = tool.service(tool.report_path, mx.run, more="user = games")
    mx.write_configuration()
    mx.start()
    pids = mx.pids("pipe") + mx.pids("launch")
    deliver(mx, "anna@box.test", TEXT)
    assert outcome(mx, "anna@box.test")[:2] == ("delivered", "2.0.0")
    assert tool.report() == {
        "groups": [], "group": pwd.getpwnam("games").pw_gid, "stop": "Operation not permitted",
        "helper": "Permission denied", "client": "Permission denied",
        "launcher": "Permission denied", "order": "Permission denied"}
    assert mx.pids("pipe") + mx.pids("launch") == pids


@needs_root
def test_another_user_needs_root(node, program):
    tool = program(REPORT)
    mx = node(domains=[DOMAIN], settings=tool.service(tool.report_path, more="user = games"))
    deliver(mx, "anna@box.test", TEXT)
    assert outcome(mx, "anna@box.test")[:2] == ("deferred", "4.3.5")
    assert not os.path.exists(tool.report_path)


@needs_root
def test_a_maildir_belongs_to_its_owner(node, ground):
    homes = ground.directory("homes")
    secret = ground.directory("secret")
    os.chown(secret, 0, 0)
    os.chmod(secret, 0o700)
    for user in ("games", "daemon", "mail"):
        os.mkdir(os.path.join(homes, user), 0o755)
        entry = pwd.getpwnam(user)
        os.chown(os.path.join(homes, user), entry.pw_uid, entry.pw_gid)
    os.symlink(secret, os.path.join(homes, "mail", "Maildir"))
    mx = node(domains=[DOMAIN], switch_user=True, settings=(
        ALL_USERS + f'service box {{ kind = maildir path = "{homes}/%u/Maildir" user = "%u" }}\n'))
    deliver(mx, [f"{user}@box.test" for user in
                 ("games", "daemon", "games+tag", "mail")],
            TEXT, sender="")
    for user, count in (("games", 1), ("daemon", 1)):  # games+tag is the same mailbox
        assert outcome(mx, f"{user}@box.test")[:2] == ("delivered", "2.0.0")
        folder = os.path.join(homes, user, "Maildir", "new")
        wait_until(lambda: len(os.listdir(folder)) == count, f"mail for {user}")
        for name in os.listdir(folder) + [".", "..", "../tmp"]:
            info = os.stat(os.path.join(folder, name))
            entry = pwd.getpwnam(user)
            assert (info.st_uid, info.st_gid) == (entry.pw_uid, entry.pw_gid)
            assert stat.S_IMODE(info.st_mode) & 0o077 == 0
    assert outcome(mx, "mail@box.test")[:2] == ("deferred", "4.3.0")
    assert os.listdir(secret) == []
    for user in ("root", "nobody-at-all"):
        assert refusal(mx, f"{user}@box.test") == (550, b"5.1.1")


@needs_root
def test_owners_need_a_restart(node):
    mx = node(domains=["a.test"], switch_user=True)
    mx.settings = f'service own {{ kind = maildir path = "{mx.mail}/%u" user = "%u" }}\n'
    mx.write_configuration()
    assert mx.reload("config_refused")["setting"] == "user of services"
