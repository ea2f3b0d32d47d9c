"""Pages that take care of people: keys only, breaks, bad connections, haste; the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Response, Route

from pasta.studies.app.access import set_password
from tests.studies.app.browser import (
    DESKTOP,
    NARROW,
    PHONE,
    WIDE,
    Json,
    Person,
    chromium,
    invited,
    serious,
    stored,
    window,
)
from tests.studies.app.browser_ratings import ratings_study
from tests.studies.app.made import attention_study, plain_study
from tests.studies.app.serving import Server, public_token, served

LARGEST_FIRST_PAGE = 100_000  # bytes without pictures
PASSWORD = "a long password"  # noqa: S105
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One study for all tests of this file; each has people of its own."""
    folder = attention_study(tmp_path_factory.mktemp("care") / "study", people=12)
    set_password(folder, PASSWORD)
    with served(folder) as running:
        yield running


def own(server: Server, steps: list[Json]) -> list[Json]:
    """What is stored of the answers that one person has sent."""
    keys = {one["key"] for one in steps}
    return [row for row in stored(server.folder) if row["key"] in keys]


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something has the focus, and that can be seen."""
    here = f"document.activeElement?.matches({selector!r}) ?? false"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(here):
            outlined = (
                "(el => [el, ...el.querySelectorAll('.here'), el.parentElement]"
                ".some(one => getComputedStyle(one).outlineStyle !== 'none'))"
                "(document.activeElement)"
            )
            assert page.evaluate(outlined), f"{selector}: the focus cannot be seen"
            return
    pytest.fail(f"{selector} cannot be reached with Tab: {page.locator('#page').inner_text()}")


class Typist(Person):
    """Somebody who has no mouse."""

    def go_on(self, button: str = "button[type=submit]") -> None:
        """Go to the button and press Enter."""
        self.page.locator("#page form").evaluate("form => form.setAttribute('data-seen', '')")
        tab_to(self.page, button)
        self.keys("Enter")
        self.page.wait_for_selector("#page form:not([data-seen])")

    def keys(self, *names: str) -> None:
        """Press keys one after the other."""
        for name in names:
            self.page.keyboard.press(name)

    def _check(self) -> None:
        title = self.page.locator("h1").inner_text()
        for name, right in self._right[title].items():
            question = self.page.locator(f'[data-question="{name}"]')
            places = question.locator("label.tick").all_inner_texts()
            tab_to(self.page, f'[data-question="{name}"] input')
            self.keys("Space", *["ArrowDown"] * places.index(right))

    def _demographics(self) -> None:
        tab_to(self.page, "input[type=number]")
        self.page.keyboard.type("52")

    def _before(self) -> None:
        tab_to(self.page, "textarea")
        self.page.keyboard.type("pointed ears")
        self._box()

    def _box(self) -> None:
        tab_to(self.page, "svg.marks")
        self.keys("Enter", *["ArrowRight"] * 5, *["ArrowDown"] * 3, "Shift+ArrowDown", "Enter")

    def _stars(self) -> None:
        for place in range(self.page.locator(".scale").count()):
            tab_to(self.page, ".scale input")
            self.keys("Space", *["ArrowRight"] * (place % 5))

    def _rankings(self) -> None:
        for question in ("Q7", "Q8", "Q9"):
            tab_to(self.page, f'[data-question="{question}"] .waiting button')
            waiting = self.page.locator(f'[data-question="{question}"] .waiting')
            while waiting.count():
                self.keys("Enter")  # the focus goes to the next one that waits
            self.keys("Alt+ArrowUp")

    def _regions(self) -> None:
        tab_to(self.page, "svg.marks")
        corners = (["ArrowRight"] * 4, ["ArrowDown"] * 4)
        self.keys("Enter", *corners[0], "Enter", *corners[1], "Enter", "f")

    def _words(self) -> None:
        tab_to(self.page, ".words")
        self.keys("ArrowRight", "Space", "ArrowRight", "ArrowRight", "Shift+ArrowRight")

    def _goodness(self) -> None:
        tab_to(self.page, ".scale input")
        self.keys("Space", *["ArrowRight"] * 3)


@pytest.mark.slow
def test_the_attention_study_works_with_the_keyboard_alone(
    browser: Browser, server: Server
) -> None:
    with window(browser, **DESKTOP) as context:
        typist = Typist(context.new_page(), server.folder)
        typist.open(invited(server))
        typist.walk()
    rows = own(server, typist.sent)
    answers = [row["answer"] for row in rows]
    assert typist.kinds[-1] == "done"
    [triangle] = answers[3]["regions"]
    assert triangle["shape"] == "polygon"
    assert triangle["points"] == [[48, 48], [67.2, 48], [67.2, 67.2]]
    assert answers[-2] == {"words": [1, 3, 4]}
    assert answers[-1] == {"rating": 4}


@pytest.mark.slow
def test_the_rating_study_works_with_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    folder = ratings_study(tmp_path / "ratings", people=1)
    with served(folder) as server, window(browser, **DESKTOP) as context:
        typist = Typist(context.new_page(), folder)
        typist.open(invited(server))
        typist.walk()
    answers = [row["answer"] for row in stored(folder)]
    assert typist.kinds[-1] == "done"
    assert answers[-2] == {"Q1": 1, "Q2": 2, "Q3": 3, "Q4": 4, "Q5": 5, "Q6": 1}
    assert [len(answers[-1][name]) for name in ("Q7", "Q8", "Q9")] == [5, 6, 6]
    [[x0, y0, x1, y1]] = answers[-3]["Q0.2"]
    assert [x0, y0, x1, y1] == pytest.approx([0.5, 0.5, 0.75, 0.66], abs=0.001)


def test_what_was_begun_is_there_again_after_a_closed_tab(browser: Browser, server: Server) -> None:
    link = invited(server)
    with window(browser, **DESKTOP) as context:
        person = Person(context.new_page(), server.folder)
        person.open(link)
        person.walk("regions")
        person._regions()
        person.page.close()
        again = Person(context.new_page(), server.folder)
        again.open(link)
        assert again.kind == "regions"
        assert again.page.locator(".region-list li").count() == 2
        again.go_on()
        assert again.page.locator(".region-list li").count() == 0
        assert again.page.locator("#where").inner_text().startswith("1 of 5")
        again.walk()
    with window(browser, **PHONE) as context:
        elsewhere = Person(context.new_page(), server.folder, touch=True)
        elsewhere.open(link)
        assert elsewhere.kind == "done"
    assert len(own(server, again.sent)[0]["answer"]["regions"]) == 2


def test_back_and_a_second_tab_and_hasty_clicks_count_nothing_twice(
    browser: Browser, server: Server
) -> None:
    with window(browser, **DESKTOP) as context:
        link = invited(server)
        person = Person(context.new_page(), server.folder)
        person.page.goto(f"{server.url}/")
        person.open(link)
        person.walk("regions")
        before = person.page.locator("#where").inner_text()
        person.page.go_back()
        person.page.go_forward()
        person.page.wait_for_selector("#page form")
        assert person.page.locator("#where").inner_text() == before
        person._regions()
        other = Person(context.new_page(), server.folder)
        other.open(link)
        other._regions()
        person.page.bring_to_front()
        person.page.locator("#page form").evaluate("form => form.setAttribute('data-seen', '')")
        person.page.locator("button[type=submit]").dblclick()
        person.page.wait_for_selector("#page form:not([data-seen])")
        other.page.bring_to_front()
        other.go_on()
        assert "was answered already" in other.page.locator(".notice").inner_text()
        assert other.page.locator("#where").inner_text().startswith("1 of 5")
        sent = [*person.sent, *other.sent]
    counted = [row for row in own(server, sent) if row["step"] == "regions"]
    assert len(counted) == 1


def test_an_answer_without_a_connection_is_kept_and_sent_once(
    browser: Browser, server: Server
) -> None:
    with window(browser, **DESKTOP) as context:
        link = invited(server)
        person = Person(context.new_page(), server.folder)
        person.open(link)
        person.walk("regions")
        person._regions()
        context.set_offline(True)
        person.page.locator("button[type=submit]").click()
        person.page.locator("#connection").wait_for(state="visible")
        assert "kept on this device" in person.page.locator("#connection").inner_text()
        person.page.close()
        context.set_offline(False)
        back = Person(context.new_page(), server.folder)
        back.open(link)  # sends what was kept
        assert back.page.locator("#where").inner_text().startswith("1 of 5")
        back._regions()
        lost: list[str] = []

        def lose(route: Route, request: Request) -> None:
            """The answer arrives, but not what the server says to it."""
            if not lost:
                route.fetch()
                lost.append(request.url)
                route.abort()
            else:
                route.continue_()

        back.page.route("**/answer", lose)
        back.go_on()
        assert back.page.locator("#where").inner_text().startswith("2 of 5")
        assert len(back.sent) == 3  # the kept one, the lost one, and that again
        assert back.sent[1] == back.sent[2]
    assert len(own(server, back.sent)) == 2


def test_a_server_that_was_away_gets_the_answer_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    folder = plain_study(tmp_path / "away", seats=1, items=1)
    with served(folder) as server, window(browser, **PHONE) as context:
        person = Person(context.new_page(), folder, touch=True)
        person.open(invited(server))
        person.walk("goodness")
        person._goodness()
        server.kill()
        person.page.locator("button[type=submit]").tap()
        person.page.locator("#connection").wait_for(state="visible")
        assert serious(person.page) == []
        server.start()
        person.page.wait_for_selector("form.step-done")
        assert person.page.locator("#connection").is_hidden()
    assert [row["answer"] for row in stored(folder)][-1] == {"rating": 7}
    assert len(stored(folder)) == 3


def test_a_page_that_does_not_work_says_so(browser: Browser, server: Server) -> None:
    with window(browser, **DESKTOP) as context:
        page = context.new_page()
        page.route("**/api/t/*", lambda route: route.fulfill(json={"step": {"kind": "unheard-of"}}))
        page.goto(invited(server))
        page.get_by_role("heading", name="This did not work").wait_for()
        page.unroute("**/api/t/*")
        page.get_by_role("button", name="Load again").click()
        page.wait_for_selector("form.step-consent")


def test_who_declines_is_asked_nothing_more(browser: Browser, server: Server) -> None:
    with window(browser, **PHONE) as context:
        person = Person(context.new_page(), server.folder, touch=True)
        person.open(invited(server))
        person.page.get_by_role("button", name="I do not take part").tap()
        person.page.wait_for_selector("form.step-declined")
        assert person.page.locator("#page button").count() == 0
        assert serious(person.page) == []
    assert person.sent[0]["answer"] == {"agreed": False}


def test_a_break_and_taking_consent_back(browser: Browser, server: Server) -> None:
    with window(browser, **PHONE) as context:
        page = context.new_page()
        person = Person(page, server.folder, touch=True)
        person.open(invited(server))
        person.walk("regions")
        page.get_by_role("button", name="Pause").tap()
        assert page.get_by_role("dialog").is_visible()
        assert serious(page) == []
        page.get_by_role("button", name="Go on").tap()
        page.locator("svg.marks").wait_for()
        page.get_by_role("button", name="Pause").tap()
        page.get_by_text("Stop for good and withdraw").tap()
        page.get_by_role("button", name="Withdraw my consent").tap()
        page.wait_for_selector("form.step-withdrawn")
        page.reload()
        page.wait_for_selector("form.step-withdrawn")


def test_an_unfinished_page_is_not_sent_and_says_what_is_missing(
    browser: Browser, server: Server
) -> None:
    with window(browser, **DESKTOP) as context:
        person = Person(context.new_page(), server.folder)
        person.open(invited(server))
        person.walk("regions")
        before = len(person.sent)
        person.page.locator("button[type=submit]").click()
        assert "at least one region" in person.page.locator("#problem").inner_text()
        assert len(person.sent) == before
        person.page.get_by_label("There is nothing to mark in this picture").check()
        person.go_on()
    assert person.sent[-1]["answer"] == {"regions": []}


def test_the_first_page_is_light_and_nothing_comes_from_elsewhere(
    browser: Browser, server: Server
) -> None:
    sizes: dict[str, int] = {}

    def weigh(response: Response) -> None:
        kind = response.request.resource_type
        if kind != "image":
            sizes[response.url] = len(response.body())

    with window(browser, **PHONE) as context:
        page = context.new_page()
        page.on("response", weigh)
        page.goto(invited(server))
        page.wait_for_selector("#page form")
        page.wait_for_load_state("networkidle")
    assert sum(sizes.values()) <= LARGEST_FIRST_PAGE, sizes
    assert all(address.startswith(server.url) for address in sizes)


def test_a_public_link_gives_everybody_one_of_their_own_up_to_its_cap(
    browser: Browser, server: Server
) -> None:
    link = f"{server.url}/j/{public_token(server.folder, 1)}"
    with window(browser, **DESKTOP) as context:
        page = context.new_page()
        page.goto(link)
        assert serious(page) == []
        page.get_by_role("button", name="Get my link").click()
        page.wait_for_selector("form.step-consent")
        mine = page.url
        page.goto(link)
        page.get_by_role("link", name="Go on where you stopped").click()
        page.wait_for_selector("form.step-consent")
        assert page.url == mine
    with window(browser, **PHONE) as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Get my link").tap()
        page.locator("#problem").wait_for(state="visible")


def test_pages_without_a_study_and_errors_are_pages_for_people(
    browser: Browser, server: Server
) -> None:
    with window(browser, **PHONE) as context:
        page = context.new_page()
        found = []
        for place, status in (("/", 200), ("/t/forged", 403), ("/nowhere", 404)):
            response = page.goto(server.url + place)
            assert response is not None
            assert response.status == status
            assert page.locator("h1").is_visible()
            found += serious(page)
    assert found == []


@pytest.mark.slow
def test_the_dashboard_follows_people_and_replays_what_they_answered(
    browser: Browser, tmp_path: Path
) -> None:
    folder = ratings_study(tmp_path / "watched", people=3)
    set_password(folder, PASSWORD)
    with (
        served(folder) as server,
        window(browser, **DESKTOP) as watching,
        window(browser, **DESKTOP) as answering,
    ):
        board = watching.new_page()
        board.goto(f"{server.url}/admin")
        for word in ("a wrong password", PASSWORD):
            board.get_by_label("Password").fill(word)
            found = serious(board)
            board.get_by_role("button", name="Log in").click()
        board.get_by_role("heading", name="Progress by sample").wait_for()
        assert board.locator("[data-person]").count() == 0
        person = Person(answering.new_page(), folder)
        person.open(invited(server))
        person.walk("before")
        person.page.get_by_role("textbox").fill(HOSTILE)
        person.page.get_by_label("Nothing in the picture helps").check()
        person.go_on()
        person.answer()
        board.locator("[data-person]").wait_for()  # without loading the page again
        found += serious(board)
        _replay(board, found)
        for size in (WIDE, NARROW):
            board.set_viewport_size(size)
            assert board.evaluate("document.documentElement.scrollWidth") <= size["width"]
        found += serious(board)
        board.get_by_role("button", name="Log out").click()
        board.get_by_label("Password").wait_for()
        assert board.request.get(f"{server.url}/admin/api/overview").status in (401, 403)
    assert found == []


def _replay(board: Page, found: list[str]) -> None:
    board.locator("[data-person]").click()
    dialog = board.get_by_role("dialog")
    seen: list[Any] = []
    following = dialog.get_by_role("button", name="Next")
    while following.is_enabled():
        seen.append(dialog.inner_text())
        following.click()
    seen.append(dialog.inner_text())
    assert any(HOSTILE in text for text in seen)
    found += serious(board)
    dialog.get_by_role("button", name="Close").click()
