# SPDX-License-Identifier: ISC
"""Messages of every shape that mail may have, the same in each run."""

import os
import random

SEED = 20261120
COUNT = int(os.environ.get("CORPUS", "2000"))
LARGE = (2 << 20, 5 << 20, 20 << 20)


class Sample:
    """NUMBER, its NAME for a mailbox ("c0017"), its DATA with CRLF lines, and whether
    it keeps the rules of RFC 5322 so well that other servers change nothing."""

    def __init__(self, number, data, is_proper=True):
        assert b"\n" not in data.replace(b"\r\n", b"") and b"\r" not in data.replace(b"\r\n", b"")
        assert data == b"" or data.endswith(b"\r\n")
        self.number = number
        self.name = f"c{number:04}"
        self.data = data
        self.stored = data.replace(b"\r\n", b"\n").replace(b"\0", b"")  # nul = remove
        self.is_proper = is_proper


def header(number, *more):
    lines = [b"From: Sender <sender@client.test>", b"To: c%04d@a.test" % number,
             b"Date: Fri, 20 Nov 2026 08:33:11 +0000",
             b"Subject: message %d of the corpus" % number,
             b"Message-ID: <corpus-%d@client.test>" % number, *more]
    return b"".join(line + b"\r\n" for line in lines)


def lines_of(source, count, alphabet, longest):
    return b"".join(bytes(source.choices(alphabet, k=source.randrange(longest + 1))) + b"\r\n"
                    for _ in range(count))


TEXT = bytes(range(32, 127))
EIGHT_BIT = bytes(set(range(256)) - {0, 10, 13})
DOTS = b"...... a"


def multipart(source, number):
    boundary = b"=_%016x" % source.getrandbits(64)
    parts = [b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
             + "Grüße, 你好, здравствуй\r\n".encode() * source.randrange(1, 20),
             b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n"
             + lines_of(source, source.randrange(1, 200), b"ABCDabcd0123+/", 76)]
    body = b"".join(b"--" + boundary + b"\r\n" + part for part in parts)
    return (header(number, b"MIME-Version: 1.0",
                   b"Content-Type: multipart/mixed;\r\n\tboundary=\"" + boundary + b"\"")
            + b"\r\n" + body + b"--" + boundary + b"--\r\n")


def at_boundary(source, number):
    """A line with a dot where a buffer may end."""
    data = header(number) + b"\r\n"
    size = source.choice((1024, 4096, 8192, 16384, 32768, 65536)) * source.randrange(1, 4)
    wanted = size - len(data) - source.randrange(6)
    filler = b"".join(b"y" * 61 + b"\r\n" for _ in range(wanted // 63))
    return data + filler + b"z" * (wanted % 63) + b"\r\n.\r\n..\r\n"


def of_any_size(source, number):
    size = int(2 ** source.uniform(0, 17))
    return header(number) + b"\r\n" + b"x" * (size % 70) + b"\r\n" + (
        b"".join(bytes(source.choices(TEXT, k=68)) + b"\r\n" for _ in range(size // 70)))


PROPER = [
    lambda s, n: header(n) + b"\r\n" + lines_of(s, s.randrange(1, 60), TEXT, 78),
    lambda s, n: header(n, b"MIME-Version: 1.0", b"Content-Type: text/plain; charset=iso-8859-1",
                        b"Content-Transfer-Encoding: 8bit")
    + b"\r\n" + lines_of(s, s.randrange(1, 60), EIGHT_BIT, 200),
    lambda s, n: header(n) + b"\r\n" + lines_of(s, s.randrange(1, 60), DOTS, 6),
    lambda s, n: header(n) + b"\r\n" + b".\r\n" * s.randrange(1, 50),
    lambda s, n: header(n) + b"\r\n" + b"..\r\n.\r\n...\r\n. .\r\n.x\r\n",
    lambda s, n: header(n) + b"\r\n" + lines_of(s, 3, TEXT, 20000),
    lambda s, n: header(n) + b"\r\n" + b"x" * s.choice((997, 998, 999, 4096, 65535, 65536, 65537))
    + b"\r\n",
    lambda s, n: header(n) + b"\r\n" + b"text" + b"\r\n" * s.randrange(1, 40),
    lambda s, n: header(n) + b"\r\n" * s.randrange(1, 40) + b"late\r\n",
    lambda s, n: header(n) + b"\r\n",  # an empty body
    lambda s, n: header(n, b"X-Folded: one\r\n\ttwo\r\n three", b"X-Empty:") + b"\r\nbody\r\n",
    lambda s, n: header(n, b"X-Long: " + b"y" * s.randrange(900, 5000)) + b"\r\nbody\r\n",
    lambda s, n: header(n, *[b"X-Many-%d: value" % i for i in range(s.randrange(200))])
    + b"\r\nbody\r\n",
    lambda s, n: header(n) + b"\r\nFrom the start\r\n>From quoted\r\nFrom again\r\n",
    lambda s, n: header(n) + b"\r\n" + b"QUIT\r\nRSET\r\nDATA\r\nMAIL FROM:<x@y.test>\r\n",
    lambda s, n: header(n) + b"\r\n" + b" \t \r\n\t\r\n" * s.randrange(1, 9),
    multipart,
    at_boundary,
    of_any_size,
]

IMPROPER = [  # what only a server that touches nothing carries as it is
    lambda s, n: b"",
    lambda s, n: b"\r\n",
    lambda s, n: b".\r\n",
    lambda s, n: b"..\r\n",
    lambda s, n: b"no header at all\r\nonly lines\r\n",
    lambda s, n: header(n),  # a header only
    lambda s, n: b"\r\nbody without a header\r\n",
    lambda s, n: b"Subject: x\r\n\r\n" + lines_of(s, 20, bytes(set(range(256)) - {10, 13}), 100),
    lambda s, n: header(n) + b"not a header line\r\n\r\nbody\r\n",
]


def corpus():
    source = random.Random(SEED)
    samples = []
    for number in range(COUNT):
        if number < len(LARGE):
            data = header(number) + b"\r\n"
            while len(data) < LARGE[number]:
                data += lines_of(source, 500, TEXT, 900) * 8
            samples.append(Sample(number, data[:data.rindex(b"\r\n", 0, LARGE[number]) + 2]))
        elif number % 10 == 9:
            shape = IMPROPER[number // 10 % len(IMPROPER)]
            samples.append(Sample(number, shape(source, number), is_proper=False))
        else:
            shape = PROPER[number % len(PROPER)]
            samples.append(Sample(number, shape(source, number)))
    return samples
