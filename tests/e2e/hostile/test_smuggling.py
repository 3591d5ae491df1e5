# SPDX-License-Identifier: ISC
"""Nothing inside a message becomes a second one, on any hop: all 3,905 strings of up to five
bytes out of CR, LF, dot, NUL and "a" before a second transaction in a message, sent to
Stagepost by DATA and BDAT, on to Postfix and Exim by SMTP and Dovecot by LMTP; and sent by
Postfix and Exim, who let them pass, to Stagepost. SMUGGLE=all (make smuggle) takes all
strings here, too; else every STEPth. tests/transcript tries all of them on the engines."""

import os
import sys
import time

import pytest
from dovecot import Dovecot
from exim import Exim
from peers import Postfix
from smuggling import ALL, STRINGS, attempts, by_number, second_messages, send_all
from stagepost import SLOWNESS, split_trace, wait_until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from common.record import record  # noqa: E402

STEP = 1 if ALL else 7
PATIENCE = (300 if ALL else 60) * SLOWNESS
FORMS = {"DATA": True, "BDAT": False}
COUNTS = {"strings": len(STRINGS[::STEP]), "messages tried": 0, "refused at once": 0,
          "messages at a next hop": 0, "second messages": 0}


@pytest.fixture(scope="module")
def peers(ground):
    with Postfix(ground.directory("postfix")) as postfix, Exim(ground.directory("exim")) as exim:
        dovecot = Dovecot(["bob@box.test"])
        yield {"bob@postfix.test": postfix, "bob@exim.test": exim, "bob@box.test": dovecot}
        dovecot.close()


def smuggled(stored):
    COUNTS["second messages"] += second_messages(stored)
    return second_messages(stored)


def check_one_each(stored, wanted):
    """STORED are the WANTED messages, {number: content}, each once, and no other."""
    assert smuggled(stored) == 0
    found = by_number(stored)
    assert {number: len(texts) for number, texts in found.items()} == dict.fromkeys(wanted, 1)
    assert len(stored) == len(wanted)
    for number, content in wanted.items():
        split_trace(found[number][0].replace(b"\r\n", b"\n"), content.replace(b"\r\n", b"\n"))


@pytest.mark.parametrize("form", FORMS)
def test_into_stagepost_and_on(node, peers, form):
    """What holds a bare CR or LF, or a NUL, is refused; the rest arrives everywhere as it was."""
    postfix, exim, dovecot = peers.values()
    mx = node(routes=[f"postfix.test:127.0.0.1;{postfix.port}", f"exim.test:127.0.0.1;{exim.port}"],
              domains=['domain "box.test" { service = box }'],
              settings=f'service box {{ kind = lmtp address = "unix:{dovecot.path}" }}\n'
                       "maxerrors = 10000\nmaxcommands = 1000000",
              listen="bare_newline = reject")
    tried = [one for one in attempts("bob@postfix.test", STEP)
             if not (FORMS[form] and one.ends_itself())]
    replies = send_all(mx, tried, "sender@client.test", list(peers), FORMS[form])
    wanted = {one.number: one.unstuffed() if FORMS[form] else one.content for one in tried
              if not one.refusal()}
    for one in tried:
        assert replies[one.number].startswith(one.refusal() or b"250 "), \
            (one.content, replies[one.number])
    COUNTS["messages tried"] += len(tried)
    COUNTS["refused at once"] += len(tried) - len(wanted)
    mx.wait_empty(PATIENCE)
    for to, peer in peers.items():
        stored = peer.maildir(to).wait(len(wanted), PATIENCE)
        COUNTS["messages at a next hop"] += len(stored)
        check_one_each(stored, wanted)
    assert not mx.log.find("deferred") and not mx.log.find("failed")
    for to, peer in peers.items():
        for path in peer.maildir(to).files():
            os.unlink(path)


@pytest.mark.parametrize("sender", ["postfix", "exim_data", "exim_bdat"])
def test_out_of_another_system(node, ground, sender):
    """Which takes any bytes in a chunk, and sends them as it likes. Everything is either one
    message here or comes back to its sender."""
    mx = node(domains=['domain "a.test" { service = maildir addresses = { "anna", "bob" } }'],
              settings="maxerrors = 10000")
    directory = ground.directory(sender)
    if sender == "postfix":
        system = Postfix(directory, next_port=mx.port)
        home = "bob@postfix.test"
    else:
        system = Exim(directory, next_port=mx.port, chunking=sender == "exim_bdat")
        home = "bob@exim.test"
    with system as peer:
        tried = attempts("bob@a.test", STEP * (1 if ALL else 5))
        replies = send_all(peer, tried, home, ["anna@a.test"], False)
        taken = [number for number, reply in replies.items() if reply.startswith(b"250")]
        assert taken
        here, there, evil = mx.maildir("anna@a.test"), peer.maildir(home), mx.maildir("bob@a.test")
        wait_until(lambda: len(here.files()) + len(there.files()) >= len(taken),
                   "every message is here or came back", PATIENCE)
        stored = here.messages()
        COUNTS["messages tried"] += len(taken)
        assert smuggled(stored) == 0 and not evil.files()
        senders = {event["from"] for event in mx.log.find("message_accepted")}
        assert senders == {home}
        found = by_number(stored)
        assert all(len(texts) == 1 for texts in found.values()) and len(found) == len(stored)
        assert len(stored) + len(there.files()) == len(taken)
        assert set(found) <= set(taken)


def test_record():
    """Behind the others."""
    print(record(
        "smuggling", title="Smuggling",
        what="Every string of up to five characters from CR, LF, dot, NUL and \"a\", at two places "
             "before a second transaction inside a message: into Stagepost by DATA and BDAT, from "
             "there to Postfix, Exim (SMTP) and Dovecot (LMTP), and from Postfix and Exim into "
             "Stagepost. Each must be one message with the same content, or refused.",
        command="make smuggle", counts=COUNTS, zero=("second messages",),
        seconds=time.monotonic() - BEGIN))
    assert COUNTS["messages tried"] > 0 and COUNTS["second messages"] == 0


BEGIN = time.monotonic()
