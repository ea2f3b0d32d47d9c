"""Fetching a release from a hub, which here is a server of this test."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pasta.datasets.files.hub import RELEASE, fetch_release
from pasta.datasets.released import FILE
from pasta.errors import PastaError
from tests.conftest import contents

COMMIT = "a" * 40
FILES = {f"PASTA/{FILE}": b"[]", "PASTA/img/coco_75_kitchen.png": b"a picture"}


class Hub(BaseHTTPRequestHandler):
    """The few addresses of a hub that a download asks for."""

    asked: ClassVar[list[str]] = []
    files: ClassVar[dict[str, bytes]] = FILES
    broken: ClassVar[str] = ""  # a file that cannot be delivered

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        if self.path.startswith(f"/api/datasets/{RELEASE}/"):
            if "/tree/" in self.path:
                listed: Any = [
                    {"type": "file", "path": name, "size": len(own), "oid": _etag(own)}
                    for name, own in self.files.items()
                ]
            else:
                siblings = [{"rfilename": name} for name in self.files]
                listed = {"id": RELEASE, "sha": COMMIT, "siblings": siblings, "private": False}
            return 200, {"Content-Type": "application/json"}, json.dumps(listed).encode()
        name = self.path.rpartition(f"/resolve/{COMMIT}/")[2]
        if name not in self.files or name == self.broken:
            return 500 if name == self.broken else 404, {}, b""
        own = self.files[name]
        return 200, {"ETag": f'"{_etag(own)}"', "X-Repo-Commit": COMMIT}, own

    def do_HEAD(self) -> None:
        self._send(body=False)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self._send(body=True)

    def _send(self, *, body: bool) -> None:
        status, headers, content = self._answer()
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        del format, arguments


def _etag(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


@pytest.fixture
def hub() -> Iterator[tuple[str, type[Hub]]]:
    """The address of a hub, and what it was asked."""
    own = type("Own", (Hub,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", own
    server.shutdown()
    server.server_close()


def test_a_release_is_fetched_once(hub: tuple[str, type[Hub]], tmp_path: Path) -> None:
    address, own = hub
    folder = fetch_release(tmp_path / "raw", endpoint=address)
    assert folder == tmp_path / "raw" / "PASTA"
    found = contents(folder)
    assert found == {name.removeprefix("PASTA/"): content for name, content in FILES.items()}
    own.asked.clear()
    assert fetch_release(tmp_path / "raw", endpoint=address) == folder
    assert not [path for path in own.asked if "/resolve/" in path], "nothing is loaded twice"


def test_a_download_that_was_cut_off_goes_on(hub: tuple[str, type[Hub]], tmp_path: Path) -> None:
    address, own = hub
    own.broken = "PASTA/img/coco_75_kitchen.png"
    with pytest.raises(PastaError, match=r"could not be downloaded.*the same command goes on"):
        fetch_release(tmp_path / "raw", endpoint=address)
    own.broken = ""
    own.asked.clear()
    fetch_release(tmp_path / "raw", endpoint=address)
    loaded = [path for path in own.asked if "/resolve/" in path]
    assert [Path(path).name for path in loaded] == ["coco_75_kitchen.png"]


def test_without_network_or_without_a_release_the_message_says_what_to_do(
    hub: tuple[str, type[Hub]], tmp_path: Path
) -> None:
    with pytest.raises(PastaError, match=r"without network.*\n.*ROOT/"):
        fetch_release(tmp_path / "raw", endpoint="http://127.0.0.1:9")
    address, own = hub
    own.files = {"README.md": b"nothing"}
    with pytest.raises(PastaError, match=f"there is no {FILE} in it"):
        fetch_release(tmp_path / "other", endpoint=address)
