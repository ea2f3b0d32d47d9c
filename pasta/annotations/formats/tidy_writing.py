"""Writing of tables as CSV: minimal quotes, plain line ends, times in ISO 8601.

Hundreds of thousands of votes go through pyarrow; it can quote either every text or none, so a
table with a cell that needs quotes, which descriptions have, is written cell by cell (the csv
module does not quote a lone carriage return). Both ways write the same bytes where both can.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.annotations.formats.folders import new_folder
from pasta.annotations.formats.study_file import STUDY
from pasta.annotations.records import PARTS, Annotations
from pasta.store import write_json

_SPECIAL = re.compile('[",\r\n]')


def write_tidy(annotations: Annotations, folder: Path, protocol: str | None = None) -> None:
    """Write a new folder with a CSV file for every table that is not empty, sorted by key.

    ``protocol`` is the version that the annotations follow; it is said in ``study.json``.
    """
    with new_folder(folder) as temporary:
        for name, frame in annotations.parts().items():
            if len(frame):
                ordered = frame.sort_values(list(PARTS[name].key), kind="stable")
                write_csv(ordered, temporary / f"{name}.csv")
        if protocol is not None:
            write_json({"protocol": protocol}, temporary / STUDY)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write the columns of a typed frame; nothing stands for what is missing."""
    import pyarrow as pa
    import pyarrow.csv

    table = pa.table({str(name): as_text(frame[name]) for name in frame.columns})
    if _needs_quotes(table):
        columns = [map(_cell, column.to_pylist()) for column in table.columns]
        lines = [",".join(row) for row in zip(*columns, strict=True)]
        text = "\n".join([",".join(table.column_names), *lines, ""])
        path.write_bytes(text.encode())
        return
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        file.write((",".join(table.column_names) + "\n").encode())
        pyarrow.csv.write_csv(table, file, options)


def as_text(column: pd.Series[Any]) -> Any:
    """A column as an arrow array of text: what the reader of CSV files finds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return _times(column)
    values = pa.Array.from_pandas(column)
    if pa.types.is_floating(values.type):
        # Python writes the shortest text that is the same number again.
        texts = [None if pd.isna(one) else repr(float(one)) for one in column]
        values = pa.array(texts, pa.string())
    else:
        values = values.cast(pa.string())
    return pc.fill_null(values, "")


def _times(column: pd.Series[Any]) -> Any:
    """Times in UTC, to the microsecond."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pa.Array.from_pandas(column.dt.tz_convert("UTC").dt.tz_localize(None))
    text = plain.cast(pa.timestamp("us")).cast(pa.string())
    exact = pc.replace_substring(text, " ", "T", max_replacements=1)
    return pc.fill_null(pc.binary_join_element_wise(exact, "Z", ""), "")


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def _needs_quotes(table: Any) -> bool:
    import pyarrow.compute as pc

    return any(
        pc.any(pc.match_substring_regex(column, _SPECIAL.pattern)).as_py()
        for column in table.columns
    )
