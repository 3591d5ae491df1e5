# SPDX-License-Identifier: ISC
"""What each process may do, tried from inside each; and whom the others believe."""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
from directory_tls import settings_of
from dns import NameServer
from inside import (LANDLOCKS, NEEDS, OWNER, PROCESSES, USERS, inside, status_of,
                    with_landlock)
from peers import Sink
from records import Records
from smtp import deliver
from stagepost import PATIENCE, Node, free_port, wait_until
from tls_in import HOST, Certificates
from common.record import record

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
PROGRAMS = ("smtpd", "qmtpd", "queue", "send", "resolve", "names", "policy", "decode", "keys", "auth", "remote", "lmtp",
            "local", "mailbox", "pipe", "list", "directory", "handover", "noded")
LAUNCHED_AS = "www-data"  # programs of the pipe service
REFUSED = ("-EPERM", "-EACCES")
READS_ALL = 1 << 2  # CAP_DAC_READ_SEARCH

pytestmark = NEEDS


def test_a_process_is_reached_wherever_it_is():
    """Also one that makes no call, and in whose program there is none; it goes on afterwards."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        for _ in range(20):
            assert inside(process.pid, "getpid") == str(process.pid)
        assert process.poll() is None
        process.kill()


@pytest.fixture(scope="module", params=LANDLOCKS, ids=lambda version: f"landlock-{version}")
def world(ground, request):
    """A node with everything, each process as a user of its own, and mail in it."""
    data = os.path.join(ground.directory("data"), "directory.db")
    shutil.chown(os.path.dirname(data), USERS["directory"])
    policies = ground.directory("policies")
    shutil.chown(policies, USERS["policy"])
    filed, recorded = ground.directory("filed"), ground.directory("record")
    for path in filed, recorded:
        shutil.chown(path, USERS["mailbox"])
    certificates = Certificates(ground.directory("certificates"), HOST)
    shutil.chown(certificates.path(f"{HOST}.key"), 0, 0)
    with Sink(ground.directory("sink")) as sink:
        mx = Node(
            ground.programs, ground.directory("sandbox"), switch_user=True, unsafe=ground.unsafe,
            routes=[f"b.test:127.0.0.1;{sink.port}", f"c.test:127.0.0.1;{free_port()}"],
            domains=["a.test", 'domain "l.test" { service = other }',
                     'domain "p.test" { service = box }', 'domain "m.test" { service = filed }'],
            settings=PROCESSES + certificates.section(HOST) +
            f'listen qmtp {{ address = "127.0.0.1:{free_port()}" }}\n'
            f'mta_sts = yes\nhttps_private = yes\npolicy_path = "{policies}"\n'
            f'directory {{ path = "{data}" }}\nauth {{ }}\n'
            f'node {{ listen = "127.0.0.1:{free_port()}" {settings_of(certificates.directory, HOST)} }}\n'
            'service elsewhere { kind = maildir path = "/nowhere/%u" nodes = others }\n'
            f'service filed {{ kind = mailbox path = "{filed}/%d/%u" }}\n'
            f'record {{ path = "{recorded}/record.db" }}\n'
            f'service other {{ kind = lmtp address = "127.0.0.1:{sink.port}" }}\n'
            'class "*" { queue = 1000 refuse = 1000 }\n'
            f'service box {{ kind = pipe command = "/bin/true" user = {LAUNCHED_AS} }}\n')
        shutil.chown(mx.mail, USERS["local"])
        mx.data = data
        mx.policies = policies
        mx.record = f"{recorded}/record.db"
        mx.filed = filed
        mx.certificates = certificates.directory
        mx.key = certificates.path(f"{HOST}.key")
        mx.everybodys = os.path.join(tempfile.gettempdir(), "made")  # where all may make files
        mx.landlock = request.param
        mx.prefix = with_landlock(request.param)
        mx.start()
        try:
            deliver(mx, ["anna@a.test", "bob@b.test", "late@c.test", "eve@m.test"], TEXT)
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
                wanted = READS_ALL if program == "keys" and kind in ("CapEff", "CapPrm") else 0
                assert int(status[kind][0], 16) == wanted, (program, kind)
            assert status["NoNewPrivs"] == ["1"], program
            assert status["Seccomp"] == ["2"], program


def test_who_starts_programs_has_three_capabilities(world):
    """And is in no sandbox, which its programs would inherit."""
    status = status_of(world.pids("launch")[0])
    assert set(status["Uid"]) == {"0"}
    for kind, wanted in ("CapEff", 0xe0), ("CapPrm", 0xe0), ("CapInh", 0), ("CapAmb", 0):
        assert int(status[kind][0], 16) == wanted, kind  # kill, setgid, setuid
    assert status["NoNewPrivs"] == ["0"]


def test_the_queue_is_closed_to_all_but_its_owner(world):
    assert os.stat(world.queue).st_mode & 0o777 == 0o700
    assert os.stat(world.queue).st_uid == pwd.getpwnam(OWNER).pw_uid


def test_lists_are_sent_on(world):
    """By "list", who reads one message and writes others, with no right on any file."""
    with Records(world) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        records.put("address", "ann@d.test", "kind mailbox")
        records.list("list@d.test", ["ann@d.test", "bob@a.test"], "ann@d.test")
    deliver(world, "list@d.test", TEXT)
    for address in "ann@d.test", "bob@a.test":
        world.maildir(address).wait()
    assert not world.log.find("failed")


# --- what they may do ---

O_CREATE = os.O_WRONLY | os.O_CREAT
AF_INET, AF_INET6, AF_NETLINK, AF_PACKET = 2, 10, 16, 17
FORK = int(signal.SIGCHLD)
OPENERS = ["queue", "send", "local", "mailbox", "directory", "policy", "keys"]
EXECUTED = 7  # PROT_READ | PROT_WRITE | PROT_EXEC
ANONYMOUS = 0x22


def attempts(mx, sibling):
    """(what, call, arguments, who may)."""
    data = glob.glob(mx.queue + "/mess/*/*")[0]
    info = glob.glob(mx.queue + "/info/*/*")[0]
    mail = mx.maildir("anna@a.test").files()[0]
    mailbox = os.path.dirname(os.path.dirname(mail))
    (filed,) = glob.glob(mx.filed + "/m.test/eve/new/*")
    root = lambda path, flags=0, mode=0: ("openat", -100, f"={path}", flags, mode)
    return [
        ("read the password file", root("/etc/passwd"), []),
        ("read the shadow file", root("/etc/shadow"), []),
        ("read the configuration", root(mx.conf), []),
        ("list the root directory", root("/", os.O_DIRECTORY), []),
        ("ask about a file", ("newfstatat", -100, "=/etc/shadow", "*144", 0), OPENERS),
        ("ask about a file another way", ("statx", -100, "=/etc/shadow", 0, 0x7ff, "*256"),
         OPENERS),
        ("read a queued message", root(data), ["queue", "send"]),
        ("change a queued message", root(data, os.O_WRONLY), ["queue"]),
        ("read a control file", root(info), ["send"]),
        ("change a control file", root(info, os.O_WRONLY), ["send"]),
        ("read the queue's format", root(mx.queue + "/format"), []),
        ("list the spare files", root(mx.queue + "/pid", os.O_DIRECTORY), ["queue"]),
        ("read somebody's mail", root(mail), ["local"]),
        ("read the record of messages", root(mx.record), ["mailbox"]),
        ("read mail that is filed once", root(filed), ["mailbox"]),
        ("make a file in a mailbox that is filed in", root(filed + ".made", O_CREATE, 0o600),
         ["mailbox"]),
        ("read the directory's data", root(mx.data), ["directory"]),
        ("change the directory's data", root(mx.data, os.O_WRONLY), ["directory"]),
        ("make a file beside the directory's", root(mx.data + ".made", O_CREATE, 0o600),
         ["directory"]),
        ("read a private key", root(mx.key), ["keys"]),
        ("change a private key", root(mx.key, os.O_WRONLY), []),
        ("make a policy", root(mx.policies + "/mta-sts/made", O_CREATE, 0o600), ["policy"]),
        ("make a file in the queue", root(mx.queue + "/pid/made", O_CREATE, 0o600), ["queue"]),
        ("make a control file", root(mx.queue + "/intd/made", O_CREATE, 0o600), ["send"]),
        ("make a file beside the queue", root(mx.queue + "/made", O_CREATE, 0o600), []),
        ("make a file in a mailbox", root(mailbox + "/tmp/made", O_CREATE, 0o600), ["local"]),
        ("make a temporary file", root(mx.everybodys, O_CREATE, 0o600), []),
        ("make a directory in a mailbox", ("mkdirat", -100, f"={mailbox}/made", 0o700), ["local"]),
        ("link a mailbox to elsewhere", ("symlinkat", "=/etc", -100, f"={mailbox}/link"), []),
        ("change a file's mode", ("fchmodat", -100, f"={mail}", 0o777), []),
        ("change a file's owner", ("fchownat", -100, f"={mail}", 0, 0, 0), []),
        ("run a program", ("execve", "=/bin/true", 0, 0), []),
        ("make a process", ("clone", FORK, 0, 0, 0, 0), []),
        ("make a process another way", ("clone3", "*88", 88), []),
        ("signal another process", ("kill", sibling, 0), []),
        ("signal all processes", ("kill", -1, 0), []),
        ("trace another process", ("ptrace", 0x4206, sibling, 0, 0), []),
        ("read another's memory", ("process_vm_readv", sibling, "*16", 0, "*16", 0, 0), []),
        ("TCP over IPv4", ("socket", AF_INET, 1, 0), ["names", "policy", "remote", "lmtp", "handover"]),
        ("TCP over IPv6", ("socket", AF_INET6, 1, 0), ["names", "policy", "remote", "lmtp", "handover"]),
        ("UDP", ("socket", AF_INET, 2, 0), ["names", "policy", "remote", "handover"]),
        ("raw packets", ("socket", AF_PACKET, 3, 0), []),
        ("raw IP", ("socket", AF_INET, 3, 1), []),
        ("ask the kernel for routes", ("socket", AF_NETLINK, 3, 0), ["names", "policy", "remote", "handover"]),
        ("ask the kernel for audits", ("socket", AF_NETLINK, 3, 9), []),
        ("a UNIX socket", ("socket", 1, 1, 0), []),
        ("a UNIX socket for datagrams", ("socket", 1, 2, 0), []),
        ("a UNIX socket for packets", ("socket", 1, 5, 0), []),
        ("a pair of them for datagrams, to be connected elsewhere", ("socketpair", 1, 2, 0, "*8"), []),
        ("mount", ("mount", "=none", f"={mx.directory}", "=tmpfs", 0, 0), []),
        ("become root", ("setuid", 0), []),
        ("become another", ("setresuid", 12, 12, 12), []),
        ("take a group", ("setgroups", 1, "*4"), []),
        ("take capabilities", ("capset", "~2205082000000000", "~" + "ff000000" * 2 + "00000000" * 4), []),
        ("memory that is executed", ("mmap", 0, 4096, EXECUTED, ANONYMOUS, -1, 0), []),
        ("io_uring", ("io_uring_setup", 1, "*120"), []),
        ("eBPF", ("bpf", 0, "*120", 120), []),
        ("keys", ("keyctl", 0, -3, 0), []),
        ("userfaultfd", ("userfaultfd", 1), []),
        ("a namespace", ("unshare", 0x10000000), []),
        ("performance counters", ("perf_event_open", "*120", 0, -1, -1, 0), []),
        ("switch the machine off", ("reboot", 0, 0, 0, 0), []),
        ("another root", ("chroot", "=/"), []),
        ("the clock", ("clock_settime", 0, "*16"), []),
    ]


def test_what_others_count_stays_theirs(world):
    """Who counts sessions has the rows of others to read, and cannot make them his own."""
    for program in "smtpd", "qmtpd", "send", "remote", "lmtp":
        pid = world.pids(program)[0]
        with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
            rows = [line.split()[:2] for line in maps if "/memfd:" in line]
        foreign = [int(place.split("-")[0], 16) for place, rights in rows if rights == "r--s"]
        assert len(foreign) >= 5 and len(foreign) == len(rows) - 1, (program, rows)
        for place in foreign:
            assert inside(pid, "mprotect", place, 4096, 3) in REFUSED, program


# Where there is no Landlock, the rights of its user bound who may open files at all; and "keys" has
# one to read any.
BY_USER = {
    "read the shadow file": ["keys"],
    "read a queued message": ["keys"],
    "read somebody's mail": ["keys"],
    "read the record of messages": ["keys"],
    "read mail that is filed once": ["keys"],
    "read the directory's data": ["keys"],
    "read the password file": OPENERS,
    "read the configuration": OPENERS,
    "list the root directory": OPENERS,
    "make a temporary file": OPENERS,
    "change a queued message": ["send"],
    "read a control file": ["queue", "keys"],
    "change a control file": ["queue"],
    "read the queue's format": ["queue", "send", "keys"],
    "list the spare files": ["send", "keys"],
    "make a file in the queue": ["send"],
    "make a control file": ["queue"],
    "make a file beside the queue": ["queue", "send"],
}


def is_asleep(pid):
    """In clock_nanosleep(), so its C library is loaded."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as call:
        return call.read().split()[0] == "230"


