# SPDX-License-Identifier: ISC
"""What each process may do, tried from inside each: tests/sandbox/inside.c makes it call."""

import glob
import os
import platform
import pwd
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest
from stagepost import PATIENCE, ROOT, Maildir, Node, free_port, is_root, wait_until
from peers import Sink
from smtp import Client, deliver
from common.record import record  # after stagepost, which says where it is

BUILD = os.environ.get("STAGEPOST_BUILD", os.path.join(ROOT, "build"))
INSIDE = os.path.join(BUILD, "tests/sandbox/inside")
WITHOUT = os.path.join(BUILD, "tests/sandbox/without")
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
# Who plays whom: users whom the system has anyway. "nobody" owns the queue.
USERS = {"smtpd": "games", "resolve": "daemon", "remote": "man", "lmtp": "lp", "local": "mail",
         "pipe": "news"}
OWNER = "nobody"
PROCESSES = "".join(f"process {name} {{ user = {user} }}\n" for name, user in USERS.items())
PROGRAMS = ("smtpd", "queue", "send", "resolve", "remote", "lmtp", "local", "pipe")
CONFINED = tuple(name for name in PROGRAMS if name != "pipe")
REFUSED = ("-EPERM", "-EACCES")

pytestmark = [
    pytest.mark.skipif(not is_root(), reason="only root can become others, and trace them"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="inside.c knows one machine")]


