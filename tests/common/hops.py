#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Next hops that take their time, in a process of their own, so that a thousand sessions cost
the one who measures nothing. Hops starts it; run as a program, it serves.

A hop does what its words say:
  fast            takes each message at once
  slow SECONDS    replies to each final dot after so long
  mute            accepts connections and never greets
  grey SECONDS    450 for each address until SECONDS after it was first asked for
  dead            nobody listens
"""
import asyncio
import os
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common.net import PATIENCE, end, free_port, wait_until  # noqa: E402

BACKLOG = 1000
MARK = b"X-Burst: "


def address(number):
    """One of 127/8, so that what a hop answers for can be many hosts."""
    return f"127.0.{number // 250}.{number % 250 + 1}"


class Hops:
    """HOPS: {name: words}; COUNTS: {name: at how many addresses, from address(0) on}, unless 1.
    ports: {name: port}; taken(name) what has come."""

    def __init__(self, folder, hops, counts=None):
        self.log = os.path.join(folder, "hops.log")
        self.ports = {name: free_port() for name in hops}
        with open(self.log, "wb"):
            pass
        self._position = 0
        self._rest = b""
        self._taken = {name: [] for name in hops}
        words = [f"{name}:{self.ports[name]}:{(counts or {}).get(name, 1)}:{of}"
                 for name, of in hops.items()]
        self.process = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__),
                                         self.log, *words], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n", "the next hops did not start"

    def taken(self, name):
        """[(time of day, mark or None, first recipient)] of the messages that came to NAME."""
        with open(self.log, "rb") as file:
            file.seek(self._position)
            text = file.read()
        self._position += len(text)
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            hop, when, mark, to = line.decode().split(" ")
            self._taken[hop].append((float(when), None if mark == "-" else mark, to))
        return self._taken[name]

    def wait(self, name, count, timeout=PATIENCE):
        wait_until(lambda: len(self.taken(name)) >= count, f"{count} messages at {name}", timeout)

    def close(self):
        end(self.process, PATIENCE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


# --- the process ---

class Hop:
    def __init__(self, name, words, log):
        self.name = name
        self.kind = words[0]
        self.seconds = float(words[1]) if len(words) > 1 else 0
        self.log = log
        self.asked = {}  # when each address was first asked for

    async def session(self, reader, writer):
        try:
            if self.kind == "mute":
                await reader.read()
            else:
                await self._talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _talk(self, reader, writer):
        recipients = []
        writer.write(b"220 hop.test ESMTP\r\n")
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"EHLO":
                writer.write(b"250-hop.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n")
            elif verb == b"RCPT":
                address = line[line.index(b"<") + 1:line.index(b">")]
                writer.write(self._recipient(address, recipients))
            elif verb == b"DATA" and recipients:
                writer.write(b"354 go\r\n")
                await self._message(reader, recipients)
                writer.write(b"250 2.0.0 ok\r\n")
            elif verb == b"DATA":
                writer.write(b"503 5.5.1 no recipients\r\n")
            elif verb == b"QUIT":
                writer.write(b"221 bye\r\n")
                return
            else:
                recipients = []
                writer.write(b"250 ok\r\n")
            await writer.drain()

    def _recipient(self, address, recipients):
        now = time.monotonic()
        if self.kind == "grey" and now - self.asked.setdefault(address, now) < self.seconds:
            return b"450 4.2.0 greylisted\r\n"
        recipients.append(address)
        return b"250 2.1.5 ok\r\n"

    async def _message(self, reader, recipients):
        mark = b"-"
        while (line := await reader.readline()) != b".\r\n":
            if not line:
                raise asyncio.IncompleteReadError(b"", None)
            if line.startswith(MARK):
                mark = line[len(MARK):].strip()
        if self.kind == "slow":
            await asyncio.sleep(self.seconds)
        os.write(self.log, b"%s %.6f %s %s\n" % (self.name, time.time(), mark, recipients[0]))


async def serve(log, words):
    servers = []
    for word in words:
        name, port, count, of = word.split(":")
        hosts = [address(number) for number in range(int(count))]
        hop = Hop(name.encode(), of.split(" "), log)
        if hop.kind != "dead":
            servers.append(await asyncio.start_server(hop.session, hosts, int(port),
                                                      backlog=BACKLOG))
    print("ready", flush=True)
    await asyncio.Event().wait()  # for the signal that ends us


def main():
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve(log, sys.argv[2:]))


if __name__ == "__main__":
    main()