def control():
    """A process without a sandbox, root's: what is refused there would be refused anyway."""
    made = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    wait_until(lambda: is_asleep(made.pid), "it sleeps")
    return made


def clean(mx):
    for path in (mx.policies + "/mta-sts/made", mx.queue + "/pid/made", mx.queue + "/intd/made",
                 mx.queue + "/made", mx.everybodys, *glob.glob(mx.mail + "/*/*/tmp/made"),
                 *glob.glob(mx.filed + "/m.test/eve/new/*.made")):
        if os.path.exists(path):
            os.unlink(path)
    for path in glob.glob(mx.mail + "/*/*/made"):
        os.rmdir(path)
    for path in glob.glob(mx.mail + "/*/*/link"):
        os.unlink(path)
    if os.path.ismount(mx.directory):
        subprocess.run(["umount", mx.directory], check=True, capture_output=True)


def close(pid, call, result):
    if call in ("openat", "socket") and not result.startswith("-"):
        assert inside(pid, "close", result) == "0"


@pytest.fixture(scope="module")
def outcomes(world):
    """[what, who may, {program: result}, the control's result]"""
    begun = time.monotonic()
    sibling = world.pids("resolve")[0]
    found = []
    by_user = BY_USER if world.landlock == 0 else {}
    pids = {program: world.pids(program)[-1] for program in PROGRAMS}
    counts = {"processes": len(PROGRAMS), "attempts refused": 0, "attempts allowed, rightly": 0,
              "attempts that should have been refused": 0,
              "attempts that should have been allowed": 0}
    for what, (call, *arguments), who in attempts(world, sibling):
        who = [*who, *by_user.get(what, [])]
        results = {}
        for program in PROGRAMS:
            pid = pids[program]
            target = [world.pids("remote")[0] if a == sibling and pid == sibling else a
                      for a in arguments]
            results[program] = inside(pid, call, *target)
            close(pid, call, results[program])
            clean(world)
            may = program in who
            is_refused = results[program] in (*REFUSED, "-ENOSYS")
            counts["attempts refused" if is_refused and not may else
                   "attempts allowed, rightly" if may and not is_refused else
                   "attempts that should have been allowed" if may else
                   "attempts that should have been refused"] += 1
        free = control()
        try:
            found.append((what, who, results, inside(free.pid, call, *arguments)))
        finally:
            free.kill()
            free.wait()
            clean(world)
    print(record(
        "sandbox" if world.landlock is None else f"sandbox_landlock_{world.landlock}",
        title="Sandbox" if world.landlock is None else f"Sandbox, with Landlock {world.landlock}", counts=counts, seconds=time.monotonic() - begun,
        what="Each process of a running node with a separate user for each is stopped by a debugger and "
        "made to try what it must not be able to do: open files of others, run and trace programs, "
        "connect, change its identity. What it may do must succeed, and everything in a process "
        "without a sandbox.", command="tests/e2e/run tests/e2e/confine/test_sandbox.py",
        zero=["attempts that should have been refused", "attempts that should have been allowed"]))
    return found


