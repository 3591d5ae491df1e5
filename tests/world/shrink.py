# SPDX-License-Identifier: ISC
"""The smallest world of a seed that still fails."""
import time


def least(low, high, fails, deadline):
    """The least N of LOW to HIGH, with which it fails as with HIGH, as far as bisection finds it."""
    while low < high and time.monotonic() < deadline:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle + 1
    return high


def shrink(fails, most, seconds):
    """The smallest options with which a world fails, as FAILS says of a dictionary of them. With
    MOST it does; fewer are tried of one option after the other. The last should be the number of
    faults, which leaves all as it was before the last fault. After SECONDS: the smallest so far."""
    deadline = time.monotonic() + seconds
    options = dict(most)
    for name in most:
        if time.monotonic() >= deadline:
            break

        def fails_with(number, name=name):
            return fails(options | {name: number})

        found = least(1, options[name], fails_with, deadline)
        if found < options[name]:
            options[name] = found
    return options


def words(options):
    return [f"--{name}={number}" for name, number in options.items()]
