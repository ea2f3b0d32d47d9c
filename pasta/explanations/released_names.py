"""What a release calls a technique."""

from __future__ import annotations

from pasta.datasets.released import ForeignError
from pasta.explanations.techniques import NUMBERED


def released_technique(named: int | str, number: int | None) -> str:
    """``method/backbone`` as a release names it: by a number, or by these words.

    Parameters
    ----------
    named
        What an entry says.
    number
        What the name of its picture says, if anything.
    """
    known = NUMBERED.get(number) if number is not None else None
    found = NUMBERED.get(named) if isinstance(named, int) else named
    if found is None:
        expected = f"a number of the release, up to {max(NUMBERED)}, or sample_id"
        raise ForeignError(f"technique {named} is not known", expected)
    if known not in (None, found):
        raise ForeignError(f"is about {found} and its picture about {known}", "one technique")
    return found
