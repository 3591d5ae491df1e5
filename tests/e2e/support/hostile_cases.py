# SPDX-License-Identifier: ISC
"""What hostile servers do, and what must come of it. A case's name is mode_state_fault."""

import random
import socket
import time
from dataclasses import dataclass, field

from hostile import GOOD, PIPELINING, Cut

MODES = {"plain": (GOOD, False), "pipelined": (PIPELINING, False), "lmtp": (PIPELINING, True)}
STATES = ("greeting", "EHLO", "MAIL", "RCPT", "DATA", "END")
TIMEOUT = 3  # seconds, the nodes' for a reply; twice as long after the message
BROKEN, GONE, DONE = ("deferred", "4.5.0"), ("deferred", "4.4.2"), ("delivered", "2.0.0")
LETTERS = "abc"  # of the recipients


@dataclass
class Case:
    """OUTCOMES: for a@, b@, c@; None: any that loses nothing."""
    name: str
    mode: str
    replies: dict = field(default_factory=dict)
    outcomes: list = None
    budget: int = None
    size: int = 0  # of the message, at least

    @property
    def domain(self):
        return self.name.replace("_", "-").lower() + ".test"

    @property
    def recipients(self):
        return [f"{letter}@{self.domain}" for letter in LETTERS]

    @property
    def is_late(self):
        return self.name.endswith("_late")


def binary(state):
    """Noise with every byte in it, and no reply by chance."""
    noise = bytearray(random.Random(state).randbytes(3000)) + bytes(range(256)) + b"\r\n"
    noise[0] = 0
    return bytes(noise)


def trickle(peer):
    """Something every now and then, but never a whole line."""
    for byte in b"250 " + b"x" * 1000:
        peer.say(bytes([byte]))
        time.sleep(TIMEOUT / 8)


def be_silent(peer):
    peer.wait_for_end()


def close(peer):
    peer.socket.shutdown(socket.SHUT_RDWR)


def bytewise(reply):
    def say(peer):
        for byte in reply:
            peer.say(bytes([byte]))

    return say


def cut_reply(reply):
    """All but its line end."""
    def say(peer):
        peer.say(reply[:-1])
        close(peer)

    return say


# that no state takes for an answer
FAULTS = {
    "endless_lines": (lambda peer: peer.say_for_ever(b"250-x\r\n" * 1000), BROKEN),
    "endless_line": (lambda peer: peer.say_for_ever(b"250 " + b"x" * 10000), BROKEN),
    "zeroes": (lambda peer: peer.say_for_ever(bytes(10000)), BROKEN),
    "code_000": (b"000 ok\r\n", BROKEN),
    "code_120": (b"120 soon\r\n", BROKEN),
    "code_999": (b"999 ok\r\n", BROKEN),
    "code_25": (b"25 ok\r\n", BROKEN),
    "code_2500": (b"2500 ok\r\n", BROKEN),
    "code_negative": (b"-250 ok\r\n", BROKEN),
    "code_of_other_digits": ("\u0662\u0665\u0660 ok\r\n".encode(), BROKEN),
    "changing_codes": (b"250-a\r\n251-b\r\n250 c\r\n", BROKEN),
    "changing_to_a_refusal": (b"250-a\r\n550 b\r\n", BROKEN),
    "empty_line": (b"\r\n", BROKEN),
    "lines_of_CR": (b"\r" * 5000, BROKEN),
    "closed": (close, GONE),
    "reset": (lambda peer: peer.reset(), GONE),
    "silent": (be_silent, GONE),
    "trickled": (trickle, GONE),
}


