# SPDX-License-Identifier: ISC
"""An operator has a message tried at once, whatever it waits for."""

import json
import os
import subprocess

from smtp import deliver
from stagepost import PATIENCE, as_user, free_port, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"


def run(mx, *words):
    ended = subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), *words, "-c", mx.conf],
                           capture_output=True, text=True, check=True, timeout=PATIENCE)
    return ended.stdout


def attempts(mx):
    return {delivery["address"]: delivery["attempts"]
            for line in run(mx, "queue", "list", "--json").splitlines()
            for delivery in json.loads(line).get("deliveries", ())}


def test_each_host_that_it_waits_for_is_tried(node):
    """Other mail waits for the same hosts, and stays where it is."""
    hosts = {f"{name}.test": free_port() for name in ("one", "two", "three")}
    mx = node(routes=[f"{domain}:127.0.0.1;{port}" for domain, port in hosts.items()])
    addresses = [f"user@{domain}" for domain in hosts]
    deliver(mx, addresses, TEXT)
    wait_until(lambda: len(mx.trigger_files()) == 3 and len(attempts(mx)) == 3, "it waits for three hosts")
    (message,) = [json.loads(line) for line in run(mx, "queue", "list", "--json").splitlines()]
    for address in addresses:
        deliver(mx, f"other-{address}", TEXT)
    wait_until(lambda: run(mx, "queue", "list", "--json").count("\n") == 4, "other mail waits, too")
    before = attempts(mx)
    run(mx, "queue", "retry", message["id"])
    wait_until(lambda: all(attempts(mx)[address] > before[address] for address in addresses),
               "each host is tried")
