# SPDX-License-Identifier: ISC
"""Each process of a node with a separate user for each is taken over in turn by an attacker who
knows all our protocols and has its user, groups, sandbox and descriptors (taken.py). The attacker
sends messages of the wrong size, order or identity, replays and floods, keeps descriptors,
signals, and damages what he shares, while honest mail flows through the others. No mail that the
process does not handle is lost, changed or seen, the others stay within their limits, and the log
names the attacker. A third of the clients use STARTTLS, and mail goes out with TLS past an impostor,
who gets none but by an attacker who has mail for that domain, or its policy."""

import contextlib
import itertools
import json
import os
import random
import shutil
import tempfile
import time

import pytest
import slapd
from directory_tls import settings_of
from freeze_mail import MEMBERS, expanded, sender_of
from inside import NEEDS, PROCESSES, USERS
from records import Records
from postgresql import SCHEMA, several
from scene import SENDERS, Scene
from tls_in import HOST
from slapd import BASE, START, Slapd, person
from smtp import Client
from stagepost import free_port, wait_until
from taken import CROWDED, FORGED, Taken
from taken_judge import (FILED, OPENED, PEACE, SPARES, Watch, corrupt_wrongly, delayed, has_key, leaks,
                         lost_wrongly, names)
from test_check_running import check
from common.holdings import all_queued
from common.ledger import MARK, Generator, Ledger, judge, make_named_message
from common.record import record

SECONDS = float(os.environ.get("INSIDE_SECONDS", "5"))  # for each process
SEED = int(os.environ.get("INSIDE_SEED", str(random.randrange(1 << 30))))
PROGRAMS = os.environ.get("INSIDE_PROGRAMS", "smtpd qmtpd names remote lmtp local pipe list resolve directory "
                          "send queue launch keys policy auth mailbox decode handover noded").split()
SIZES = (100, 2000, 3000, 8000, 40000, 150000)
COMPLAINTS = ("ipc_refused", "helper_lost", "connect_refused", "helper_refused", "queue_refused",
              "directory_refused", "directory_lost", "directory_strange", "process_said", "process_silent",
              "log_flood", "control_flood")
COMPLAINTS_A_SECOND = 10  # one of each name in each process that he talks to
COMPLAINTS_AT_ONCE = 250
JOBS, SESSIONS = 8, 40  # concurrency of a service, maxsessions
# What one may have at once, of what he asks for without end.
BOUNDS = {"jobs": JOBS, "programs": JOBS, "numbers": 8192, "connections to queue": 4 * 8,
          "connections to send": 64, "connections to launch": 8, "connections to names": 256,
          "connections to keys": 256, "connections to decode": 256, "connections to decode2": 256, "connections to policy": 64, "connections to auth": 256,
          "connections to others": 0, "recipients": CROWDED - 1,
          "times manager of the queue": 0}
