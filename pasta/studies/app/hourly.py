"""An export every hour, made by a process of its own so that the server stays small and quick."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from pasta.studies.app.database import ANSWERS, EVENTS, Database
from pasta.studies.app.exporting import URL

_LOG = logging.getLogger(__name__)


@asynccontextmanager
async def export_every_hour(
    folder: Path, database: Database, hours: float | None
) -> AsyncIterator[None]:
    """While this is open, exports appear in the study's folder whenever there are new answers."""
    if hours is None:
        yield
        return
    task = asyncio.create_task(_repeat(folder, database, hours * 3600))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _repeat(folder: Path, database: Database, seconds: float) -> None:
    before = await asyncio.to_thread(mark, database)
    while True:
        await asyncio.sleep(seconds)
        found = await asyncio.to_thread(mark, database)
        if found != before and await run_module("exporting", folder, database) is not None:
            before = found


async def run_module(name: str, folder: Path, database: Database) -> bytes | None:
    """Run a module of this package on a study; what it prints, or None if it failed."""
    address = database.engine.url.render_as_string(hide_password=False)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"{__package__}.{name}",
        str(folder),
        env={**os.environ, URL: address},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        printed, errors = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        _LOG.error("%s of %s failed: %s", name, folder, lines[-1] if lines else "no message")
        return None
    return printed


def mark(database: Database) -> tuple[int, int]:
    """Numbers that change with every answer and event."""
    with database.reading() as connection:
        newest = sa.select(
            sa.select(sa.func.max(ANSWERS.c.id)).scalar_subquery(),
            sa.select(sa.func.max(EVENTS.c.id)).scalar_subquery(),
        )
        answers, events = connection.execute(newest).one()
        return int(answers or 0), int(events or 0)
