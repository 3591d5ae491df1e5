# SPDX-License-Identifier: ISC
"""Session classes of servers: how many sessions there may be with them, how mail waits for a place,
and how it is let go.

Next hops are this machine's addresses, with names that a name server of the test says; each keeps
its session open until the test lets it end. The tables are those of the XLA text for sendmail."""

import os
import signal
import socket
import subprocess
import threading
import time

import lmtp
import pytest
import qmtp
from lying_dns import A, Answer, LyingServer, a
from lying_dns import mx as mx_record
from peers import Lan, Sink
from smtp import deliver
from stagepost import PATIENCE, as_user, is_root, wait_until
from test_limits import ANSWERS, BY_ADDRESS, CUSTOMER, HOSTS, XLA, Session, counts, told, wait_for_counts

MX = 15
TRIES = 5  # to be fast on a machine that has other work
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
ADDRESSES = {"grasp.insa-lyon.fr": "127.0.1.21", "insa-lyon.fr": "127.0.1.22", "x.univ-lyon1.fr": "127.0.1.31",
             "a.customer.fr": "127.0.1.41", "customer.fr": "127.0.1.42", "mx.example.net": "127.0.1.51"}
# of clients and of servers: a server's other address is not there, and says so at once
ANSWERS_OUT = ANSWERS | {(f"hop.{name}", A): Answer(a(address)) for name, address in ADDRESSES.items()}


class Hop(lmtp.Server):
    """Holds each session before its final answer, until it is let go."""

    def __init__(self, address="127.0.0.1", is_held=True):
        listening = socket.create_server((address, 0), backlog=128)
        self.turns = threading.Semaphore(0)
        self.is_held = is_held
        self.now = self.most = 0
        self.order = []
        self.lock = threading.Lock()
        super().__init__(final=self._hold, listening=listening)
        self.host, self.port = listening.getsockname()

    def _hold(self, address):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(address)
        if self.is_held:
            self.turns.acquire(timeout=60)
        with self.lock:
            self.now -= 1
        return "250 2.0.0 ok"

    def let_go(self, count=1):
        self.turns.release(count)

    def let_all_go(self):
        self.is_held = False
        self.turns.release(10000)


@pytest.fixture
def names():
    with LyingServer(dict(ANSWERS_OUT)) as server:
        yield server


@pytest.fixture
def hops():
    """One for each name, and one more; all let go in the end."""
    made = {name: Hop(address) for name, address in ADDRESSES.items()}
    yield made
    for hop in made.values():
        hop.let_all_go()
        hop.server.shutdown()
        hop.server.server_close()


@pytest.fixture
def sender(node, names):
    def sender(classes, hops=None, settings="", routes=(), **more):
        routes = [f".{name}.test:hop.{name};{hop.port}" for name, hop in (hops or {}).items()] + list(routes)
        return node(settings=f'dns_server = "{names.dns_server}"\nlog_level = debug\n{settings}{classes}',
                    routes=routes, **more)

    return sender


class Mail:
    """Sends messages, each to another domain, whose way is one of the hops."""

    def __init__(self, node):
        self.node = node
        self.count = 0

    def send(self, host, local="box"):
        self.count += 1
        address = f"{local}{self.count}@n{self.count}.{host}.test"
        self.put(address)
        return address

    def put(self, *addresses):
        """By the queue: a client would be counted."""
        ended = subprocess.run([*as_user(), os.path.join(self.node.programs, "stagepost"), "sendmail", "-C", self.node.conf,
                                "-f", "ann@a.test", *addresses], input=b"Subject: x\n\nText.\n", check=False,
                               capture_output=True, timeout=PATIENCE)
        assert ended.returncode == 0, ended.stderr


def wait_for_no_trigger(node):
    """Nothing waits for a place any more: the trigger goes a moment after its last message."""
    wait_until(lambda: not node.trigger_files(), "the triggers are gone")


def waits(node, mask):
    return told(node)[mask]["waiting"]


def trigger_of(mask):
    return "class." + mask.replace("*", "[any]").replace("/", "_")


# --- the tables ---