def test_what_is_not_needed_is_refused(outcomes):
    wrong = [(what, program, result) for what, who, results, _ in outcomes
             for program, result in results.items()
             if program not in who and result not in REFUSED and what != "make a process another way"]
    assert not wrong, "\n".join(map(str, wrong))


def test_what_is_needed_is_not(outcomes):
    wrong = [(what, program, results[program]) for what, who, results, _ in outcomes
             for program in who if results[program].startswith("-")]
    assert not wrong, "\n".join(map(str, wrong))


def test_clone3_is_not_known(outcomes):
    """Its flags cannot be seen by a filter; the C library then takes clone()."""
    (results,) = [results for what, _, results, _ in outcomes
                  if what == "make a process another way"]
    assert set(results.values()) == {"-ENOSYS"}


def test_each_attempt_can_succeed(outcomes):
    """Somebody without a sandbox is not refused, so that the others are is the sandbox's work."""
    wrong = [(what, result) for what, _, _, result in outcomes
             if result in REFUSED or result == "-ENOSYS"]
    assert not wrong, "\n".join(map(str, wrong))


def test_no_server_can_be_opened(world):
    """Sockets that may connect may not listen, nor have a port of their choice: where Landlock does not
    know of networks, a filter of calls cannot tell them from those that ask the DNS, and bind(2) does
    nothing."""
    for program in "remote", "lmtp":
        pid = world.pids(program)[0]
        made = inside(pid, "socket", AF_INET, 1, 0)
        port = free_port()
        bound = inside(pid, "bind", made, f"=@inet:{port}", 16)
        assert bound in REFUSED or program == "remote" and world.landlock is not None and bound == "0"
        assert inside(pid, "listen", made, 1) in REFUSED
        assert inside(pid, "accept4", made, 0, 0, 0) in REFUSED
        assert inside(pid, "connect", made, f"=@inet:{world.port}", 16) == "0"
        assert port_of(pid, made) != port
        inside(pid, "close", made)