def faults():
    for mode, (good, is_lmtp) in MODES.items():
        for state in STATES:
            for name, (reply, outcome) in FAULTS.items():
                is_unclear = (state, name) == ("greeting", "reset")  # perhaps it never connects
                yield Case(f"{mode}_{state}_{name}", mode, {state: reply},
                           None if is_unclear else [outcome] * 3)
            yield Case(f"{mode}_{state}_binary", mode, {state: binary(state)}, [BROKEN] * 3)
            yield Case(f"{mode}_{state}_wrong_class", mode,
                       {state: b"250 ok\r\n" if state == "DATA" else b"354 ok\r\n"}, [BROKEN] * 3)
            yield Case(f"{mode}_{state}_cut", mode, {state: cut_reply(good[state])}, [GONE] * 3)
            yield Case(f"{mode}_{state}_bytewise", mode, {state: bytewise(good[state])},
                       [DONE] * 3)
            yield Case(f"{mode}_{state}_bare", mode, {state: good[state][:3] + b"\r\n"},
                       [DONE] * 3)
            yield Case(f"{mode}_{state}_late", mode, {state: late(good[state])}, [DONE] * 3)
            # one more than was asked for takes nothing back and gives nothing
            if state != "END" or not is_lmtp:
                yield Case(f"{mode}_{state}_twice", mode, {state: good[state] * 2},
                           [DONE if state == "END" else BROKEN] * 3)
                yield Case(f"{mode}_{state}_flood", mode, {state: good[state] * 20000},
                           [DONE if state == "END" else BROKEN] * 3)


def late(reply):
    def say(peer):
        # Half of the client's patience: the other half is for Python, which runs hundreds of these servers.
        time.sleep(TIMEOUT / 2)
        peer.say(reply)

    return say


def replies_of(mode):
    """All that a good server says for one message to the recipients."""
    good, is_lmtp = MODES[mode]
    times = len(LETTERS)
    return good["greeting"] + good["EHLO"] + good["MAIL"] + good["RCPT"] * times + \
        good["DATA"] + good["END"] * (times if is_lmtp else 1)


def cuts():
    """The server closes after each byte that it says."""
    for mode in MODES:
        for count in range(len(replies_of(mode))):
            yield Case(f"{mode}_ends_behind_{count}", mode, budget=count)


def refuse(letter, reply, good):
    """For one recipient."""
    return lambda peer: peer.say(reply if peer.recipient.startswith(letter) else good)


def say_and_close(reply):
    """And hears no more, whatever has come meanwhile."""
    def say(peer):
        peer.say(reply)
        close(peer)
        raise Cut

    return say


def welcome_and_sleep(peer):
    peer.say(b"354 go\r\n")
    time.sleep(3 * TIMEOUT)
    close(peer)


def close_behind(letter):
    """An LMTP server goes away amid its replies to the message."""
    def say(peer):
        if peer.recipient > letter:
            close(peer)
        peer.say(GOOD["END"])

    return say


def offer(*lines):
    said = [b"hostile.test", *lines]
    return b"".join(b"250-" + line + b"\r\n" for line in said[:-1]) + b"250 " + said[-1] + b"\r\n"


UNKNOWN, NO_ROOM, TOO_BIG = ("failed", "5.1.1"), ("deferred", "4.3.1"), ("failed", "5.3.4")
REFUSAL = b"550 5.1.1 nobody\r\n"
UGLY = b"%s%n%x ${run{/bin/id}} `id` $(id) \x1b[2J \xff\xfe\xc0\xaf \0 \x7f <a\xcc\x81> \"'\\ "

# --- of every mode ---

