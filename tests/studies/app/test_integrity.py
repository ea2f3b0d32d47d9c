"""So many different people as are wanted, however many come at once; every answer counted once."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from pasta.studies.app.database import open_database
from pasta.studies.app.design import load_design
from pasta.studies.app.exporting import export_tables, write_export
from tests.studies.app.made import plain_study, prediction_study, shown_class
from tests.studies.app.postgres import cluster, fresh_database
from tests.studies.app.serving import (
    Json,
    Scripted,
    Server,
    knowing,
    public_token,
    served,
    together,
    tokens,
)

PEOPLE, SEATS, ITEMS, VOTES = 50, 30, 20, 6
_NUMBERS = count()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with cluster() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The address of an empty database; None for SQLite in the study's folder."""
    if request.param == "sqlite":
        yield None
        return
    server = request.getfixturevalue("postgres")
    with fresh_database(server, f"study{next(_NUMBERS)}") as address:
        yield address


def exported(folder: Path, database: str | None) -> dict[str, list[dict[str, object]]]:
    opened = open_database(folder, database)
    try:
        return dict(export_tables(load_design(folder), opened).tables)
    finally:
        opened.close()


def walk_all(server: Server, people: list[str]) -> tuple[list[Scripted], list[Json]]:
    """Let everybody answer everything at the same time."""
    ends: list[Json] = [{} for _ in people]
    walked: list[Scripted | None] = [None for _ in people]

    def act(number: int) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            person = Scripted(client, people[number])
            walked[number] = person
            ends[number] = person.walk()

    together(len(people), act)
    return [one for one in walked if one is not None], ends


def test_fifty_people_at_once_fill_every_place_exactly_once(
    tmp_path: Path, database: str | None
) -> None:
    folder = plain_study(tmp_path / "study", SEATS, ITEMS, VOTES)
    invited = tokens(folder, PEOPLE, database)
    with served(folder, database) as server:
        people, ends = walk_all(server, invited)
    statuses = Counter(status for one in people for status in one.statuses)
    assert set(statuses) == {200}
    kinds = Counter(end["step"]["kind"] for end in ends)
    assert kinds == {"done": SEATS, "full": PEOPLE - SEATS}
    rows = exported(folder, database)["goodness"]
    voters = defaultdict(set)
    for row in rows:
        voters[row["sample_id"]].add(row["annotator_id"])
    assert len(rows) == ITEMS * VOTES
    assert {len(names) for names in voters.values()} == {VOTES} and len(voters) == ITEMS
    acknowledged = [answer for one in people for answer in one.acknowledged]
    assert sum("rating" in answer for _, answer in acknowledged) == len(rows)


def test_a_public_link_lets_in_exactly_as_many_as_its_cap(
    tmp_path: Path, database: str | None
) -> None:
    folder = plain_study(tmp_path / "study", SEATS)
    token = public_token(folder, 20, database)
    answers: list[httpx.Response] = []
    with served(folder, database) as server:

        def act(_: int) -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                page = client.get(f"/j/{token}", headers={"Accept": "text/html"})
                csrf = page.text.partition('data-csrf="')[2].partition('"')[0]
                headers = {"X-CSRF-Token": csrf}
                answers.append(client.post(f"/api/j/{token}", json={}, headers=headers))

        together(28, act)
    links = {one.json()["link"] for one in answers if one.status_code == 200}
    refused = [one.json()["error"]["code"] for one in answers if one.status_code != 200]
    assert len(links) == 20 and refused == ["full"] * 8


def test_conditions_are_balanced_and_each_place_has_one_person_who_saw_all_of_it(
    tmp_path: Path, database: str | None
) -> None:
    folder = prediction_study(tmp_path / "study", participants=4)
    design = load_design(folder)
    invited = tokens(folder, 7, database)

    ends: list[str] = []
    with served(folder, database) as server:

        def act(number: int) -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                person = Scripted(client, invited[number], knowing(design))
                ends.append(person.walk()["step"]["kind"])

        together(len(invited), act)
    assert Counter(ends) == {"done": 4, "full": 3}
    tables = exported(folder, database)
    conditions = Counter(row["condition"] for row in tables["participants"])
    assert conditions == {"baseline": 2, "gradcam": 2}
    assert {row["practice_tries"] for row in tables["participants"]} == {1}
    phases = Counter((row["participant_id"], row["phase"]) for row in tables["trials"])
    assert Counter(phase for _, phase in phases.elements()) == {
        "practice": 4 * 5,
        "training": 4 * 15,
        "test": 4 * 21,
        "catch": 4 * 3,
    }
    for row in tables["trials"]:
        assert row["shown"] == shown_class(str(row["image_id"]))
        assert row["right"] == (None if row["answer"] is None else row["answer"] == row["shown"])


def test_the_same_answer_sent_many_times_at_once_counts_once(
    tmp_path: Path, database: str | None
) -> None:
    folder = plain_study(tmp_path / "study", seats=2)
    (token,) = tokens(folder, 1, database)
    answers: list[httpx.Response] = []
    with served(folder, database) as server, httpx.Client(base_url=server.url) as first:
        person = Scripted(first, token)
        state = person.walk(lambda state: state["step"]["kind"] == "goodness")

        def same_key(_: int) -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                answers.append(Scripted(client, token).send(state, {"rating": 4}, "same-key-1"))

        together(12, same_key)
        others: list[httpx.Response] = []
        following = answers[0].json()["state"]

        def other_keys(number: int) -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                others.append(Scripted(client, token).send(following, {"rating": number + 1}))

        together(8, other_keys)
        late = person.send(state, {"rating": 9})
        person.walk()
    assert [one.status_code for one in answers] == [200] * 12
    assert sorted(one.json()["repeated"] for one in answers) == [False] + [True] * 11
    assert sorted(one.status_code for one in others) == [200] + [409] * 7
    refused = [one.json() for one in others if one.status_code == 409]
    assert {one["error"]["code"] for one in refused} == {"already_answered"}
    assert all(one["state"]["step"]["kind"] for one in refused)
    assert late.status_code == 409 and late.json()["error"]["code"] == "already_answered"
    rows = exported(folder, database)["goodness"]
    assert len(rows) == 3 and rows[0]["rating"] == 4


def test_both_databases_give_the_same_export_but_for_the_names_of_people(
    tmp_path: Path, postgres: str
) -> None:
    texts = []
    for number, address in enumerate((None, postgres)):
        folder = plain_study(tmp_path / f"study{number}", seats=1)
        (token,) = tokens(folder, 1, address)
        with served(folder, address) as server, httpx.Client(base_url=server.url) as client:
            Scripted(client, token).walk()
        opened = open_database(folder, address)
        write_export(export_tables(load_design(folder), opened), tmp_path / f"out{number}")
        opened.close()
        file = tmp_path / f"out{number}" / "goodness.csv"
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        texts.append([{**row, "annotator_id": ""} for row in rows])
    assert texts[0] == texts[1] and len(texts[0]) == 3
