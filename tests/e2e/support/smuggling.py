# SPDX-License-Identifier: ISC
"""Messages that try to be two: strings of line ends and dots, with a second transaction
behind them."""

import itertools
import os
import re
import socket

ALPHABET = (b"\r", b"\n", b".", b"\0", b"a")
STRINGS = [b"".join(letters) for length in range(1, 6)
           for letters in itertools.product(ALPHABET, repeat=length)]
ALL = os.environ.get("SMUGGLE") == "all"
BARE = re.compile(rb"\r(?!\n)|(?<!\r)\n")
END = b"\r\n.\r\n"
NUMBER = re.compile(rb"^X-Number: (\d+)\r?$", re.M)
SMUGGLED = re.compile(rb"^Subject: smuggled\r?$", re.M)
SESSION = 1000  # messages


def evil(recipient):
    """What is to be taken for a second transaction. Without its final dot."""
    return (b"MAIL FROM:<evil@client.test>\r\nRCPT TO:<%s>\r\nDATA\r\n"
            b"Subject: smuggled\r\n\r\nevil\r\n" % recipient.encode())


class Attempt:
    """STRING after a text, or at the start of a line if AT_START."""

    def __init__(self, number, string, at_start, recipient):
        line = b"A line.\r\n" if at_start else b"A line."
        self.number = number
        self.content = (b"Subject: hello\r\nX-Number: %d\r\n\r\n%s" % (number, line) + string +
                        evil(recipient))

    def refusal(self):
        """What the reply to it begins with, unless it is taken."""
        if BARE.search(self.content):
            return b"550 5.6.11 "
        return b"550 5.6.0 " if b"\0" in self.content else None

    def ends_itself(self):
        """By DATA its sender ends it where the string is, by the rules."""
        return END in self.content

    def by_data(self):
        """As DATA would transmit it: nothing is stuffed that could pass for an end."""
        return b"DATA\r\n" + self.content + b".\r\n"

    def by_chunk(self):
        return b"BDAT %d LAST\r\n" % len(self.content) + self.content

    def unstuffed(self):
        """What the message is by DATA."""
        return self.content.replace(b"\r\n.", b"\r\n")


def attempts(recipient, step=1):
    """Of every STEPth string."""
    chosen = itertools.product(STRINGS[::step], (False, True))
    return [Attempt(number, string, at_start, recipient)
            for number, (string, at_start) in enumerate(chosen)]


class Session:
    """Says many commands at once and reads their replies."""

    def __init__(self, server):
        self.socket = socket.create_connection((server.address, server.port), 60)
        self.file = self.socket.makefile("rb")
        self.reply()
        self.say(b"EHLO client.test\r\n", 1)

    def reply(self):
        while (line := self.file.readline())[3:4] == b"-":
            pass
        return line

    def say(self, data, count):
        self.socket.sendall(data)
        return [self.reply() for _ in range(count)]

    def send(self, sender, recipients, transmitted, is_data):
        """The last reply to the message, or to what failed before."""
        commands = [b"MAIL FROM:<%s>\r\n" % sender.encode()]
        commands += [b"RCPT TO:<%s>\r\n" % to.encode() for to in recipients]
        replies = self.say(b"".join(commands), len(commands))
        assert all(reply.startswith(b"250") for reply in replies), replies
        if is_data:
            (reply,) = self.say(transmitted[:6], 1)
            assert reply.startswith(b"354"), reply
            transmitted = transmitted[6:]
        return self.say(transmitted, 1)[0]

    def close(self):
        self.say(b"QUIT\r\n", 1)
        self.file.close()
        self.socket.close()


def send_all(server, tried, sender, recipients, is_data):
    """{number: last reply}"""
    replies = {}
    for start in range(0, len(tried), SESSION):
        session = Session(server)
        for attempt in tried[start:start + SESSION]:
            transmitted = attempt.by_data() if is_data else attempt.by_chunk()
            replies[attempt.number] = session.send(sender, recipients, transmitted, is_data)
        # nothing is left over that was answered
        assert session.say(b"NOOP\r\n", 1)[0].startswith(b"250 ")
        session.close()
    return replies


def second_messages(stored):
    """How many of the messages are the smuggled ones: theirs is the header's Subject."""
    return sum(SMUGGLED.search(re.split(rb"\r?\n\r?\n", text, maxsplit=1)[0]) is not None
               for text in stored)


def by_number(stored):
    """{number: [texts]} of the messages that are not smuggled."""
    found = {}
    for text in stored:
        number = NUMBER.search(re.split(rb"\r?\n\r?\n", text, maxsplit=1)[0])
        if number:
            found.setdefault(int(number.group(1)), []).append(text)
    return found
