# SPDX-License-Identifier: ISC
"""What broke other mail systems by their command lines and local sockets, tried on ours; see
test_published_flaws.py."""

import email
import os
import resource
import socket
import subprocess

import pytest
from flaws import TEXT, unharmed  # noqa: F401  pylint: disable=unused-import
from stagepost import give_to_user
from test_commands import run  # noqa: F401  pylint: disable=unused-import

# pylint: disable=redefined-outer-name
MIB = 1 << 20
MEMORY = 256 * MIB  # of a command, with its libraries


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("text", [
    b"a" * 100 * MIB, b"Subject: " + b"a" * 100 * MIB, b"To: " + b"anna@a.test, " * (8 * MIB),
    b"To: " + b"(" * MIB + b" anna@a.test\n\n", b"To: " + b"\"\\" * MIB + b"\n\n",
    b"X: y\n" * (20 * MIB), b"\n" * 100 * MIB, b"\0" * 100 * MIB],
    ids=["line", "header", "recipients", "comments", "quotes", "lines", "empty", "zeroes"])
def test_cve_2020_28009_input_without_end(node, unharmed, run, text):
    """It ends with the limits of size and number, in little memory."""
    mx = unharmed(node(settings="maxsize = 10M\n"))
    ended = run(mx, "-t", name="sendmail", input=text, preexec_fn=limit_memory)
    assert ended.returncode in (64, 65, 69), (ended.returncode, ended.stderr)
    assert ended.stderr and not mx.control_files()


@pytest.mark.parametrize("name", [
    "", " ", "\\", "\"", "(", ")", "(" * 5000, "\\" * 5001, "\"" * 5000, "\x7f" * 100, "ö" * 3000,
    "a" * 100_000, "a\nX-Evil: y", "=?x?q?", "\r\nX-Evil: y", "<x@a.test>", "a, b"],
    ids=lambda name: f"{len(name)}-{ascii(name)[:20]}")
def test_cve_2020_28013_and_28016_names_of_senders(node, unharmed, run, name):
    mx = unharmed(node())
    ended = run(mx, "-F", name, "-f", "s@a.test", "anna@a.test", name="sendmail",
                input=b"\nhello\n")
    if ended.returncode != 0:
        assert ended.returncode in (64, 65) and ended.stderr
        return
    (stored,) = mx.maildir("anna@a.test").wait()
    message = email.message_from_bytes(stored)
    assert len(message.get_all("From")) == 1 and "X-Evil" not in message
    assert message.get_payload() == "hello\n"


def test_cve_2020_28010_a_deep_directory_and_many_words(node, unharmed, run, ground):
    mx = unharmed(node())
    deep = ground.directory("deep")
    for _ in range(12):
        deep = os.path.join(deep, "d" * 250)
        os.mkdir(deep)
        give_to_user(deep)
    mx.directory, kept = deep, mx.directory
    words = [f"u{number}@a.test" for number in range(900)]
    assert run(mx, "-i", *words, name="sendmail", input=b"\nhello\n").returncode == 0
    assert run(mx, *["x" * 1000] * 1000, input=b"").returncode == 2
    mx.directory = kept
    mx.maildir("u899@a.test").wait()


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x85"], ids=ascii)
def test_cve_2020_28015_line_ends_in_arguments(node, unharmed, run, end):
    """They come neither into a control file nor into a header."""
    mx = unharmed(node())
    bad = f"a@a.test{end}to: 9 <root@a.test>"
    for words in (["-f", bad, "anna@a.test"], ["-f", "s@a.test", bad], ["-r", bad, "anna@a.test"],
                  ["-f", "s@a.test", "-V", bad, "anna@a.test"]):
        assert run(mx, *words, name="sendmail", input=b"\nhello\n").returncode in (64, 65)
    mx.wait_empty()
    assert not mx.maildir("root@a.test").files()


@pytest.mark.parametrize("envelope", [
    b"Fs@a.test\nto: 9 <root@a.test>\0Tanna@a.test\0\0", b"Fs@a.test\0Tanna@a.test\nend:\0\0",
    b"Fs@a.test\0Tanna@a.test\0", b"F\0\0", b"\0\0", b"", b"F" + b"a" * 64 * MIB,
    b"Fs@a.test\0" + b"Tanna@a.test\0" * MIB + b"\0", b"F" + b"\0T" * MIB + b"\0\0"], ids=range(9))
def test_cve_2005_1513_and_2020_28015_envelopes(node, unharmed, run, envelope):
    mx = unharmed(node())
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            os.close(reader)
            with open(writer, "wb") as pipe:
                pipe.write(envelope)
        except OSError:
            pass
        finally:
            os._exit(0)
    os.close(writer)
    with open(os.path.join(mx.directory, "message"), "wb+") as message:
        message.write(TEXT)
        message.seek(0)
        ended = run(mx, "enqueue", stdin=message, stdout=reader, stderr=subprocess.PIPE,
                    capture_output=False, preexec_fn=limit_memory)
    os.close(reader)
    os.wait()
    assert ended.returncode in (11, 31, 91), ended.stderr  # as qmail-queue
    assert not mx.control_files()


def test_cve_2025_62875_noise_on_the_local_socket(node, unharmed, run):
    """What is no order is dropped; the next order is heard."""
    mx = unharmed(node())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(os.path.join(mx.run, "notify"))
        for noise in (b"", b"\0", b"\xff" * 10, bytes(60_000), os.urandom(60_000), b"hold",
                      b"\0" * 4, b"\xff" * 400, *(os.urandom(size) for size in range(1, 300))):
            sender.send(noise)
    assert run(mx, "queue", "list").returncode == 0
    assert run(mx, "queue", "retry", "--all").returncode in (0, 1)
