# SPDX-License-Identifier: ISC
"""How fast mail goes: limits of the configuration (test_throttling.py: what servers say).
What must wait does so in memory: it is neither tried nor deferred, and other mail goes on."""
import time

import pytest
from smtp import Client
from throttling import TEXT, Server, check_never_deferred, most_within, send


@pytest.mark.parametrize("mask", ["slow.test", ".test", "mx:127.0.0.1", "*"])
def test_messages_in_an_interval(node, mask):
    with Server() as hop, Server() as other:
        mx = node(routes=[hop.route("slow.test"), other.route("fast.example")],
                  settings=f'destination "fast.example" {{ }}\n'
                           f'destination "{mask}" {{ messages = 10 interval = 3s }}')
        begin = time.monotonic()
        send(mx, "slow.test", 35)
        send(mx, "fast.example", 35)
        mx.wait_empty()
        assert len(hop.messages) == 35 and len(other.messages) == 35
        assert most_within(hop.mails, 3) <= 10
        assert hop.messages[-1] - begin < 3 * 3.1 + 4
        assert other.messages[-1] < hop.mails[10]  # before the first pause was over
    check_never_deferred(mx)


def test_recipients_and_sessions_in_an_interval(node):
    with Server() as few, Server() as rare:
        mx = node(routes=[few.route("few.test"), rare.route("rare.test")],
                  settings='destination "few.test" { recipients = 6 interval = 2s }\n'
                           'destination "rare.test" { sessions = 2 interval = 2s }')
        with Client(mx) as client:
            for number in range(4):
                to = [f"u{number}-{i}@few.test" for i in range(4)]
                assert client.deliver("s@client.test", to, TEXT).startswith("250 ")
        send(mx, "rare.test", 10)
        mx.wait_empty()
        assert len(few.recipients) == 16 and most_within(few.recipients, 2) <= 6
        assert len(rare.messages) == 10 and most_within(rare.sessions, 2) <= 2
    check_never_deferred(mx)


def test_numbers_for_each_owner_or_server(node):
    """Two domains by the same server share its numbers."""
    with Server() as hop:
        mx = node(routes=[hop.route("one.test"), hop.route("two.test")],
                  settings='destination "*" { per = host messages = 6 interval = 3s }')
        send(mx, "one.test", 10)
        send(mx, "two.test", 10)
        mx.wait_empty()
        assert len(hop.messages) == 20
        assert most_within(hop.mails, 3) <= 6
    check_never_deferred(mx)


def test_connections_at_once(node):
    with Server(takes=0.05) as hop:
        mx = node(routes=[hop.route("slow.test")], settings='destination "*" { concurrency = 2 }')
        send(mx, "slow.test", 40)
        mx.wait_empty()
        assert len(hop.messages) == 40
        assert hop.most_open == 2
    check_never_deferred(mx)


def test_delay_between_messages_of_a_session(node):
    with Server() as hop:
        mx = node(routes=[hop.route("slow.test")],
                  settings='destination "*" { concurrency = 1 delay = 1s }')
        send(mx, "slow.test", 4)
        mx.wait_empty()
        assert len(hop.messages) == 4
        assert all(later - earlier >= 1 for earlier, later in zip(hop.messages, hop.mails[1:]))
    check_never_deferred(mx)


def test_a_reload_and_a_restart_lose_nothing(node):
    """What waits follows the new numbers; a new process begins anew."""
    with Server() as hop:
        mx = node(routes=[hop.route("slow.test")],
                  settings='destination "*" { messages = 2 interval = 1h }')
        send(mx, "slow.test", 6)
        mx.log.wait("delivered", count=2)
        mx.restart()
        mx.log.wait("delivered", count=4)
        mx.settings = 'destination "*" { messages = 3 interval = 1h }'
        mx.write_configuration()
        mx.reload()
        mx.settings = ""
        mx.write_configuration()
        mx.restart()
        mx.wait_empty()
        assert len(hop.messages) == 6