OTHER_BOUNDS = {"smtpd": {"numbers": 2 * SESSIONS // 2 + 4 * 128},
                "qmtpd": {"numbers": 2 * SESSIONS + 1024}, "send": {"recipients": 1}}
# Of triggers that he names, whose they are.
TRIGGERS = {"directory": ("resolve", "list", "directory"), "host.x": ("remote",),
            "pipe.run.x": ("pipe", "launch")}
MADE_UP = {"probe", "thief", "anna", "a>"}  # recipients
LEAST_MAIL = 2  # of all, while no address is known
LEAST = 20  # acts, that he be worth his time: each kind once
LONGER = 60  # seconds that he has for these on a busy machine
QUIET = 15  # and what can be delivered is, at the latest
MOST = 0.8  # of the mail, which is decoded while "decode" is in his hands
STILL = 3  # after so long without a change in the queue, all that can be is

# So that those who count sessions, and "send", who looks, have rows of each other.
COUNTED = 'class "*" { queue = 1000 refuse = 1000 }\n'

LDAP = """directory {{
  backend = ldap path = "{path}" url = {{ "{url}" }} base = "{base}" bind_dn = "{reader}"
  password_file = "{password}" map = {{ "domain.service='maildir'" }}
}}
"""

pytestmark = NEEDS


class Load(Generator):
    """Honest mail to each kind of recipient, by TCP and by the UNIX listener, and, where there are
    users, from one of them; he mistypes his password each time."""

    def __init__(self, scene, ledger, seed, extra):
        self.extra = extra  # an address of the directory's, in place of a list
        listener = listener_of(scene.mx)
        ways = [lambda: Client(scene.mx, timeout=5), lambda: Client(scene.mx, timeout=5, path=listener),
                lambda: scene.client(timeout=5), lambda: scene.listeners.qmtp(timeout=5)]
        if scene.listeners.has_logins:
            ways.append(lambda: scene.listeners.submission(tries=1, timeout=5))
        self.ways = itertools.cycle(ways)
        self.by_path = 0  # messages
        self.wanted = None  # of the ways below, which most of them go
        super().__init__(ledger, self._connect, None, connections=4, pause=0.02, seed=seed)

    def _connect(self):
        try:
            return next(self.ways)()
        except (LookupError, ValueError) as answer:  # of who has taken smtpd over
            raise ConnectionError(str(answer)) from None

    def _send(self, client, source):
        number = self.next_number()
        message, sha256 = make_named_message(number, source, SIZES)
        ways = [f"box{number}@a.test", f"u{number}@b.test", f"u{number}@l.test",
                f"u{number}@p.test", f"u{number}@m.test", self.extra or "list@d.test"]
        if client.path is not None:  # it may not relay
            self.by_path += 1
            ways.remove(f"u{number}@b.test")
        recipients = source.choice((*([way] for way in ways), ways[:3]))
        if self.wanted is not None and source.random() < MOST:
            recipients = [way for way in ways if way.endswith(self.wanted)]
        self.ledger.write("begun", number, sha256=sha256, recipients=expanded(recipients))
        try:
            self.send_whole(client, number, sender_of(number), recipients, message)
        except (AssertionError, LookupError, ValueError) as answer:  # of who has taken smtpd over, or what it asks
            raise ConnectionError(str(answer)) from None


def listener_of(mx):
    """Where it listens besides its port."""
    return f"{mx.run}/listener"


def make_scene(node, secure, directory, processes=PROCESSES, logins=False):
    """A node with every way out and bounds that can be reached, not started."""
    bounds = f"smtpd_workers = 2\nmaxsessions = {SESSIONS}\nspares = {SPARES}\n" + "".join(
        f"transport {name} {{ concurrency = {JOBS} destination_concurrency = 1000 }}\n"
        for name in ("box", "run", "maildir", "remote", "list", "once"))
    made = Scene(node, processes + directory + COUNTED, start=False, secure=secure, switch_user=True,
                 logins=logins)
    made.mx.settings = made.mx.settings.replace("smtpd_workers = 1\n", bounds).replace(
        "service run { kind = pipe", 'service run { kind = pipe user = "www-data"')
    made.mx.settings += f'listen smtp {{ address = "unix:{listener_of(made.mx)}" }}\n'
    if secure and directory:  # others may hand mail over to it, and it might to them
        files = made.secure.certificates.directory
        made.mx.settings += (f'node {{ listen = "127.0.0.1:{free_port()}" {settings_of(files, HOST)} }}\n'
                             f'service elsewhere {{ kind = maildir path = "{made.mx.mail}/%u" nodes = others }}\n')
    made.mx.write_configuration()
    if processes:
        shutil.chown(made.mx.mail, USERS["local"])
        shutil.chown(made.policies, USERS["policy"])
        for path in f"{made.filed}/mail", f"{made.filed}/record":
            shutil.chown(path, USERS["mailbox"])
    return made


@pytest.fixture
def scene(node, ground, secure_way):
    data = ground.directory("data")
    shutil.chown(data, USERS["directory"])
    made = make_scene(node, secure_way, f'directory {{ path = "{data}/directory.db" }}\n',
                      logins=True)
    made.mx.start()
    with Records(made.mx) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        for member in (*MEMBERS, "owner@d.test"):
            records.put("address", member, "kind mailbox")
        records.list("list@d.test", MEMBERS, "owner@d.test")
    yield made
    made.close()


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="stagepost-ledger-") as directory:
        made = Ledger(os.path.join(directory, "ledger"))
        yield made
        made.close()