def port_of(pid, descriptor):
    """Of the connected TCP socket."""
    number = os.readlink(f"/proc/{pid}/fd/{descriptor}").removeprefix("socket:[").removesuffix("]")
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        (line,) = [words for words in map(str.split, table) if words[9] == number]
    return int(line[1].split(":")[1], 16)


@pytest.mark.parametrize("landlock", LANDLOCKS)
def test_the_dns_is_asked(node, landlock):
    """By sockets that are bound, or seem to be."""
    with NameServer({"null.test": "@ MX 0 .\n", "far.test": "@ MX 10 mx\n"}) as names:
        mx = node(start=False, switch_user=True,
                  settings=PROCESSES + f'dns_server = "{names.dns_server}"\ndane = no\n')
        shutil.chown(mx.mail, USERS["local"])
        mx.prefix = with_landlock(landlock)
        mx.start()
        deliver(mx, ["bob@null.test", "bob@far.test"], TEXT)
        assert mx.log.wait("failed", to="bob@null.test")["status"] == "5.1.10"
        assert mx.log.wait("failed", to="bob@far.test")["status"] == "5.4.4"


# --- whom they believe ---

MANAGE = "01002b0000000000" + "00000000"  # ipc/channel.h: version 1, queue/client/protocol.h: MANAGE
HELLO = "0100010000000000"       # ipc/job.h: HELLO
GUESSED = "00000000"             # a token
HELLO_REMOTE = HELLO + "06000000" + b"remote".hex() + "01000000" + GUESSED
HELLO_LAUNCH = HELLO + GUESSED   # deliver/launch/launch.h: HELLO
HELLO_LIST = HELLO + "04000000" + b"list".hex() + "01000000" + GUESSED
BEGIN_LOGIN = "0100020000000000"  # auth/protocol.h


