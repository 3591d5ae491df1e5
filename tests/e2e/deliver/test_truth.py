# SPDX-License-Identifier: ISC
"""The judge of stale answers sees what it has to."""

import time

import pytest
from truth import ABSENT, Judge, Truth


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

    monkeypatch.setattr(time, "monotonic", lambda: Clock.now)
    return Clock


def change(truth, clock, key, value, begin, end):
    clock.now = begin
    truth.begin(key, value)
    clock.now = end
    truth.end(key)


@pytest.mark.parametrize("value, at, is_stale", [
    ("old", 1009, False),  # not begun
    ("new", 1009, True),  # nobody can know that yet
    ("old", 1010.5, False), ("new", 1010.5, False),  # under way
    ("old", 1013, False),  # for TTL and slack
    ("old", 1013.6, True), ("new", 1013.6, False), (ABSENT, 1010.5, True)])
def test_what_is_stale(clock, value, at, is_stale):
    truth = Truth({"k": "old"})
    judge = Judge(truth, ttl=2, slack=0.5)
    change(truth, clock, "k", "new", 1010, 1011)
    clock.now = at
    judge.answered("k", value, asked=at, where="here")
    assert bool(judge.stale) == is_stale


def test_a_change_that_nobody_knows_of_excuses_both(clock):
    truth = Truth({"k": "old"})
    clock.now = 1010
    truth.begin("k", "new")
    clock.now = 1100
    assert truth.possible("k", 1090, 1100) == {"old", "new"}


def test_a_change_that_was_not_made_excuses_nothing(clock):
    truth = Truth({"k": "old"})
    truth.begin("k", "new")
    truth.end("k", done=False)
    assert truth.possible("k", 1000, 1100) == {"old"} and truth.now("k") == "old"


def test_several_changes_within_the_time(clock):
    truth = Truth({"k": 1})
    for value in 2, 3, 4:
        change(truth, clock, "k", value, 1000 + value, 1000.1 + value)
    assert truth.possible("k", 1003.5, 1004.5) == {3, 4}
    assert truth.possible("k", 1003.05, 1003.5) == {2, 3}
