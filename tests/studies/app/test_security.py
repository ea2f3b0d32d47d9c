"""Nothing that people send is trusted, and nobody sees what belongs to somebody else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pasta.errors import PastaError
from pasta.studies.app.access import LinkError, Signer, is_password, set_password
from pasta.studies.app.database import ANSWERS, PEOPLE, Database, open_database
from pasta.studies.app.design import SECRET, load_design, secret_of
from pasta.studies.app.exporting import export_tables
from pasta.studies.app.people import invite, open_link
from pasta.studies.app.protection import Limit, Meter, RefusalError, Sources, same_origin
from pasta.studies.app.server import Site, make_app
from tests.studies.app.made import attention_study, plain_study
from tests.studies.app.serving import Scripted

Json = dict[str, Any]
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}"
ANSWER_PATH = "/api/t/{}/answer"
PHRASE = "correct horse battery"


@dataclass
class Served:
    """A study in this process."""

    client: TestClient
    site: Site
    token: str

    def person(self) -> Scripted:
        """Somebody with a personal link."""
        return Scripted(self.client, self.token)

    def headers(self) -> dict[str, str]:
        """What the page of this person sends."""
        name = self.site.signer.read("person", self.token, 1)
        return {"X-CSRF-Token": self.site.signer.form_token("answer", name)}

    def answers(self) -> int:
        """How many answers are stored."""
        with self.site.database.reading() as connection:
            return len(connection.execute(ANSWERS.select()).all())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = attention_study(tmp_path / "study")
    set_password(folder, PHRASE)
    with serving(folder) as found:
        yield found


class serving:  # noqa: N801 (used like a function)
    """A study's folder as a site with one invited person."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database: Database = open_database(folder)

    def __enter__(self) -> Served:
        signer = Signer(secret_of(self.folder))
        site = Site(load_design(self.folder), self.database, signer)
        ((_, token),) = invite(self.database, signer, 1)
        client = TestClient(make_app(site), base_url="http://study.test", follow_redirects=False)
        return Served(client, site, token)

    def __exit__(self, *_: object) -> None:
        self.database.close()


def body(step: str, answer: object, **more: object) -> Json:
    return {"step": step, "key": "a-key-of-mine", "seconds": 1.0, "answer": answer, **more}


# Links


def test_forged_changed_and_expired_links_lead_nowhere(served: Served, tmp_path: Path) -> None:
    name, stamp, signature = served.token.split(".")
    other_key = Signer("another key that nobody has given out ")
    wrong = {
        "changed": f"{name}.{stamp}.{signature[:-3]}AAA",
        "unsigned": name,
        "other key": other_key.sign("person", served.site.signer.read("person", served.token, 1)),
        "other purpose": served.site.signer.sign("link", "p1"),
        "long": "a" * 5000,
        "not there": served.site.signer.sign("person", "pnobody"),
        "traversal": "..%2f..%2fsecret.key",
    }
    for why, token in wrong.items():
        for method, path in (("GET", f"/api/t/{token}"), ("POST", ANSWER_PATH.format(token))):
            sent = body("x", {}) if method == "POST" else None
            answer = served.client.request(method, path, json=sent)
            assert answer.status_code in (403, 404), why
            assert served.token not in answer.text
    with pytest.raises(LinkError) as expired:
        served.site.signer.read("person", served.token, -1)
    assert expired.value.expired


def test_links_end_after_the_days_that_the_study_says(tmp_path: Path) -> None:
    folder = plain_study(tmp_path / "study", 1)
    text = (folder / "study.yaml").read_text()
    (folder / "study.yaml").write_text(text.replace("link_days: 30.0", "link_days: 0.000001"))
    with serving(folder) as found:
        import time

        time.sleep(1.1)  # the signer counts in whole seconds
        answer = found.client.get(f"/api/t/{found.token}")
    assert answer.status_code == 410 and answer.json()["error"]["code"] == "link_expired"


def test_a_key_file_is_readable_by_its_owner_only_and_a_short_one_is_refused(
    served: Served,
) -> None:
    folder = served.site.design.folder
    assert (folder / SECRET).stat().st_mode & 0o777 == 0o600
    assert (folder / "admin.json").stat().st_mode & 0o777 == 0o600
    assert PHRASE not in (folder / "admin.json").read_text()
    (folder / SECRET).write_text("short")
    with pytest.raises(PastaError, match=r"secret\.key: is too short"):
        secret_of(folder)