def hold(scene, ledger, program, seed, least, end, is_named):
    """One process from its start to its end, or until END, LEAST acts and IS_NAMED(who took it over): who
    took it over, what he did."""
    mx = scene.mx
    (pid, *_) = mx.pids(program)
    mark = mx.log.mark()
    begun = max(ledger.known, default=0)
    taken = Taken(mx, program, pid, seed)
    taken.keys = [scene.secure.key_id(HOST)]
    taken.span = begun, max(ledger.known, default=0)  # by now it has stopped
    watch = Watch(mx, pid)
    try:
        while is_on(end, taken, least, is_named) and taken.act():
            taken.acts += 1
            if taken.acts % 20 == 0:
                watch.look()
    finally:
        taken.release()
    # he may have asked for a successor before
    wait_until(lambda: mx.log.find("process_ended", since=mark, pid=pid) or
               mx.log.find("process_stopped", since=mark, pid=pid), f"{program} has ended")
    wait_until(lambda: mx.log.find("process_started", since=mark, program=program) and
               pid not in mx.pids(program) and mx.pids(program), f"{program} runs again")
    return taken, watch


def is_on(end, taken, least, is_named):
    """On a busy machine it takes LONGER until he has done enough to be noticed."""
    now = time.monotonic()
    return now < end or (now < end + LONGER and (
        not taken.is_heard or taken.acts < least or not is_named(taken)))


def complaints(mx, mark):
    return [event for event in mx.log.read()[mark:] if event["event"] in COMPLAINTS]


def complaints_since(mx, mark, lives):
    """Those in the log; what is written last comes a moment later."""
    end = time.monotonic() + 10
    while True:
        found = complaints(mx, mark)
        if any(names(one, taken) for one in found for taken in lives) or time.monotonic() > end:
            return found
        time.sleep(0.05)


def take_over(scene, ledger, program, seed, bounds):
    """What went wrong. Who ends at once what he has taken over is let have the next one."""
    mx = scene.mx
    mark = mx.log.mark()
    since = max(ledger.known, default=0)
    scene.listeners.misjudged.clear()
    end = time.monotonic() + SECONDS
    lives, watch, acts = [], None, 0
    is_named = lambda taken: any(names(one, taken) for one in complaints(mx, mark))
    while not lives or time.monotonic() < end or (acts < LEAST and time.monotonic() < end + LONGER):
        taken, watch = hold(scene, ledger, program, f"{seed} {len(lives)}", LEAST - acts, end, is_named)
        lives.append(taken)
        acts += taken.acts
    until = max(ledger.known, default=0)
    seconds = SECONDS + max(0, time.monotonic() - end)
    found = complaints_since(mx, mark, lives)
    problems = [f"{len(found)} complaints in {seconds:.0f} s"] if (
        len(found) > COMPLAINTS_AT_ONCE + COMPLAINTS_A_SECOND * seconds) else []
    if not any(names(one, taken) for one in found for taken in lives):
        problems.append(f"nobody says who misbehaved in {acts} acts: {found[:5]}")
    problems += [f"a line in another's name: {event}" for event in mx.log.read()[mark:]
                 if event.get("id") == FORGED.decode()][:5]
    said = tuple(f" event=process_said program={program} pid={taken.pid} " for taken in lives)
    mx.log.strange = [line for line in mx.log.strange if not any(one in line for one in said)]
    bounds = BOUNDS | OTHER_BOUNDS.get(program, {}) | bounds
    problems += [f"{count} {what} at once, {bounds[what]} allowed" for taken in lives
                 for what, count in taken.most.items() if count > bounds[what]]
    if program not in ("send", "queue"):
        problems += [f"he has set the trigger {name}" for name in sorted(watch.named)
                     if not name.startswith(("host.127", "service.", "host.[127")) and
                     program not in TRIGGERS.get(name, ())]
    if acts < LEAST:
        problems.append(f"only {acts} acts: {[taken.acts for taken in lives]}")
    if program == "decode":
        problems += delayed(mx.log.read()[mark:], lives)
        if not any(taken.asked for taken in lives):
            problems.append("nobody asked him what is in a message")
    problems += [leak for taken in lives for leak in leaks(program, taken, ledger.known)]
    problems += secrets(scene, program, lives)
    return lives, watch, acts, problems, (since, until), found


def secrets(scene, program, lives):
    """What nobody may come by, of keys and of mail for others."""
    number = scene.secure.private_number(HOST)
    if any(has_key(taken, number) for taken in lives):
        yield "he has the private key"
    if program in ("smtpd", "remote") and not any(taken.signed for taken in lives):
        yield "he had nothing signed"
    yield from logins(scene, program, lives)
    opened = scene.open_mail()
    scene.forget_open_mail()
    if opened and program not in OPENED:
        yield f"others have read {opened[:5]}"


