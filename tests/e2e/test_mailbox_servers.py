# SPDX-License-Identifier: ISC
"""Services that file each message once, through a whole node: Maildirs and a real IMAP server, with
the record in real databases, and what happens while one of these is away."""

import os
import signal
import time

import pytest
from filed import Boxes, Imap, Mariadb, Postgresql, Sqlite, lacking, message, tell
from lmtp import Server as LmtpServer
from smtp import Client
from stagepost import wait_until

DOMAINS = ["domain mail.test { service = once }", "domain far.test { service = far }"]
BOTH = ["scuba@mail.test", "doug@mail.test"]


class Site:
    """A node with a service of STORE's kind; and one of FAR's, if there is one."""

    def __init__(self, node, record, store, far=None, more="sent = all", record_more="", settings="",
                 domains=()):
        self.record, self.store, self.far = record, store, far
        self.more, self.record_more, self.rest = more, record_more, settings
        self.far_more = more
        self.store_settings = store.settings
        self.mx = node(domains=[*DOMAINS[:2 if far else 1], *domains], start=False)
        self.write()
        self.mx.start()

    def write(self):
        far = f"service far {{ {self.far.settings(more=self.far_more)} }}\n" if self.far else ""
        self.mx.settings = (f"service once {{ {self.store_settings(more=self.more)} }}\n{far}"
                            f"{self.record.settings(self.record_more)}{self.rest}")
        self.mx.write_configuration()

    def story(self, identity):
        """One message, given once for each recipient; each has it once, and the sender too."""
        tell(self.mx, BOTH, message(identity))
        self.mx.wait_empty()
        self.is_told_once([identity])

    def is_told_once(self, identities, store=None):
        for address, folder in [*((each, "INBOX") for each in BOTH), ("lisa@gmail.test", "Sent")]:
            assert lacking(store or self.store, address, identities, folder) == {}, address

    def retry(self):
        """All that waits is due."""
        self.mx.process.send_signal(signal.SIGALRM)


@pytest.fixture
def keep():
    """keep(THING): it is closed at the end."""
    kept = []

    def call(thing):
        kept.append(thing)
        return thing

    yield call
    for thing in reversed(kept):
        thing.close()


RECORDS = {
    "sqlite": Sqlite,
    **{f"postgresql-{way}": lambda ground, way=way: Postgresql(ground, way)
       for way in ("socket", "address", "name")},
    **{f"mariadb-{way}": lambda ground, way=way: Mariadb(ground, way)
       for way in ("socket", "address", "name")},
}
SERVERS = {"postgresql": Postgresql, "mariadb": Mariadb}


@pytest.mark.parametrize("record", RECORDS)
def test_each_record_with_maildirs(node, ground, keep, record):
    own = Site(node, keep(RECORDS[record](ground)), keep(Boxes(ground)))
    own.story("first")
    own.mx.restart()
    tell(own.mx, BOTH, message("first"))  # the same once more
    own.story("second") if False else None
    own.mx.wait_empty()
    own.is_told_once(["first"])
    assert not own.mx.log.find("sandbox_lacks")


@pytest.mark.parametrize("security, login", [
    ("starttls", "%a*filer"), ("implicit", "%a*filer"), ("plain", "%a*filer"), ("starttls", "%a"),
    ("implicit", "%a"), ("plain", "%a")])
def test_each_way_to_an_imap_server(node, ground, keep, security, login):
    imap = keep(Imap(ground))
    settings = imap.settings
    imap.settings = lambda more="": settings(security, login, more)
    own = Site(node, keep(Sqlite(ground)), imap)
    own.story("first")
    own.mx.restart()
    own.story_again = tell(own.mx, BOTH, message("first"))
    own.mx.wait_empty()
    own.is_told_once(["first"])
    assert not imap.server.complaints()


@pytest.mark.parametrize("record", SERVERS)
def test_both_kinds_and_lmtp_in_one_node(node, ground, keep, record):
    """The sandbox has what both need; LMTP goes on as ever."""
    with LmtpServer(os.path.join(ground.directory("lmtp"), "s")) as box:
        own = Site(node, keep(SERVERS[record](ground)), keep(Boxes(ground)), far=keep(Imap(ground)),
                   settings=f'service box {{ kind = lmtp address = "unix:{box.path}" }}\n',
                   domains=["domain box.test { service = box }"])
        large = message("large", b"A line of a large message.\r\n" * 6000)  # passed as a file
        for text in message("small"), large:
            with Client(own.mx) as client:
                assert client.deliver("lisa@gmail.test", [*BOTH, "ann@far.test", "bob@far.test",
                                                          "eve@box.test"], text).startswith("250 ")
        own.mx.wait_empty()
        own.is_told_once(["small", "large"])
        for address in "ann@far.test", "bob@far.test":
            assert lacking(own.far, address, ["small", "large"]) == {}
        assert lacking(own.far, "lisa@gmail.test", ["small", "large"], "Sent") == {}
        assert len(box.messages) == 2
        (got,) = [text for text in own.store.texts(BOTH[0]) if b"<large@" in text]
        assert got.endswith(large.replace(b"\r\n", b"\n"))
