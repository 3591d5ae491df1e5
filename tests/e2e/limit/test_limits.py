# SPDX-License-Identifier: ISC
"""Session classes: how many sessions hosts of a class may have, in and out together.

Clients come from any address by a proxy's header, and have the names that a name server of the
test says. The tables are those of the XLA text for sendmail."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest
import qmtp
from lying_dns import SERVFAIL, A, Answer, LyingServer, a
from shim import Shim
from smtp import Client
from stagepost import PATIENCE, as_user, free_port, is_alive, services_for_helpers, wait_until
from test_client_names import PTR, ptr, reverse

HOSTS = {"grasp.insa-lyon.fr": "192.0.2.21", "insa-lyon.fr": "192.0.2.22", "x.univ-lyon1.fr": "192.0.2.31",
         "a.customer.fr": "192.0.2.41", "customer.fr": "192.0.2.42", "mx.example.net": "192.0.2.51"}
ANSWERS = {(reverse(address), PTR): ptr(name) for name, address in HOSTS.items()}
ANSWERS |= {(name, A): Answer(a(address)) for name, address in HOSTS.items()}
ANSWERS |= {
    (reverse("192.0.2.61"), PTR): ptr("grasp.insa-lyon.fr"),  # which is not 192.0.2.61
    (reverse("192.0.2.62"), PTR): ptr("nowhere.insa-lyon.fr"),
    (reverse("192.0.2.63"), PTR): Answer(code=SERVFAIL),
    (reverse("192.0.2.64"), PTR): None,
}
XLA = """class "*.insa-lyon.fr"  { queue = 8   refuse = 3 }
class "*.univ-lyon1.fr" { queue = 6   refuse = 4 }
class "*"               { queue = 15  refuse = 16 }
"""
CUSTOMER = """class "*.customer.fr" { queue = 8 refuse = 8 }
class "*" { queue = 3 refuse = 3 }
"""
BY_ADDRESS = """class "192.0.2.0/24" { queue = 2 refuse = 2 }
class "*" { queue = 1 refuse = 1 }
"""
FULL = "Too many sessions, try again later"


@pytest.fixture
def names():
    with LyingServer(dict(ANSWERS)) as server:
        yield server


@pytest.fixture
def mx(node, names):
    def mx(classes, settings="", **more):
        more.setdefault("listen", "proxy = yes")
        return node(settings=f'dns_server = "{names.dns_server}"\nlog_level = debug\n{settings}{classes}', **more)

    return mx


def told(mx):
    """{mask: what "stagepost limits" tells}"""
    ended = subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "limits", "--json", "-c", mx.conf],
                           check=False, capture_output=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    return {line["class"]: line for line in map(json.loads, ended.stdout.splitlines()) if "class" in line}


def counts(mx):
    return " ".join(f"{line['in']}+{line['out']}" for line in told(mx).values())


def wait_for_counts(mx, wanted, timeout=PATIENCE):
    wait_until(lambda: counts(mx) == wanted, f"sessions are {wanted}, not {counts(mx)}", timeout)


class Session:
    """A client's connection from ADDRESS, and what it is told first."""

    def __init__(self, mx, address="192.0.2.1", port=None, greets=True):
        self.socket = socket.create_connection((mx.address, port or mx.port), PATIENCE)
        if address is not None:
            self.socket.sendall(f"PROXY TCP4 {address} 192.0.2.200 40000 25\r\n".encode())
        self.text = self.read() if greets else None

    def read(self):
        try:
            return self.socket.recv(4096).decode()
        except ConnectionResetError:
            return ""

    @property
    def is_in(self):
        return self.text.startswith("220 ")

    def say(self, line):
        self.socket.sendall(line.encode() + b"\r\n")
        return self.read()

    def close(self):
        self.socket.close()


# --- the tables ---

