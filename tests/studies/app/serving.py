"""A server of a study in a process of its own, and scripted people who answer its pages."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from pasta.seeds import generator
from pasta.studies.app.access import Signer
from pasta.studies.app.database import open_database
from pasta.studies.app.design import Design, secret_of
from pasta.studies.app.people import invite, open_link
from pasta.studies.app.taking_part import read_step_id

Json = dict[str, Any]
Choose = Callable[[Json], Json]
ENDS = ("done", "declined", "withdrawn", "full", "ended")
_PATIENCE = 60.0  # seconds for a server to start


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    """A served study; it can be killed and started again."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self.folder, self.database, self.port = folder, database, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> float:
        """Start it; the seconds until the first page came."""
        command = [str(Path(sys.executable).with_name("pasta")), "study", "serve", str(self.folder)]
        command += ["--port", str(self.port)]
        if self.database:
            command += ["--database", self.database]
        started = time.monotonic()
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ)
        )
        while time.monotonic() - started < _PATIENCE:
            try:
                if httpx.get(self.url, timeout=5).status_code == 200:
                    return time.monotonic() - started
            except httpx.TransportError:
                time.sleep(0.02)
            if self.process.poll() is not None:
                assert self.process.stderr is not None
                raise AssertionError(self.process.stderr.read().decode())
        self.kill()
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self._wait()

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None:
            self.process.terminate()
            self._wait()

    def _wait(self) -> None:
        assert self.process is not None
        self.process.wait(timeout=30)
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.process = None


@contextmanager
def served(folder: Path, database: str | None = None) -> Iterator[Server]:
    """A study that is served while this is open."""
    server = Server(folder, database)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def tokens(folder: Path, count: int, database: str | None = None) -> list[str]:
    """Tokens of so many people who are invited."""
    opened = open_database(folder, database)
    try:
        return [token for _, token in invite(opened, Signer(secret_of(folder)), count)]
    finally:
        opened.close()


def public_token(folder: Path, cap: int, database: str | None = None) -> str:
    """The token of a public link."""
    opened = open_database(folder, database)
    try:
        return open_link(opened, Signer(secret_of(folder)), "everybody", cap)
    finally:
        opened.close()


class Scripted:
    """A person who answers every page by a rule."""

    def __init__(self, client: Any, token: str, choose: Choose | None = None) -> None:
        # A client of httpx, or one that speaks to an application in this process.
        self.client, self.token, self.choose = client, token, choose or usual_answer
        self.statuses: list[int] = []
        self.acknowledged: list[tuple[str, Json]] = []
        self.seconds: list[float] = []

    def state(self) -> Json:
        """Where the person stands."""
        answer = self.client.get(f"/api/t/{self.token}")
        self.statuses.append(answer.status_code)
        found: Json = answer.json()
        return found

    def send(self, state: Json, answer: Json, key: str | None = None) -> Any:
        """Answer the page of a state."""
        body = {
            "step": state["step"]["id"],
            "key": key or uuid.uuid4().hex,
            "seconds": 2.5,
            "answer": answer,
        }
        headers = {"X-CSRF-Token": state["csrf"], "Content-Type": "application/json"}
        path, text = f"/api/t/{self.token}/answer", json.dumps(body)
        sent = self.client.post(path, content=text, headers=headers)
        self.statuses.append(sent.status_code)
        if sent.status_code == 200 and not sent.json()["repeated"]:
            self.acknowledged.append((body["step"], answer))
        return sent

    def walk(self, until: Callable[[Json], bool] = lambda _: False) -> Json:
        """Answer page after page until the study ends for this person, or as told."""
        state = self.state()
        while state["step"]["kind"] not in ENDS and not until(state):
            sent = self.send(state, self.choose(state))
            if sent.status_code == 429:
                time.sleep(float(sent.headers["retry-after"]))
                continue
            state = sent.json()["state"] or self.state()
        return state


def usual_answer(state: Json) -> Json:  # noqa: PLR0911
    """A valid answer to any page; checks are answered by their first option."""
    step: Mapping[str, Any] = state["step"]
    match step["kind"]:
        case "consent":
            return {"agreed": True}
        case "demographics":
            return {"age": 34, "sex": "female", "country": None}
        case "instructions" | "training":
            return {}
        case "check":
            return {one["id"]: one["options"][0] for one in step["questions"]}
        case "before":
            return {"Q0.1": "whiskers, ears", "Q0.2": [[0.1, 0.2, 0.5, 0.75]]}
        case "stars":
            asked = [one["id"] for phase in step["phases"] for one in phase["questions"]]
            number = sum(map(ord, step["id"]))
            return {name: 1 + (number + place) % 5 for place, name in enumerate(asked)}
        case "rankings":
            return {one["id"]: [item["id"] for item in one["items"]] for one in step["questions"]}
        case "choice":
            return {"class": step["classes"][step["number"] % 2]}
        case "regions":
            triangle = {"shape": "polygon", "points": [[10, 10], [40, 12], [30, 50]]}
            return {"regions": [triangle, {"shape": "box", "points": [[50, 50], [70, 80]]}]}
        case "words":
            return {"words": [1, 4]}
        case "goodness":
            return {"rating": 7}
    raise AssertionError(f"no such page: {step['kind']}")


def knowing(design: Design, otherwise: Choose = usual_answer) -> Choose:
    """Answers of somebody who passes every check: what is right is not in what the server sends."""

    def choose(state: Json) -> Json:
        if state["step"]["kind"] != "check":
            return otherwise(state)
        item, name, _ = read_step_id(state["step"]["id"])
        return dict(design.steps[item, name].expected or {})

    return choose


def with_taste(number: int) -> Choose:
    """Answers of one person who gives stars by what a sample deserves, a temper, and chance."""
    temper = generator(2, "temper", number).normal(0, 0.4)

    def choose(state: Json) -> Json:
        step = state["step"]
        if step["kind"] != "stars":
            return usual_answer(state)
        item = read_step_id(step["id"])[0]
        deserved, random = generator(2, "sample", item), generator(2, "vote", number, item)
        asked = [one["id"] for phase in step["phases"] for one in phase["questions"]]
        stars = 3 + deserved.normal(0, 1, len(asked)) + temper + random.normal(0, 0.6, len(asked))
        whole = np.clip(np.rint(stars), 1, step["stars"]).astype(int).tolist()
        return dict(zip(asked, whole, strict=True))

    return choose


def everybody_answers(folder: Path, people: int, choose: Callable[[int], Choose]) -> None:
    """Serve a study, and let so many people answer all of it at the same time over HTTP."""
    links = tokens(folder, people)
    with served(folder) as server:

        def act(number: int) -> None:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                person = Scripted(client, links[number], choose(number))
                assert person.walk()["step"]["kind"] == "done"
                assert set(person.statuses) <= {200, 429}  # faster than people are

        together(people, act)


def together(people: int, act: Callable[[int], None]) -> None:
    """Let people act at the same moment, each in a thread; what one of them raises is raised."""
    start, errors = threading.Barrier(people), list[BaseException]()

    def run(number: int) -> None:
        try:
            start.wait(timeout=60)
            act(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
