"""Whatever is sent to the addresses that the server describes, it never breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation, BaseSchema

from pasta.studies.app import server
from pasta.studies.app.access import Signer
from pasta.studies.app.database import Database, open_database
from pasta.studies.app.design import load_design, secret_of
from pasta.studies.app.people import invite, open_link
from pasta.studies.app.protection import Limit
from tests.studies.app.made import attention_study

NO_LIMIT = Limit(burst=1e9, per_second=1e9)
OPERATIONS = (
    "GET /api/t/{token}",
    "POST /api/t/{token}/answer",
    "POST /api/t/{token}/withdraw",
    "POST /api/j/{token}",
)
EXAMPLES = 20
# Whatever stands in an address fits the description of a link, so nothing there can be wrong.
CASES = [
    (label, mode)
    for label in OPERATIONS
    for mode in GenerationMode
    if mode == GenerationMode.POSITIVE or label.startswith("POST")
]


@dataclass
class Described:
    """The description of a study's addresses, and what opens them."""

    schema: BaseSchema
    tokens: dict[str, str]
    forms: dict[str, str]
    database: Database


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    folder = attention_study(tmp_path_factory.mktemp("schema") / "study")
    database, signer = open_database(folder), Signer(secret_of(folder))
    ((person, token),) = invite(database, signer, 1)
    tokens = {"t": token, "j": open_link(database, signer, "everybody", 3)}
    forms = {
        "t": signer.form_token("answer", person),
        "j": signer.form_token("join", "everybody"),
    }
    with pytest.MonkeyPatch.context() as patched:
        for name in ("PERSON", "STRANGER"):
            patched.setattr(server, name, NO_LIMIT)
        app = server.make_app(server.Site(load_design(folder), database, signer))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    yield Described(schema, tokens, forms, database)
    database.close()


def test_the_description_has_every_address_for_people(described: Described) -> None:
    assert sorted(operations(described)) == sorted(OPERATIONS)


def operations(described: Described) -> dict[str, APIOperation[Any, Any, Any, Any]]:
    """What the server describes, by method and path."""
    found = {}
    for one in described.schema.get_all_operations():
        assert isinstance(one, Ok)
        found[one.ok().label] = one.ok()
    return found


@pytest.mark.parametrize("known", [True, False], ids=["with a valid link", "with any link"])
@pytest.mark.parametrize(("label", "mode"), CASES)
def test_random_requests_never_break_the_server(
    described: Described, label: str, mode: GenerationMode, known: bool
) -> None:
    operation = operations(described)[label]
    kind = label.split("/")[2]
    address = {"token": described.tokens[kind]} if known else None
    headers = {"X-CSRF-Token": described.forms[kind]} if known else {}
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode, path_parameters=address))
    def send(case: Case[Any]) -> None:
        answer = case.call(headers=headers)
        statuses[answer.status_code] += 1
        assert answer.status_code < 500

    send()
    assert sum(statuses.values()) >= 1