# (act, host, whether it may, what is counted then)
FIRST = [
    # 8 sessions in all: three of clients at most, outgoing ones fill the rest
    ("in", "grasp.insa-lyon.fr", True, "1+0 0+0 0+0"),
    *(("out", "insa-lyon.fr", True, f"1+{count} 0+0 0+0") for count in range(1, 4)),
    ("in", "grasp.insa-lyon.fr", False, "1+3 0+0 0+0"),
    *(("out", "grasp.insa-lyon.fr", True, f"1+{count} 0+0 0+0") for count in range(4, 8)),
    ("out", "grasp.insa-lyon.fr", False, "1+7 0+0 0+0"),
    *(("out", "x.univ-lyon1.fr", True, f"1+7 0+{count} 0+0") for count in range(1, 7)),
    ("out", "x.univ-lyon1.fr", False, "1+7 0+6 0+0"),
    ("in", "x.univ-lyon1.fr", False, "1+7 0+6 0+0"),
    ("leave", "grasp.insa-lyon.fr", True, "0+8 0+6 0+0"),  # the one that waited
    ("end", "x.univ-lyon1.fr", True, "0+8 0+6 0+0"),  # likewise
    ("end", "x.univ-lyon1.fr", True, "0+8 0+5 0+0"),
    # the last class: with Q below R outgoing mail is held back first
    *(("out", "mx.example.net", True, f"0+8 0+5 0+{count}") for count in range(1, 15)),
    ("in", "mx.example.net", True, "0+8 0+5 1+14"),
    ("out", "mx.example.net", False, "0+8 0+5 1+14"),
    ("in", "mx.example.net", True, "0+8 0+5 2+14"),
    ("in", "mx.example.net", False, "0+8 0+5 2+14"),
    ("end", "mx.example.net", True, "0+8 0+5 2+13"),  # 15 are not free for it yet
    ("leave", "mx.example.net", True, "0+8 0+5 1+14"),
]
SECOND = [
    *(("out", "mx.example.net", True, f"0+0 0+{count}") for count in range(1, 4)),
    ("out", "mx.example.net", False, "0+0 0+3"), ("in", "mx.example.net", False, "0+0 0+3"),
    *(("out", "a.customer.fr", True, f"0+{count} 0+3") for count in range(1, 5)),
    *(("in", "customer.fr", True, f"{count}+4 0+3") for count in range(1, 5)),
    ("in", "a.customer.fr", False, "4+4 0+3"), ("out", "customer.fr", False, "4+4 0+3"),
    ("leave", "customer.fr", True, "3+5 0+3"), ("end", "mx.example.net", True, "3+5 0+3"),
    ("end", "mx.example.net", True, "3+5 0+2"), ("in", "mx.example.net", True, "3+5 1+2"),
    ("end", "a.customer.fr", True, "3+4 1+2"),
]


@pytest.mark.parametrize("classes, steps", [(XLA, FIRST), (CUSTOMER, SECOND)], ids=["xla", "customer"])
def test_a_table(sender, hops, classes, steps):
    """Each session is real, in and out; each counter is right at each step."""
    # the listeners stay open: one more class, which nobody is in
    node = sender('class "203.0.113.1" { queue = 1 refuse = 1 }\n' + classes, hops, listen="proxy = yes")
    mail = Mail(node)
    clients = []
    for act, host, may, wanted in steps:
        step = (act, host, wanted)
        if act == "in":
            session = Session(node, HOSTS[host])
            assert session.is_in == may, (step, session.text)
            clients += [(host, session)] if may else []
        elif act == "leave":
            found = next(entry for entry in clients if entry[0] == host)
            clients.remove(found)
            assert found[1].say("QUIT").startswith("221 "), step
        elif act == "end":
            hops[host].let_go()
        else:
            mark = node.log.mark()
            address = mail.send(host)
            if not may:
                event = node.log.wait("deferred", since=mark, to=address)
                assert "has all its" in event["text"], event
        print(step)
        wait_for_counts(node, "0+0 " + wanted)
    for hop in hops.values():
        hop.let_all_go()
    for _, session in clients:
        session.close()
    node.wait_empty()
    wait_for_counts(node, "0+0 " + " ".join("0+0" for _ in steps[0][3].split()))
    wait_for_no_trigger(node)
    assert not node.log.find("process_error")


