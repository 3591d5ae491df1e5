# SPDX-License-Identifier: ISC
"""The checksums of the queue's files (stagepost-queue-format(5)), made a second time."""

import re

POLYNOMIAL = 0x82f63b78


def _row(value):
    for _ in range(8):
        value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return value


TABLE = [_row(value) for value in range(256)]


def crc32c(data, before=0):
    state = before ^ 0xffffffff
    for byte in data:
        state = state >> 8 ^ TABLE[(state ^ byte) & 0xff]
    return state ^ 0xffffffff


def head_of(text):
    """(envelope, checksum of the data, the sum record) of a control file's TEXT."""
    found = re.search(rb"^end:\nsum: ([0-9a-f]{8}) ([0-9a-f]{8})\n", text, re.M)
    return text[:found.start() + 5], int(found.group(1), 16), text[found.start() + 5:found.end()]


def sum_record(envelope, data):
    begin = b"sum: %08x" % data
    return begin + b" %08x\n" % crc32c(begin, crc32c(envelope))


def with_new_head(text):
    """TEXT, whose envelope was changed on purpose, with the checksum that belongs to it."""
    envelope, data, record = head_of(text)
    return text.replace(record, sum_record(envelope, data), 1)


def with_checksum(text, record):
    """The line RECORD as it is at the end of the control file TEXT, of either format."""
    if text.startswith(b"stagepost 1\n"):
        return record + b"\n"
    birth = re.search(rb"^id: \d+-([0-9a-f]+)$", text, re.M).group(1)
    return record + b" #%08x\n" % crc32c(birth + record)


def check(text, data=None):
    """That each checksum of a control file's TEXT, and that of its DATA, is right."""
    envelope, checksum, record = head_of(text)
    assert record == sum_record(envelope, checksum), text
    assert data is None or crc32c(data) == checksum
    birth = re.search(rb"^id: \d+-([0-9a-f]+)$", envelope, re.M).group(1)
    for line in text[len(envelope) + len(record):].splitlines():
        record, _, checksum = line.rpartition(b" #")
        assert int(checksum, 16) == crc32c(birth + record), line
