"""Human attention: every number of its lines and tests, as rows beside ours."""

from __future__ import annotations

import pandas as pd

from analysis.tables import Tables
from reports.source.replication.reasons import MISSING
from reports.source.replication.rows import BELOW, Frames, beside, printed_rows

BY_IMAGE = "by image"  # intervals and tests that allow for images with several maps
_METHODS = {"LIME:": "lime:", "GradCAM:": "gradcam:"}  # as the paper's lines write them
_TERMS = {"both": "slope and intercept", "slopes": "equal slopes"}
_COUNTS = {"people who rated maps": "raters"}


def line_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Correlations, slopes and intercepts of the lines of Figures 2 and 4.

    ``ours["attention_correlations"]`` has value, rating, method, estimate, low, high;
    ``ours["attention_lines"]`` line, kind, term, estimate, low, high.
    """
    columns = {
        "pearson_r": {"quantity": "Pearson's r", "places": 3, "p": "p", "term": "pearson"},
        "slope": {"quantity": "slope", "places": 3, "term": "slope"},
        "intercept": {"quantity": "intercept", "places": 3, "term": "intercept"},
    }
    named = paper.assign(
        title=paper["comparison"].str.replace("_", " "),
        line=paper["comparison"].replace(_METHODS, regex=True),
    )
    rows = printed_rows(named, columns, "{title}", keys=["line"], by_line=True)
    rows = rows.dropna(subset="paper_value").reset_index(drop=True)
    return beside(rows, _terms(ours), ["line", "term"], MISSING["attention"])


def _terms(ours: Frames) -> pd.DataFrame | None:
    """What we have of the lines, a row for each line and term."""
    parts = []
    lines, pairs = ours.get("attention_lines"), ours.get("attention_correlations")
    if lines is not None and len(lines):
        parts.append(lines[lines["kind"] == BY_IMAGE])
    if pairs is not None and len(pairs):
        own = pairs[pairs["method"] == "pearson"]
        parts.append(own.assign(line=own["rating"] + " ~ " + own["value"], term="pearson"))
    columns = ["line", "term", "n", "estimate", "low", "high"]
    return pd.concat([part[columns] for part in parts], ignore_index=True) if parts else None


def homogeneity_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Tests of lines and of equal slopes: p-values, of which the paper says how small they are.

    ``ours["attention_tests"]`` has test, kind, term, p.
    """
    named = paper.assign(
        title=paper["test"].str.replace("_", " "), what=paper["term"].map(_TERMS),
        most=paper["p"].str.lstrip("<").astype(float),
    )  # fmt: skip
    columns = {
        "most": {"quantity": "p, {what}", "places": 3, "side": BELOW, "design": True},
    }
    rows = printed_rows(named, columns, "{title}", keys=["test", "term"])
    found = ours.get("attention_tests")
    if found is not None and len(found):
        own = found[found["kind"] == BY_IMAGE]
        found = own[["test", "term"]].assign(estimate=own["p"])
    return beside(rows, found, ["test", "term"], MISSING["attention"])


def attention_facts(tables: Tables) -> list[dict[str, object]]:
    """What our study has of the sizes in the text, as rows with fact and estimate.

    Parameters
    ----------
    tables
        Those of :mod:`pasta.studies.attention.analyses`.
    """
    found: dict[str, float] = {}
    counts, marked, texts = (tables.get(name) for name in ("counts", "agreement", "text_agreement"))
    if counts is not None and len(counts):
        number = counts.set_index("what")["n"]
        found |= {short: number[what] for what, short in _COUNTS.items() if what in number.index}
    if marked is not None and len(marked):
        found |= {"images": len(marked), "classes": marked["label"].nunique()}
    if texts is not None and len(texts):
        each = texts["label"].value_counts()
        found |= {"imdb": len(texts), "imdb_classes": len(each), "imdb_per_class": each.mean()}
    return [
        {"fact": f"ha_{name}", "n": None, "estimate": float(value), "note": ""}
        for name, value in found.items()
    ]
