# SPDX-License-Identifier: ISC
"""How urgent a message is goes with it from host to host, and into its reports (MT-PRIORITY, RFC 6710)."""

import json
import os
import subprocess

from smtp import Client
from stagepost import PATIENCE, as_user, free_port

TEXT = b"Subject: urgent\r\n\r\nHello.\r\n"
FAR = "x@far.test"


def listed(mx, *words):
    return subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "queue", "list", "-c", mx.conf,
                           *words], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


def send(mx, parameter):
    with Client(mx) as client:
        assert client.esmtp_features["mt-priority"].strip() == "MIXER"
        assert client.docmd(f"MAIL FROM:<a@client.test> {parameter}")[0] == 250
        assert client.docmd(f"RCPT TO:<{FAR}>")[0] == 250
        assert client.data(TEXT)[0] == 250


def test_it_is_passed_on_and_shown(node):
    """The second host's way on is down, so that the message waits there."""
    last = node(routes=[f"far.test:127.0.0.1;{free_port()}"])
    first = node(routes=[f"far.test:127.0.0.1;{last.port}"])
    send(first, "MT-PRIORITY=-4")
    last.log.wait("deferred", to=FAR)
    (entry,) = [json.loads(line) for line in listed(last, "--json").splitlines()]
    assert entry["priority"] == -4 and "(priority -4)" in listed(last)
    (control,) = last.control_files().values()
    assert " priority=-4" in control


def test_a_report_is_as_urgent(node):
    """Its way back is down."""
    port = free_port()
    mx = node(routes=[f"far.test:127.0.0.1;{port}", f"client.test:127.0.0.1;{port}"],
              settings="queuelifetime = 0\n")
    last = node(routes=[f"client.test:127.0.0.1;{port}"], domains=["a.test"])
    mx.routes = [f"far.test:127.0.0.1;{port}", f"client.test:127.0.0.1;{last.port}"]
    mx.write_configuration()
    mx.restart()
    send(mx, "MT-PRIORITY=4")
    last.log.wait("deferred", to="a@client.test")
    (entry,) = [json.loads(line) for line in listed(last, "--json").splitlines()]
    assert entry["sender"] == "" and entry["priority"] == 4


def test_strangers_are_not_offered_it(node):
    with Client(node(relay_from=[])) as client:
        assert not client.has_extn("mt-priority")
        assert client.docmd("MAIL FROM:<a@client.test> MT-PRIORITY=4")[0] == 555
