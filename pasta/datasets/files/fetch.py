"""Download the datasets from where their authors publish them.

COCO's MD5 sums are the ones in wide use, torchvision has VOC 2010's, and the package medmnist those
of MedMNIST. The authors of PASCAL-Part, MonuMAI, ModelNet40 and ShapeNet-part publish none: the
SHA-256 of the first download is written to ``ROOT/CHECKSUMS`` and later downloads must match it.
That finds a file that changed, but not a first one that was wrong.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from pasta import store
from pasta.datasets.files.check import LAYOUTS
from pasta.errors import InputError, PastaError
from pasta.registry import did_you_mean

CHECKSUMS = "CHECKSUMS"
BLOCK = 1 << 16  # bytes that are read at a time; a broken connection loses less than one block
SECONDS = 60  # without a byte before the connection counts as lost
_MONUMAI = "dfe8ef1b80eb04ab494d26976c68e42210055103"  # the commit that the layout was read at


@dataclass(frozen=True)
class Remote:
    """A file to download.

    Attributes
    ----------
    checksum
        ``md5:...`` or ``sha256:...``, or None where its authors publish none.
    unpack
        The kind of archive, or None for a file that is kept as it is.
    inside
        The folder of the archive that becomes the root.
    """

    url: str
    filename: str
    checksum: str | None = None
    unpack: Literal["zip", "tar"] | None = None
    inside: str = ""


def _coco(path: str, md5: str) -> Remote:
    url = f"http://images.cocodataset.org/{path}"
    return Remote(url, path.rpartition("/")[2], f"md5:{md5}", "zip")


def _medmnist(name: str, md5: str) -> Remote:
    """The file of 28 voxels a side, with the sum that the package ``medmnist`` has."""
    url = f"https://zenodo.org/records/6496656/files/{name}.npz"
    return Remote(url, f"{name}.npz", f"md5:{md5}")


REMOTES: Mapping[str, tuple[Remote, ...]] = {
    "coco": (
        _coco("annotations/annotations_trainval2017.zip", "f4bbac642086de4f52a3fdda2de5fa2c"),
        _coco("zips/val2017.zip", "442b8da7639aecaf257c1dceb8ba8c80"),
        _coco("zips/train2017.zip", "cced6f7f71b7629ddf16f17bbcfab6b2"),
    ),
    "pascalpart": (
        Remote(
            "https://thor.robots.ox.ac.uk/pascal/VOC/voc2010/VOCtrainval_03-May-2010.tar",
            "VOCtrainval_03-May-2010.tar",
            "md5:da459979d0c395079b5c75ee67908abb",
            "tar",
        ),
        Remote(
            "https://roozbehm.info/pascal-parts/trainval.tar.gz",
            "pascal-part-trainval.tar.gz",
            unpack="tar",
        ),
    ),
    "monumai": (
        Remote(
            f"https://github.com/ari-dasci/OD-MonuMAI/archive/{_MONUMAI}.zip",
            "OD-MonuMAI.zip",
            unpack="zip",
            inside=f"OD-MonuMAI-{_MONUMAI}/MonuMAI_dataset",
        ),
    ),
    "vesselmnist3d": (_medmnist("vesselmnist3d", "2ba5b80617d705141f3f85627108fce8"),),
    "adrenalmnist3d": (_medmnist("adrenalmnist3d", "bbd3c5a5576322bc4cdfea780653b1ce"),),
    "organmnist3d": (_medmnist("organmnist3d", "21f0a239e7f502e6eca33c3fc453c0b6"),),
    "modelnet40": (
        Remote(
            "https://modelnet.cs.princeton.edu/ModelNet40.zip",
            "ModelNet40.zip",
            unpack="zip",
            inside="ModelNet40",
        ),
    ),
    "shapenetpart": (
        Remote(
            "https://shapenet.cs.stanford.edu/media/"
            "shapenetcore_partanno_segmentation_benchmark_v0_normal.zip",
            "shapenet-part.zip",
            unpack="zip",
            inside="shapenetcore_partanno_segmentation_benchmark_v0_normal",
        ),
    ),
}


# Further editions of a dataset: records of Zenodo, whose interface says the files and MD5 sums.
EDITIONS: Mapping[str, Mapping[str, int]] = {"pascalpart": {"semantic": 5878773}}


def fetch(dataset: str, root: Path, edition: str | None = None) -> list[Path]:
    """Download and unpack a dataset; what is already there and intact is not loaded again.

    Parameters
    ----------
    dataset
        A dataset with an official source, i.e. a key of ``REMOTES``.
    root
        The folder to fill; it is made if needed.
    edition
        A key of ``EDITIONS[dataset]``, or None for the usual one.

    Returns
    -------
    list of Path
        The downloaded files. Archives are kept, so that the next call can compare them.

    Raises
    ------
    PastaError
        There is no official source, or one of the errors of :func:`retrieve`.
    """
    if edition is None:
        return [retrieve(remote, root) for remote in _official(dataset)]
    known = EDITIONS.get(dataset, {})
    if edition not in known:
        raise PastaError(f"{dataset} has no edition {edition!r}. {did_you_mean(edition, known)}")
    return [retrieve(remote, root) for remote in _in_zenodo(known[edition])]


def _in_zenodo(record: int) -> list[Remote]:
    import pooch

    page = f"https://zenodo.org/records/{record}"
    shelf = pooch.create(path=".", base_url=f"doi:10.5281/zenodo.{record}")
    try:
        shelf.load_registry_from_doi()
    except (OSError, ValueError, KeyError) as error:
        raise PastaError(
            f"cannot ask Zenodo for the files of {page}: {error}. To get them by hand, download "
            "them from there and unpack them"
        ) from None
    return [as_remote(page, name, checksum) for name, checksum in sorted(shelf.registry.items())]


def as_remote(page: str, name: str, checksum: str) -> Remote:
    """A file of a Zenodo record; its name says whether it is an archive.

    >>> as_remote("https://zenodo.org/records/1", "a.zip", "md5:0").unpack
    'zip'
    """
    kinds: Mapping[str, Literal["zip", "tar"]] = {".zip": "zip", ".tar": "tar", ".tgz": "tar"}
    last = Path(name.removesuffix(".gz")).suffix if name.endswith(".tar.gz") else Path(name).suffix
    return Remote(f"{page}/files/{name}", name, checksum, kinds.get(last.lower()))


def _official(dataset: str) -> Sequence[Remote]:
    if dataset in REMOTES:
        return REMOTES[dataset]
    if dataset not in LAYOUTS:
        raise PastaError(f"there is no dataset {dataset!r}. {did_you_mean(dataset, LAYOUTS)}")
    raise PastaError(
        f"no official archive of {dataset} is known to us, so that nothing can be downloaded and "
        f"verified. Get the images from the authors and arrange them like this:\n{LAYOUTS[dataset]}"
    )


def retrieve(remote: Remote, root: Path) -> Path:
    """Download one file into a folder, verify it, and unpack it there if it is an archive.

    Raises
    ------
    PastaError
        The server refused, the connection broke (the next call continues the download), a
        checksum differs (nothing is kept), or an archive is damaged or unsafe (nothing of it is
        unpacked).
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it prints temporary names
    if Path(remote.filename).name != remote.filename:
        raise PastaError(f"the file name {remote.filename!r} must not contain a folder")
    root.mkdir(parents=True, exist_ok=True)
    target = root / remote.filename
    try:
        pooch.retrieve(
            remote.url,
            known_hash=remote.checksum or _recorded(root).get(remote.filename),
            fname=target.name,
            path=target.parent,
            downloader=ResumingDownloader(target),
        )
    except ValueError as error:  # pooch's only one here: the checksums, expected and got
        raise PastaError(f"{remote.url} was not kept. {error}") from None
    if remote.checksum is None:
        _record(root, remote.filename, f"sha256:{pooch.file_hash(str(target))}")
    if remote.unpack and not _unpacked(target):
        names = unpack(target, remote)
        _write_lines(_marker(target), names)
    return target


