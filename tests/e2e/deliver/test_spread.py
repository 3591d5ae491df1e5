# SPDX-License-Identifier: ISC
"""Mail to a host with several addresses goes to all of them."""
from concurrent.futures import ThreadPoolExecutor

import pytest
from dns import NameServer
from peers import Sink
from smtp import Client
from stagepost import free_port, wait_until

MESSAGES = 60
ADDRESSES = ("127.0.0.21", "127.0.0.22")


@pytest.fixture
def sinks(ground):
    port = free_port(ADDRESSES[0])
    made = [Sink(ground.directory(f"sink{address}"), "-w", "1", address=address, port=port) for address in ADDRESSES]
    yield made
    for sink in made:
        sink.stop()


@pytest.fixture
def names():
    with NameServer({"hops.test": "".join(f"@ A {address}\n" for address in ADDRESSES)}) as server:
        yield server


def test_addresses_of_a_route(node, sinks, names):
    """None is left out. The servers take a second for a message, so that there are many connections."""
    mx = node(routes=[f"b.test:hops.test;{sinks[0].port}"], settings=f'dns_server = "{names.dns_server}"\ndane = no')

    def send(number):
        with Client(mx) as client:
            return client.deliver("s@client.test", [f"u{number}@b.test"], b"Subject: %d\r\n\r\nhello\r\n" % number)

    with ThreadPoolExecutor(MESSAGES) as pool:
        for reply in pool.map(send, range(MESSAGES)):
            assert reply.startswith("250 "), reply
    wait_until(lambda: sum(len(sink.files()) for sink in sinks) == MESSAGES, "all arrived")
    counts = [len(sink.files()) for sink in sinks]
    print(counts)
    assert min(counts) > 0, counts