def logins(scene, program, lives):
    """Who is whom only they judge whom it is asked; and "smtpd", who tells the client."""
    if scene.listeners.misjudged and program not in ("auth", "smtpd", "directory"):
        yield f"logins were judged wrongly: {scene.listeners.misjudged[:5]}"
    if program == "auth" and not any(taken.vouched for taken in lives):
        yield "nobody asked him who somebody is"
    if program == "auth" and not any(taken.is_served for taken in lives):
        yield "the supervisor connects him to nobody, whoever that is"


def settle(scene):
    deadline = time.monotonic() + PEACE
    while True:
        with contextlib.suppress(OSError):
            with Client(scene.mx, timeout=5) as client:
                if client.deliver("", "probe@a.test", b"Subject: probe\r\n\r\n").startswith("250 "):
                    break
        assert time.monotonic() < deadline, "no mail is taken"
        time.sleep(0.1)
    wait_until_still(scene.mx)


def wait_until_still(mx):
    """What a helper has deferred while he had it is due in minutes: the ledger finds it queued."""
    before, since = None, time.monotonic()
    end = since + QUIET
    while (waiting := mx.control_files()) and time.monotonic() < min(end, since + STILL):
        if waiting != before:
            before, since = waiting, time.monotonic()
        time.sleep(0.1)


def reports(scene):
    folder = os.path.join(scene.mx.mail, SENDERS)
    for box in os.listdir(folder) if os.path.isdir(folder) else ():
        yield from scene.mx.maildir(f"{box}@{SENDERS}").messages()


def is_made_up(recipients, text):
    """Whether it is the probe, or forged: nobody of the ledger is among the recipients. A queued
    message all of whose recipients are done has none."""
    return {to.partition("@")[0] for to in recipients} <= MADE_UP and (
        len(recipients) > 0 or MARK not in text)


def judged(scene, ledger):
    """The node has stopped: what is looked at on its way from the queue to a mailbox is in neither,
    and its file another's."""
    copies = [({to}, text) for to, text, _ in scene.copies()]
    return judge(ledger, [(*to, text) for to, text in copies if not is_made_up(to, text)],
                 [(set(expanded(to)), text) for to, text in all_queued(scene.mx) if not is_made_up(to, text)],
                 reports(scene))


def campaign(scene, ledger, programs, extra=None, least=SECONDS, bounds=None):
    """Each of PROGRAMS in turn: (seconds, what a record says of it, problems, what is corrupt, losses)."""
    mx = scene.mx
    begun = time.monotonic()
    load = Load(scene, ledger, SEED, extra)
    counts = {"processes taken over": 0, "calls": 0, "acts": 0, "complaints in the log": 0}
    problems, spans = [], {}
    try:
        scene.prepare()
        wait_until(lambda: mx.log.find("delivered"), "mail flows")
        for place, program in enumerate(programs):
            load.wanted = FILED if program == "decode" else None
            lives, watch, acts, wrong, span, found = take_over(scene, ledger, program, SEED + place, bounds or {})
            spans[program] = span
            settled = len(ledger.known)
            wait_until(lambda: len(ledger.known) > settled + 10, "mail flows again", PEACE)
            problems += [f"{program}: {one}" for one in (*wrong, *watch.problems())]
            print(f"{program}: {[taken.acts for taken in lives]} acts, {len(found)} complaints, "
                  f"{[taken.most for taken in lives]}, {watch.grown()}, {wrong}, at "
                  f"{time.monotonic() - begun:.0f} s", flush=True)
            counts["processes taken over"] += len(lives)
            counts["acts"] += acts
            counts["calls"] += sum(sum(taken.counts.values()) for taken in lives)
            counts["complaints in the log"] += len(found)
    finally:
        load.stop()
    assert load.by_path > 0, "nobody came by the UNIX listener"
    settle(scene)
    status, out, errors = check(mx, "--json")
    problems += [f"check --running: {line}" for line in out.splitlines()]
    try:
        mx.stop()
    except AssertionError as error:
        problems.append(f"it does not stop as it should: {error}")
    verdict = judged(scene, ledger)
    lost = list(lost_wrongly(verdict, spans))
    if lost:
        print(f"spans: {spans}; lost: {lost}")
    corrupt = list(corrupt_wrongly(verdict, spans))
    assert verdict.accepted > least * len(programs), "the load was too small to mean anything"
    assert (status, errors) == (0, "") or problems
    counts = {**counts, "messages answered 250": verdict.accepted,
              "recipients delivered": verdict.delivered, "recipients that wait": verdict.queued,
              "lost by the process that had them": len(verdict.lost) - len(lost), "lost": len(lost),
              "changed or invented by the process that had them": len(verdict.corrupt) - len(corrupt),
              "corrupt": len(corrupt), "bounds, leaks and silences": len(problems)}
    return time.monotonic() - begun, counts, problems, corrupt, lost


