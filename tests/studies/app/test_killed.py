"""A server that is killed at any moment keeps every answer that it has acknowledged, once."""

from __future__ import annotations

import random
import threading
import uuid
from collections import Counter
from pathlib import Path

import httpx
import pytest

from pasta.studies.app.database import open_database
from pasta.studies.app.design import load_design
from pasta.studies.app.exporting import export_tables
from tests.studies.app.made import plain_study
from tests.studies.app.postgres import cluster
from tests.studies.app.serving import ENDS, Json, Scripted, Server, tokens, usual_answer

PEOPLE, ITEMS = 8, 400


class Stubborn:
    """Sends the same answer with the same key until the server says that it has it."""

    def __init__(self, server: Server, token: str, stop: threading.Event) -> None:
        self.server, self.token, self.stop = server, token, stop
        self.acknowledged: list[str] = []  # pages
        self.statuses: Counter[int] = Counter()
        self.repeated = 0
        self.broken: list[str] = []

    def run(self) -> None:
        """Answer until told to stop."""
        with httpx.Client(base_url=self.server.url, timeout=5) as client:
            state: Json | None = None
            person = Scripted(client, self.token)
            while not self.stop.is_set():
                try:
                    state = state or person.state()
                    if "step" not in state:
                        self.broken.append(str(state))
                        return
                    if state["step"]["kind"] in ENDS:
                        return
                    state = self._send(person, state)
                except httpx.TransportError:
                    self.stop.wait(0.02)

    def _send(self, person: Scripted, state: Json) -> Json | None:
        key = uuid.uuid4().hex
        while not self.stop.is_set():
            try:
                sent = person.send(state, usual_answer(state), key)
            except httpx.TransportError:
                self.stop.wait(0.02)
                continue
            self.statuses[sent.status_code] += 1
            if sent.status_code == 429:
                self.stop.wait(0.2)
                continue
            if sent.status_code != 200:
                self.broken.append(sent.text)
                return None
            self.acknowledged.append(state["step"]["id"])
            self.repeated += sent.json()["repeated"]
            found: Json = sent.json()["state"]
            return found
        return None


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 30), ("postgresql", 6)])
def test_every_acknowledged_answer_survives_kills_of_the_server_and_none_is_there_twice(
    tmp_path: Path, kind: str, kills: int
) -> None:
    if kind == "sqlite":
        _kill_often(tmp_path, None, kills)
        return
    with cluster() as address:
        _kill_often(tmp_path, address, kills)


def _kill_often(tmp_path: Path, database: str | None, kills: int) -> None:
    folder = plain_study(tmp_path / "study", PEOPLE, ITEMS)
    chance, stop = random.Random(7), threading.Event()
    server = Server(folder, database)
    people = [Stubborn(server, token, stop) for token in tokens(folder, PEOPLE, database)]
    threads = [threading.Thread(target=one.run) for one in people]
    try:
        server.start()
        for thread in threads:
            thread.start()
        for _ in range(kills):
            stop.wait(chance.uniform(0.05, 0.4))
            server.kill()
            server.start()
        stop.wait(0.5)
    finally:
        stop.set()
        for thread in threads:
            if thread.is_alive():
                thread.join(timeout=60)
        server.kill()
    assert not [text for one in people for text in one.broken]
    assert not any(status >= 500 for one in people for status in one.statuses)
    opened = open_database(folder, database)
    rows = export_tables(load_design(folder), opened).tables["goodness"]
    opened.close()
    stored = Counter((row["annotator_id"], row["sample_id"]) for row in rows)
    assert set(stored.values()) == {1}
    answered = [step for one in people for step in one.acknowledged if not step.startswith("|")]
    # Nobody may have been told of the last answer of each person.
    assert len(answered) <= len(rows) <= len(answered) + PEOPLE
    assert len(set(stored)) == len(rows) > kills
    samples = Counter(str(sample).split("/")[1] for _, sample in stored)
    told = Counter(step.partition("|")[0].removeprefix("i") for step in answered)
    assert all(samples[number] >= times for number, times in told.items())
    print(f"{len(rows)} answers, {sum(one.repeated for one in people)} sent again and known")
