# SPDX-License-Identifier: ISC
"""stagepost-first-day(7), "a mail server for a company", from the package to the first message and beyond: each command
is run as it is printed, on a machine that was booted for it, in the order of the page. Its names have a meaning in the
network of the test, where other companies' servers are, too."""

import contextlib
import imaplib
import re
import shutil
import smtplib
import socket
import ssl
import tempfile
import threading
import time

import pytest
from company import MACHINE, PASSWORDS, Company, World, sections
from packages import INSTALLING, NEXT, VERSION
from stagepost import PATIENCE, is_root

SECTIONS = sections()
FOLDERS = {"Upgrade": NEXT}  # of the packages that a section speaks of
ADDED = {"A smart host"}  # sections whose text is added to the file
NAME = "mail.example.com"

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can boot a machine")


def typed_for(command):
    """What is typed there, by prompt."""
    user = next((user for user in PASSWORDS if f"{user}@" in command), "")
    if "doveadm pw" in command:
        return [("password: ", PASSWORDS[user])] * 2
    if "--auth-user" in command or "--user ann" in command:
        return [("(?i)password.*: ?$", PASSWORDS[user])]
    return [(r"\[Y/n\] $", "y")] if command.startswith("apt ") else [(r"\? \[y/N\] $", "y")]


class Day:
    """Goes through the page: each section once, those before it first."""

    def __init__(self, ground):
        self.world = World(ground, SECTIONS["Names"][0].text)
        self.machine = Company(tempfile.mkdtemp(prefix="stagepost-company-"))
        self.before = ""  # what a shell has been told that also counts for its later commands
        self.done = {}  # section: [(command, exit status, what it said)]
        try:
            self.machine.make()
            self.machine.boot()
            self.machine.connect()
            self.prepare()
        except BaseException:
            self.close()
            raise

    def prepare(self):
        self.machine.apt("install", "ca-certificates")  # which the package recommends
        self.machine.answer(mailer_type="Local only", mailname="example.com", root_recipient="")
        self.machine.bring(VERSION)
        self.machine.bring(NEXT)

    def trust(self, issued=0):
        """The machine knows the authority, which has ISSUED certificates for it."""
        shutil.copy(self.world.authority, self.machine.root + "/usr/local/share/ca-certificates/tests.crt")
        self.machine.run("update-ca-certificates", timeout=120)  # Debian's own, with openssl for each
        for _ in range(issued):
            self.machine.give(self.world.issue())

    def reach(self, section):
        """What the commands of SECTION said."""
        for name in SECTIONS:
            if name not in self.done:
                self.done[name] = []  # once, also if it fails
                self.before = ""
                BEFORE.get(name, lambda day: None)(self)
                self.done[name] = [self.take(step) for step in SECTIONS[name]]
            if name == section:
                return self.done[name]
        raise AssertionError(f"the page has no section {section}")

    def take(self, step):
        if not step.prompt:
            self.write(step)
            return step.text, 0, ""
        if step.prompt == "$":
            status, said = self.world.do(step.text, typed_for(step.text))
        else:
            folder = f"/root/packages/{FOLDERS.get(step.section, VERSION)}" if step.text.startswith("apt ") else "/"
            if "--allow-downgrades" in step.text:
                folder = f"/root/packages/{VERSION}"
            if step.text.startswith("umask "):
                self.before = f"{step.text} && "
            status, said = self.machine.do(self.before + step.text, folder, typed_for(step.text),
                                           INSTALLING if step.text.startswith("apt ") else 3 * PATIENCE)
        print(f"{step.prompt} {step.text}\n{said}[{status}]")
        assert status in MAY.get(step.text.split()[0], (0,)), f"{step.text}: {status}: {said}\n{self.machine.status()}"
        return step.text, status, said

    def write(self, step):
        if step.section == "Names":
            return  # it is served
        path = self.machine.root + step.path
        with open(path, "a" if step.section in ADDED else "w", encoding="utf-8") as file:
            file.write(step.text)

    def close(self):
        with contextlib.suppress(AttributeError):
            self.machine.end()
        self.world.close()

    # --- clients ---

    def context(self):
        return ssl.create_default_context(cafile=self.world.authority)

    def serial(self):
        """Of the certificate at port 465."""
        with socket.create_connection((MACHINE, 465), PATIENCE) as plain, \
                self.context().wrap_socket(plain, server_hostname=NAME) as client:
            return client.getpeercert()["serialNumber"]

    def login(self, user, password=None):
        client = smtplib.SMTP_SSL(NAME, 465, timeout=PATIENCE, context=self.context())
        client.login(f"{user}@example.com", password or PASSWORDS[user])
        return client

    def inbox(self, user):
        """The texts of all messages there."""
        with imaplib.IMAP4_SSL(NAME, timeout=PATIENCE, ssl_context=self.context()) as client:
            client.login(f"{user}@example.com", PASSWORDS[user])
            client.select("INBOX", readonly=True)
            _, (numbers,) = client.search(None, "ALL")
            return [client.fetch(number.decode(), "(RFC822)")[1][0][1].decode() for number in numbers.split()]

    def arrives(self, text, *users):
        for user in users:
            try:
                self.machine.wait(lambda u=user: any(text in one for one in self.inbox(u)), f"{text} for {user}")
            except AssertionError as why:
                raise AssertionError(self.machine.journal()[-3000:]) from why

    def send(self, to, text, port=25, sender="stranger@example.net"):
        with smtplib.SMTP(MACHINE, port, timeout=PATIENCE) as client:
            client.sendmail(sender, [to], f"From: {sender}\nTo: {to}\nSubject: {text}\n\n{text}\n")