def conclude(said, capsys, name, title):
    seconds, counts, problems, corrupt, lost = said
    line = record(name, title=title, what=__doc__.replace("\n", " "), command="make inside",
                  seconds=seconds, filesystem="ext4", counts=counts,
                  zero=("lost", "corrupt", "bounds, leaks and silences"))
    with capsys.disabled():
        print(f"\n  INSIDE_SEED={SEED} {line}")
    assert not problems, "\n".join(problems)
    assert not corrupt, corrupt[:20]
    assert not lost, lost[:20]


def test_each_process_in_turn(scene, ledger, capsys):
    said = campaign(scene, ledger, PROGRAMS)
    conclude(said, capsys, "inside", "Processes that are taken over")


def test_with_one_user(node, secure_way, ledger, capsys):
    """All processes have the same user, as by default: only a token tells who somebody is."""
    made = make_scene(node, secure_way, "", processes="")
    with contextlib.closing(made):
        made.mx.start()
        # the directory is read by everybody here, and what "queue" grants is for the user
        said = campaign(made, ledger, ["lmtp", "smtpd"], "ann@a.test", bounds={
            "connections to queue": 8 * (2 + 4 + 2), "numbers": 1 << 20, "recipients": 1 << 20})
    conclude(said, capsys, "inside-one-user", "Processes that share one user are taken over")


def test_with_servers(node, ground, secure_way, ledger, capsys):
    """The one that asks other servers, by their socket."""
    data = ground.directory("records")
    shutil.chown(data, USERS["directory"])
    far = node("far", start=False, domains=(), switch_user=True,
               settings=PROCESSES + f'directory {{ path = "{data}/directory.db" }}\n').start()
    with Records(far) as records:
        records.put("domain", "example.org", "kind local", "service maildir")
        records.put("address", "ann@example.org", "kind mailbox")
    made = make_scene(node, secure_way, "directory { backend = servers "
                      f'servers = "unix:{far.run}/directory" }}\n')
    with contextlib.closing(made):
        made.mx.start()
        said = campaign(made, ledger, ["directory"], "ann@example.org", LEAST_MAIL)
    conclude(said, capsys, "inside-servers", "The relay to other directories is taken over")


def test_with_ldap(node, ground, secure_way, ledger, capsys):
    """The one that follows LDAP servers, with a password for them."""
    path = ground.directory("slapd")
    server = Slapd(os.path.join(path, "one")).load(START + person("ann")).start()
    try:
        data = ground.directory("data")
        with open(f"{data}/password", "w", encoding="ascii") as file:
            file.write(slapd.PASSWORD + "\n")
        for each in data, f"{data}/password":
            shutil.chown(each, USERS["directory"])
        made = make_scene(node, secure_way, LDAP.format(
            path=f"{data}/ldap.db", url=server.url, base=BASE, reader=slapd.READER,
            password=f"{data}/password"))
        made.mx.start().log.wait("ldap_followed")
        with contextlib.closing(made):
            said = campaign(made, ledger, ["directory"], "ann@example.org", LEAST_MAIL)
        conclude(said, capsys, "inside-ldap", "The LDAP directory is taken over")
    finally:
        server.stop()
        shutil.rmtree(path, ignore_errors=True)


def test_with_postgresql(node, ground, secure_way, ledger, capsys):
    with several(ground) as make:
        server = make("a")
        with open(SCHEMA, encoding="utf-8") as schema:
            server.sql(schema.read())
        server.sql("INSERT INTO domain (name, kind, service) VALUES"
                   " ('example.org', 'local', 'maildir');"
                   "INSERT INTO address (address, kind) VALUES ('ann@example.org', 'mailbox')")
        made = make_scene(node, secure_way, "directory { backend = postgresql  database = "
                          f'{{ "{server.conninfo()}" }} }}\n')
        made.mx.start().log.wait("store_connected", role="read")
        with contextlib.closing(made):
            said = campaign(made, ledger, ["directory"], "ann@example.org", LEAST_MAIL)
        conclude(said, capsys, "inside-postgresql", "The PostgreSQL directory is taken over")
