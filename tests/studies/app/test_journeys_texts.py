"""The texts of the pages, and the geometry of what people draw: what no journey shows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from shapely import LinearRing, Polygon
from shapely.ops import polygonize, unary_union

from pasta.seeds import generator
from pasta.studies.app.taking_part import End, Problem
from tests.studies.app import browser as started_browser
from tests.studies.app.browser import DESKTOP, Point, chromium, window
from tests.studies.app.made import plain_study
from tests.studies.app.serving import served

APP = Path(__file__).parents[3] / "pasta" / "studies" / "app"
TEXTS = json.loads((APP / "static" / "texts.en.json").read_text())
PAGES = [*(APP / "static").glob("*.js"), *(APP / "templates").glob("*.html")]
SOURCES = [*PAGES, *APP.glob("*.py")]


def used() -> tuple[set[str], set[str]]:
    """The keys that pages name, and the beginnings of those that they put together."""
    names: set[str] = set()
    beginnings: set[str] = set()
    for file in SOURCES:
        text = file.read_text()
        names |= set(re.findall(r'texts\["([^"]+)"\]', text))
        names |= set(re.findall(r'"([a-z]+\.[a-z_]+)"', text)) & set(TEXTS)
        names |= set(re.findall(r'(?<![\w.])t\(\s*"([^"]+)"', text))
        beginnings |= set(re.findall(r"(?<![\w.])t\(`([^`$]+)\$", text))
        beginnings |= set(re.findall(r"words\[f[\"']([a-z]+\.)\{", text))
        codes = re.findall(r'(?:\(4\d\d,|\b4\d\d:) "(\w+)"', text)
        names |= {f"refused.{code}" for code in codes}
    names |= {f"refused.{problem}" for problem in get_args(Problem)}
    names |= {f"end.{end}" for end in get_args(End)}
    return names, beginnings


def test_every_text_that_a_page_names_is_in_the_file_and_none_is_left_over() -> None:
    names, beginnings = used()
    assert sorted(names - set(TEXTS)) == []
    spare = [key for key in TEXTS if key not in names and not key.startswith(tuple(beginnings))]
    assert spare == []


def test_pages_have_no_inline_script_or_style_and_no_foreign_address() -> None:
    for file in PAGES:
        text = file.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=\"", text), file
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(", text), file
        foreign = [one for one in re.findall(r"https?://[^\s\"'`)]+", text) if "w3.org" not in one]
        assert foreign == [], file


def test_without_chromium_tests_are_skipped_but_not_where_everything_must_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(started_browser, "CHROMIUM", Path("/nowhere/chromium"))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make system"), chromium():
        pass
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make system"), chromium():
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = plain_study(tmp_path_factory.mktemp("shapes") / "study", seats=1)
    with served(folder) as server, window(browser, **DESKTOP) as context:
        opened = context.new_page()
        opened.goto(server.url)
        yield opened


def drawn_simple(page: Page, points: list[Point]) -> list[Point]:
    """What the pages make of a line drawn by hand."""
    script = "async points => (await import('/static/shapes.js')).simple(points)"
    found: list[Point] = page.evaluate(script, points)
    return found


def lasso(number: int) -> list[Point]:
    """A shaky loop whose ends overlap, as those of a hand do."""
    random = generator(5, "lasso", number)
    turns = np.linspace(0, 2 * math.pi * 1.06, 70)
    radius = 60 + np.cumsum(random.normal(0, 1.2, turns.size))
    x = 100 + radius * np.cos(turns) + random.normal(0, 0.8, turns.size)
    y = 90 + 0.7 * radius * np.sin(turns) + random.normal(0, 0.8, turns.size)
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("number", range(8))
def test_a_lasso_that_crosses_itself_becomes_a_valid_polygon_of_nearly_all_its_area(
    page: Page, number: int
) -> None:
    points = lasso(number)
    made = Polygon(drawn_simple(page, points))
    enclosed = sum(one.area for one in polygonize(unary_union(LinearRing(points))))
    assert made.is_valid
    assert 0.85 * enclosed <= made.area <= enclosed + 1e-9


def test_a_simple_polygon_stays_as_it_was_and_of_an_eight_the_larger_loop_stays(
    page: Page,
) -> None:
    square: list[Point] = [(0, 0), (10, 0), (10, 10), (0, 10)]
    assert [tuple(one) for one in drawn_simple(page, square)] == square
    eight: list[Point] = [(0, 0), (20, 20), (20, 0), (0, 20)]
    larger: list[Point] = [(0, 0), (15, 15), (15, 5), (0, 20)]  # meets itself at (10, 10)
    assert Polygon(drawn_simple(page, eight)).area == pytest.approx(100)
    assert Polygon(drawn_simple(page, larger)).area == pytest.approx(100)