def test_nobody_sees_another_persons_answers(served: Served) -> None:
    signer, database = served.site.signer, served.site.database
    ((_, other_token),) = invite(database, signer, 1)
    mine = served.person()
    mine.walk(lambda state: state["step"]["kind"] == "words")
    mine.send(mine.state(), {"words": [2, 3]})
    other = Scripted(served.client, other_token)
    state = other.state()
    assert state["step"]["kind"] == "consent"
    csrf = {"X-CSRF-Token": state["csrf"]}  # the other person's
    stolen = served.client.post(
        ANSWER_PATH.format(served.token), json=body("|consent|1", {"agreed": True}), headers=csrf
    )
    assert stolen.status_code == 403 and stolen.json()["error"]["code"] == "csrf"
    everything = json.dumps(state) + served.client.get(f"/t/{other_token}").text
    name = signer.read("person", served.token, 1)
    assert name not in everything and served.token not in everything


# Other sites


def test_what_another_site_makes_a_browser_send_is_refused(served: Served) -> None:
    path, good = ANSWER_PATH.format(served.token), body("|consent|1", {"agreed": True})
    tries: dict[str, tuple[dict[str, Any], int]] = {
        "no token": ({}, 403),
        "wrong token": ({"X-CSRF-Token": "0" * 64}, 403),
        "strange token": ({"X-CSRF-Token": "\xe9".encode("latin-1")}, 403),
        "other origin": ({**served.headers(), "Origin": "http://evil.test"}, 403),
        "no origin": ({**served.headers(), "Origin": "null"}, 403),
        "cross site": ({**served.headers(), "Sec-Fetch-Site": "cross-site"}, 403),
    }
    for why, (headers, status) in tries.items():
        assert served.client.post(path, json=good, headers=headers).status_code == status, why
    plain = {**served.headers(), "Content-Type": "text/plain"}
    sent = served.client.post(path, content=json.dumps(good), headers=plain)
    assert sent.status_code in (415, 422)
    assert served.answers() == 0
    own = {**served.headers(), "Origin": "http://study.test", "Sec-Fetch-Site": "same-origin"}
    assert served.client.post(path, json=good, headers=own).status_code == 200


@pytest.mark.parametrize(
    ("headers", "same"),
    [
        ({}, True),
        ({"origin": "https://a.test", "host": "a.test"}, True),
        ({"origin": "https://a.test:8443", "host": "a.test"}, False),
        ({"origin": "http://[broken", "host": "a.test"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "none"}, True),
    ],
)
def test_origins_are_compared_with_their_port(headers: dict[str, str], same: bool) -> None:
    assert same_origin(headers) is same


def test_every_page_forbids_inline_script_frames_and_guessing_of_types(served: Served) -> None:
    paths = ["/", f"/t/{served.token}", f"/api/t/{served.token}", "/nowhere", "/admin/login"]
    paths += ["/static/texts.en.json", "/static/../server.py", "/api/t/x", "/admin"]
    for path in paths:
        headers = served.client.get(path, headers={"Accept": "text/html"}).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers
    page = served.client.get(f"/t/{served.token}")
    assert page.headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in page.headers
    secure = TestClient(served.client.app, base_url="https://study.test").get("/")
    assert secure.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize("page", ["participant.html", "login.html", "dashboard.html", "join.html"])
def test_no_page_has_script_or_style_in_it(served: Served, page: str) -> None:
    hostile: Json = {"csrf": SCRIPT, "token": SCRIPT, "failed": True}
    assert SCRIPT not in served.site.render(page, **hostile)
    made = served.site.render(page, csrf="c", token="t", failed=True)  # noqa: S106
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", made)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", made)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", made)


# What is sent


