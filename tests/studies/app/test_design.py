"""The folder of a study, the commands around it, and what the server takes to start."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pasta.commands.study import app
from pasta.errors import InputError, PastaError
from pasta.studies.app.access import Signer
from pasta.studies.app.database import open_database
from pasta.studies.app.design import ITEMS, SETTINGS, load_design, secret_of
from pasta.studies.app.exporting import export_tables, hook_of, next_export, write_export
from pasta.studies.app.hourly import export_every_hour, mark
from pasta.studies.app.people import invite, open_link
from pasta.studies.app.preparing import finish_new
from pasta.studies.app.so_far import measures
from pasta.studies.app.taking_part import TakingPart
from pasta.studies.registry import study_names
from tests.studies.app.made import attention_study, plain_study, prediction_study

HEAVY = ("torch", "pandas", "numpy", "matplotlib", "scipy", "mlflow", "dvc", "shapely")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def answered(folder: Path) -> TakingPart:
    """A study of one seat in which somebody has answered everything."""
    database = open_database(folder)
    ((person, _),) = invite(database, Signer(secret_of(folder)), 1)
    people = TakingPart(load_design(folder), database)
    steps = ["|consent|1", "|instructions|1", *(f"i{item}|goodness|1" for item in range(3))]
    for number, step in enumerate(steps):
        content: dict[str, object] = {"agreed": True} if "consent" in step else {}
        content |= {"rating": 3} if "goodness" in step else {}
        people.answer(person, step, f"key-{number:05d}", 1.5, content)
    return people


def test_the_server_is_light_it_imports_no_numbers_and_no_networks(tmp_path: Path) -> None:
    plain_study(tmp_path / "study", 1)
    script = (
        "import sys; import pasta.cli, uvicorn; from pathlib import Path;"
        "from pasta.studies.app.design import load_design, secret_of;"
        "from pasta.studies.app.database import open_database;"
        "from pasta.studies.app.access import Signer;"
        "from pasta.studies.app.server import Site, make_app;"
        f"folder = Path({str(tmp_path / 'study')!r});"
        "make_app(Site(load_design(folder), open_database(folder), Signer(secret_of(folder))), 1);"
        "print(' '.join(sorted(name for name in sys.modules if '.' not in name)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & set(HEAVY)


def test_the_app_is_no_study() -> None:
    assert "app" not in study_names()
    with pytest.raises(PastaError, match="no study 'app'"):
        hook_of("app")


def test_a_design_comes_back_as_it_was_written(tmp_path: Path) -> None:
    design = load_design(prediction_study(tmp_path / "study", 4))
    assert [seat.condition for seat in design.seats] == ["baseline", "gradcam"] * 2
    assert set(design.wanted.values()) == {1}
    assert design.steps_of(design.seats[0]) == 2 + 3 * 13
    again = load_design(prediction_study(tmp_path / "again", 4))
    assert (tmp_path / "study" / ITEMS).read_bytes() == (tmp_path / "again" / ITEMS).read_bytes()
    assert again.pictures == design.pictures


def test_pictures_have_names_that_say_nothing(tmp_path: Path) -> None:
    folder = prediction_study(tmp_path / "study")
    names = [one.name for one in (folder / "pictures").iterdir()]
    assert names and not any("husky" in name or "wolf" in name or "catch" in name for name in names)


def _no_seats(content: dict[str, object]) -> None:
    content["seats"] = []


def _unknown_item(content: dict[str, object]) -> None:
    content["seats"] = [{"condition": None, "items": ["nowhere"]}]


def _unknown_picture(content: dict[str, object]) -> None:
    content["pictures"] = {}


def _no_items(content: dict[str, object]) -> None:
    del content["items"]


def _outside(content: dict[str, object]) -> None:
    content["pictures"] = {**dict(content["pictures"]), "../secret.key": [1, 1]}  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_seats, "has no seats"),
        (_unknown_item, "seat 1 has no items, an item twice, or an unknown one"),
        (_unknown_picture, "a page uses"),
        (_no_items, "holds no items"),
        (_outside, "is missing or has a wrong name"),
    ],
)
def test_a_broken_folder_is_refused_with_the_file(
    tmp_path: Path, spoil: Callable[[dict[str, object]], None], message: str
) -> None:
    folder = attention_study(tmp_path / "study")
    content = json.loads((folder / ITEMS).read_text())
    spoil(content)
    (folder / ITEMS).write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        load_design(folder)


def test_a_wrong_setting_is_refused_with_its_key(tmp_path: Path) -> None:
    folder = plain_study(tmp_path / "study", 1)
    with (folder / SETTINGS).open("a") as file:
        file.write("expires_days: 3\n")
    refused = run("status", str(folder))
    assert "expires_days" in str(refused.exception) and SETTINGS in str(refused.exception)
    with pytest.raises(InputError, match="is no folder of a study"):
        load_design(tmp_path)


def test_links_are_printed_and_a_public_one_needs_a_cap(tmp_path: Path) -> None:
    folder = plain_study(tmp_path / "study", 2)
    told = finish_new(folder, 3, "samples")
    assert told[0] == f"wrote 3 samples for 2 people to {folder}" and "password" in told[1]
    made = run("invite", str(folder), "--count", "3", "--url", "https://study.example.org/")
    lines = made.stdout.splitlines()
    assert len(lines) == 3 and all(",https://study.example.org/t/" in line for line in lines)
    assert "the study has 2 places" in made.stderr
    assert len({line.partition(",")[0] for line in lines}) == 3
    refused = run("invite", str(folder), "--public", "everybody")
    assert "needs --cap" in str(refused.exception)
    assert run("invite", str(folder), "--public", "everybody", "--cap", "9").exit_code == 0
    with pytest.raises(PastaError, match="cannot be called"):
        open_link(open_database(folder), Signer("k" * 40), "invited", 3)
    status = run("status", str(folder))
    assert "3 invited, 0 started" in status.stdout and "2 all, 0 taken" in status.stdout
    changed = run("password", str(folder), "--new", "a long enough one")
    assert changed.stdout == "the password is set\n"


def test_another_database_than_the_two_is_refused(tmp_path: Path) -> None:
    for url, message in (
        ("mysql://x", "mysql, expected"),
        ("nonsense", "no address"),
        ("postgresql://127.0.0.1:1/none", "cannot be opened"),
    ):
        with pytest.raises(PastaError, match=message):
            open_database(tmp_path, url)


def test_an_export_appears_whole_and_overwrites_nothing(tmp_path: Path) -> None:
    people = answered(plain_study(tmp_path / "study", 1))
    exported = export_tables(people.design, people.database)
    write_export(exported, tmp_path / "out")
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        "goodness.csv",
        "people.csv",
    ]
    with pytest.raises(PastaError, match="exists already"):
        write_export(exported, tmp_path / "out")
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]
    assert measures(people.design, people.database) == []  # one person agrees with nobody


def test_the_server_leaves_exports_behind_while_people_answer(tmp_path: Path) -> None:
    folder = plain_study(tmp_path / "study", 1)
    database = open_database(folder)

    async def wait() -> None:
        async with export_every_hour(folder, database, 0.2 / 3600):
            await asyncio.to_thread(answered, folder)
            for _ in range(600):
                found = list((folder / "exports").glob("*/goodness.csv"))
                if found and len(found[0].read_text().splitlines()) == 4:
                    return
                await asyncio.sleep(0.1)
            raise AssertionError("no export appeared")

    asyncio.run(wait())
    assert mark(database) == (5, 2)
    database.close()


def test_old_exports_make_room_and_an_empty_one_is_not_written(tmp_path: Path) -> None:
    from pasta.studies.app.database import now

    folder = plain_study(tmp_path / "study", 1)
    empty = open_database(folder)
    assert next_export(load_design(folder), empty, now()) is None
    people = answered(folder)
    for number in range(60):
        (folder / "exports" / f"2000-01-01T{number:06d}Z").mkdir(parents=True)
    made = next_export(people.design, people.database, now())
    left = sorted(one.name for one in (folder / "exports").iterdir())
    assert made is not None and len(left) == 48 and left[-1] == made.name