class Played:
    """A connection of somebody who has become PROGRAM: its user and groups, without its
    sandbox, in which it could make none."""

    def __init__(self, mx, program, path, kind):
        self.status = status_of(mx.pids(program)[0])
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.as_program(self.socket.connect, path)

    def as_program(self, call, argument):
        groups = os.getgroups()
        user, group = int(self.status["Uid"][0]), int(self.status["Gid"][0])
        os.setgroups([int(number) for number in self.status["Groups"]])
        os.setresgid(group, group, 0)
        os.setresuid(user, user, 0)
        try:
            return call(argument)
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(groups)

    def say(self, packet):
        return self.as_program(self.socket.send, bytes.fromhex(packet))


@pytest.mark.parametrize("program, name, packet", [
    ("smtpd", "queue", MANAGE), ("remote", "queue", MANAGE), ("local", "queue", MANAGE),
    ("resolve", "queue", "0100010000000000" + "01000000"),
    ("smtpd", "send", HELLO_REMOTE), ("local", "send", HELLO_REMOTE),
    ("pipe", "send", HELLO_REMOTE), ("list", "queue", MANAGE), ("list", "send", HELLO_REMOTE),
    ("smtpd", "send", HELLO_LIST), ("directory", "send", HELLO_LIST),
    ("smtpd", "launch", HELLO_LAUNCH), ("qmtpd", "auth", BEGIN_LOGIN),
    ("remote", "auth", BEGIN_LOGIN), ("local", "auth", BEGIN_LOGIN), ("pipe", "launch", HELLO_LAUNCH)])