def inside(pid, call, *arguments):
    ended = subprocess.run([INSIDE, str(pid), call, *map(str, arguments)], check=False,
                           capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, f"{call} in {pid}: {ended.stderr}"
    return ended.stdout.strip()


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return {name: value.split() for name, _, value in
                (line.partition(":") for line in status)}


@pytest.fixture(scope="module")
def world(ground):
    """A node with everything, each process as a user of its own, and mail in it."""
    directory = ground.directory("sandbox")
    program = os.path.join(directory, "program")
    with open(program, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\ncat > /dev/null\n")
    os.chmod(program, 0o755)
    with Sink(ground.directory("sink")) as sink:
        mx = Node(
            ground.programs, ground.directory("sandbox"), switch_user=True, unsafe=ground.unsafe,
            routes=[f"b.test:127.0.0.1;{sink.port}", f"c.test:127.0.0.1;{free_port()}"],
            domains=["a.test", 'domain "box.test" { service = box }',
                     'domain "l.test" { service = other }'],
            settings=PROCESSES + f'service box {{ kind = pipe command = "{program}" }}\n'
            f'service other {{ kind = lmtp address = "127.0.0.1:{sink.port}" }}\n')
        shutil.chown(mx.mail, USERS["local"])
        mx.start()
        try:
            deliver(mx, ["anna@a.test", "bob@b.test", "eve@box.test", "late@c.test"], TEXT)
            mx.maildir("anna@a.test").wait()
            mx.log.wait("delivered", count=3)
            wait_until(lambda: glob.glob(mx.queue + "/info/*/*"), "one waits")
            yield mx
            mx.stop()
        finally:
            mx.abandon()


# --- who they are ---

def test_each_is_its_own_user(world):
    common = pwd.getpwnam(OWNER).pw_gid
    for program in PROGRAMS:
        entry = pwd.getpwnam(USERS.get(program, OWNER))
        for pid in world.pids(program):
            status = status_of(pid)
            assert set(status["Uid"]) == {str(entry.pw_uid)}, program
            assert set(status["Gid"]) == {str(entry.pw_gid)}, program
            assert str(common) in status["Groups"] + status["Gid"]
            assert "0" not in status["Groups"]
            for kind in "CapEff", "CapPrm", "CapInh", "CapAmb":
                assert int(status[kind][0], 16) == 0, (program, kind)
            assert status["NoNewPrivs"] == ["1"], program
            assert status["Seccomp"] == ["2" if program in CONFINED else "0"], program


def test_the_queue_is_closed_to_all_but_its_owner(world):
    assert os.stat(world.queue).st_mode & 0o777 == 0o700
    assert os.stat(world.queue).st_uid == pwd.getpwnam(OWNER).pw_uid


# --- what they may do ---

O_CREATE = os.O_WRONLY | os.O_CREAT
AF_INET, AF_INET6, AF_NETLINK, AF_PACKET = 2, 10, 16, 17
FORK = int(signal.SIGCHLD)
EXECUTED = 7  # PROT_READ | PROT_WRITE | PROT_EXEC
ANONYMOUS = 0x22


def attempts(mx, sibling):
    """(what, call, arguments, who may). To "pipe", which is any program, the same is done
    where a user's own rights do not decide."""
    data = glob.glob(mx.queue + "/mess/*/*")[0]
    info = glob.glob(mx.queue + "/info/*/*")[0]
    mail = mx.maildir("anna@a.test").files()[0]
    mailbox = os.path.dirname(os.path.dirname(mail))
    root = lambda path, flags=0, mode=0: ("openat", -100, f"={path}", flags, mode)
    return [
        ("read the password file", root("/etc/passwd"), ["pipe"]),
        ("read the shadow file", root("/etc/shadow"), []),
        ("read the configuration", root(mx.conf), ["pipe"]),
        ("list the root directory", root("/", os.O_DIRECTORY), ["pipe"]),
        ("read a queued message", root(data), ["queue", "send"]),
        ("change a queued message", root(data, os.O_WRONLY), ["queue"]),
        ("read a control file", root(info), ["send"]),
        ("change a control file", root(info, os.O_WRONLY), ["send"]),
        ("read the queue's format", root(mx.queue + "/format"), []),
        ("list the spare files", root(mx.queue + "/pid", os.O_DIRECTORY), ["queue"]),
        ("read somebody's mail", root(mail), ["local"]),
        ("make a file in the queue", root(mx.queue + "/pid/made", O_CREATE, 0o600), ["queue"]),
        ("make a control file", root(mx.queue + "/intd/made", O_CREATE, 0o600), ["send"]),
        ("make a file beside the queue", root(mx.queue + "/made", O_CREATE, 0o600), []),
        ("make a file in a mailbox", root(mailbox + "/tmp/made", O_CREATE, 0o600), ["local"]),
        ("make a file in /tmp", root("/tmp/stagepost-made", O_CREATE, 0o600), ["pipe"]),
        ("make a directory in a mailbox", ("mkdirat", -100, f"={mailbox}/made", 0o700), ["local"]),
        ("link a mailbox to elsewhere", ("symlinkat", "=/etc", -100, f"={mailbox}/link"), []),
        ("change a file's mode", ("fchmodat", -100, f"={mail}", 0o777), []),
        ("change a file's owner", ("fchownat", -100, f"={mail}", 0, 0, 0), []),
        ("run a program", ("execve", "=/bin/true", 0, 0), None),
        ("make a process", ("clone", FORK, 0, 0, 0, 0), ["pipe"]),
        ("make a process another way", ("clone3", "*88", 88), None),
        ("signal another process", ("kill", sibling, 0), []),
        ("signal all processes", ("kill", -1, 0), None),
        ("trace another process", ("ptrace", 0x4206, sibling, 0, 0), []),
        ("read another's memory", ("process_vm_readv", sibling, "*16", 0, "*16", 0, 0), None),
        ("TCP over IPv4", ("socket", AF_INET, 1, 0), ["remote", "lmtp", "pipe"]),
        ("TCP over IPv6", ("socket", AF_INET6, 1, 0), ["remote", "lmtp", "pipe"]),
        ("UDP", ("socket", AF_INET, 2, 0), ["remote", "pipe"]),
        ("raw packets", ("socket", AF_PACKET, 3, 0), []),
        ("raw IP", ("socket", AF_INET, 3, 1), []),
        ("ask the kernel for routes", ("socket", AF_NETLINK, 3, 0), ["remote", "pipe"]),
        ("ask the kernel for audits", ("socket", AF_NETLINK, 3, 9), ["pipe"]),
        ("a UNIX socket", ("socket", 1, 1, 0), list(PROGRAMS)),
        ("mount", ("mount", "=none", f"={mx.directory}", "=tmpfs", 0, 0), []),
        ("become root", ("setuid", 0), []),
        ("become another", ("setresuid", 12, 12, 12), []),
        ("take a group", ("setgroups", 1, "*4"), []),
        ("take capabilities", ("capset", "~2205082000000000", "~" + "ff000000" * 2 + "00000000" * 4), []),
        ("memory that is executed", ("mmap", 0, 4096, EXECUTED, ANONYMOUS, -1, 0), ["pipe"]),
        ("io_uring", ("io_uring_setup", 1, "*120"), None),
        ("eBPF", ("bpf", 0, "*120", 120), None),
        ("keys", ("keyctl", 0, -3, 0), None),
        ("userfaultfd", ("userfaultfd", 1), None),
        ("a namespace", ("unshare", 0x10000000), None),
        ("performance counters", ("perf_event_open", "*120", 0, -1, -1, 0), None),
        ("switch the machine off", ("reboot", 0, 0, 0, 0), []),
        ("another root", ("chroot", "=/"), []),
        ("the clock", ("clock_settime", 0, "*16"), []),
    ]


def control():
    """A process without a sandbox, root's: what is refused there would be refused anyway."""
    return subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)


def clean(mx):
    for path in (mx.queue + "/pid/made", mx.queue + "/intd/made", mx.queue + "/made",
                 "/tmp/stagepost-made", *glob.glob(mx.mail + "/*/*/tmp/made")):
        if os.path.exists(path):
            os.unlink(path)
    for path in glob.glob(mx.mail + "/*/*/made"):
        os.rmdir(path)
    for path in glob.glob(mx.mail + "/*/*/link"):
        os.unlink(path)
    subprocess.run(["umount", mx.directory], check=False, capture_output=True)


def close(pid, call, result):
    if call in ("openat", "socket") and not result.startswith("-"):
        assert inside(pid, "close", result) == "0"


@pytest.fixture(scope="module")
def outcomes(world):
    """[what, who may, {program: result}, the control's result]"""
    begun = time.monotonic()
    sibling = world.pids("resolve")[0]
    found = []
    counts = {"processes": len(PROGRAMS), "attempts refused": 0, "attempts allowed, rightly": 0,
              "attempts that should have been refused": 0,
              "attempts that should have been allowed": 0}
    for what, (call, *arguments), who in attempts(world, sibling):
        results = {}
        for program in PROGRAMS if who is not None else CONFINED:
            pid = world.pids(program)[-1]
            target = [world.pids("remote")[0] if a == sibling and pid == sibling else a
                      for a in arguments]
            results[program] = inside(pid, call, *target)
            close(pid, call, results[program])
            clean(world)
            may = program in (who or [])
            is_refused = results[program] in (*REFUSED, "-ENOSYS")
            counts["attempts refused" if is_refused and not may else
                   "attempts allowed, rightly" if may and not is_refused else
                   "attempts that should have been allowed" if may else
                   "attempts that should have been refused"] += 1
        free = control()
        try:
            found.append((what, who or [], results, inside(free.pid, call, *arguments)))
        finally:
            free.kill()
            free.wait()
            clean(world)
    print(record(
        "sandbox", title="Sandbox", counts=counts, seconds=time.monotonic() - begun,
        what="Each process of a running node, every one with a user of its own, is stopped by a "
        "debugger and made to try what it must not be able to do: open others' files, run and "
        "trace, connect, become another. What it may do, and a process without a sandbox, must "
        "succeed.", command="tests/e2e/run tests/e2e/test_sandbox.py",
        zero=["attempts that should have been refused", "attempts that should have been allowed"]))
    return found


def test_what_is_not_needed_is_refused(outcomes):
    wrong = [(what, program, result) for what, who, results, _ in outcomes
             for program, result in results.items()
             if program not in who and result not in REFUSED and what != "make a process another way"]
    assert not wrong


def test_what_is_needed_is_not(outcomes):
    wrong = [(what, program, results[program]) for what, who, results, _ in outcomes
             for program in who if results[program].startswith("-")]
    assert not wrong


def test_clone3_is_not_known(outcomes):
    """Its flags cannot be seen by a filter; the C library then takes clone()."""
    (results,) = [results for what, _, results, _ in outcomes
                  if what == "make a process another way"]
    assert set(results.values()) == {"-ENOSYS"}


def test_each_attempt_can_succeed(outcomes):
    """Somebody without a sandbox is not refused, so that the others are is the sandbox's work."""
    wrong = [(what, result) for what, _, _, result in outcomes
             if result in REFUSED or result == "-ENOSYS"]
    assert not wrong


def test_no_server_can_be_opened(world):
    """Sockets that may connect may not listen."""
    for program in "remote", "lmtp":
        pid = world.pids(program)[0]
        socket = inside(pid, "socket", AF_INET, 1, 0)
        assert inside(pid, "bind", socket, f"=@inet:{free_port()}", 16) in REFUSED
        assert inside(pid, "listen", socket, 1) in REFUSED
        assert inside(pid, "accept4", socket, 0, 0, 0) in REFUSED
        assert inside(pid, "connect", socket, f"=@inet:{world.port}", 16) == "0"
        inside(pid, "close", socket)


# --- whom they believe ---

MANAGE = "0100080000000000"      # ipc/channel.h: version 1, queue/protocol.h: MANAGE
HELLO = "0100010000000000"       # ipc/job.h: HELLO
HELLO_REMOTE = HELLO + "06000000" + b"remote".hex() + "01000000"
SEQPACKET, DATAGRAM = 5, 2


def say(pid, path, kind, packet):
    """What a process that was taken over could say to another."""
    socket = inside(pid, "socket", 1, kind, 0)
    assert inside(pid, "connect", socket, f"=@unix:{path}", 110) == "0"
    sent = inside(pid, "sendto", socket, f"~{packet}", len(packet) // 2, 0x4000, 0, 0)
    return socket, sent


@pytest.mark.parametrize("program, socket, packet", [
    ("smtpd", "queue", MANAGE), ("remote", "queue", MANAGE), ("local", "queue", MANAGE),
    ("resolve", "queue", "0100010000000000" + "01000000"),
    ("smtpd", "send", HELLO_REMOTE), ("local", "send", HELLO_REMOTE),
    ("pipe", "send", HELLO_REMOTE)])
def test_nobody_speaks_as_another(world, program, socket, packet):
    mark = world.log.mark()
    pid = world.pids(program)[0]
    descriptor, _ = say(pid, os.path.join(world.run, socket), SEQPACKET, packet)
    refused = world.log.wait("ipc_refused", since=mark)
    assert refused["process"].startswith(socket)
    inside(pid, "close", descriptor)
    deliver(world, "carl@a.test", TEXT)
    world.maildir("carl@a.test").wait()
    assert not world.log.find("helper_lost", since=mark)


def test_only_the_owner_gives_orders(world):
    number = int(os.path.basename(glob.glob(world.queue + "/info/*/*")[0]))
    for program in "smtpd", "remote", "local", "pipe":
        pid = world.pids(program)[0]
        order = f"remove {number}".encode().hex()
        descriptor, sent = say(pid, os.path.join(world.run, "notify"), DATAGRAM, order)
        assert int(sent) > 0
        inside(pid, "close", descriptor)
    deliver(world, "dora@a.test", TEXT)  # after which the orders have been read
    world.maildir("dora@a.test").wait()
    assert number in world.control_files() and not world.log.find("operator")
    user = ["setpriv", f"--reuid={USERS['smtpd']}", f"--regid={pwd.getpwnam(OWNER).pw_gid}",
            "--clear-groups", "--"]
    for who, good in ((user, False), ([], True)):
        ended = subprocess.run(
            [*who, os.path.join(world.programs, "stagepost"), "trigger", "wait", "-c", world.conf,
             "x"], check=False, capture_output=True, text=True, timeout=PATIENCE)
        assert (ended.returncode == 0) == good, ended.stderr
    assert "x" in world.trigger_files()


# --- what it must not break ---

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
    assert not mx.log.find("process_ended") and not mx.log.find("deferred", status="4.3.0")
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
    """[(call, arguments)] of what processes tried in vain, but for the directories above
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
              settings=PROCESSES + f'queue_sync = {sync}\nprobe_delay = 1\nspares = 2\n'
              f'service box {{ kind = pipe command = "/bin/false" }}\n'
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


def test_a_kernel_with_them_is_not(world):
    assert not world.log.find("sandbox_lacks") and not world.log.find("process_ended")


def test_users_that_do_not_exist(node):
    mx = node(start=False, switch_user=True, settings="process smtpd { user = nobody-at-all }\n")
    with pytest.raises(AssertionError):
        mx.start()
    assert mx.log.find("process_error", user="nobody-at-all")
    ended = subprocess.run([os.path.join(mx.programs, "stagepost"), "check", "-c", mx.conf],
                           check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert "process smtpd.user: there is no user nobody-at-all" in ended.stderr
