"""Printed numbers and ours as texts: one look in every report that shows them."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from reports.source.format import cells, interval, number, signed
from reports.source.replication.rows import ABOVE, BELOW, texts

_SIDES = {
    ("", False): "", ("", True): "", (ABOVE, False): "> ", (BELOW, False): "< ",
    (ABOVE, True): "≥ ", (BELOW, True): "< ",
}  # fmt: skip
_TEXTS = ("item", "quantity", "paper_p", "side")


def write_rows(rows: pd.DataFrame) -> dict[str, Any]:
    """What ``rows`` in ``report.typ`` shows of printed numbers and ours, and how wide words are.

    Parameters
    ----------
    rows
        Those of :func:`reports.source.replication.table.replication_table`.
    """
    rows = rows.assign(**{name: texts(rows[name]) for name in _TEXTS})
    lines = rows.to_dict("records")
    shown = rows.assign(
        printed=[
            _SIDES[line["side"], bool(line["design"])]
            + _write(line["paper_value"], line["paper_sd"], line["places"])
            + (f" ({line['paper_p']})" if line["paper_p"] else "")
            for line in lines
        ],
        ours=[_write(line["ours"], line["ours_sd"], line["places"]) for line in lines],
        ends=[interval(line["low"], line["high"], line["places"]) for line in lines],
        difference=[signed(line["difference"], line["places"]) for line in lines],
    )
    return {
        "rows": cells(shown, "item quantity printed ours ends difference verdict"),
        "longest": [rows[name].str.len().max() for name in ("item", "quantity")],
    }


def _write(value: float, sd: float, places: int) -> str:
    text = number(value, max(places, 0))
    return text if isnan(value) or isnan(sd) else f"{text} ± {number(sd, max(places, 2))}"
