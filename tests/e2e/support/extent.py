# SPDX-License-Identifier: ISC
"""How much a test tries that could try as much as one likes: E2E_SHORT=1 has it try less, which finds the
same faults later."""

import os
import random

IS_SHORT = os.environ.get("E2E_SHORT", "") == "1"
SEED = os.environ.get("WORLD_SEED", "1")  # another one for each commit


def extent(whole, short):
    return short if IS_SHORT else whole


def some(cases, count):
    """CASES in their order, and if it is short COUNT of them: with the next seed other ones."""
    cases = list(cases)
    chosen = range(len(cases))
    if IS_SHORT and count < len(cases):
        chosen = sorted(random.Random(SEED).sample(chosen, count))
    return [cases[number] for number in chosen]
