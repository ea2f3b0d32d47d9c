"""`pasta study new, serve, invite ...`: run a study in the browser.

Imports stand in the functions: the command line must be light, and the server must start quickly.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pasta.studies.app.database import Database
    from pasta.studies.app.design import Design

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="the folder of a study, from `new`")]
Url = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="PASTA_STUDY_DATABASE",
        help="postgresql://user@host/name; default: SQLite in the folder",
    ),
]
Base = Annotated[
    str, typer.Option("--url", metavar="URL", help="where people reach the server, for the links")
]
_LOOPBACK = "http://127.0.0.1:8000"


def serve(
    folder: Folder,
    port: Annotated[int, typer.Option(min=1, max=65535, help="of this machine")] = 8000,
    host: Annotated[
        str, typer.Option(help="address to listen at; others than this machine only reach 0.0.0.0")
    ] = "127.0.0.1",
    database: Url = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="believe the headers of a proxy at this address (see below)"
        ),
    ] = None,
    export_hours: Annotated[
        float, typer.Option(min=0.01, help="leave an export in DIR/exports so often")
    ] = 1.0,
) -> None:
    """Serve a study to people's browsers until you press Ctrl+C. Stopping it loses nothing.

    The server listens at 127.0.0.1: only this machine reaches it. To let others in, put a web
    server with a certificate before it and say where that is, so that it is believed about the
    address and the scheme (https) of a request:

        pasta study serve DIR --proxy 127.0.0.1

    For nginx: `location / { proxy_pass http://127.0.0.1:8000; proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; }`;
    for Caddy: `study.example.org { reverse_proxy 127.0.0.1:8000 }`. Turn off the access log of the
    web server: it keeps addresses, which the study app does not. Then make the links with
    `pasta study invite DIR --url https://study.example.org`. Do not run two servers of one study.

    The dashboard is at /admin; `pasta study password DIR` sets its password.
    """
    import uvicorn

    from pasta.studies.app.access import Signer
    from pasta.studies.app.design import secret_of
    from pasta.studies.app.server import Site, make_app

    design, answers = _open(folder, database)
    app = make_app(Site(design, answers, Signer(secret_of(folder))), export_hours)
    typer.echo(f"{design.settings.title}: http://{host}:{port} (dashboard: /admin)")
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
        timeout_graceful_shutdown=10,
    )


def invite(
    folder: Folder,
    count: Annotated[int, typer.Option(min=1, help="how many personal links")] = 1,
    public: Annotated[
        str | None, typer.Option(metavar="NAME", help="one link for all, under this name")
    ] = None,
    cap: Annotated[
        int | None, typer.Option(min=1, help="how many people may use the public link")
    ] = None,
    url: Base = _LOOPBACK,
    database: Url = None,
) -> None:
    """Print links for people to take part: personal ones, or one public link with a cap.

    A personal link is for one person and works for `link_days` of study.yaml. A public link gives
    everybody who opens it a link of their own, and stops when --cap people have come.
    """
    from pasta.errors import PastaError
    from pasta.studies.app.access import Signer
    from pasta.studies.app.design import secret_of
    from pasta.studies.app.people import invite as invite_people
    from pasta.studies.app.people import open_link

    design, answers = _open(folder, database)
    signer, base = Signer(secret_of(folder)), url.rstrip("/")
    try:
        if public is not None:
            if cap is None:
                raise PastaError("a public link needs --cap: how many people may use it")
            typer.echo(f"{base}/j/{open_link(answers, signer, public, cap)}")
            return
        for person, token in invite_people(answers, signer, count):
            typer.echo(f"{person},{base}/t/{token}")
    finally:
        answers.close()
    if count > len(design.seats):
        seats = len(design.seats)
        typer.echo(
            f"note: the study has {seats} places; who comes later is asked to wait", err=True
        )


def status(folder: Folder, database: Url = None) -> None:
    """Say how a study is going: people, places, what the answers say, screening, who to look at."""
    from pasta.commands.show import print_table
    from pasta.studies.app.database import now
    from pasta.studies.app.overview import overview
    from pasta.studies.app.so_far import measures

    design, answers = _open(folder, database)
    found = overview(design, answers, now())
    people, places = found["people"], found["places"]
    typer.echo(f"{design.settings.title} ({design.settings.kind})")
    typer.echo("people: " + ", ".join(f"{number} {kind}" for kind, number in people.items()))
    typer.echo("places: " + ", ".join(f"{number} {kind}" for kind, number in places.items()))
    done = sum(one["answered"] for one in found["items"])
    wanted = sum(one["wanted"] for one in found["items"])
    if wanted:
        typer.echo(f"items: {done:,} of {wanted:,} answers that count")
    end = found["expected_end"]
    typer.echo(f"expected end: {end[:16].replace('T', ' ')} UTC" if end else "expected end: -")
    for one in measures(design, answers):
        value = "unknown" if one.value is None else f"{one.value:.3f}"
        typer.echo(f"so far: {one.about}: {one.measure} {value} (n = {one.n:,})")
    for stage in found["screening"]:
        typer.echo(f"screening: {stage['stage']}: {stage['in']} came, {stage['out']} failed")
    if any(one["name"] for one in found["conditions"]):
        names = ["name", "places", "taken", "finished"]
        rows = [[str(one[name]) for name in names] for one in found["conditions"]]
        print_table("Conditions", ["condition", *names[1:]], rows, numbers=names[1:])
    columns = ["person", "state", "done", "of", "median_seconds", "straight_lining"]
    rows = [
        [
            *("" if one[name] is None else str(one[name]) for name in columns),
            ", ".join(one["flags"]),
        ]
        for one in found["persons"]
    ]
    if rows:
        titles = ["person", "state", "done", "of", "seconds", "same value", "look at"]
        print_table("People", titles, rows, numbers=titles[2:6])
    answers.close()


def export(
    folder: Folder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="a new folder of CSV files")],
    database: Url = None,
) -> None:
    """Write what counts so far as CSV files, as `pasta study NAME import` takes them."""
    from pasta.studies.app.exporting import export_tables, write_export

    design, answers = _open(folder, database)
    exported = export_tables(design, answers)
    answers.close()
    write_export(exported, out)
    sizes = ", ".join(f"{len(rows):,} {name}" for name, rows in exported.tables.items() if rows)
    typer.echo(f"wrote {sizes or 'nothing yet'} to {out}")


def pull(
    folder: Folder,
    database: Url = None,
    track: Annotated[bool, typer.Option(help="let DVC keep the batch at once")] = True,
) -> None:
    """Export a study and import the answers into this project; then `dvc repro` takes them up.

    Pull as often as you like: what is stored already changes nothing.
    """
    import tempfile

    from pasta.commands.study import import_answers
    from pasta.errors import PastaError
    from pasta.studies.app.exporting import export_tables, write_export

    design, answers = _open(folder, database)
    exported = export_tables(design, answers)
    answers.close()
    if not any(exported.tables.values()):
        raise PastaError("there are no answers that count yet")
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / folder.resolve().name
        write_export(exported, out)
        import_answers(design.settings.kind, out, track=track)
    _warn_of_withdrawn(design.settings.kind, exported.withdrawn)


def password(
    folder: Folder,
    new: Annotated[
        str | None,
        typer.Option("--new", envvar="PASTA_STUDY_PASSWORD", help="default: one is made"),
    ] = None,
) -> None:
    """Set the password of the dashboard. Only its hash is kept; sessions under the old one end."""
    from pasta.studies.app.access import new_password, set_password
    from pasta.studies.app.design import load_settings

    load_settings(folder)
    chosen = new or new_password()
    set_password(folder, chosen)
    typer.echo("the password is set" if new else f"password of the dashboard: {chosen}")


def _open(folder: Path, url: str | None) -> tuple[Design, Database]:
    from pasta.errors import PastaError

    try:
        from pasta.studies.app.database import open_database
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pasta"):
            raise
        raise PastaError(
            f"the study app needs the library {error.name}: `pip install pasta-xai[study]`"
        ) from None
    from pasta.studies.app.design import load_design

    return load_design(folder), open_database(folder, url)


def _warn_of_withdrawn(kind: str, withdrawn: tuple[str, ...]) -> None:
    """Say which stored batches still hold somebody who has withdrawn since."""
    from pasta.config import load_params
    from pasta.paths import project_root
    from pasta.studies.batches import list_batches, read_batch, withdrawal
    from pasta.studies.registry import load_study

    if not withdrawn:
        return
    study, root = load_study(kind, load_params()), project_root()
    for batch in list_batches(root / study.batch_folder):
        frames = read_batch(study, batch).values() if withdrawal(batch) is None else ()
        found = {
            str(name)
            for frame in frames
            for column in frame.columns.intersection(["annotator_id", "participant_id"])
            for name in frame.loc[frame[column].isin(withdrawn), column]
        }
        if found:
            typer.echo(
                f"{', '.join(sorted(found))} withdrew after batch {batch.name} was stored: "
                f"`pasta study {kind} withdraw {batch.name}`, then pull again"
            )


def new_study(name: str, folder: Path, only: str | None) -> None:
    """Write the folder of a study whose module ``app_new`` knows how."""
    import importlib

    from pasta.json_files import new_folder
    from pasta.studies.app.preparing import finish_new

    prepare = importlib.import_module(f"pasta.studies.{name}.app_new").prepare
    with new_folder(folder) as temporary:
        number, things = prepare(temporary, only)
    for line in finish_new(folder, number, things):
        typer.echo(line)


def add_commands(app: typer.Typer) -> None:
    """Add the commands to `pasta study`."""
    for command in (serve, invite, status, export, pull, password):
        app.command(command.__name__)(command)
