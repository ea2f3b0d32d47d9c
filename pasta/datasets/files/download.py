"""One file over HTTP, continued where an earlier attempt stopped."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pasta.errors import PastaError

_BLOCK = 1 << 18
_SECONDS = 60  # without a byte before the connection counts as lost
_AGENT = "pasta-xai dataset download"


class ResumingDownloader:
    """A downloader for ``pooch.retrieve`` that keeps what it has in ``NAME.part``.

    Beside it, ``NAME.part.tag`` holds the server's ETag or date, so that the rest is only
    appended if the server still has the same file. Pooch compares the checksum and gives the file
    its final name.
    """

    def __init__(self, target: Path, size: int | None, progress: bool) -> None:
        self.part = target.with_name(target.name + ".part")
        self.tag = target.with_name(target.name + ".part.tag")
        self.target, self.size, self.progress = target, size, progress

    def __call__(self, url: str, output_file: Any, _pooch: Any) -> None:
        """Fetch ``url`` and move it to the temporary name that pooch chose."""
        if not url.startswith(("http://", "https://")):
            raise PastaError(f"{url} is not an address of the web")
        try:
            if self.size is None or self._have() != self.size:
                self._fetch(url)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PastaError(self._advice(url, error)) from None
        self.tag.unlink(missing_ok=True)
        self.part.replace(output_file)

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _fetch(self, url: str) -> None:
        have = self._have()
        headers = {"User-Agent": _AGENT, "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if self.tag.exists():
                headers["If-Range"] = self.tag.read_text(encoding="latin-1")
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme was checked
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
                self._receive(response, have)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 416 or not have:
                raise
            if _total(error.headers.get("Content-Range")) != have:
                self.part.unlink()  # longer than the file on the server: begin again
                self._fetch(url)

    def _receive(self, response: Any, have: int) -> None:
        place = response.headers.get("Content-Range") if response.status == 206 else None
        if response.status == 206 and not (place or "").startswith(f"bytes {have}-"):
            raise ValueError(f"the server sent the range {place!r} instead of bytes {have}-")
        length = response.headers.get("Content-Length")
        start = have if place else 0  # a server without ranges sends everything again
        total = start + int(length) if length else self.size
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if tag and not tag.startswith("W/"):
            self.tag.write_text(tag, encoding="latin-1")
        with (
            self.part.open("ab" if start else "wb") as file,
            _bar(self.target.name, start, total, self.progress) as advance,
        ):
            while block := response.read(_BLOCK):
                file.write(block)
                advance(len(block))
            got = file.tell()
        if total is not None and got != total:
            raise ValueError(f"the connection ended after {got} of {total} bytes")

    def _advice(self, url: str, error: Exception) -> str:
        have = self._have()
        kept = f" {have} bytes are kept: the next attempt goes on from there." if have else ""
        return (
            f"could not download {url}: {error}.{kept} "
            f"To get it by hand, save that address as {self.target} and start again."
        )


def _total(content_range: str | None) -> int | None:
    match = re.fullmatch(r"bytes \*/(\d+)", content_range or "")
    return int(match[1]) if match else None


@contextmanager
def _bar(name: str, start: int, total: int | None, shown: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on the error stream; yields what is called with each number of bytes."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as progress:
        task = progress.add_task(name, total=total, completed=start)
        yield lambda count: progress.advance(task, count)
