# SPDX-License-Identifier: ISC
"""Queues whose files a disk, a restore or a hand has changed in 10,000 ways (make damage):
nothing damaged is delivered as if it were whole, nothing whole is held, and nothing goes silently."""

import os
import sys
import time

from extent import SEED, extent

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from common.record import record  # noqa: E402
from damage.campaign import Campaign  # noqa: E402

DAMAGES = int(os.environ.get("DAMAGES", extent(400, 200)))
ZERO = ("delivered though damaged", "held though whole", "silently removed")


def test_damaged_queues(node):
    begin = time.monotonic()
    campaign = Campaign(os.environ.get("DAMAGE_SEED", SEED))
    mx = node(start=False, routes=[f"b.test:{campaign.hop.address.replace(':', ';')}"],
              settings="queue_sync = ordered\nprobe_delay = 1\n")
    try:
        while campaign.counts["damages"] < DAMAGES:
            campaign.play(mx)
    finally:
        campaign.close()
        counts = {**campaign.counts, **{f"of them {way}": count for way, count in sorted(campaign.ways.items())}}
        print(record(
            "damage", title="Damaged queues",
            what="A queue is filled under load, and stopped or killed with kill -9. Then blocks of its files are "
                 "zeroed and exchanged, files truncated, bits flipped, names removed, and files of an earlier queue "
                 "put over those of today; every third time it is repaired. It is started again and drained to a hop "
                 "that compares each text with what was sent. What did not arrive whole must be held, or in damaged/ "
                 "or litter/ with a line of the log that names it, or its sender was told.",
            command="make damage", filesystem="ext4", seconds=time.monotonic() - begin, counts=counts, zero=ZERO))
    assert not any(campaign.counts[name] for name in ZERO)
