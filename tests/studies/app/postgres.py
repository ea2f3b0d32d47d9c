"""A PostgreSQL server of the tests' own: in a temporary folder, on a free port, stopped at last."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.studies.app.serving import free_port

_PLACES = ("/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin")
_USER = "postgres"


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, if it is installed."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += [Path(place) for place in _PLACES if Path(place, "initdb").is_file()]
    return next((one for one in found if (one / "pg_ctl").is_file()), None)


@contextmanager
def cluster() -> Iterator[str]:
    """The address of an empty database; without PostgreSQL the test is skipped, but not in CI."""
    home = programs()
    if home is None:
        reason = "PostgreSQL is not installed: `apt-get install postgresql`"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="pasta-postgres-"))
    data, port = folder / "data", free_port()
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        shutil.chown(folder, _USER, _USER)

    def run(program: str, *arguments: str) -> None:
        command = [str(home / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr or done.stdout

    try:
        run("initdb", "-D", str(data), "-A", "trust", "-E", "UTF8", "--locale=C", "-U", _USER)
        options = f"-h 127.0.0.1 -p {port} -c unix_socket_directories={folder}"
        log = str(folder / "log")
        run("pg_ctl", "-D", str(data), "-o", options, "-l", log, "-w", "-t", "60", "start")
        try:
            yield f"postgresql://{_USER}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def fresh_database(server: str, name: str) -> Iterator[str]:
    """A new database on a server, removed afterwards."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'create database "{name}"'.encode())
    yield server.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'drop database "{name}" with (force)'.encode())
