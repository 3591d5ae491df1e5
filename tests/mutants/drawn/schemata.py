# SPDX-License-Identifier: ISC
"""Many slips in one text, each of which is active when its number is named (slips.h)."""
import dataclasses

from . import syntax


def switch(number):
    return f"SLIP({number})"


@dataclasses.dataclass
class _Place:
    start: int
    end: int
    slips: list  # (number, slip)
    inner: list


def _nested(numbered):
    """Places in places; the text of one is whole within another's, or apart from it."""
    top = _Place(0, 1 << 62, [], [])
    open_places = [top]
    for number, slip in sorted(numbered.items(), key=lambda item: (item[1].start, -item[1].end)):
        while slip.start >= open_places[-1].end:
            open_places.pop()
        if slip.end > open_places[-1].end:
            raise ValueError(f"{slip.identity}: is partly in another")
        if (slip.start, slip.end) != (open_places[-1].start, open_places[-1].end):
            place = _Place(slip.start, slip.end, [], [])
            open_places[-1].inner.append(place)
            open_places.append(place)
        open_places[-1].slips.append((number, slip))
    return top


def _written(data, place):
    """The text of PLACE; a slip's own alternative has no other slip in it."""
    text, position = "", place.start
    for inner in place.inner:
        text += data[position:inner.start].decode(errors="surrogateescape") + _written(data, inner)
        position = inner.end
    text += data[position:place.end].decode(errors="surrogateescape")
    # what is left out as a statement is outside, as it has the semicolon
    for number, slip in sorted(place.slips, key=lambda item: (item[1].form == syntax.WITHOUT, item[0])):
        text = slip.form.format(slip=switch(number), new=slip.new, old=text)
    return text


def rewritten(data, numbered, name):
    """The file with all slips of {number: slip}; NAME: for messages of the compiler, lines are as before."""
    top = _nested(numbered)
    top.end = len(data)
    return f'#include "slips.h"\n#line 1 "{name}"\n' + _written(data, top)


def applied(data, slip):
    """The file as it is with the slip alone."""
    new = slip.new if slip.form != syntax.WITHOUT else ";"
    return data[:slip.start] + new.encode(errors="surrogateescape") + data[slip.end:]