def test_words_come_back_as_words_wherever_they_are_shown(tmp_path: Path) -> None:
    """Stored scripts: in demographics, in the texts of the study, in errors."""
    folder = attention_study(tmp_path / "study")
    set_password(folder, PHRASE)
    (folder / "consent.md").write_text(f"# Hello\n\n{SCRIPT}\n\n[x](javascript:alert(1))\n")
    with serving(folder) as found:
        person = found.person()
        state = person.state()
        assert "<script" not in state["step"]["html"] and "<img" not in state["step"]["html"]
        assert "javascript:" not in re.findall(r'href="([^"]*)"', state["step"]["html"])
        person.send(state, {"agreed": True})
        state = person.state()
        person.send(state, {"age": 30, "sex": SCRIPT[:53], "country": "\x00\u202eF\rrance\ud83d"})
        person.walk(lambda state: state["step"]["kind"] == "words")
        page = found.client.get(f"/t/{found.token}").text
        assert SCRIPT[:53] not in page
        error = found.client.get(f"/t/{SCRIPT}", headers={"Accept": "text/html"})
        assert SCRIPT not in error.text and error.status_code in (403, 404)
        login(found)
        name = found.site.signer.read("person", found.token, 1)
        replay = found.client.get(f"/admin/api/people/{name}")
        assert replay.headers["content-type"] == "application/json"
        stored = [one["answer"] for one in replay.json()["answers"]]
        assert {"age": 30, "sex": SCRIPT[:53], "country": "\u202eF\nrance"} in stored
        people = export_tables(found.site.design, found.site.database).tables["people"]
    assert people[0]["sex"] == SCRIPT[:53]


BAD: list[tuple[str, Callable[[Json], Any]]] = [
    ("a list", lambda good: [good]),
    ("null", lambda _: None),
    ("a number", lambda _: 7),
    ("no step", lambda good: {key: value for key, value in good.items() if key != "step"}),
    ("more", lambda good: {**good, "person": "p1"}),
    ("a step of lists", lambda good: {**good, "step": [1]}),
    ("a short key", lambda good: {**good, "key": "x"}),
    ("a strange key", lambda good: {**good, "key": "../../etc/passwd"}),
    ("negative seconds", lambda good: {**good, "seconds": -1}),
    ("seconds as text", lambda good: {**good, "seconds": "1"}),
    ("an answer as text", lambda good: {**good, "answer": "yes"}),
    ("an unknown part", lambda good: {**good, "answer": {"agreed": True, SCRIPT: 1}}),
    ("half a surrogate", lambda good: {**good, "answer": {"agreed": True, "\ud800": 1}}),
    ("another type", lambda good: {**good, "answer": {"agreed": 1}}),
    ("a missing part", lambda good: {**good, "answer": {}}),
    ("too long a step", lambda good: {**good, "step": "x" * 301}),
]


@pytest.mark.parametrize(("why", "spoil"), BAD, ids=[why for why, _ in BAD])
def test_wrong_types_are_refused_with_a_reason_and_nothing_is_stored(
    served: Served, why: str, spoil: Callable[[Json], Any]
) -> None:
    sent = spoil(body("|consent|1", {"agreed": True}))
    answer = served.client.post(
        ANSWER_PATH.format(served.token), content=json.dumps(sent), headers=json_headers(served)
    )
    assert answer.status_code in (400, 422), why
    assert answer.json()["error"]["message"] and served.answers() == 0


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"step": 1e999999}',
        b'{"seconds": NaN}',
        b'{"seconds": ' + b"9" * 5000 + b"}",
        b"\xff\xfe\x00",
        b'{"step": "\\ud800"}',
    ],
)
def test_what_is_no_json_is_refused(served: Served, text: bytes) -> None:
    path = ANSWER_PATH.format(served.token)
    answer = served.client.post(path, content=text, headers=json_headers(served))
    assert answer.status_code in (400, 422)
    assert served.answers() == 0


def test_pages_that_do_not_come_next_are_refused_and_say_where_to_go_on(served: Served) -> None:
    steps = ["a00001|regions|1", "|instructions|1", "|consent|2", "nonsense", "||", "|consent|-1"]
    for step in steps:
        answer = served.client.post(
            ANSWER_PATH.format(served.token),
            json=body(step, {"regions": []} if step.startswith("a") else {}),
            headers=served.headers(),
        )
        assert answer.status_code in (409, 410, 422), step
        if answer.status_code == 409:
            assert answer.json()["state"]["step"]["kind"] == "consent"
    assert served.answers() == 0