# (act, host, whether it may, what is counted then). Steps of outgoing sessions are kept apart: those
# of clients must hold without them.
FIRST = [
    ("in", "grasp.insa-lyon.fr", True, "1+0 0+0 0+0"), ("in", "insa-lyon.fr", True, "2+0 0+0 0+0"),
    ("in", "grasp.insa-lyon.fr", True, "3+0 0+0 0+0"), ("in", "grasp.insa-lyon.fr", False, "3+0 0+0 0+0"),
    ("in", "insa-lyon.fr", False, "3+0 0+0 0+0"),
    ("in", "x.univ-lyon1.fr", True, "3+0 1+0 0+0"), ("in", "x.univ-lyon1.fr", True, "3+0 2+0 0+0"),
    ("in", "x.univ-lyon1.fr", True, "3+0 3+0 0+0"), ("in", "x.univ-lyon1.fr", True, "3+0 4+0 0+0"),
    ("in", "x.univ-lyon1.fr", False, "3+0 4+0 0+0"),
    *(("in", "mx.example.net", True, f"3+0 4+0 {count}+0") for count in range(1, 17)),
    ("in", "mx.example.net", False, "3+0 4+0 16+0"),
    ("leave", "grasp.insa-lyon.fr", True, "2+0 4+0 16+0"), ("in", "mx.example.net", False, "2+0 4+0 16+0"),
    ("in", "insa-lyon.fr", True, "3+0 4+0 16+0"), ("leave", "mx.example.net", True, "3+0 4+0 15+0"),
    ("leave", "x.univ-lyon1.fr", True, "3+0 3+0 15+0"), ("in", "mx.example.net", True, "3+0 3+0 16+0"),
]
SECOND = [
    ("in", "mx.example.net", True, "0+0 1+0"), ("in", "mx.example.net", True, "0+0 2+0"),
    ("in", "mx.example.net", True, "0+0 3+0"), ("in", "mx.example.net", False, "0+0 3+0"),
    *(("in", "a.customer.fr", True, f"{count}+0 3+0") for count in range(1, 8)),
    ("in", "customer.fr", True, "8+0 3+0"), ("leave", "mx.example.net", True, "8+0 2+0"),
    ("in", "customer.fr", False, "8+0 2+0"), ("in", "mx.example.net", True, "8+0 3+0"),
]


@pytest.mark.parametrize("classes, steps", [(XLA, FIRST), (CUSTOMER, SECOND)], ids=["xla", "customer"])
def test_a_table(mx, classes, steps):
    """Each session is real, in two processes; each counter is right at each step."""
    # the listeners stay open: one more class, which nobody is in
    node = mx('class "203.0.113.1" { queue = 1 refuse = 1 }\n' + classes, settings="smtpd_workers = 2\n")
    sessions = []
    for act, host, may, wanted in steps:
        if act == "in":
            session = Session(node, HOSTS[host])
            assert session.is_in == may, (act, host, session.text)
            if may:
                sessions.append((host, session))
            else:
                assert session.text == f"421 mx.stagepost.test {FULL}\r\n"
                assert session.read() == ""
        else:
            entry = next(entry for entry in sessions if entry[0] == host)
            sessions.remove(entry)
            assert entry[1].say("QUIT").startswith("221 ")
        wait_for_counts(node, "0+0 " + wanted)
    refused = sum(act == "in" and not may for act, _, may, _ in steps)
    assert sum(line["refused"] for line in told(node).values()) == refused
    counted = sum(act == "in" and may for act, _, may, _ in steps)
    node.log.wait("class_decided", count=counted, result="counted")
    node.log.wait("class_decided", count=refused, result="refused")
    node.log.wait("session_refused", count=refused)
    assert len(node.log.find("class_decided")) == counted + refused


# --- names ---

@pytest.mark.parametrize("address, mask", [
    ("192.0.2.21", "*.insa-lyon.fr"), ("192.0.2.22", "*.insa-lyon.fr"), ("192.0.2.61", "*"), ("192.0.2.62", "*"),
    ("192.0.2.63", "*"), ("192.0.2.65", "*")])
def test_a_name_counts_if_it_is_confirmed(mx, address, mask):
    """Right, or: it leads elsewhere, nowhere, nobody can say, there is none."""
    node = mx(XLA)
    assert Session(node, address).is_in
    event = node.log.wait("class_decided", client=address)
    assert event["class"] == mask and event.get("name", "") == {"192.0.2.21": "grasp.insa-lyon.fr",
                                                               "192.0.2.22": "insa-lyon.fr"}.get(address, "")