def test_nobody_speaks_as_another(world, program, name, packet):
    mark = world.log.mark()
    played = Played(world, program, os.path.join(world.run, name), socket.SOCK_SEQPACKET)
    with contextlib.suppress(BrokenPipeError):  # who is refused at once
        played.say(packet)
    refused = world.log.wait("ipc_refused", since=mark)
    assert refused["process"].startswith(name)
    played.socket.close()
    deliver(world, ["carl@a.test", "carl@p.test"], TEXT)
    world.maildir("carl@a.test").wait()
    world.log.wait("delivered", since=mark, to="carl@p.test")
    assert not world.log.find("helper_lost", since=mark)


def test_only_the_owner_gives_orders(world):
    number = int(os.path.basename(glob.glob(world.queue + "/info/*/*")[0]))
    for program in "smtpd", "remote", "local", "pipe":
        order = f"remove {number}".encode().hex()
        played = Played(world, program, os.path.join(world.run, "notify"), socket.SOCK_DGRAM)
        assert played.say(order) > 0
        played.socket.close()
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


def test_a_kernel_with_them_is_not(world):
    lacks = [event["feature"] for event in world.log.find("sandbox_lacks")]
    assert lacks == (["landlock"] if world.landlock == 0 else [])
    assert not world.log.find("process_ended")