MAY = {"swaks": (0, 24)}  # other exit statuses than 0, by command. swaks: no recipient was accepted
BEFORE = {}  # what has to be so before a section


@pytest.fixture(name="day", scope="module")
def fixture_day(ground):
    made = Day(ground)
    with pytest.MonkeyPatch.context() as patch:
        real = socket.getaddrinfo
        patch.setattr(socket, "getaddrinfo", lambda host, *more, **named: real(
            MACHINE if host == NAME else host, *more, **named))
        try:
            yield made
        finally:
            made.close()


def test_packages(day):
    """It runs, and listens to this machine alone."""
    day.reach("Packages")
    assert "All processes are ready" in day.machine.status()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((MACHINE, 25), PATIENCE)


def test_certificate(day):
    """By both programs; the hook is asked again at each renewal."""
    day.reach("Certificate")
    [key] = day.machine.run("stat", "-c", "%U:%G %a", f"/etc/stagepost/tls/{NAME}.key").stdout.splitlines()
    assert key == "root:stagepost-keys 640"


def test_dovecot_has_what_stagepost_needs(day):
    day.reach("Dovecot")
    sockets = day.machine.run("stat", "-c", "%n %U %a", "/run/dovecot/lmtp-stagepost", "/run/dovecot/auth-stagepost")
    assert sockets.stdout.splitlines() == ["/run/dovecot/lmtp-stagepost stagepost-lmtp 600",
                                           "/run/dovecot/auth-stagepost stagepost-auth 600"]


def test_stagepost_serves(day):
    *_, (_, _, status) = day.reach("Stagepost")
    assert "All processes are ready" in status
    day.serial()


def test_a_renewed_certificate(day):
    """Taken up by both, without another command."""
    day.reach("Stagepost")
    before = day.serial()
    day.machine.give(day.world.issue())
    day.machine.run("certbot", "renew")
    day.machine.wait(lambda: day.serial() != before, "the new certificate", PATIENCE)
    with imaplib.IMAP4_SSL(NAME, timeout=PATIENCE, ssl_context=day.context()) as client:
        assert client.sock.getpeercert()["serialNumber"] == day.serial()