def test_a_client_waits_for_its_name(mx, names):
    """It is greeted when the name is known; who goes away meanwhile is counted by nobody, and no
    name server holds up a greeting for longer than two seconds."""
    node = mx(XLA)
    begin = time.monotonic()
    session = Session(node, "192.0.2.64")
    assert session.is_in and 1.5 < time.monotonic() - begin < 6
    assert node.log.wait("class_decided")["class"] == "*"
    gone = Session(node, "192.0.2.64", greets=False)
    gone.close()
    session.close()
    wait_for_counts(node, "0+0 0+0 0+0")


def test_who_speaks_before_its_class_is_known_is_refused(mx, names):
    node = mx(XLA)
    session = Session(node, "192.0.2.64", greets=False)
    session.socket.sendall(b"EHLO early.test\r\n")
    assert session.read().startswith("554 ")
    wait_for_counts(node, "0+0 0+0 0+0")


def test_a_stop_while_a_class_waits(mx):
    node = mx(XLA)
    session = Session(node, "192.0.2.64", greets=False)
    node.log.wait("session_opened", client="192.0.2.64")
    node.stop()
    assert session.read().startswith("421 ") or session.read() == ""


# --- who is counted ---

def test_a_unix_socket_is_not_counted(mx, ground):
    path = os.path.join(ground.directory("socket"), "smtp")
    node = mx('class "*" { queue = 1 refuse = 1 }\n', settings=f'listen smtp {{ address = "unix:{path}" }}\n')
    with Client(node, path=path), Client(node, path=path):
        assert counts(node) == "0+0"
        session = Session(node)
        assert session.is_in
        wait_for_counts(node, "1+0")
        with Client(node, path=path) as client:
            assert client.noop()[0] == 250


def test_a_proxy_that_says_who_its_client_is(node):
    """XCLIENT moves the session to the class of the client; if that is full, it ends."""
    settings = 'xclient_from = { "127.0.0.1/32" }\nclient_names = no\n'
    mx = node(settings=settings + 'class "192.0.2.0/24" { queue = 1 refuse = 1 }\nclass "*" { queue = 5 refuse = 5 }\n')
    first, second = Session(mx, None), Session(mx, None)
    wait_for_counts(mx, "0+0 2+0")
    for session in first, second:
        assert "XCLIENT" in session.say("EHLO proxy.test")
    assert first.say("XCLIENT ADDR=192.0.2.1").startswith("220 ")
    wait_for_counts(mx, "1+0 1+0")
    assert second.say("XCLIENT ADDR=192.0.2.2") == f"421 4.7.0 {FULL}\r\n"
    assert second.read() == ""
    wait_for_counts(mx, "1+0 0+0")
    assert first.say("EHLO proxy.test").startswith("250")
    assert first.say("XCLIENT ADDR=192.0.2.3").startswith("220 ")  # in the same class
    assert first.say("EHLO proxy.test").startswith("250")
    assert first.say("XCLIENT ADDR=203.0.113.3").startswith("220 ")
    wait_for_counts(mx, "0+0 1+0")


def test_qmtp_is_counted_too(mx):
    """It has no word for a refusal: the connection is closed."""
    port = free_port()
    node = mx('class "192.0.2.0/24" { queue = 2 refuse = 2 }\nclass "*" { queue = 1 refuse = 1 }\n',
              settings=f'listen qmtp {{ address = "127.0.0.1:{port}" proxy = yes }}\n')
    smtp = Session(node)
    assert smtp.is_in
    before = b"PROXY TCP4 192.0.2.7 192.0.2.200 40000 209\r\n"
    package = qmtp.package(b"Subject: x\n\nText.\n", "ann@b.test", ["box@a.test"])
    first = qmtp.Wire(port, before=before)
    first.send(package)
    assert first.socket.recv(100)
    wait_for_counts(node, "2+0 0+0")
    assert not Session(node).is_in
    second = qmtp.Wire(port, before=before)
    with contextlib.suppress(ConnectionError):
        second.send(package)
        assert second.socket.recv(100) == b""
    first.socket.close()
    wait_for_counts(node, "1+0 0+0")
    assert Session(node).is_in