def test_what_waits_is_shown(sender, hops):
    node = sender('class "*.univ-lyon1.fr" { queue = 1 refuse = 4 }\nclass "*" { queue = 5 refuse = 5 }\n', hops)
    mail = Mail(node)
    mail.send("x.univ-lyon1.fr")
    wait_for_counts(node, "0+1 0+0")
    waiting = [mail.send("x.univ-lyon1.fr") for _ in range(2)]
    wait_until(lambda: waits(node, "*.univ-lyon1.fr") == 2, "two wait")
    line = told(node)["*.univ-lyon1.fr"]
    assert (line["queue"], line["out"], line["waiting"]) == (1, 1, 2) and line["held"] >= 1, line
    name, = node.trigger_files()
    assert name == "class.[any].univ-lyon1.fr"
    run = lambda *words: subprocess.run(
        [*as_user(), os.path.join(node.programs, "stagepost"), *words, "-c", node.conf], check=True,
        capture_output=True, text=True, timeout=PATIENCE).stdout
    reason = "class *.univ-lyon1.fr of hosts has all its 1 sessions"
    listed = run("trigger", "list")
    assert name in listed and reason in listed, listed
    listed = run("queue", "list")
    assert all(address in listed for address in waiting) and reason in listed, listed
    event = next(event for event in node.log.find("class_decided", result="full"))
    assert event["class"] == "*.univ-lyon1.fr" and event["direction"] == "out" and event["server"] == "127.0.1.31"
    hops["x.univ-lyon1.fr"].let_all_go()
    node.wait_empty()
    wait_for_no_trigger(node)
    wait_until(lambda: waits(node, "*.univ-lyon1.fr") == 0, "none waits")


# --- fairness ---

def test_what_waits_is_let_go_in_its_order(sender, hops):
    """As soon as there is a place, and never more at once than there are; other mail does not notice."""
    hop = hops["customer.fr"]
    node = sender('class "*.customer.fr" { queue = 3 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops,
                  settings="probe_delay = 3600\n")
    mail = Mail(node)
    for _ in range(3):
        mail.send("customer.fr")
    wait_for_counts(node, "0+3 0+0")
    addresses = []
    for number in range(40):
        addresses.append(mail.send("customer.fr"))
        wait_until(lambda number=number: waits(node, "*.customer.fr") == number + 1, f"{number + 1} wait")
    hops["mx.example.net"].let_all_go()
    mark = node.log.mark()
    begin = time.monotonic()
    for _ in range(20):
        mail.send("mx.example.net")
    wait_until(lambda: len(node.log.find("delivered", since=mark)) == 20, "other mail is delivered")
    assert time.monotonic() - begin < 10
    assert waits(node, "*.customer.fr") == 40
    for count in range(1, 6):
        hop.let_go()
        wait_until(lambda count=count: len(hop.order) == 3 + count, "the next has the place")
    assert hop.order[3:] == addresses[:5]
    begin = time.monotonic()
    hop.let_all_go()
    node.wait_empty()
    took = time.monotonic() - begin
    assert took < 20 and hop.most == 3, (took, hop.most)
    assert sorted(hop.order[3:]) == sorted(addresses)  # each once
    wait_for_no_trigger(node)
    print(f"35 that waited went in {took:.2f} s")