def test_users(day):
    *_, (_, status, said) = day.reach("Users")
    assert "warning" not in said and "error" not in said
    assert "warning" not in day.machine.do("stagepost check")[1]
    for user in PASSWORDS:
        with day.login(user):
            pass
    with pytest.raises(smtplib.SMTPAuthenticationError):
        day.login("ann", "wrong")
    day.machine.run("sendmail", "root", data="Subject: of the machine\n\nof the machine\n")
    day.arrives("of the machine", "ann")


def test_the_first_message(day):
    steps = day.reach("The first message")
    strangers, refused, read, sent, _, _ = [said for _, _, said in steps]
    assert "250 2.0.0" in strangers
    assert re.search("^<[*~*]*.* 5[0-9][0-9] ", refused, re.M), refused
    assert "This is a test mailing" in read
    assert "235" in sent and "250 2.0.0" in sent
    day.world.friend.maildir("friend@example.net").wait(1)
    journal = day.machine.do(steps[-1][0])[1]  # that it has arrived is known now
    number = re.search(r"event=delivered id=(\S+) .* to=friend@example.net", journal)[1]
    trace = f"journalctl --unit stagepost --output cat | stagepost trace {number}"
    assert "delivered to <friend@example.net>" in day.machine.do(trace)[1]
    with day.login("ann") as client, pytest.raises(smtplib.SMTPSenderRefused):
        client.sendmail("bob@example.com", ["friend@example.net"], "Subject: forged\n\nx\n")


def test_aliases_a_list_and_the_rest(day):
    *_, (_, _, said) = day.reach("Aliases, a list, and the rest")
    assert "ann@example.com" in said and "bob@example.com" in said
    for to, users in (("info", ("ann", "bob")), ("sales", ("bob",)), ("anybody-else", ("bob",))):
        day.send(f"{to}@example.com", f"for {to}")
        day.arrives(f"for {to}", *users)
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        day.send("staff@example.com", "not for members only")
    with day.login("bob") as client:
        client.sendmail("bob@example.com", ["staff@example.com"],
                        "From: bob@example.com\nTo: staff@example.com\nSubject: for staff\n\nfor staff\n")
    day.arrives("for staff", "ann", "bob")


def test_a_customers_domain(day):
    """Waits while the customer's server is away."""
    day.reach("A customer's domain")
    day.world.customer.stop()
    day.send("boss@customer.example", "for the customer")
    day.machine.wait(lambda: "boss@customer.example" in day.machine.run("mailq").stdout, "it waits")
    day.world.customer.start()
    day.machine.run("stagepost", "queue", "retry", "--all", "--yes")
    [stored] = day.world.customer.maildir("boss@customer.example").wait(1)
    assert b"for the customer" in stored


def test_a_smart_host(day):
    """By a login at it; the customer's mail does not go there."""
    day.reach("A smart host")
    with day.login("ann") as client:
        for to in "friend@example.net", "boss@customer.example":
            client.sendmail("ann@example.com", [to], f"From: ann@example.com\nTo: {to}\nSubject: by which way\n\nx\n")
    by_relay = day.world.relay.log.wait("delivered", to="friend@example.net")
    assert by_relay["from"] == "ann@example.com"
    day.world.relay.log.wait("auth_accepted", user="example.com")
    day.machine.wait(lambda: any(b"by which way" in text for text in
                                 day.world.customer.maildir("boss@customer.example").messages()), "the customer's")
    assert not day.world.relay.log.find("delivered", to="boss@customer.example")


def test_monitoring(day):
    active, stats, running, status = [said for _, _, said in day.reach("Monitoring")]
    assert active == "active\n"
    assert stats.startswith("QUEUE OK: ") and stats.count("\n") == 1
    assert re.search(r"^[0-9]+ processes: ok$", running, re.M)
    assert "Status: \"All processes are ready\"" in status


def keep_waiting(day):
    """A message waits, whose domain's server is away."""
    day.world.customer.stop()
    day.send("boss@customer.example", "from before the backup")
    day.machine.wait(lambda: "boss@customer.example" in day.machine.run("mailq").stdout, "it waits")