# --- processes that die, listeners, reloads ---

@pytest.mark.parametrize("workers", (1, 3))
def test_the_places_of_a_killed_process_are_free_within_a_second(mx, workers):
    node = mx(BY_ADDRESS, settings=f"smtpd_workers = {workers}\n")
    kept = Session(node, "203.0.113.1")
    sessions = [Session(node) for _ in range(2)]
    assert all(session.is_in for session in (kept, *sessions))
    wait_for_counts(node, "2+0 1+0")
    for pid in node.pids("smtpd"):
        os.kill(pid, signal.SIGKILL)
    begin = time.monotonic()
    wait_for_counts(node, "0+0 0+0", timeout=1)
    assert time.monotonic() - begin < 1
    wait_until(lambda: len(node.pids("smtpd")) == workers, "all workers are back")
    assert Session(node).is_in and Session(node, "203.0.113.1").is_in


def is_open(node):
    try:
        socket.create_connection((node.address, node.port), PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True


def is_in(node, kept=None):
    """Whether a client gets a session, which is KEPT then."""
    try:
        session = Session(node)
    except ConnectionError:
        return False
    if session.is_in and kept is not None:
        kept.append(session)
    return session.is_in


def test_closed_listeners(mx):
    """With the last place of all classes the sockets are closed, for all workers; with the first
    free one they are open. A worker that is killed meanwhile is no hindrance."""
    node = mx(BY_ADDRESS, settings="smtpd_workers = 2\n")
    outer = Session(node, "203.0.113.1")
    first, second = Session(node), Session(node)
    assert outer.is_in and first.is_in and second.is_in
    node.log.wait("listen_closed")
    for _ in range(20):
        assert not is_open(node)
    mark = node.log.mark()
    assert first.say("QUIT").startswith("221 ")
    node.log.wait("listen_opened", since=mark)
    assert Session(node, "203.0.113.2").text.startswith("421 ")
    mark = node.log.mark()
    third = Session(node)
    assert third.is_in
    node.log.wait("listen_closed", since=mark)
    assert not is_open(node)
    for pid in node.pids("smtpd"):
        os.kill(pid, signal.SIGKILL)
        node.log.wait("process_ended", since=mark, pid=pid)
    node.log.wait("listen_opened", since=mark)
    wait_until(lambda: len(node.pids("smtpd")) == 2, "both workers are back")
    assert Session(node).is_in
    assert not node.log.find("listener_lost") and not node.log.find("process_error")


def test_listeners_that_a_reload_opens(mx):
    node = mx('class "*" { queue = 1 refuse = 1 }\n')
    session = Session(node)
    assert session.is_in
    node.log.wait("listen_closed")
    node.settings = node.settings.replace("refuse = 1", "refuse = 2")
    node.write_configuration()
    node.reload()
    node.log.wait("listen_opened")
    wait_until(lambda: is_open(node), "the node listens again")
    other = Session(node)
    assert other.is_in
    # and once more, to classes that are full already
    node.log.wait("listen_closed", count=2)
    node.settings = node.settings.replace("refuse = 2", "refuse = 1")
    node.write_configuration()
    node.reload()
    wait_for_counts(node, "2+0")
    with contextlib.suppress(ConnectionError):
        assert not Session(node).is_in
    assert session.say("NOOP").startswith("250") and other.say("NOOP").startswith("250")


def test_a_reload_counts_standing_sessions_anew(mx):
    """By the new classes, also from none and to none. One of them has a name, which is looked up when it speaks
    and known when it may send data."""
    node = mx("", settings="smtpd_workers = 2\n")
    before = node.settings
    sessions = [Session(node, address) for address in ("192.0.2.1", "192.0.2.2", "192.0.2.21", "203.0.113.1")]
    assert all(session.is_in for session in sessions) and told(node) == {}
    for line in "EHLO client.test", "MAIL FROM:<ann@b.test>", "RCPT TO:<bob@a.test>", "DATA", "Text.\r\n.":
        assert sessions[2].say(line)[0] in "23"
    for classes, wanted in ((BY_ADDRESS, "3+0 1+0"), (XLA, "1+0 0+0 3+0"), (CUSTOMER, "0+0 4+0"),
                            (BY_ADDRESS, "3+0 1+0")):
        node.settings = before + classes
        node.write_configuration()
        node.reload()
        wait_for_counts(node, wanted)
    with contextlib.suppress(ConnectionError):
        assert not Session(node).is_in
    for session in sessions[:2]:
        assert session.say("QUIT").startswith("221 ")
    wait_for_counts(node, "1+0 1+0")
    wait_until(lambda: is_in(node), "a client has the free place")  # the listeners were closed
    node.settings = before
    node.write_configuration()
    node.reload()
    wait_until(lambda: told(node) == {}, "there are no classes")
    kept = []
    wait_until(lambda: is_in(node, kept) and len(kept) == 6, "six clients more are in")
    assert not node.log.find("process_error")


def test_clients_that_come_and_go_by_the_thousand(mx):
    """Hostile ones, which drop their connection at any moment: no place is lost, and who is in a
    class of its own does not notice."""
    node = mx('class "198.51.100.0/24" { queue = 3 refuse = 3 }\nclass "203.0.113.0/24" { queue = 5 refuse = 5 }\n'
              'class "*" { queue = 50 refuse = 50 }\n', settings="smtpd_workers = 2\n")
    until = time.monotonic() + 4
    opened = [0] * 6

    def flood(number):
        while time.monotonic() < until:
            try:
                session = Session(node, f"198.51.100.{number}", greets=opened[number] % 3 == 0)
                session.close()
                opened[number] += 1
            except OSError:
                pass

    threads = [threading.Thread(target=flood, args=(number,)) for number in range(len(opened))]
    for thread in threads:
        thread.start()
    served = 0
    while time.monotonic() < until:
        with Session(node, "203.0.113.1").socket as wire:
            wire.sendall(b"QUIT\r\n")
            served += 1
        line = told(node)["198.51.100.0/24"]
        assert line["in"] <= 4, line  # three, and one that is just looking
    for thread in threads:
        thread.join()
    assert sum(opened) > 500 and served > 10, (opened, served)
    print(f"{sum(opened) / 4:.0f} sessions a second were opened and dropped; {served} others were served")
    wait_for_counts(node, "0+0 0+0 0+0")
    sessions = [Session(node, "198.51.100.9") for _ in range(4)]
    assert [session.is_in for session in sessions] == [True, True, True, False]
    assert told(node)["198.51.100.0/24"]["refused"] > 0
    assert all(is_alive(pid) for pid in node.pids())
    assert len(node.log.find("session_refused")) < 200  # rated


def rows(pid):
    """{row: permissions} of the memory in which sessions are counted, as a process has it."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        return {line.split("/memfd:")[1].split()[0]: line.split()[1] for line in maps if "/memfd:" in line}


def test_each_process_writes_its_own_row_only(mx):
    """It reads those of the others, has no descriptor of any; who counts nothing has no row."""
    port = free_port()
    node = mx(BY_ADDRESS, settings=f'smtpd_workers = 2\nlisten qmtp {{ address = "127.0.0.1:{port}" }}\n' +
              services_for_helpers())
    names = {"smtpd.0", "smtpd.1", "qmtpd.0", "send.0", "remote.0", "lmtp.0"}
    own = []
    for program in "smtpd", "qmtpd", "send", "remote", "lmtp":
        for pid in node.pids(program):
            found = rows(pid)
            assert set(found) == names and set(found.values()) == {"rw-s", "r--s"}, (program, found)
            written, = (name for name, rights in found.items() if rights == "rw-s")
            assert written.startswith(program + ".")
            own.append(written)
            handles = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
            assert not [handle for handle in handles if "memfd:" in handle]
    assert sorted(own) == sorted(names)
    for program in "queue", "resolve", "names", "local", "pipe":
        for pid in node.pids(program):
            assert not rows(pid), program


def test_a_successor_has_a_row_of_its_own(mx):
    """A helper that needs another sandbox finishes its work beside the next one: all learn of that
    one's row, without a reload of their own."""
    node = mx(BY_ADDRESS)
    mark = node.log.mark()
    node.settings += 'smtproutes = { "b.test:[127.0.0.1];25|lisa|secret" }\nlogin_without_tls = yes\n'
    node.write_configuration()
    node.reload()
    pid = int(node.log.wait("process_started", since=mark, program="remote")["pid"])
    wait_until(lambda: rows(pid).get("remote.1") == "rw-s", "the successor counts in its own row")
    for program in "smtpd", "lmtp":
        for other in node.pids(program):
            wait_until(lambda other=other: rows(other).get("remote.1") == "r--s", f"{program} reads it")
    session = Session(node)
    assert session.is_in and counts(node) == "1+0 0+0"


# --- the machine's load ---

def test_the_load_of_the_machine(node):
    """From load_refuse on clients are told to come later; a UNIX socket stays open."""
    shim = Shim()
    made = node(start=False, settings="load_refuse = 12\nclient_names = no\n")
    made.prefix = shim.prefix
    try:
        shim.memory.load = 1199
        made.start()
        assert Session(made, None).is_in
        shim.memory.load = 1200
        refused = Session(made, None)
        assert refused.text == "421 mx.stagepost.test The load is too high, try again later\r\n"
        assert refused.read() == ""
        shim.memory.load = 900
        assert Session(made, None).is_in
    finally:
        made.stop()
        shim.close()


def paused(made):
    """What "queue stats" says that no mail is sent to for a while."""
    told = subprocess.run(as_user() + [os.path.join(made.programs, "stagepost"), "queue", "stats", "-c", made.conf,
                                       "--json"], capture_output=True, check=True, timeout=PATIENCE).stdout
    return json.loads(told)["paused"]


def test_mail_for_others_waits_while_the_load_is_high(node):
    """That for mailboxes does not; and it goes when the load is lower."""
    shim = Shim()
    made = node(start=False, routes=["away.test:127.0.0.1;1"], settings="load_queue = 12\n")
    made.prefix = shim.prefix
    try:
        shim.memory.load = 1200
        made.start()
        with Client(made) as client:
            for recipient in "bob@away.test", "box@a.test":
                assert client.deliver("ann@b.test", [recipient], b"Subject: x\r\n\r\nText.\r\n").startswith("250")
        made.log.wait("load_holds", load=12)
        made.log.wait("delivered", to="box@a.test")
        assert not made.log.find("deferred") and not made.trigger_files()
        assert len(list(made.queued_messages())) == 1
        (pause,) = paused(made)
        assert (pause["destination"], pause["messages"]) == ("*", 1) and "load_queue" in pause["reason"]
        shim.memory.load = 1100
        made.log.wait("load_releases")
        assert not paused(made)
        wait_until(lambda: made.trigger_files(), "the mail is tried: nobody listens there")
    finally:
        made.stop()
        shim.close()


# --- stagepost limits ---

def test_who_may_look(mx, ground):
    node = mx(BY_ADDRESS)
    session = Session(node)
    assert session.is_in and counts(node) == "1+0 0+0"
    ended = subprocess.run([os.path.join(node.programs, "stagepost"), "limits", "-c", node.conf], check=True,
                           capture_output=True, text=True, timeout=PATIENCE)
    head, first, second = ended.stdout.splitlines()
    assert head.split() == ["class", "in", "out", "queue", "refuse", "waiting", "refused", "held", "slowed"]
    assert first.split()[0] == "192.0.2.0/24" and second.split() == ["*", "0", "0", "1", "1", "0", "0", "0", "0"]
    node.stop()
    ended = subprocess.run([os.path.join(node.programs, "stagepost"), "limits", "-c", node.conf], check=False,
                           capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1 and "no mail system runs with it" in ended.stderr