def test_bodies_beyond_the_limit_are_refused_whatever_their_header_says(served: Served) -> None:
    path = ANSWER_PATH.format(served.token)
    large = json.dumps(body("|consent|1", {"agreed": True, "more": "x" * 300_000})).encode()
    told = served.client.post(path, content=large, headers=json_headers(served))
    assert told.status_code == 413 and told.json()["error"]["code"] == "too_large"

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(large), 10_000):
            yield large[start : start + 10_000]

    untold = served.client.post(path, content=pieces(), headers=json_headers(served))
    assert untold.status_code == 413
    odd = {**json_headers(served), "Content-Length": "-1"}
    assert served.client.post(path, content=b"{}", headers=odd).status_code == 413
    form = served.client.post("/admin/login", data={"password": "x" * 300_000, "csrf": "x"})
    assert form.status_code == 413
    assert served.answers() == 0


@pytest.mark.parametrize(
    "name",
    ["../secret.key", "..%2fsecret.key", "%2e%2e/study.yaml", "secret.key", "answers.sqlite"]
    + ["....//secret.key", "/etc/passwd", "%00", "a" * 3000],
)
def test_only_pictures_that_the_study_lists_can_be_fetched(served: Served, name: str) -> None:
    secret = secret_of(served.site.design.folder)
    for path in (f"/t/{served.token}/pictures/{name}", f"/static/{name}"):
        answer = served.client.get(path)
        assert answer.status_code in (400, 404), path
        assert secret not in answer.text
    known = next(iter(served.site.design.pictures))
    assert served.client.get(f"/t/{served.token}/pictures/{known}").status_code == 200
    assert served.client.get(f"/t/x{served.token}/pictures/{known}").status_code == 403
    assert served.client.get(f"/admin/pictures/{known}").status_code == 401


def test_what_is_expected_is_never_sent(served: Served) -> None:
    person = served.person()
    texts: list[str] = []

    def look(state: Json) -> bool:
        texts.append(json.dumps(state))
        return False

    person.walk(look)
    assert texts and not any('"expected"' in one or '"about"' in one for one in texts)
    assert not any("made/check1" in one for one in texts)


# The dashboard


def login(found: Served, password: str = PHRASE) -> int:
    page = found.client.get("/admin/login").text
    csrf = re.search(r'name="csrf"[^>]*value="([0-9a-f]{64})"', page) or re.search(
        r'value="([0-9a-f]{64})"[^>]*name="csrf"', page
    )
    assert csrf is not None
    data = {"password": password, "csrf": csrf.group(1)}
    return found.client.post("/admin/login", data=data).status_code


def test_the_dashboard_needs_its_password_and_a_new_one_ends_old_sessions(served: Served) -> None:
    paths = ["/admin/api/overview", "/admin/api/people/p1"]
    assert [served.client.get(path).status_code for path in paths] == [401, 401]
    assert served.client.get("/admin").headers["location"] == "/admin/login"
    assert login(served, "a wrong one") == 401
    assert served.client.get(paths[0]).status_code == 401
    assert login(served) == 303
    cookie = next(iter(served.client.cookies.jar))
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert (cookie.get_nonstandard_attr("SameSite") or "").lower() == "strict"
    found = served.client.get(paths[0])
    assert found.status_code == 200 and found.json()["places"]["all"] == 3
    again = served.client.get(paths[0], headers={"If-None-Match": found.headers["etag"]})
    assert again.status_code == 304
    assert served.client.get(paths[1]).status_code == 404
    assert served.client.post("/admin/logout", data={"csrf": "0" * 64}).status_code == 403
    assert served.client.get("/admin").status_code == 200
    set_password(served.site.design.folder, "another good one")
    assert served.client.get(paths[0]).status_code == 401


def test_a_personal_link_opens_no_dashboard(served: Served) -> None:
    for value in (served.token, served.site.signer.sign("link", "x"), "x", ""):
        served.client.cookies.set("study_admin", value, domain="study.test", path="/admin")
        assert served.client.get("/admin/api/overview").status_code == 401


def test_without_a_password_nobody_gets_in(tmp_path: Path) -> None:
    with serving(plain_study(tmp_path / "study", 1)) as found:
        assert login(found, "") in (401, 422)
        assert login(found, "password") == 401


