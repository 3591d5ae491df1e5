# SPDX-License-Identifier: ISC
"""Other mail systems file through us: Postfix by pipe(8), mailbox_command and .forward, Exim by its
pipe transport, and both by LMTP. One message for two: each mailbox gets it once, the sender's once."""

import os
import subprocess

import pytest
from exim import Exim
from once import DOUG, LISA, MESSAGE, SCUBA, message, site  # noqa: F401
from peers import Postfix
from smtp import deliver
from stagepost import PATIENCE, USER, free_port, give_to_user, is_root, wait_until

needs_root = pytest.mark.skipif(not is_root(), reason="Postfix starts only as root")
STORED = MESSAGE.replace(b"\r\n", b"\n")


class PipingPostfix(Postfix):
    """With SERVICES in master.cf."""

    def __init__(self, *arguments, services, **settings):
        self.services = services
        super().__init__(*arguments, **settings)

    def start(self):
        with open(os.path.join(self.directory, "etc", "master.cf"), "a", encoding="ascii") as master:
            master.write(self.services)
        super().start()

    def flush(self):
        subprocess.run(["postqueue", "-c", os.path.join(self.directory, "etc"), "-f"], check=True,
                       timeout=PATIENCE)


class PipingExim(Exim):
    """Whose mailboxes are ours: mail for its domain goes to COMMAND."""

    def __init__(self, *arguments, command, **settings):
        self.command = command
        super().__init__(*arguments, **settings)

    def start(self):
        path = os.path.join(self.directory, "exim.conf")
        with open(path, encoding="ascii") as file:
            text = file.read()
        text = text.replace("transport = maildir\n", "transport = once\n").replace(
            "begin transports\n", f"begin transports\nonce:\n  driver = pipe\n  command = {self.command}\n"
            "  return_fail_output\n  timeout = 30s\n  message_suffix =\n")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        super().start()


def check_once(box, *recipients, peer, sent=LISA):
    """Each has the message, once, and so has the sender."""
    places = [(recipient,) for recipient in recipients] + [(sent, "Sent")]
    wait_until(lambda: all(box.files(*place) for place in places), "the message is filed", PATIENCE)
    wait_until(lambda: box.database("SELECT count(*) FROM attempt") == [(0,)], "nothing is being filed", PATIENCE)
    for place in places:
        (copy,) = box.copies(*place).values()
        assert b"\nFrom " not in copy
        assert copy.endswith(STORED.partition(b"\n\n")[2]), copy
    assert box.database("SELECT count(*) FROM message") == [(1,)], peer.log()
    assert set(box.database("SELECT state, count(*) FROM filing GROUP BY state")) == {("filed", len(places))}


@pytest.fixture
def box(site):  # noqa: F811
    return site(more="sent = all", start=False)


@needs_root
def test_postfix_by_pipe(box, ground):
    """Recipients of one message are run at the same time."""
    command = " ".join(box.command("-c", box.mx.conf, "-r", "${recipient}", "-f", "${sender}"))
    with PipingPostfix(ground.directory("postfix"),
                       services=f"mailbox unix - n n - - pipe user={USER} argv={command}\n",
                       more="default_transport = mailbox:\nmailbox_destination_recipient_limit = 1\n") as peer:
        for _ in range(3):
            deliver(peer, [SCUBA, DOUG], MESSAGE, sender=LISA)
        wait_until(lambda: peer.log().count("status=sent") == 6, "all runs are done", PATIENCE)
        check_once(box, SCUBA, DOUG, peer=peer)
        assert f"Return-Path: <{LISA}>\n".encode() in list(box.copies(SCUBA).values())[0]
        deliver(peer, [LISA], message("<4@gmail.test>"), sender="")
        wait_until(lambda: box.files(LISA), "a report is filed", PATIENCE)
        assert b"Return-Path: <>\n" in list(box.copies(LISA).values())[0]
        tmp = os.path.join(box.path(SCUBA), "tmp")
        os.chmod(tmp, 0o500)  # not now
        deliver(peer, [SCUBA], message("<2@gmail.test>"), sender=LISA)
        wait_until(lambda: "status=deferred" in peer.log(), "it is deferred", PATIENCE)
        os.chmod(tmp, 0o700)
        peer.flush()
        wait_until(lambda: len(box.files(SCUBA)) == 2, "it is filed", PATIENCE)
        deliver(peer, ["..@mail.test"], message("<3@gmail.test>"), sender="")  # never
        wait_until(lambda: "status=bounced" in peer.log(), "it is returned", PATIENCE)
        assert "dsn=5.1.3" in peer.log()


LOCAL = "local unix - n n - - local\n"
OWNER = f"{USER}@local.test"