def numbers_of(machine):
    """{user: number}"""
    return {line.split(":")[0]: line.split(":")[2] for line in machine.run("getent", "passwd").stdout.splitlines()}


def change_machine(day):
    """To one whose users have other numbers."""
    old = day.machine
    numbers = numbers_of(old)
    old.disconnect()
    day.machine = Company(tempfile.mkdtemp(prefix="stagepost-company-"), before=("printer", "backup-agent", "monitor"))
    day.machine.make()
    for name in "stagepost", "mail":
        shutil.copy(f"{old.root}/mnt/{name}.tar.gz", day.machine.root + "/mnt")
    old.end()
    day.machine.boot()
    day.machine.connect()
    day.prepare()
    for step in SECTIONS["Packages"]:
        day.take(step)
    day.trust()
    others = numbers_of(day.machine)
    assert numbers["stagepost"] != others["stagepost"] and numbers["stagepost-keys"] != others["stagepost-keys"]


BEFORE.update({
    "Certificate": lambda day: day.trust(3),  # certificates are asked for three times
    "A smart host": lambda day: day.world.start_relay(),
    "Backup": keep_waiting,
    "Restore on other hardware": change_machine,
})


def test_backup(day):
    day.reach("Backup")
    day.serial()
    modes = day.machine.run("stat", "-c", "%a", "/mnt/stagepost.tar.gz", "/mnt/mail.tar.gz").stdout
    assert modes == "600\n600\n"


def test_restore_on_other_hardware(day):
    """What waited goes, once it is released; users, passwords and mail are there."""
    day.reach("Restore on other hardware")
    day.arrives("for staff", "ann", "bob")
    day.world.customer.start()
    day.machine.run("stagepost", "queue", "retry", "--all", "--yes")
    day.machine.wait(lambda: any(b"from before the backup" in text
                                 for text in day.world.customer.maildir("boss@customer.example").messages()),
                     "what waited goes")
    for user in PASSWORDS:
        with day.login(user):
            pass
    day.send("info@example.com", "on the new machine")
    day.arrives("on the new machine", "ann", "bob")
    status, said = day.machine.do("stagepost check && stagepost check --running")
    assert status == 0 and "warning" not in said, said


def test_maintenance(day):
    """Nobody connects while it drains; afterwards it is as before."""
    said = day.reach("Maintenance")
    assert "The queue is empty" in said[0][2] and "Mail is taken in again" in said[-1][2]
    day.send("info@example.com", "after the maintenance")
    day.arrives("after the maintenance", "ann", "bob")


class Callers:
    """Connect all the time, and are greeted."""

    def __init__(self):
        self.refused, self.greeted, self.is_over = [], 0, threading.Event()
        self.thread = threading.Thread(target=self.call)
        self.thread.start()

    def call(self):
        while not self.is_over.is_set():
            try:
                with socket.create_connection((MACHINE, 25), 60) as client:
                    assert client.recv(4) in (b"220 ", b"421 ")
                self.greeted += 1
            except (OSError, AssertionError) as why:
                self.refused.append(repr(why))
            time.sleep(0.01)

    def stop(self):
        self.is_over.set()
        self.thread.join()
        assert self.greeted > 100 and not self.refused, (self.greeted, self.refused[:3])


def test_upgrade(day):
    """And back; no connection is refused."""
    day.reach("Maintenance")
    callers = Callers()
    try:
        said = day.reach("Upgrade")
    finally:
        callers.stop()
    assert f"Setting up stagepost ({NEXT})" in said[0][2] and f"Setting up stagepost ({VERSION})" in said[3][2]
    assert "All processes are ready" in said[1][2] and "processes: ok" in said[2][2]
    assert day.machine.version() == VERSION
    day.send("info@example.com", "after going back")
    day.arrives("after going back", "ann", "bob")
