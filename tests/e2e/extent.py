# SPDX-License-Identifier: ISC
"""How much a test tries that could try as much as one likes: E2E_SHORT=1 has it try less, which finds the
same faults later."""

import os

IS_SHORT = os.environ.get("E2E_SHORT", "") == "1"


def extent(whole, short):
    return short if IS_SHORT else whole
