"""A browser, and people who go through a study in it page by page."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    ViewportSize,
    sync_playwright,
)

from pasta.studies.app.database import ANSWERS, open_database
from pasta.studies.app.design import load_design
from tests.studies.app.serving import Server, tokens

Json = dict[str, Any]
CHROMIUM = Path("/usr/bin/chromium")
WIDE, NARROW = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)
DESKTOP: Json = {"viewport": WIDE}
PHONE: Json = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
# Rules of axe that depend on colours: in the dark all others would find the same again.
COLOURS = ["color-contrast", "link-in-text-block"]
WORDS = "whiskers & <b>pointed</b> ears"
Point = tuple[float, float]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; without it tests are skipped, but not where everything must run."""
    if not CHROMIUM.is_file():
        message = f"{CHROMIUM} is not there: `make system` installs it, or says how"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if root else []
        )
        try:
            yield browser
        finally:
            browser.close()


def invited(server: Server) -> str:
    """The link of one more person."""
    [token] = tokens(server.folder, 1)
    return f"{server.url}/t/{token}"


def stored(folder: Path) -> list[Json]:
    """Every answer of a study in the order in which they came."""
    database = open_database(folder)
    try:
        with database.reading() as connection:
            rows = connection.execute(sa.select(ANSWERS).order_by(ANSWERS.c.id)).mappings()
            return [{**row, "answer": json.loads(row["answer"])} for row in rows]
    finally:
        database.close()


@contextmanager
def window(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A browser of somebody's own: no error on any page stays unseen."""
    context = browser.new_context(reduced_motion="reduce", **options)
    context.set_default_timeout(30_000)
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on(
        "console",
        lambda line: errors.append(line.text) if "Content Security" in line.text else None,
    )
    try:
        yield context
    finally:
        context.close()
    assert errors == []


def serious(page: Page) -> list[str]:
    """What axe finds that is serious or critical, in the light and in the dark."""
    found = []
    size = page.viewport_size
    only: dict[str, Json] = {"light": {}, "dark": {"runOnly": {"type": "rule", "values": COLOURS}}}
    for scheme, rules in only.items():
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        options = {"resultTypes": ["violations"], **rules}
        for one in Axe().run(page, options=options).response["violations"]:
            if one["impact"] in ("serious", "critical"):
                places = [node["html"][:120] for node in one["nodes"][:3]]
                found.append(f"{page.title()} ({scheme}, {size}): {one['id']}: {places}")
    page.emulate_media(color_scheme="light")
    return found


def drag(page: Page, points: Sequence[Point], touch: bool) -> None:
    """Press at the first point, move over the others and let go; with a finger or the mouse."""
    if not touch:
        page.mouse.move(*points[0])
        page.mouse.down()
        for x, y in points[1:]:
            page.mouse.move(x, y, steps=4)
        page.mouse.up()
        return
    session = page.context.new_cdp_session(page)
    for number, (x, y) in enumerate(points):
        kind = "touchStart" if number == 0 else "touchMove"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def inside(surface: Locator, fractions: Sequence[Point]) -> list[Point]:
    """Points of the screen from fractions of what is there."""
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box is not None
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in fractions]