@needs_root
@pytest.mark.parametrize("way", ["mailbox_command", "forward"])
def test_postfix_of_its_local_users(box, ground, way):
    """Who are the user of the configuration, or whose configuration names none. The command knows the
    recipient from the environment."""
    directory = ground.directory("postfix")
    command = " ".join(box.command("-c", box.mx.conf))
    more = "mydestination = local.test\nlocal_transport = local\nmydomain = local.test\nmyorigin = local.test\n"
    if way == "forward":
        path = os.path.join(directory, f"{USER}.forward")
        with open(path, "w", encoding="ascii") as file:
            file.write(f'"|{command}"\n')
        give_to_user(path)
        more += f"forward_path = {directory}/$user.forward\n"
    else:
        more += f"mailbox_command = {command}\n"
    with PipingPostfix(directory, services=LOCAL, more=more) as peer:
        for _ in range(2):
            deliver(peer, [OWNER], MESSAGE, sender=LISA)
        wait_until(lambda: peer.log().count("status=sent") == 2, "both runs are done", PATIENCE)
        check_once(box, OWNER, peer=peer)
        deliver(peer, [OWNER], message("<4@gmail.test>"), sender="")
        wait_until(lambda: len(box.files(OWNER)) == 2, "a report is filed", PATIENCE)
        assert [copy for copy in box.copies(OWNER).values() if b"Return-Path: <>\n" in copy]


@needs_root
def test_postfix_of_users_of_their_own(site, ground):  # noqa: F811
    """By mailbox_transport: local(8) gives up its users' rights before it runs anything for them, so
    that mailbox_command can never file sent mail."""
    box = site(more="sent = all", start=False)
    box.mx.switch_user = True
    box.mx.write_configuration()
    command = " ".join(box.command("-c", box.mx.conf, "-r", "${recipient}", "-f", "${sender}"))
    own = ["daemon@local.test", "games@local.test"]
    more = ("mydestination = local.test\nlocal_transport = local\nmydomain = local.test\n"
            "myorigin = local.test\n")
    service = LOCAL + f"mailbox unix - n n - - pipe user={USER} argv={command}\n"
    with PipingPostfix(ground.directory("postfix"), services=service,
                       more=more + "mailbox_transport = mailbox\n"
                       "mailbox_destination_recipient_limit = 1\n") as peer:
        for _ in range(2):
            deliver(peer, own, MESSAGE, sender=LISA)
        wait_until(lambda: peer.log().count("status=sent") >= 4, "all runs are done", PATIENCE)
        check_once(box, *own, peer=peer)
    command = " ".join(box.command("-c", box.mx.conf))
    with PipingPostfix(ground.directory("other"), services=LOCAL,
                       more=more + f"mailbox_command = {command}\n") as peer:
        deliver(peer, own[:1], message("<2@gmail.test>"), sender=LISA)
        wait_until(lambda: "status=deferred" in peer.log(), "it is deferred", PATIENCE)
        assert "is not run by the user" in peer.log() and "status=bounced" not in peer.log()


def test_exim_by_its_pipe_transport(site, ground):  # noqa: F811
    """It puts nobody's words into a command line: recipient and sender are in the environment."""
    box = site(more="sent = all", start=False, domains=["domain exim.test { service = once }"])
    command = " ".join(box.command("-c", box.mx.conf))
    with PipingExim(ground.directory("exim"), users=("scuba", "doug"), command=command) as peer:
        for _ in range(2):
            deliver(peer, ["scuba@exim.test", "doug@exim.test"], MESSAGE, sender=LISA)
        wait_until(lambda: peer.log().count("Completed") == 2, "all runs are done", PATIENCE)
        assert peer.log().count(" => ") + peer.log().count(" -> ") == 4, peer.log()
        check_once(box, "scuba@exim.test", "doug@exim.test", peer=peer)
        os.chmod(os.path.join(box.path("scuba@exim.test"), "tmp"), 0o500)
        deliver(peer, ["scuba@exim.test"], message("<2@gmail.test>"), sender=LISA)
        wait_until(lambda: " == scuba@exim.test" in peer.log(), "it is deferred", PATIENCE)
        assert len(box.files("scuba@exim.test")) == 1


class Handed:
    """A node that takes mail by LMTP and files it once."""

    def __init__(self, site):  # noqa: F811
        self.port = free_port()
        self.box = site(more="sent = all",
                        settings=f'listen lmtp {{ address = {{ "127.0.0.1:{self.port}" }} }}\n')

    def check(self, peer):
        for _ in range(2):
            deliver(peer, [SCUBA, DOUG], MESSAGE, sender=LISA)
        log = self.box.mx.log
        log.wait("delivered", count=4)
        check_once(self.box, SCUBA, DOUG, peer=peer)
        log.wait("message_filed", count=3)
        log.wait("message_filed_before", count=2)
        assert len(log.find("message_recorded")) == 1 and len(log.find("message_filed")) == 3


@needs_root
def test_postfix_by_lmtp(site, ground):  # noqa: F811
    handed = Handed(site)
    with Postfix(ground.directory("postfix"),
                 more=f"default_transport = lmtp:inet:127.0.0.1:{handed.port}\n"
                      "lmtp_destination_recipient_limit = 1\n") as peer:
        handed.check(peer)


def test_exim_by_lmtp(site, ground):  # noqa: F811
    handed = Handed(site)
    with Exim(ground.directory("exim"), next_port=handed.port,
              client_tls="hosts_avoid_tls = *\n  protocol = lmtp") as peer:
        handed.check(peer)
