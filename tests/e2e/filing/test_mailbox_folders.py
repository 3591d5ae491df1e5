# SPDX-License-Identifier: ISC
"""Folders that cannot be, or are refused: a copy that is filed is delivered whatever happens to others,
a rule's folder becomes the service's, and the sender's copy is nobody's failure."""

import os
import shutil

import pytest
from lying_imap import ImapServer, Wire
from once import DOUG, LISA, SCUBA, Site, message, site  # noqa: F401 (a fixture)
from smtp import deliver
from stagepost import free_port, give_to_user
from test_mailbox_rules import retry

RULE = 'rule lists { detail = "lists" folder = "Lists" }\n'
LISTS = "scuba+lists@mail.test"


# --- Maildirs ---

def as_file(path):
    with open(path, "wb"):
        give_to_user(path)


def as_link(path):
    os.symlink("/nonexistent/folder", path)


def as_loop(path):
    os.symlink(os.path.basename(path), path)


def as_folder_with_a_file(part):
    def make(path):
        os.mkdir(path)
        give_to_user(path)
        as_file(os.path.join(path, part))
    return make


BROKEN = {"a file": as_file, "a dangling link": as_link, "a link to itself": as_loop,
          "tmp is a file": as_folder_with_a_file("tmp"), "new is a file": as_folder_with_a_file("new")}