def test_passwords_are_neither_short_nor_kept(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="has 5 characters"):
        set_password(tmp_path, "12345")
    set_password(tmp_path, "long enough")
    assert is_password(tmp_path, "long enough") and not is_password(tmp_path, "long enougH")
    assert "long enough" not in (tmp_path / "admin.json").read_text()


def test_guessing_passwords_and_links_becomes_slow(served: Served) -> None:
    tries = [login(served, f"guess {number}") for number in range(12)]
    assert tries[:8] == [401] * 8 and set(tries[8:]) == {429}
    assert login(served) == 429
    links = [served.client.get(f"/api/t/wrong{number}") for number in range(80)]
    assert {one.status_code for one in links[:40]} == {403} and links[-1].status_code == 429
    assert int(links[-1].headers["retry-after"]) >= 1
    assert served.client.get(f"/api/t/{served.token}").status_code == 200


def test_one_person_cannot_keep_the_server_busy(served: Served) -> None:
    statuses = [served.client.get(f"/api/t/{served.token}").status_code for _ in range(150)]
    assert statuses[:50] == [200] * 50 and 429 in statuses


def test_a_meter_lets_in_a_burst_and_then_so_many_a_second() -> None:
    moment = [0.0]
    meter = Meter(Limit(burst=3, per_second=2), lambda: moment[0])
    assert [meter.wait("a") > 0 for _ in range(4)] == [False, False, False, True]
    assert meter.wait("b") == 0
    moment[0] = 0.5
    assert meter.wait("a") == 0 and meter.wait("a") == pytest.approx(0.5)
    with pytest.raises(RefusalError) as refused:
        meter.admit("a")
    assert refused.value.status == 429


def test_addresses_are_stored_nowhere(served: Served) -> None:
    served.person().walk()
    login(served, "a wrong one")
    one, two = Sources(), Sources()
    assert one.name("192.0.2.7") == one.name("192.0.2.7") != two.name("192.0.2.7")
    names = {column.name for table in (ANSWERS, PEOPLE) for column in table.columns}
    assert not names & {"ip", "address", "host", "agent"}
    for file in served.site.design.folder.rglob("*"):
        if file.is_file():
            assert b"testclient" not in file.read_bytes(), file  # the address of this client


def test_withdrawn_people_are_in_no_later_export_and_their_places_are_free(served: Served) -> None:
    person, site = served.person(), served.site
    person.walk()
    name = site.signer.read("person", served.token, 1)
    assert {row["annotator_id"] for row in tables(site)["people"]} == {name}
    path = f"/api/t/{served.token}/withdraw"
    assert served.client.post(path, json={"confirm": True}).status_code == 403
    no = served.client.post(path, json={"confirm": False}, headers=served.headers())
    assert no.status_code == 422 and tables(site)["people"]
    for _ in range(2):
        gone = served.client.post(path, json={"confirm": True}, headers=served.headers())
        assert gone.json()["state"]["step"]["kind"] == "withdrawn"
    assert not any(tables(site).values())
    assert person.state()["step"]["kind"] == "withdrawn"
    state = {"step": {"id": "|consent|1"}, "csrf": served.headers()["X-CSRF-Token"]}
    assert person.send(state, {"agreed": True}).status_code == 409
    for _, token in invite(site.database, site.signer, 3):
        assert Scripted(served.client, token).walk()["step"]["kind"] == "done"
    assert len(tables(site)["people"]) == 3


def tables(site: Site) -> dict[str, Any]:
    return dict(export_tables(site.design, site.database).tables)


def json_headers(served: Served) -> dict[str, str]:
    return {**served.headers(), "Content-Type": "application/json"}


def test_links_of_a_public_link_cannot_be_made_without_its_page(served: Served) -> None:
    token = open_link(served.site.database, served.site.signer, "everybody", 2)
    path = f"/api/j/{token}"
    assert served.client.post(path, json={}).status_code == 403
    csrf = served.site.signer.form_token("join", "everybody")
    made = [served.client.post(path, json={}, headers={"X-CSRF-Token": csrf}) for _ in range(3)]
    assert [one.status_code for one in made] == [200, 200, 409]
    assert served.client.get(made[0].json()["link"]).status_code == 200
