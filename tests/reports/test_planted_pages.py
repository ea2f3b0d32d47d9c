"""The block "planted against found" at the end of every report on simulated votes."""

from __future__ import annotations

import pandas as pd

from reports.source.planted import describe_planted
from reports.source.typesetting import Report
from tests.reports.studies import printed

TABLE = pd.DataFrame(
    [
        ("sex, level", "all", "women's stars less men's", "raters.sex_leniency", 0.4, 0.39, 0.42,
         0.27, 0.57, True, True),
        ("age, level", "all", "stars for ten years more", "", 0.0, 0.01, -0.3, -0.5, -0.1, False,
         True),
    ],
    columns=["effect", "item", "about", "parameter", "planted", "expected", "estimate", "low",
             "high", "covers", "found"],
)  # fmt: skip
PROSE = '#import "report.typ": *\n#show: report.with(title: "A page", compact: true)\nText.'


def _printed(name: str, parts: dict[str, dict[str, pd.DataFrame]]) -> str:
    content = {"planted": describe_planted(name, parts)}
    return printed(Report("page", True, content, prose=PROSE))


def test_a_report_shows_planted_and_found_and_whether_the_interval_covers() -> None:
    text = _printed("agreement", {"agreement": {"planted": TABLE}})
    assert "intervals, 1 contain what the planted parameters come to" in text
    assert "Of 1 planted effect, the estimates of 1 differ" in text
    assert "women's stars less men's" in text and "raters.sex_leniency" in text
    assert "[0.27, 0.57] yes yes" in text and "[−0.50, −0.10] no" in text


def test_the_overview_counts_and_reports_without_planted_effects_say_nothing_of_them() -> None:
    overview = _printed("overview", {"agreement": {"planted": TABLE}, "correlation": {}})
    assert "planted effect" in overview and "raters.sex_leniency" not in overview
    assert "planted" not in _printed("score", {"agreement": {"planted": TABLE}}).lower()
    assert "cannot be compared here" in _printed("dataset", {"preference": {}})
