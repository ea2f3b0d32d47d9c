"""Downloads from a server on this machine that breaks in the ways that real ones do."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pasta.datasets.files.fetch import BLOCK, REMOTES, Remote, fetch, retrieve
from pasta.errors import InputError, PastaError

CONTENT = bytes(range(256)) * 4000  # about a megabyte


class Server(ThreadingHTTPServer):
    """Serves ``content`` at every path but /absent and remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.tag = CONTENT, '"one"'
        self.cut: int | None = None  # bytes after which the connection closes
        self.ranges = True
        self.asked: list[str | None] = []
        self.served = 0

    def url(self, name: str = "file") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        content = self.server.content
        if self.path == "/absent":
            self.send_error(404)
            return
        start = 0
        same = self.headers.get("If-Range", self.server.tag) == self.server.tag
        if asked and self.server.ranges and same:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", self.server.tag)
        self.end_headers()
        body = content[start:][: self.server.cut]
        self.server.served += len(body)  # before the client can have it all and look
        self.wfile.write(body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.shutdown()
        running.server_close()
        thread.join(5)


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_download_and_nothing_the_second_time(server: Server, tmp_path: Path) -> None:
    md5 = f"md5:{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}"
    for _ in range(2):
        remote = Remote(server.url(), "data.bin", checksum=md5)
        assert retrieve(remote, tmp_path) == tmp_path / "data.bin"
    assert names(tmp_path) == ["data.bin"]
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert server.asked == [None]


@pytest.mark.parametrize("checksum", [sha256(CONTENT), None])
def test_resumed_after_a_cut(server: Server, tmp_path: Path, checksum: str | None) -> None:
    server.cut = 300_000
    remote = Remote(server.url(), "data.bin", checksum=checksum)
    kept = 300_000 // BLOCK * BLOCK
    with pytest.raises(PastaError, match=rf"300000 bytes read.*{kept} bytes are kept.*by hand"):
        retrieve(remote, tmp_path)
    assert names(tmp_path) == ["data.bin.part", "data.bin.part.tag"]
    server.cut = None
    retrieve(remote, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={kept}-"]
    assert server.served == 300_000 + len(CONTENT) - kept
    assert "data.bin.part" not in names(tmp_path)


@pytest.mark.parametrize("ranges", [True, False], ids=["changed meanwhile", "no ranges"])
def test_what_cannot_be_continued_starts_over(server: Server, tmp_path: Path, ranges: bool) -> None:
    server.cut, server.ranges = 1000, ranges
    remote = Remote(server.url(), "data.bin")
    with pytest.raises(PastaError):
        retrieve(remote, tmp_path)
    server.cut = None
    if ranges:
        server.content, server.tag = b"new" * 5000, '"two"'
    retrieve(remote, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == server.content
    assert server.served == 1000 + len(server.content)


@pytest.mark.parametrize("more", [b"", b"more"], ids=["already whole", "too long"])
def test_a_part_that_ends_at_or_after_the_end(server: Server, tmp_path: Path, more: bytes) -> None:
    (tmp_path / "data.bin.part").write_bytes(CONTENT + more)
    retrieve(Remote(server.url(), "data.bin", sha256(CONTENT)), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert server.served == (len(CONTENT) if more else 0)


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(PastaError) as caught:
        retrieve(Remote(server.url(), "data.bin", checksum=sha256(b"other")), tmp_path)
    assert hashlib.sha256(CONTENT).hexdigest() in str(caught.value)
    assert hashlib.sha256(b"other").hexdigest() in str(caught.value)
    assert names(tmp_path) == []


def test_without_a_published_checksum_the_first_one_is_kept(server: Server, tmp_path: Path) -> None:
    remote = Remote(server.url(), "data.bin")
    retrieve(remote, tmp_path)
    assert (tmp_path / "CHECKSUMS").read_text() == f"{sha256(CONTENT)}  data.bin\n"
    (tmp_path / "data.bin").unlink()
    server.content = b"replaced"
    with pytest.raises(PastaError, match="not kept"):
        retrieve(remote, tmp_path)
    assert names(tmp_path) == ["CHECKSUMS"]
    (tmp_path / "CHECKSUMS").write_text("nonsense\n")
    with pytest.raises(InputError, match="CHECKSUMS, row 1"):
        retrieve(remote, tmp_path)


def test_errors_of_the_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(PastaError, match=r"absent.*404.*by hand.*data\.bin"):
        retrieve(Remote(server.url("absent"), "data.bin"), tmp_path)
    port = server.server_address[1]
    server.shutdown()
    server.server_close()
    with pytest.raises(PastaError, match="could not download"):
        retrieve(Remote(f"http://127.0.0.1:{port}/file", "data.bin"), tmp_path)
    with pytest.raises(PastaError, match="not an address of the web"):
        retrieve(Remote("file:///etc/hostname", "data.bin"), tmp_path)
    with pytest.raises(PastaError, match="must not contain a folder"):
        retrieve(Remote(server.url(), "../data.bin"), tmp_path)
    assert names(tmp_path) == []


def test_the_progress_bar_goes_to_the_error_stream(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retrieve(Remote(server.url(), "data.bin"), tmp_path)
    captured = capsys.readouterr()
    assert not captured.out
    assert "data.bin" in captured.err


def zipped(*members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member in members:
            archive.writestr(member, f"content of {member}")
    return buffer.getvalue()


def tarred(*members: str, link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for member in members:
            information = tarfile.TarInfo(member)
            information.size = 4
            archive.addfile(information, io.BytesIO(b"text"))
        if link:
            information = tarfile.TarInfo("link")
            information.type, information.linkname = tarfile.SYMTYPE, link
            archive.addfile(information)
    return buffer.getvalue()


def test_archives_are_unpacked_once_and_merged(server: Server, tmp_path: Path) -> None:
    (tmp_path / "val2017").mkdir()
    (tmp_path / "val2017" / "own.txt").write_text("mine")
    server.content = zipped("top/val2017/a.jpg", "top/val2017/b.jpg", "top/new/c.txt", "other.txt")
    remote = Remote(server.url(), "data.zip", unpack="zip", inside="top")
    retrieve(remote, tmp_path)
    expected = ["CHECKSUMS", "data.zip", "data.zip.unpacked", "new", "val2017"]
    assert names(tmp_path) == expected
    assert names(tmp_path / "val2017") == ["a.jpg", "b.jpg", "own.txt"]
    (tmp_path / "new/c.txt").write_text("edited")
    retrieve(remote, tmp_path)
    assert (tmp_path / "new/c.txt").read_text() == "edited"
    (tmp_path / "new/c.txt").unlink()
    (tmp_path / "new").rmdir()
    retrieve(remote, tmp_path)  # something is gone: unpacked again
    assert (tmp_path / "new/c.txt").read_text() == "content of top/new/c.txt"


def test_what_a_killed_process_has_left_is_not_mixed_in(server: Server, tmp_path: Path) -> None:
    left = tmp_path / ".unpacking-data.zip" / "half.jpg"
    left.parent.mkdir()
    left.write_text("half an image")
    server.content = zipped("whole.jpg")
    retrieve(Remote(server.url(), "data.zip", unpack="zip"), tmp_path)
    assert names(tmp_path) == ["CHECKSUMS", "data.zip", "data.zip.unpacked", "whole.jpg"]


def test_an_interrupted_unpacking_is_done_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.content = zipped("a.jpg", "b.jpg")
    remote = Remote(server.url(), "data.zip", unpack="zip")
    with monkeypatch.context() as patched:
        move, moved = Path.replace, []

        def stop_at_the_second(source: Path, target: Path) -> Path:
            if source.suffix == ".jpg":
                moved.append(source)
            if len(moved) == 2:
                raise KeyboardInterrupt
            return move(source, target)

        patched.setattr(Path, "replace", stop_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            retrieve(remote, tmp_path)
    assert names(tmp_path) == ["CHECKSUMS", "a.jpg", "data.zip"]
    retrieve(remote, tmp_path)
    assert names(tmp_path) == ["CHECKSUMS", "a.jpg", "b.jpg", "data.zip", "data.zip.unpacked"]
    assert server.asked == [None]


def test_a_new_archive_is_unpacked_although_the_old_one_was(server: Server, tmp_path: Path) -> None:
    for text in ("old", "new"):
        server.content = zipped("same.txt", text)
        retrieve(
            Remote(server.url(), "data.zip", checksum=sha256(server.content), unpack="zip"),
            tmp_path,
        )
        assert (tmp_path / text).exists()


def test_tar(server: Server, tmp_path: Path) -> None:
    server.content = tarred("Annotations_Part/2008_000002.mat")
    retrieve(Remote(server.url(), "data.tar.gz", unpack="tar"), tmp_path)
    assert (tmp_path / "Annotations_Part/2008_000002.mat").read_text() == "text"


@pytest.mark.parametrize("member", ["../evil", "/evil", "a/../../evil", "C:\\evil", "..\\evil"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_members_outside_of_the_folder(
    server: Server, tmp_path: Path, kind: str, member: str
) -> None:
    root = tmp_path / "deep" / "root"
    server.content = zipped("fine", member) if kind == "zip" else tarred("fine", member)
    with pytest.raises(InputError, match="outside of the folder"):
        retrieve(Remote(server.url(), "data", unpack="zip" if kind == "zip" else "tar"), root)
    assert names(root) == ["CHECKSUMS", "data"]
    assert names(tmp_path / "deep") == ["root"]


@pytest.mark.parametrize(
    "content",
    [tarred(link="/etc"), tarred("fine")[:-20], b"no archive"],
    ids=["link", "truncated", "no archive"],  # gzip writes the time into the bytes
)
def test_bad_tars_leave_nothing_half_written(
    server: Server, tmp_path: Path, content: bytes
) -> None:
    server.content = content
    with pytest.raises(InputError):
        retrieve(Remote(server.url(), "data", unpack="tar"), tmp_path)
    assert names(tmp_path) == ["CHECKSUMS", "data"]


def test_bad_zips_leave_nothing_half_written(server: Server, tmp_path: Path) -> None:
    whole = zipped("fine", "broken")
    server.content = whole.replace(b"content of broken", b"CONTENT OF BROKEN")
    remote = Remote(server.url(), "data", unpack="zip")
    with pytest.raises(InputError, match="CRC"):
        retrieve(remote, tmp_path)
    assert names(tmp_path) == ["CHECKSUMS", "data"]
    server.content = whole
    with pytest.raises(InputError, match="no folder 'top'"):
        retrieve(Remote(server.url(), "data", unpack="zip", inside="top"), tmp_path / "other")
    assert names(tmp_path / "other") == ["CHECKSUMS", "data"]


def test_no_official_archive(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match=r"(?s)no official archive.*boxes\.csv"):
        fetch("catsdogscars", tmp_path / "root")
    with pytest.raises(PastaError, match="Did you mean 'coco'"):
        fetch("cocoo", tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_official_sources_are_well_formed() -> None:
    for remote in (remote for remotes in REMOTES.values() for remote in remotes):
        assert remote.url.startswith(("https://", "http://images.cocodataset.org/"))
        assert remote.unpack or remote.filename.endswith(".npz")
        if remote.checksum:
            assert remote.checksum.startswith("md5:")
            assert len(remote.checksum) == 4 + 32