def test_a_burst_through_few_places(sender, hops):
    """Many messages to one domain and to many, with two places: all of them arrive once, and it takes
    hardly longer than the hop needs."""
    hop = hops["customer.fr"]
    hop.is_held = False
    node = sender('class "*.customer.fr" { queue = 2 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops)
    mail = Mail(node)
    begin = time.monotonic()
    addresses = [f"u{number}@{'one' if number % 2 else f'n{number}'}.customer.fr.test" for number in range(200)]
    for address in addresses:
        deliver(node, address, TEXT)
    node.wait_empty()
    took = time.monotonic() - begin
    assert sorted(hop.order) == sorted(addresses) and hop.most <= 2, hop.most
    assert mail.count == 0
    wait_for_no_trigger(node)
    print(f"200 messages in {took:.2f} s with 2 places")
    wait_for_counts(node, "0+0 0+0")


def test_other_mail_is_as_fast_as_alone(sender, hops):
    hop = hops["mx.example.net"]
    hop.is_held = False
    node = sender('class "*.customer.fr" { queue = 2 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops)
    mail = Mail(node)

    def time_of_others(name):
        mark = node.log.mark()
        begin = time.monotonic()
        for number in range(100):
            deliver(node, f"u{number}@{name}.mx.example.net.test", TEXT)
        wait_until(lambda: len(node.log.find("delivered", since=mark)) >= 100, "other mail is delivered")
        return time.monotonic() - begin

    time_of_others("warm")
    alone = min(time_of_others("alone"), time_of_others("alone2"))
    for _ in range(30):
        mail.send("customer.fr")
    wait_until(lambda: waits(node, "*.customer.fr") == 28, "28 wait")
    most = alone * 1.5 + 0.3
    beside = []
    while not beside or (min(beside) >= most and len(beside) < TRIES):
        beside.append(time_of_others(f"beside{len(beside)}"))
    print(f"100 messages took {alone:.2f} s alone, {beside} s beside 28 that wait")
    assert min(beside) < most
    hops["customer.fr"].let_all_go()
    node.wait_empty()


# --- which class ---

def test_idle_connections(sender, hops):
    """They do not count, unless the class says so; then one is closed when its place is needed."""
    for hop in hops.values():
        hop.is_held = False
    node = sender('class "*.insa-lyon.fr" { queue = 1 refuse = 8 count = all }\nclass "*" { queue = 1 refuse = 5 }\n',
                  hops)
    mail = Mail(node)
    for name in "mx.example.net", "customer.fr":
        address = mail.send(name)
        node.log.wait("delivered", to=address)
    wait_for_counts(node, "0+0 0+0")
    mail.put("a@x.insa-lyon.fr.test")
    node.log.wait("delivered", to="a@x.insa-lyon.fr.test")
    assert counts(node) == "0+1 0+0"
    begin = time.monotonic()
    mail.put("b@x.insa-lyon.fr.test")  # the same connection
    node.log.wait("delivered", to="b@x.insa-lyon.fr.test")
    mail.put("c@x.grasp.insa-lyon.fr.test")
    node.log.wait("delivered", to="c@x.grasp.insa-lyon.fr.test")
    assert time.monotonic() - begin < 4  # they idle for five seconds
    assert hops["insa-lyon.fr"].connections == 1 and not node.log.find("deferred")
    wait_for_counts(node, "0+1 0+0")
    wait_for_counts(node, "0+0 0+0")  # it has ended


def test_qmtp_and_lmtp_count(sender, ground):
    """But not by UNIX sockets."""
    gate = threading.Event()
    path = os.path.join(ground.directory("lmtp"), "socket")
    by_path = lmtp.Server(path, final=lambda address: gate.wait(30) and "250 2.0.0 ok")
    by_lmtp = Hop("127.0.1.61")
    by_qmtp = qmtp.Server(lambda recipient: b"Kok" if gate.wait(30) else b"Zlate")
    node = sender('class "127.0.1.61" { queue = 1 refuse = 1 }\nclass "127.0.0.1" { queue = 1 refuse = 1 }\n'
                  'class "*" { queue = 5 refuse = 5 }\n',
                  settings=f'service tcp {{ kind = lmtp address = "{by_lmtp.host}:{by_lmtp.port}" }}\n'
                  f'service path {{ kind = lmtp address = "unix:{path}" }}\n'
                  f'qmtproutes = {{ "q.test:[127.0.0.1];{by_qmtp.port}" }}\n',
                  domains=["a.test", 'domain "tcp.test" { service = tcp }', 'domain "path.test" { service = path }'])
    mail = Mail(node)
    mail.put("a@path.test")
    mail.put("a@tcp.test")
    wait_for_counts(node, "0+1 0+0 0+0")
    mail.put("a@q.test")
    wait_for_counts(node, "0+1 0+1 0+0")
    wait_until(lambda: by_path.messages or by_path.connections, "there is a session by the UNIX socket, too")
    for address, mask in ("b@tcp.test", "127.0.1.61/32"), ("b@q.test", "127.0.0.1/32"):
        mail.put(address)
        event = node.log.wait("deferred", to=address)
        assert f"class {mask} of hosts has all its 1 sessions" in event["text"]
        wait_until(lambda mask=mask: waits(node, mask) == 1, "it waits")
    gate.set()
    by_lmtp.let_all_go()
    node.wait_empty()
    assert len(by_qmtp.packages) == 2 and sorted(by_lmtp.order) == ["a@tcp.test", "b@tcp.test"]
    wait_for_counts(node, "0+0 0+0 0+0")
    by_qmtp.close()
    for server in by_lmtp, by_path:
        server.server.shutdown()


@pytest.mark.skipif(not is_root(), reason="only root makes networks")
def test_the_next_mx_is_of_another_class(node, ground):
    """A class that is full is passed by, for the next server of the domain; with none left the mail
    waits for the first. Postfix's smtp-sink is the hop."""
    answers = {("two.test", MX): Answer([mx_record(10, "first.test"), mx_record(20, "second.test")]),
               ("one.test", MX): Answer([mx_record(10, "first.test")]),
               ("first.test", A): Answer(a("198.18.0.10")), ("second.test", A): Answer(a("198.18.0.11"))}
    with Lan(2) as lan, LyingServer(answers) as names:
        first = lan.sink(ground.directory("first"), 10, "-w", "3")  # seconds before it answers DATA
        second = lan.sink(ground.directory("second"), 11)
        with first, second:
            sender = node(settings=f'dns_server = "{names.dns_server}"\nlog_level = debug\n'
                          'class "first.test" { queue = 1 refuse = 1 }\nclass "second.test" { queue = 5 refuse = 5 }\n'
                          'class "*" { queue = 5 refuse = 5 }\n')
            mail = Mail(sender)
            mail.put("a@one.test")
            wait_for_counts(sender, "0+1 0+0 0+0")
            mail.put("b@two.test")
            mail.put("c@one.test")
            event = sender.log.wait("delivered", to="b@two.test")
            assert "second.test" in str(event), event
            assert "has all its 1 sessions" in sender.log.wait("deferred", to="c@one.test")["text"]
            sender.wait_empty()
            assert {to for recipients, _ in first.transactions() for to in recipients} == {"a@one.test", "c@one.test"}
            assert [to for recipients, _ in second.transactions() for to in recipients] == ["b@two.test"]
            wait_for_no_trigger(sender)


def test_postfix_is_not_overrun(sender, hops, ground):
    """A hundred messages to as many domains, by a hop that is slow."""
    with Sink(ground.directory("sink"), address="127.0.1.71") as sink:
        node = sender('class "127.0.1.71" { queue = 4 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n',
                      routes=[f".sink.test:127.0.1.71;{sink.port}"])
        for number in range(100):
            deliver(node, f"u@n{number}.sink.test", TEXT)
        node.wait_empty()
        assert len(sink.files()) == 100
        assert max(int(event["out"]) for event in node.log.find("class_decided", direction="out", result="counted",
                                                                  server="127.0.1.71")) <= 4


# --- processes that end, reloads ---

@pytest.mark.parametrize("program", ("remote", "send"))
def test_the_places_of_a_killed_process_are_free_within_a_second(sender, hops, program):
    """At every moment: while sessions stand, while mail waits, and while it is let go."""
    hop = hops["customer.fr"]
    node = sender('class "*.customer.fr" { queue = 2 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops)
    mail = Mail(node)
    for _ in range(10):
        mail.send("customer.fr")
    wait_until(lambda: waits(node, "*.customer.fr") == 8, "eight wait")
    for number in range(5):
        pid = node.pids(program)[-1]
        if number >= 2:
            hop.let_go()  # it ends while places are given
        os.kill(pid, signal.SIGKILL)
        begin = time.monotonic()
        mark = node.log.mark()
        node.log.wait("process_ended", program=program, pid=pid)
        wait_until(lambda: told(node)["*.customer.fr"]["out"] <= 2, "the places are right", 1)
        assert time.monotonic() - begin < 1.5
        node.log.wait("process_started", since=mark - 1 if mark else mark, program=program)
        wait_until(lambda pid=pid: node.pids(program) and node.pids(program)[-1] != pid, "another one runs")
        wait_until(lambda: counts(node) == "0+2 0+0", "the next ones have the places", 60)
    hop.let_all_go()
    node.wait_empty()
    wait_for_counts(node, "0+0 0+0")
    wait_for_no_trigger(node)


def test_kills_at_random_moments(sender, hops):
    """remote dies again and again while a burst goes through few places: in the end all is delivered,
    and no place is lost."""
    hop = hops["customer.fr"]
    hop.is_held = False
    node = sender('class "*.customer.fr" { queue = 2 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops)
    addresses = [f"u{number}@n{number % 20}.customer.fr.test" for number in range(120)]
    for number, address in enumerate(addresses):
        deliver(node, address, TEXT)
        if number % 15 == 14:
            node.kill_and_wait("remote")
            assert told(node)["*.customer.fr"]["out"] <= 2
    node.wait_empty(120)
    assert set(hop.order) == set(addresses)
    wait_for_counts(node, "0+0 0+0")
    wait_for_no_trigger(node)


def test_a_reload_counts_standing_sessions_anew(sender, hops):
    """And lets go what waited for a class that is gone, or is larger."""
    hop = hops["customer.fr"]
    small = 'class "*.customer.fr" { queue = 2 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n'
    node = sender(small, hops)
    mail = Mail(node)
    for _ in range(6):
        mail.send("customer.fr")
    wait_until(lambda: waits(node, "*.customer.fr") == 4, "four wait")

    before = node.settings.removesuffix(small)

    def reload_with(classes):
        node.settings = before + classes
        node.write_configuration()
        node.reload()

    reload_with(small.replace("queue = 2", "queue = 3"))
    wait_for_counts(node, "0+3 0+0")
    wait_until(lambda: waits(node, "*.customer.fr") == 3, "three wait")
    reload_with(BY_ADDRESS.replace('"*" { queue = 1', '"*" { queue = 5'))
    wait_for_counts(node, "0+0 0+5")
    wait_until(lambda: waits(node, "*") == 1, "one waits")
    assert list(node.trigger_files()) == ["class.[any]"]
    reload_with("")
    wait_until(lambda: len(hop.order) == 6, "all have a session")
    assert told(node) == {}
    reload_with(small)
    wait_for_counts(node, "0+6 0+0")
    hop.let_all_go()
    node.wait_empty()
    wait_for_counts(node, "0+0 0+0")
    wait_for_no_trigger(node)
    assert not node.log.find("process_error")


def test_an_operator_releases_what_waits(sender, hops):
    """It is tried at once, and waits again if there is no place."""
    hop = hops["customer.fr"]
    node = sender('class "*.customer.fr" { queue = 1 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops)
    mail = Mail(node)
    for _ in range(4):
        mail.send("customer.fr")
    wait_until(lambda: waits(node, "*.customer.fr") == 3, "three wait")
    subprocess.run([*as_user(), os.path.join(node.programs, "stagepost"), "trigger", "release",
                    trigger_of("*.customer.fr"), "-c", node.conf], check=True, timeout=PATIENCE)
    node.log.wait("trigger_released", trigger="class.[any].customer.fr")
    wait_until(lambda: waits(node, "*.customer.fr") == 3, "three wait again")
    assert counts(node) == "0+1 0+0" and hop.most == 1
    hop.let_all_go()
    node.wait_empty()
    assert hop.most == 1


def test_what_waits_costs_nothing(sender, hops):
    """No process is busy meanwhile."""
    node = sender('class "*.customer.fr" { queue = 1 refuse = 8 }\nclass "*" { queue = 50 refuse = 50 }\n', hops)
    mail = Mail(node)
    for _ in range(10):
        mail.send("customer.fr")
    wait_until(lambda: waits(node, "*.customer.fr") == 9, "nine wait")

    def used():
        total = 0
        for program in "send", "remote", "queue":
            for pid in node.pids(program):
                with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                    total += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
        return total / os.sysconf("SC_CLK_TCK")

    def is_calm():
        before, begin = used(), time.monotonic()
        wait_until(lambda: time.monotonic() - begin > 3, "three seconds pass")
        return used() - before < 0.3

    wait_until(is_calm, "nobody works for three seconds")  # the end of what came before may be in the first ones
    mark = node.log.mark()
    assert is_calm()
    assert not node.log.find("deferred", since=mark) and not node.log.find("class_decided", since=mark, direction="out")