def prepare(box, address, folder, broken):
    """The mailbox is there, and has something else where FOLDER should be."""
    deliver(box.mx, [address], message("<first@gmail.test>", sender=DOUG), sender=DOUG)
    box.mx.log.wait("message_done")
    BROKEN[broken](box.path(address, folder))


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_folder_of_sent_mail(site, broken):  # noqa: F811
    box = site(more="sent = all", domains=["domain mail.test { service = once }",
                                           "domain gmail.test { service = once }"])
    if broken == "new is a file":
        broken = "tmp is a file"  # sent mail is seen: it never comes to new/
    prepare(box, LISA, "Sent", broken)
    mark = box.mx.log.mark()
    deliver(box.mx, [SCUBA, DOUG], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", since=mark)
    given_up = box.mx.log.wait("sent_given_up", since=mark)
    assert (given_up["mailbox"], given_up["folder"]) == (LISA, "Sent") and given_up["text"]
    assert {told["to"] for told in box.mx.log.find("delivered", since=mark)} == {SCUBA, DOUG}
    assert not box.mx.log.find("deferred")
    assert len(box.files(SCUBA)) == 1
    box.mx.wait_empty()
    assert box.file(message("<2@gmail.test>"), DOUG) == ""  # and for who runs the command


@pytest.mark.parametrize("broken", BROKEN)
def test_a_rules_folder_that_is_broken(site, broken):  # noqa: F811
    box = site(more="sent = none", settings=RULE)
    prepare(box, SCUBA, "Lists", broken)
    mark = box.mx.log.mark()
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", since=mark)
    refused = box.mx.log.wait("folder_refused", since=mark)
    assert (refused["folder"], refused["rule"]) == ("Lists", "lists") and refused["text"]
    assert box.mx.log.wait("message_filed", since=mark)["folder"] == "INBOX"
    assert not box.mx.log.find("deferred")
    # also if it comes again when the folder has been mended
    path = box.path(SCUBA, "Lists")
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    mark = box.mx.log.mark()
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_filed_before", since=mark, folder="INBOX")
    box.mx.log.wait("message_done", since=mark)
    assert len(box.files(SCUBA)) == 2 and not box.files(SCUBA, "Lists")


def test_an_address_whose_folder_is_a_file(site):  # noqa: F811
    """With a service's folder of its own."""
    box = site(more='sent = none detail_folders = yes folder = "In/new"')
    prepare(box, SCUBA, "lists", "a file")
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", count=2)
    assert len(box.files(SCUBA, "In/new")) == 2
    assert box.mx.log.wait("folder_refused")["folder"] == "lists"


@pytest.mark.parametrize("rule", [False, True])
def test_a_folder_has_the_case_of_its_address(site, rule):  # noqa: F811
    """It is decided once for each address, however that is written."""
    box = site(more=f"sent = none detail_folders = {'no' if rule else 'yes'}",
               settings='rule each { detail = "*" folder = "In/%x" }\n' if rule else "")
    folder = "In/Lists" if rule else "Lists"
    for recipients in (["scuba+Lists@mail.test", "SCUBA+LISTS@mail.test"], ["scuba+lists@mail.test"]):
        deliver(box.mx, recipients, message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", count=2)
    assert len(box.files(SCUBA, folder)) == 1 and box.mx.log.wait("message_filed_before")["folder"] == folder
    assert [name for name in os.listdir(box.path(SCUBA)) if "lists" in name.lower()] == [
        "." + folder.replace("/", ".")]


def folders_of(box, address):
    return [name for name in os.listdir(box.path(address)) if name.startswith(".")]


@pytest.mark.parametrize("rule", [False, True])
def test_mail_makes_a_few_folders_a_day(site, rule):  # noqa: F811
    """One message to very many; those beyond go to the service's folder, in which one copy is enough."""
    box = site(more=f"sent = none detail_folders = {'no' if rule else 'yes'}",
               settings='rule each { detail = "*" folder = "In/%x" }\n' if rule else "")
    deliver(box.mx, [f"scuba+f{number}/a/b/c@mail.test" for number in range(300)], message("<1@gmail.test>"),
            sender=LISA)
    box.mx.log.wait("message_done")
    assert len(box.mx.log.find("delivered")) == 300
    assert len(folders_of(box, SCUBA)) == 32 and len(box.files(SCUBA)) == 1
    refused = box.mx.log.wait("folder_refused")
    assert refused["text"] == "32 folders of this mailbox were made by mail within a day"
    # those that are there go on, others' mailboxes, too, and a day later more are made
    known = folders_of(box, SCUBA)[0][1:].replace(".", "/").removeprefix("In/")
    deliver(box.mx, [f"scuba+{known}@mail.test", "doug+new@mail.test"], message("<2@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", count=2)
    assert len(box.files(SCUBA)) == 1 and len(folders_of(box, DOUG)) == 1
    box.database("UPDATE filing SET opened_us = opened_us - 90000000000")
    deliver(box.mx, ["scuba+tomorrow@mail.test"], message("<3@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done", count=3)
    assert len(folders_of(box, SCUBA)) == 33


@pytest.mark.parametrize("part", ["new", "cur", "tmp"])
@pytest.mark.parametrize("flags", ["", "flags = { seen }"])
def test_a_maildir_that_lacks_a_part_is_mended(site, part, flags):  # noqa: F811
    box = site(more=f"sent = none {flags}")
    for number in (1, 2):
        deliver(box.mx, [SCUBA], message(f"<{number}@gmail.test>"), sender=LISA)
        box.mx.log.wait("message_done", count=number)
        if number == 1:
            shutil.rmtree(os.path.join(box.path(SCUBA), part))
    assert not box.mx.log.find("deferred")
    assert os.path.isdir(os.path.join(box.path(SCUBA), part))
    assert len(box.files(SCUBA)) == (1 if part == ("cur" if flags else "new") else 2)


# --- an IMAP server ---

class ImapSite(Site):
    """Whose service "once" is that of SERVER, a lying one."""

    def __init__(self, node, server, more, settings="", record=""):
        super().__init__(node, start=False)
        password = os.path.join(self.mx.directory, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write("secret\n")
        give_to_user(password)
        os.chmod(password, 0o600)
        self.mx.settings = (
            f'service once {{ kind = imap address = "127.0.0.1:{server.port}" security = plain login = "%a" '
            f'password_file = "{password}" {more} }}\n'
            f'record {{ path = "{self.record}" {record} }}\n{settings}')
        self.mx.write_configuration()
        self.mx.start()


@pytest.fixture
def imap(node):
    """A site with an ImapServer that is made with OPTIONS."""
    servers = []

    def make(more="sent = all", settings="", record="", **options):
        servers.append(ImapServer(free_port(), **options).__enter__())
        return ImapSite(node, servers[0], more, settings, record), servers[0]
    yield make
    for server in servers:
        server.__exit__(None, None, None)


REFUSALS = ["NO [CANNOT] no such folder can be", "NO [NOPERM] not you", "NO Invalid mailbox name",
            "NO Permission denied", "NO I do not want to", "BAD what is that"]


@pytest.mark.parametrize("words", REFUSALS)
def test_sent_mail_that_a_server_refuses(imap, words):
    box, server = imap(folders={"Sent": words})
    deliver(box.mx, [SCUBA, DOUG], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert words.split("] ")[-1].split(" ", 1)[-1] in box.mx.log.wait("sent_given_up")["text"]
    assert len(box.mx.log.find("delivered")) == 2 and not box.mx.log.find("deferred")
    assert server.places == ["INBOX"] * 2


@pytest.mark.parametrize("words", REFUSALS[:4])
def test_a_rules_folder_that_a_server_refuses(imap, words):
    box, server = imap("sent = none", RULE, folders={"Lists": words})
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert box.mx.log.wait("folder_refused")["rule"] == "lists"
    assert server.places == ["INBOX"] and not box.mx.log.find("deferred")


@pytest.mark.parametrize("words", ["NO not there", "NO [CANNOT] only below INBOX."])
def test_folders_that_cannot_be_made(imap, words):
    """As without the prefix that the server wants."""
    box, server = imap(settings=RULE, lacks={"Sent", "Lists"}, refuse={"CREATE": words})
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    box.mx.log.wait("sent_given_up")
    assert server.places == ["INBOX"] and not box.mx.log.find("deferred")


def test_a_folder_that_is_missing_is_made_though_nobody_says_trycreate(imap):
    box, server = imap(settings=RULE, lacks={"Sent", "Lists"})
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert sorted(server.places) == ["Lists", "Sent"]


@pytest.mark.parametrize("namespace, sent", [
    ('(("INBOX." ".")) NIL NIL', "INBOX.Sent"), ('(("" "/")) (("Other/" "/")) NIL', "Sent"),
    ('(("Mail/" "/")("#mh/" "/")) NIL NIL', "Mail/Sent"), ("NIL NIL NIL", "Sent")])
def test_the_servers_own_prefix(imap, namespace, sent):
    box, server = imap(namespace=namespace)
    deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert sorted(server.places) == sorted(["INBOX", sent])


@pytest.mark.parametrize("namespace", [
    "", "((", '((""', '(("x" ', '(("INBOX\\', f'(("{"x" * 200}" "/")) NIL NIL', '(("B\xfccher/" "/")) NIL NIL',
    '(({3}\r\nab/ "/")) NIL NIL', '((NIL NIL)) NIL NIL', '(("" NIL)) NIL NIL', '(("" "")) NIL NIL'])
def test_lies_about_namespaces(imap, namespace):
    """What is not understood is no prefix, and holds up nothing."""
    box, server = imap(namespace=namespace or " ")
    deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert sorted(server.places) == ["INBOX", "Sent"]


@pytest.mark.parametrize("words", ["NO [TRYCREATE] make it", "NO [TRYCREATE]", "NO ["])
def test_a_folder_that_is_made_and_is_never_there(imap, words):
    box, server = imap("sent = none", RULE, appends={"Lists": words})
    deliver(box.mx, [LISTS], message("<1@gmail.test>"), sender=LISA)
    if "TRYCREATE" in words:
        box.mx.log.wait("message_done")
        assert server.places == ["INBOX"] and server.commands.count("CREATE") == 1
    else:  # it says nothing: the folder is there, and it waits
        assert box.mx.log.wait("deferred")["status"] == "4.3.0"
        assert server.places == [] and server.commands.count("CREATE") == 0


def test_a_prefix_that_is_written_already(imap):
    box, server = imap('sent = all sent_folder = "INBOX/Sent"', namespace='(("INBOX." ".")) NIL NIL')
    deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
    box.mx.log.wait("message_done")
    assert sorted(server.places) == ["INBOX", "INBOX.Sent"]


# --- a connection that is lost in the middle ---

def as_if_an_hour_had_passed(box):
    box.database("UPDATE attempt SET began_us = began_us - 3600000000")


def appended_to(folder):
    """A message, with all of its bytes."""
    return lambda sent: b'APPEND "%s"' % folder in sent and b"hello\r\n\r\n" in sent


def lost_site(node, until, server, more="sent = all", record=""):
    wire = Wire(free_port(), server.port, until)
    wire.__enter__()
    return ImapSite(node, wire, more, record=record), wire


def test_the_senders_copy_that_was_lost_is_filed_all_the_same(node):
    """The recipient's is there, and is not tried again."""
    with ImapServer(free_port()) as server:
        box, wire = lost_site(node, appended_to(b"Sent"), server)
        try:
            deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
            waits = box.mx.log.wait("filing_waits")
            assert "lost" in waits["text"] or "connection" in waits["text"], waits
            as_if_an_hour_had_passed(box)
            box.mx.log.wait("message_done")
            assert not box.mx.log.find("deferred") and not box.mx.log.find("sent_given_up")
            assert server.places.count("INBOX") == 1
        finally:
            wire.__exit__(None, None, None)


def test_the_log_says_what_is_waited_for(node):
    """By the next attempt, which the server may make unnecessary yet."""
    with ImapServer(free_port()) as server:
        box, wire = lost_site(node, appended_to(b"INBOX"), server, "sent = none", "lock_timeout = 1s")
        try:
            deliver(box.mx, [SCUBA, DOUG], message("<1@gmail.test>"), sender=LISA)
            first = box.mx.log.wait("deferred")
            mark = box.mx.log.mark()
            retry(box, first)
            box.mx.log.wait("filing_waits", since=mark)
            told = box.mx.log.wait("deferred", since=mark, status="4.4.5")
            assert "was lost" in told["text"] and "seconds" in told["text"]
            assert "under way" not in told["text"]
            assert len(box.mx.log.find("delivered")) == 1, "the other one has his copy"
        finally:
            wire.__exit__(None, None, None)
