"""Who may do what: signed links, tokens of forms, and the password of who runs the study."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer

from pasta.errors import PastaError
from pasta.studies.app.design import ADMIN

SESSION_HOURS = 12.0
SHORTEST_PASSWORD = 10
_SCRYPT = {"n": 2**14, "r": 8, "p": 1}  # 16 MB and some 50 ms for each try
_LONGEST_TOKEN = 500
_LONGEST_PASSWORD = 200

Purpose = Literal["person", "link", "admin"]


class LinkError(PastaError):
    """A link that cannot be used."""

    def __init__(self, expired: bool) -> None:
        self.expired = expired
        super().__init__("this link has expired" if expired else "this link is not valid")


@dataclass(frozen=True)
class Signer:
    """Signs and reads what the server gives out."""

    secret: str

    def sign(self, purpose: Purpose, name: str) -> str:
        """A token that names a person, a public link or a session, with the time of its making."""
        return self._serializer(purpose).dumps(name)

    def read(self, purpose: Purpose, token: str, days: float) -> str:
        """What a token names; raises :class:`LinkError` if it is forged or too old."""
        if len(token) > _LONGEST_TOKEN:
            raise LinkError(expired=False)
        try:
            name = self._serializer(purpose).loads(token, max_age=int(days * 86400))
        except SignatureExpired:
            raise LinkError(expired=True) from None
        except BadData:
            raise LinkError(expired=False) from None
        if not isinstance(name, str):
            raise LinkError(expired=False)
        return name

    def form_token(self, purpose: str, owner: str) -> str:
        """What a form or a page must send back, so that no other site can send it."""
        message = f"{purpose}\x1f{owner}".encode()
        return hmac.new(self.secret.encode(), message, hashlib.sha256).hexdigest()

    def is_form_token(self, given: str, purpose: str, owner: str) -> bool:
        """Whether it is the right one; takes equally long for every wrong one."""
        return hmac.compare_digest(given.encode(), self.form_token(purpose, owner).encode())

    def _serializer(self, purpose: Purpose) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(
            self.secret,
            salt=f"pasta study {purpose}",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )


def new_password() -> str:
    """A password that nobody guesses."""
    return secrets.token_urlsafe(12)


def set_password(folder: Path, password: str) -> None:
    """Keep the hash of the dashboard's password; sessions under another one end."""
    if not SHORTEST_PASSWORD <= len(password) <= _LONGEST_PASSWORD:
        wanted = f"{SHORTEST_PASSWORD} to {_LONGEST_PASSWORD} characters"
        raise PastaError(f"the password has {len(password)} characters, expected {wanted}")
    salt = os.urandom(16)
    content = {"salt": salt.hex(), "hash": _hash(password, salt)}
    file = folder / ADMIN
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        json.dump(content, opened)
    temporary.replace(file)


def password_mark(folder: Path) -> str | None:
    """Something that changes with the password; None if there is no password."""
    file = folder / ADMIN
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else None


def is_password(folder: Path, given: str) -> bool:
    """Whether this is the dashboard's password; never, where none was set."""
    file = folder / ADMIN
    if not file.is_file() or len(given) > _LONGEST_PASSWORD:
        return False
    content = json.loads(file.read_text(encoding="ascii"))
    return hmac.compare_digest(_hash(given, bytes.fromhex(content["salt"])), content["hash"])


def _hash(password: str, salt: bytes) -> str:
    return hashlib.scrypt(password.encode(), salt=salt, **_SCRYPT).hex()
