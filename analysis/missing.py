"""Words that stand for nothing in a column of people's answers."""

from __future__ import annotations

import re

# Compared without capitals; blanks, hyphens and underscores are alike.
MISSING_WORDS = frozenset(
    {
        "-", "--", "?", ".", "na", "n/a", "#n/a", "nan", "<na>", "nil", "none", "null", "missing",
        "unknown", "unspecified", "undisclosed", "consent revoked", "data expired", "declined",
        "declined to answer", "did not answer", "do not know", "don't know",
        "i prefer not to say", "no answer", "no response", "not applicable", "not available",
        "not disclosed", "not given", "not known", "not provided", "not specified", "not stated",
        "prefer not to answer", "prefer not to disclose", "prefer not to say",
        "prefer not to state", "rather not say", "refused", "refused to answer", "revoked",
        "withdrawn", "withheld",
    }
)  # fmt: skip
_BLANKS = re.compile(r"[\s_\-]+")


def is_missing(text: str) -> bool:
    """Whether a cell says nothing: it is empty, or one of :data:`MISSING_WORDS`.

    Parameters
    ----------
    text
        What the cell says.

    Returns
    -------
    bool

    Examples
    --------
    >>> [is_missing(text) for text in ("CONSENT_REVOKED", "NA", " ", "female")]
    [True, True, True, False]
    """
    plain = text.strip().casefold()
    return not plain or plain in MISSING_WORDS or _BLANKS.sub(" ", plain) in MISSING_WORDS