COMMON = {
    "early_dialogue": ({"greeting": replies_of}, [BROKEN] * 3),
    "early_refusal": ({"DATA": b"354 go\r\n554 5.7.1 no\r\n"}, [("failed", "5.7.1")] * 3),
    "early_acceptance": ({"DATA": b"354 go\r\n250 2.0.0 taken\r\n"}, [BROKEN] * 3),
    "welcome_and_close": ({"DATA": say_and_close(b"354 go\r\n")}, [GONE] * 3),
    "disk_full_at_MAIL": ({"MAIL": b"452 4.3.1 no room\r\n"}, [NO_ROOM] * 3),
    "disk_full_at_RCPT": ({"RCPT": b"452 4.3.1 no room\r\n"}, [NO_ROOM] * 3),
    "disk_full_at_DATA": ({"DATA": b"452 4.3.1 no room\r\n"}, [NO_ROOM] * 3),
    "disk_full_at_the_end": ({"END": b"452 4.3.1 no room\r\n"}, [NO_ROOM] * 3),
    "box_full": ({"RCPT": refuse(b"b", b"452 4.2.2 full\r\n", GOOD["RCPT"])},
                 [DONE, ("deferred", "4.2.2"), DONE]),
    "many_keywords": ({"EHLO": offer(*[b"X%d" % n for n in range(10000)])}, [BROKEN] * 3),
    "odd_keywords": ({"EHLO": offer(b"", b" ", b"=", b"SIZE=5", b"SIZE -1", b"SIZE \0",
                                    b"SIZE 99999999999999999999999", b"8BITMIME 8BITMIME",
                                    b"SIZE abc", b"\xff" * 500)}, [DONE] * 3),
    "small_size": ({"EHLO": offer(b"SIZE 1")}, [TOO_BIG] * 3),
    "ugly_text": ({"RCPT": b"550 " + UGLY * 15 + b"\r\n"}, [UNKNOWN] * 3),
    "status_of_another_class": ({"RCPT": b"550 2.1.5 fine\r\n"}, [UNKNOWN] * 3),
    "status_of_no_kind": ({"RCPT": b"550 5.9999.1 no\r\n"}, [UNKNOWN] * 3),
    "never_reads": ({"DATA": welcome_and_sleep}, [GONE] * 3, 20_000_000),
    "one_refused_then_421": (
        {"RCPT": refuse(b"b", REFUSAL, GOOD["RCPT"]), "END": GOOD["END"] + b"421 4.3.2 bye\r\n"},
        [DONE, UNKNOWN, DONE]),
    "one_refused_then_twice": (
        {"RCPT": refuse(b"b", REFUSAL, GOOD["RCPT"]), "END": GOOD["END"] * 2},
        [DONE, UNKNOWN, DONE]),
    "one_refused_then_closed": (
        {"RCPT": refuse(b"b", REFUSAL, GOOD["RCPT"]), "END": say_and_close(GOOD["END"])},
        [DONE, UNKNOWN, DONE]),
    "first_refused_then_421": (
        {"RCPT": refuse(b"a", REFUSAL, GOOD["RCPT"]), "END": GOOD["END"] + b"421 4.3.2 bye\r\n"},
        [UNKNOWN, DONE, DONE]),
}
# an LMTP server that says more after its first reply has answered for the others with it
NOT_LMTP = ("one_refused_then_421", "one_refused_then_twice", "one_refused_then_closed",
            "first_refused_then_421")

# --- of LMTP ---

MIXED = {b"a": GOOD["END"], b"b": b"452 4.2.2 full\r\n",
         b"c": b"550 5.2.1 off\r\n250 2.0.0 ok\r\n"}
LMTP = {
    "cut_behind_first": ({"END": close_behind(b"a~")}, [DONE, GONE, GONE]),
    "cut_behind_second": ({"END": close_behind(b"b~")}, [DONE, DONE, GONE]),
    "one_reply_for_all": ({"END": refuse(b"a", GOOD["END"], b"")}, [DONE, GONE, GONE]),
    "a_reply_too_many": ({"END": refuse(b"c", GOOD["END"] * 2, GOOD["END"])}, [DONE] * 3),
    "421_behind_the_last": ({"END": refuse(b"c", GOOD["END"] + b"421 4.3.2 bye\r\n", GOOD["END"])},
                            [DONE] * 3),
    "one_box_full_then_too_many": (
        {"END": lambda peer: peer.say(MIXED[peer.recipient[:1]])},
        [DONE, ("deferred", "4.2.2"), ("failed", "5.2.1")]),
    "replies_to_refused": (
        {"RCPT": refuse(b"b", REFUSAL, GOOD["RCPT"]),
         "END": refuse(b"a", GOOD["END"] * 2, GOOD["END"])},
        [DONE, UNKNOWN, DONE]),
}


def specials():
    for mode in MODES:
        for name, (replies, outcomes, *size) in COMMON.items():
            if mode == "lmtp" and name in NOT_LMTP:
                continue
            replies = {state: reply(mode) if reply is replies_of else reply
                       for state, reply in replies.items()}
            yield Case(f"{mode}_{name}", mode, replies, outcomes, size=size[0] if size else 0)
    for name, (replies, outcomes) in LMTP.items():
        yield Case(f"lmtp_{name}", "lmtp", replies, outcomes)