@dataclass
class Person:
    """Somebody who takes part.

    Attributes
    ----------
    page, folder
        The browser's page, and the study's folder, to know what is right in a check.
    touch
        Whether with a finger.
    look
        Called once for each kind of page, before it is answered.
    sent
        Every answer that the page has sent, in order.
    """

    page: Page
    folder: Path
    touch: bool = False
    look: Callable[[Page], None] | None = None
    sent: list[Json] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        design = load_design(self.folder)
        steps = [one for item in design.items.values() for one in item.steps]
        checks = [design.check] if design.check else []
        self._right = {
            one.page["title"]: one.expected
            for one in [*checks, *steps]
            if one.kind == "check" and one.expected is not None
        }
        self._looked: set[str] = set()
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if request.method == "POST" and request.url.endswith("/answer"):
            self.sent.append(json.loads(request.post_data))

    def open(self, link: str) -> None:
        """Follow the link and wait for the first page."""
        self.page.goto(link)
        self.page.wait_for_selector("#page form")

    @property
    def kind(self) -> str:
        """What page this is."""
        name = self.page.locator("#page form").get_attribute("class") or ""
        return name.removeprefix("step-")

    def walk(self, until: str | None = None) -> None:
        """Answer page after page, to the end or to the first page of a kind."""
        while self.kind not in ("done", "ended", "declined", "full", "withdrawn", until):
            self.answer()
        self._see()

    def answer(self) -> None:
        """Answer this page and wait for the next."""
        kind = self.kind
        self._see()
        getattr(self, f"_{kind}")()
        self.go_on()

    def go_on(self, button: str = "button[type=submit]") -> None:
        """Send what was answered."""
        self.page.locator("#page form").evaluate("form => form.setAttribute('data-seen', '')")
        self._press(self.page.locator(button))
        self.page.wait_for_selector(
            "#page form:not([data-seen]), #page h1:only-child, #problem:not([hidden])"
        )
        if not self.page.locator("#page form:not([data-seen])").count():
            pytest.fail(f"{self.kind}: {self.page.locator('#page').inner_text()[-300:]}")

    def _see(self) -> None:
        self.kinds.append(self.kind)
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= self.page.viewport_size["width"], self.kind  # type: ignore[index]
        if self.look is not None and self.kind not in self._looked:
            self._looked.add(self.kind)
            self.look(self.page)

    def _press(self, place: Locator) -> None:
        place.tap() if self.touch else place.click()

    def _consent(self) -> None:
        pass

    def _instructions(self) -> None:
        assert self.page.locator(".drawn-examples figure").count() >= 1

    def _training(self) -> None:
        assert self.page.locator("#page .reservoir .example").count() <= 4

    def _demographics(self) -> None:
        self.page.get_by_label("Age in years").fill("34")
        self.page.get_by_label("Sex").select_option("female")
        self.page.get_by_label("Country").fill("Côte d’Ivoire")

    def _check(self) -> None:
        title = self.page.locator("h1").inner_text()
        wrong = title == "Practice" and self.page.locator(".notice.warm").count() == 0
        for place, (name, right) in enumerate(self._right[title].items()):
            question = self.page.locator(f'[data-question="{name}"]')
            choices = question.locator("label.tick")
            if wrong and place == 0:
                choice = choices.filter(has_not_text=re.compile(f"^{re.escape(right)}$"))
            else:
                choice = choices.filter(has_text=re.compile(f"^{re.escape(right)}$"))
            self._press(choice.first)

    def _before(self) -> None:
        self.page.get_by_role("textbox").fill(WORDS)
        surface = self.page.locator("svg.marks")
        drag(self.page, inside(surface, [(0.25, 0.25), (0.5, 0.6), (0.75, 0.5)]), self.touch)

    def _stars(self) -> None:
        for place, row in enumerate(self.page.locator(".scale").all()):
            self._press(row.locator("label").nth((place + len(self.sent)) % 5))

    def _rankings(self) -> None:
        for question in self.page.locator(".ranking").all():
            waiting = question.locator(".waiting")
            while waiting.count():
                self._press(waiting.last.get_by_role("button"))
            grip, last = question.locator(".grip").first, question.locator(".place").last
            [start] = inside(grip, [(0.5, 0.5)])
            [end] = inside(last, [(0.05, 0.8)])
            [start] = inside(grip, [(0.5, 0.5)])
            drag(self.page, [start, (start[0], start[1] + 20), (start[0], end[1])], self.touch)

    def _choice(self) -> None:
        self._press(self.page.locator(".options label").nth(len(self.sent) % 2))

    def _regions(self) -> None:
        surface = self.page.locator("svg.marks")
        triangle = [(0.2, 0.2), (0.8, 0.2), (0.5, 0.8), (0.2, 0.22)]
        drag(self.page, inside(surface, triangle), self.touch)
        self._press(self.page.get_by_role("button", name="Box", exact=True))
        drag(self.page, inside(surface, [(0.1, 0.9), (0.3, 0.7)]), self.touch)

    def _words(self) -> None:
        words = self.page.locator(".word")
        self._press(words.nth(1))
        if self.touch:
            self._press(words.nth(3))
            self._press(words.nth(4))
        else:
            ends = [inside(words.nth(place), [(0.5, 0.5)])[0] for place in (3, 4)]
            drag(self.page, ends, touch=False)

    def _goodness(self) -> None:
        self._press(self.page.locator(".scale label").nth(6))
