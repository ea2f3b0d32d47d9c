"""Download the datasets from where their authors publish them.

COCO's MD5 sums are the ones in wide use and VOC 2010's is in torchvision; the authors of
PASCAL-Part and MonuMAI publish none. For those two, the SHA-256 of the first download is written
to ``ROOT/CHECKSUMS`` and later downloads must match it: that finds a file that changed, but it
cannot tell whether the first one was right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pasta.datasets.files.check import LAYOUTS
from pasta.datasets.files.download import ResumingDownloader
from pasta.datasets.files.unpack import Kind, unpack
from pasta.errors import InputError, PastaError
from pasta.registry import did_you_mean

CHECKSUMS = "CHECKSUMS"
_COCO = "http://images.cocodataset.org"
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
    size: int | None = None
    checksum: str | None = None
    unpack: Kind | None = None
    inside: str = ""


REMOTES: Mapping[str, tuple[Remote, ...]] = {
    "coco": (
        Remote(
            f"{_COCO}/annotations/annotations_trainval2017.zip",
            "annotations_trainval2017.zip",
            252_907_541,
            "md5:f4bbac642086de4f52a3fdda2de5fa2c",
            "zip",
        ),
        Remote(
            f"{_COCO}/zips/val2017.zip",
            "val2017.zip",
            815_585_330,
            "md5:442b8da7639aecaf257c1dceb8ba8c80",
            "zip",
        ),
        Remote(
            f"{_COCO}/zips/train2017.zip",
            "train2017.zip",
            None,
            "md5:cced6f7f71b7629ddf16f17bbcfab6b2",
            "zip",
        ),
    ),
    "pascalpart": (
        Remote(
            "https://thor.robots.ox.ac.uk/pascal/VOC/voc2010/VOCtrainval_03-May-2010.tar",
            "VOCtrainval_03-May-2010.tar",
            None,
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
}


def fetch(
    dataset: str,
    root: Path,
    *,
    remotes: Sequence[Remote] | None = None,
    progress: bool = True,
) -> list[Path]:
    """Download and unpack a dataset; what is already there and intact is not loaded again.

    Parameters
    ----------
    remotes
        Other sources than the official ones, e.g. a mirror.
    progress
        Show bytes, rate and time left.

    Returns
    -------
    list of Path
        The downloaded files. Archives are kept, so that the next call can compare them.

    Raises
    ------
    PastaError
        The server refused, the connection broke (the next call goes on from there), a checksum
        differs (nothing is kept), an archive is unsafe, or there is no official source.
    """
    chosen = _official(dataset) if remotes is None else remotes
    root.mkdir(parents=True, exist_ok=True)
    return [_one(remote, root, progress) for remote in chosen]


def _official(dataset: str) -> Sequence[Remote]:
    if dataset in REMOTES:
        return REMOTES[dataset]
    if dataset not in LAYOUTS:
        raise PastaError(f"there is no dataset {dataset!r}. {did_you_mean(dataset, LAYOUTS)}")
    raise PastaError(
        f"no official archive of {dataset} is known to us, so that nothing can be downloaded and "
        f"verified. Get the images from the authors and arrange them like this:\n{LAYOUTS[dataset]}"
    )


def _one(remote: Remote, root: Path, progress: bool) -> Path:
    if Path(remote.filename).name != remote.filename:
        raise PastaError(f"the file name {remote.filename!r} must not contain a folder")
    target = root / remote.filename
    expected = remote.checksum or _recorded(root).get(remote.filename)
    _retrieve(remote, target, expected, progress)
    if remote.checksum is None:
        _record(root, remote.filename, f"sha256:{_hash(target, 'sha256')}")
    if remote.unpack and not _unpacked(target):
        names = unpack(target, remote.unpack, root, remote.inside)
        _marker(target).write_text("".join(f"{path.name}\n" for path in names), encoding="utf-8")
    return target


def _retrieve(remote: Remote, target: Path, expected: str | None, progress: bool) -> None:
    import pooch

    pooch.get_logger().setLevel("WARNING")  # it would print the temporary names
    if target.exists() and (expected is None or _matches(target, expected)):
        return
    _marker(target).unlink(missing_ok=True)
    try:
        pooch.retrieve(
            remote.url,
            known_hash=expected,
            fname=target.name,
            path=target.parent,
            downloader=ResumingDownloader(target, remote.size, progress),
        )
    except ValueError as error:  # pooch's only one here: the checksums, expected and got
        raise PastaError(f"{remote.url} was not kept. {error}") from None


def _method(checksum: str) -> str:
    return checksum.partition(":")[0] if ":" in checksum else "sha256"


def _hash(path: Path, method: str) -> str:
    import pooch

    return str(pooch.file_hash(str(path), alg=method))


def _matches(path: Path, checksum: str) -> bool:
    return _hash(path, _method(checksum)) == checksum.rpartition(":")[2].lower()


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
        lines = (f"{value}  {key}\n" for key, value in sorted(recorded.items()))
        (root / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
