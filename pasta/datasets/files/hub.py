"""Download the released PASTA dataset from the Hugging Face hub.

``huggingface_hub`` loads only what is missing: a download that was cut off goes on where it ended.
"""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import RepositoryNotFoundError

from pasta.datasets.files.fetch import Remote, unpack
from pasta.datasets.released import FILE, LAYOUT
from pasta.errors import InputError, PastaError

RELEASE = "ENSTA-U2IS/PASTA"
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz")


def fetch_release(root: Path, repository: str = RELEASE, endpoint: str | None = None) -> Path:
    """Download a release and unpack its archives; what is there already is not loaded again.

    Parameters
    ----------
    root
        The folder to fill; it is made if needed.
    repository
        A dataset of the hub.
    endpoint
        The address of the hub, or of a mirror of it; None is the usual one.

    Returns
    -------
    Path
        The folder that holds ``human_annotations.json``.

    Raises
    ------
    PastaError
        The hub cannot be reached, has no such dataset, or the dataset is no release.
    """
    try:
        snapshot_download(repository, repo_type="dataset", local_dir=root, endpoint=endpoint)
    except RepositoryNotFoundError as error:
        raise PastaError(
            f"the hub has no dataset {repository}, or not for everybody: `hf auth login` if you "
            "have been given access"
        ) from error
    except Exception as error:  # of the hub, of the disk, or of the HTTP library below it
        reason = str(error).strip().partition("\n")[0]
        raise PastaError(
            f"{repository} could not be downloaded ({reason}). What has come stays in {root}, and "
            "the same command goes on from there. On a machine without network, copy the dataset "
            f"from another one:\n{LAYOUT}"
        ) from error
    for archive in sorted(file for file in root.iterdir() if file.suffix in _ARCHIVES):
        zipped = archive.suffix == ".zip"
        unpack(archive, Remote("", archive.name, unpack="zip" if zipped else "tar"))
    found = sorted((file.parent for file in root.rglob(FILE)), key=lambda path: len(path.parts))
    if not found:
        raise InputError(f"there is no {FILE} in it", file=root, expected=f"\n{LAYOUT}")
    return found[0]