class ResumingDownloader:
    """Let pooch continue a download where an earlier attempt stopped.

    ``NAME.part`` holds what has arrived, and ``NAME.part.tag`` the server's ETag or date, so that
    the rest is only appended if the server still has the same file. Pooch compares the checksum
    and gives the file its final name.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.part = target.with_name(target.name + ".part")
        self.tag = target.with_name(target.name + ".part.tag")

    def __call__(self, url: str, output_file: Any, _pooch: Any) -> None:
        """Fetch ``url`` and move it to the temporary name that pooch chose."""
        if not url.startswith(("http://", "https://")):
            raise PastaError(f"{url} is not an address of the web")
        _marker(self.target).unlink(missing_ok=True)
        try:
            self._download(url)
        except (OSError, ValueError) as error:  # the errors of requests are OSErrors
            raise PastaError(self._advice(url, error)) from None
        self.tag.unlink(missing_ok=True)
        self.part.replace(output_file)

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _download(self, url: str) -> None:
        import pooch
        from requests import HTTPError

        have = self._have()
        headers = {"User-Agent": "pasta-xai dataset download", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if self.tag.exists():
                headers["If-Range"] = self.tag.read_text(encoding="latin-1")
        sys.stderr.write(f"{self.target.name}: {have} bytes are there, the rest from {url}\n")
        load = pooch.HTTPDownloader(
            progressbar=True,
            chunk_size=BLOCK,
            timeout=SECONDS,
            headers=headers,
            hooks={"response": self._inspect},
        )
        try:
            with self.part.open("ab") as file:
                load(url, file, None)
        except HTTPError as error:
            answer = error.response
            if answer is None or answer.status_code != 416 or not have:
                raise
            if answer.headers.get("Content-Range") != f"bytes */{have}":
                self.part.unlink()  # longer than the file on the server: start over
                self._download(url)

    def _inspect(self, response: Any, **_: Any) -> None:
        """Look at the headers before the first byte is appended to the part."""
        have = self._have()
        if response.status_code == 206:
            place = response.headers.get("Content-Range")
            if not (place or "").startswith(f"bytes {have}-"):
                raise ValueError(f"the server sent the range {place!r} instead of bytes {have}-")
        elif response.status_code == 200 and have:
            with self.part.open("wb"):  # the file changed, or the server knows no ranges
                pass
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if response.status_code in (200, 206) and tag and not tag.startswith("W/"):
            self.tag.write_text(tag, encoding="latin-1")

    def _advice(self, url: str, error: Exception) -> str:
        have = self._have()
        kept = f" {have} bytes are kept: the next attempt goes on from there." if have else ""
        if not have:
            self.part.unlink(missing_ok=True)
        return (
            f"could not download {url}: {error}.{kept} "
            f"To get it by hand, save that address as {self.target} and start again."
        )


def unpack(archive: Path, remote: Remote) -> list[str]:
    """Unpack an archive beside itself, all of it or nothing; return the names that appeared.

    Pooch extracts into the target folder itself, where a killed process leaves half of an
    archive, and on Python 3.11 it follows links out of it. So the members are checked first and
    extracted into a temporary folder, from which they are moved.
    """
    import pooch

    root = archive.parent
    staging = root / f".unpacking-{archive.name}"
    shutil.rmtree(staging, ignore_errors=True)  # what a killed process has left
    try:
        with _archive_errors(archive):
            _check_members(archive, remote)
            extract = pooch.Unzip if remote.unpack == "zip" else pooch.Untar
            extract(extract_dir=staging.name)(str(archive), "download", None)
        source = staging / remote.inside
        if not source.is_dir():
            raise InputError(f"there is no folder {remote.inside!r} in the archive", file=archive)
        names = sorted(path.name for path in source.iterdir())
        for name in names:
            _move(source / name, root / name)
        return names
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _archive_errors(archive: Path) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise InputError(f"could not be unpacked: {error}", file=archive) from None


def _check_members(archive: Path, remote: Remote) -> None:
    """Refuse members that would be written outside of the folder, and links and devices."""
    if remote.unpack == "zip":
        with zipfile.ZipFile(archive) as zipped:
            members = dict.fromkeys(zipped.namelist(), True)  # ZipFile writes a link as a file
    else:
        with tarfile.open(archive) as tarred:
            members = {one.name: one.isreg() or one.isdir() for one in tarred.getmembers()}
    for name, plain in members.items():
        for path in (PurePosixPath(name), PureWindowsPath(name)):
            if path.anchor or ".." in path.parts:
                raise InputError(
                    f"the member {name!r} would be written outside of the folder", file=archive
                )
        if not plain:
            raise InputError(
                f"the member {name!r} is a link or a device",
                file=archive,
                expected="files and folders",
            )


def _move(source: Path, target: Path) -> None:
    """Rename, or merge into a folder that is already there, keeping what else it has."""
    if source.is_dir() and target.is_dir():
        for child in source.iterdir():
            _move(child, target / child.name)
    else:
        source.replace(target)


def _marker(archive: Path) -> Path:
    return archive.with_name(archive.name + ".unpacked")


def _unpacked(archive: Path) -> bool:
    """Whether all that the archive held was already put in its place and is still there."""
    marker = _marker(archive)
    if not marker.exists():
        return False
    names = marker.read_text(encoding="utf-8").split("\n")
    return all((archive.parent / name).exists() for name in names if name)


def _recorded(root: Path) -> dict[str, str]:
    path = root / CHECKSUMS
    if not path.exists():
        return {}
    recorded: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        checksum, _, name = line.partition("  ")
        if not name or not checksum.startswith("sha256:"):
            raise InputError(f"{line!r}", file=path, row=number, expected="sha256:...  file name")
        recorded[name] = checksum
    return recorded


def _record(root: Path, name: str, checksum: str) -> None:
    recorded = _recorded(root)
    if name not in recorded:
        recorded[name] = checksum
        _write_lines(root / CHECKSUMS, [f"{recorded[key]}  {key}" for key in sorted(recorded)])


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    with store.atomic(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
