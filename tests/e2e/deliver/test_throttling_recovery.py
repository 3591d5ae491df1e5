# SPDX-License-Identifier: ISC
"""How a server that said that it gets too much mail is tried again, which takes minutes."""
import pytest
from stagepost import wait_until
from throttling import (Quota, Server, check_calmed_down, check_few_deferred, check_never_deferred, pauses, send,
                        throttled, wait_empty)


@pytest.mark.parametrize("complaint", ["421 4.7.0 Try again later",
                                       "450 4.7.1 Error: too much mail from 127.0.0.1"])
def test_a_server_that_gets_too_much(node, complaint):
    """Each time that it complains it gets half as much, and complains at most as often as its time lasts."""
    with Server(Quota("MAIL", 120, 10, complaint)) as hop:
        mx = node(routes=[hop.route("slow.test")])
        addresses = send(mx, "slow.test", 130)
        wait_empty(mx, timeout=120)
        assert sorted(hop.delivered) == sorted(addresses)
        events = throttled(mx, hop.port)
        gaps = [int(event["apart_ms"]) for event in events]
        assert all(abs(later - 2 * earlier) <= 1 for earlier, later in zip(gaps, gaps[1:])), gaps
        assert sum(gaps[:-1]) / 1000 <= 10, gaps  # then its time is over
        check_calmed_down(complaint, hop.allows, events)
    check_few_deferred(mx, 3)


def has_recovered(mx, hop, addresses):
    """It is looked at for each message; a few more may be needed where it got much before."""
    if not mx.log.find("host_recovered", port=hop.port) and not mx.control_files():
        addresses += send(mx, "slow.test", 1, name=f"w{len(addresses)}-")
    return mx.log.find("host_recovered", port=hop.port)


def test_it_recovers_step_by_step(node):
    """Each minute without a complaint it gets half as much again, until it has what it got before."""
    with Server() as hop:
        hop.allows = Quota("MAIL", 4, 5, "421 4.7.0 rate limited")
        mx = node(routes=[hop.route("slow.test")])
        send(mx, "slow.test", 4)
        mx.wait_empty()
        addresses = send(mx, "slow.test", 26, name="v")
        mx.log.wait("host_throttled", port=hop.port)
        hop.allows.most = len(addresses)  # it complains once
        seen = set()

        def is_over():
            pause = pauses(mx).get("slow.test")
            if pause:
                seen.add(float(pause["reason"].split(" a message in ")[1].split("s;")[0]))
            return not mx.control_files()

        wait_until(is_over, "all is delivered", timeout=480, pause=2)
        assert len(throttled(mx, hop.port)) == 1
        messages = list(hop.messages)
        wait_until(lambda: has_recovered(mx, hop, addresses), "the server gets as much as before", timeout=240)
        mx.wait_empty()
        assert sorted(hop.delivered)[4:] == sorted(addresses)
        steps = sorted(seen, reverse=True)
        assert len(steps) >= 4
        assert all(abs(later / earlier - 2 / 3) < 0.01 for earlier, later in zip(steps, steps[1:])), steps
        apart = [later - earlier for earlier, later in zip(messages[4:], messages[5:])]
        slowest = [gap for gap in apart if gap > steps[-1] * 0.9]
        assert all(later <= earlier + 1 for earlier, later in zip(slowest, slowest[1:])), apart
    check_never_deferred(mx)
