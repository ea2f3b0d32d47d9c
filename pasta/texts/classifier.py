"""Classifiers of texts: what is asked of them, and a small network that is trained in seconds.

Whoever explains a text asks about copies of it in which some words are hidden. A
:class:`TextModel` answers that for a whole batch of copies, as flags (copies, words). A hidden word
is deleted with its place, or replaced by a token that means nothing. :class:`TokenModel` does that
for any network of tokens, :class:`FunctionModel` for anything that takes texts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from pasta import compute
from pasta.errors import PastaError
from pasta.texts.documents import Document, plain_word
from pasta.texts.settings import NetworkParams, Removal, Score

NO_WORD = -1  # of tokens that belong to no word of the text
PAD, HIDDEN, UNKNOWN = 0, 1, 2  # the first numbers of the network's vocabulary


class TextModel(ABC):
    """What explanations ask of a classifier of texts; ``classes`` names its columns."""

    classes: tuple[str, ...]

    @abstractmethod
    def ask(
        self,
        document: Document,
        kept: Tensor,
        *,
        removal: Removal = "delete",
        score: Score = "probability",
    ) -> Tensor:
        """Scores (copies, classes) of copies of a text without the words that are not kept.

        Parameters
        ----------
        document
            The text.
        kept
            Flags (copies, words).
        removal
            How a word is hidden: ``delete`` closes the gap, ``mask`` leaves a token of no meaning.
        score
            ``probability`` or ``logit``.
        """

    def read_words(self, document: Document) -> int:
        """How many words of a text the model reads; the others have no effect."""
        return len(document)

    def probabilities(self, documents: Sequence[Document]) -> Tensor:
        """Probabilities (n, classes) of whole texts, in main memory."""
        found = [self.ask(one, torch.ones(1, len(one), dtype=torch.bool)) for one in documents]
        return torch.cat(found) if found else torch.zeros(0, len(self.classes))


class FunctionModel(TextModel):
    """Any function from texts to probabilities: a pipeline of scikit-learn, a service.

    Parameters
    ----------
    function
        Takes a list of texts, returns probabilities (n, classes).
    classes
        Names of the columns.
    mask
        What a masked word becomes; a deleted one is cut out.

    Examples
    --------
    >>> def judge(texts):
    ...     good = np.array([float("good" in text) for text in texts])
    ...     return np.stack([1 - good, good], 1)
    >>> model = FunctionModel(judge, ["bad", "good"])
    >>> model.ask(Document("so good"), torch.tensor([[True, False]]))[0].tolist()
    [1.0, 0.0]
    """

    def __init__(
        self, function: Callable[[list[str]], ArrayLike], classes: Sequence[str], mask: str = "[…]"
    ) -> None:
        self.function, self.classes, self.mask = function, tuple(map(str, classes)), mask

    def ask(
        self,
        document: Document,
        kept: Tensor,
        *,
        removal: Removal = "delete",
        score: Score = "probability",
    ) -> Tensor:
        """Ask the function about texts that are written anew; the logit is log p."""
        texts = [self._copy(document, row, removal) for row in kept.cpu().numpy()]
        found = torch.as_tensor(np.asarray(self.function(texts), dtype=np.float64))
        if found.shape != (len(texts), len(self.classes)):
            raise PastaError(
                f"the function returns {tuple(found.shape)} for {len(texts)} texts, expected "
                f"{(len(texts), len(self.classes))}"
            )
        return found.log() if score == "logit" else found

    def _copy(self, document: Document, row: np.ndarray, removal: Removal) -> str:
        if removal == "delete":
            return document.without(row)
        parts, end = [], 0
        for word, stays in zip(document.words, row, strict=True):
            parts += [document.text[end : word.start], word.text if stays else self.mask]
            end = word.end
        return "".join([*parts, document.text[end:]])


@dataclass(frozen=True)
class Tokens:
    """The tokens of one text: their numbers (t,), and to which word each belongs (t,) or -1."""

    ids: Tensor
    words: Tensor


class TokenModel(nn.Module, TextModel):
    """A network of tokens. Subclasses say how a text becomes tokens and what the network is."""

    pad_id: int  # fills short rows and is not looked at
    hidden_id: int  # the token that means nothing

    @abstractmethod
    def tokens(self, document: Document) -> Tokens:
        """The tokens of a text, in main memory; what is too long is cut off."""

    @abstractmethod
    def embed(self, ids: Tensor) -> Tensor:
        """Vectors (n, t, width) of tokens (n, t)."""

    @abstractmethod
    def logits(self, embedded: Tensor, seen: Tensor) -> Tensor:
        """Logits (n, classes) of vectors (n, t, width), of tokens that are ``seen`` (n, t)."""

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        """Logits (n, classes) of tokens (n, t)."""
        return self.logits(self.embed(ids), seen)

    def read_words(self, document: Document) -> int:
        """Words that have a token before the text is cut off."""
        words = self.tokens(document).words
        return int(words.max()) + 1 if len(words) and int(words.max()) >= 0 else 0

    def ask(
        self,
        document: Document,
        kept: Tensor,
        *,
        removal: Removal = "delete",
        score: Score = "probability",
    ) -> Tensor:
        """Ask the network where it is; the answer is in main memory."""
        ids, seen = self.copies(self.tokens(document), kept.cpu().bool(), removal)
        return self.answer(ids, seen, score)

    def answer(self, ids: Tensor, seen: Tensor, score: Score = "probability") -> Tensor:
        """Scores (n, classes), in main memory, of tokens in main memory."""
        where = compute.device_of(self)
        with torch.inference_mode():
            found = self(compute.place(ids, where), compute.place(seen, where)).float()
            answer: Tensor = found.softmax(1) if score == "probability" else found
            return answer.cpu().clone()

    def copies(self, tokens: Tokens, kept: Tensor, removal: Removal) -> tuple[Tensor, Tensor]:
        """Tokens (copies, t) without hidden words, and which of them are seen."""
        own = tokens.words.clamp(min=0)
        stays = kept[:, own] if kept.shape[1] else kept.new_ones(len(kept), len(own))
        stays = stays | (tokens.words == NO_WORD)
        ids = tokens.ids.expand(len(kept), -1)
        if removal == "mask":
            return torch.where(stays, ids, self.hidden_id), torch.ones_like(stays)
        order = (~stays).to(torch.uint8).argsort(dim=1, stable=True)
        seen = stays.gather(1, order)
        longest = max(1, int(seen.sum(1).max())) if seen.numel() else 1
        moved = torch.where(seen, ids.gather(1, order), self.pad_id)[:, :longest]
        return _at_least_one(moved, self.pad_id), _at_least_one(seen[:, :longest], False)

    def batch(self, documents: Sequence[Document]) -> tuple[Tensor, Tensor]:
        """Tokens (n, t) of several texts, and which of them are seen; short texts are filled up."""
        rows = [self.tokens(one).ids for one in documents]
        longest = max([1, *(len(row) for row in rows)])
        ids = torch.full((len(rows), longest), self.pad_id)
        seen = torch.zeros(len(rows), longest, dtype=torch.bool)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            seen[number, : len(row)] = True
        return ids, seen

    def probabilities(self, documents: Sequence[Document], batch_size: int = 64) -> Tensor:
        """Probabilities (n, classes) of whole texts, in main memory."""
        parts = [documents[at : at + batch_size] for at in range(0, len(documents), batch_size)]
        found = [self.answer(*self.batch(part)) for part in parts]
        return torch.cat(found) if found else torch.zeros(0, len(self.classes))


def _at_least_one(rows: Tensor, fill: float) -> Tensor:
    """Rows of no tokens get one that is not seen: networks want something."""
    return rows if rows.shape[1] else torch.full((len(rows), 1), fill, dtype=rows.dtype)


class WordNetwork(TokenModel):
    """Words to logits: embedding, a convolution over neighbours, attention, a linear layer.

    The convolution lets "not good" differ from "good"; the attention weighs the places of a text,
    so its length does not matter.
    """

    pad_id, hidden_id = PAD, HIDDEN

    def __init__(
        self, classes: Sequence[str], vocabulary: Sequence[str], settings: NetworkParams
    ) -> None:
        super().__init__()
        self.classes = tuple(classes)
        self.vocabulary = tuple(vocabulary)
        self.settings = settings
        self._numbers = {word: place for place, word in enumerate(vocabulary, UNKNOWN + 1)}
        width = settings.width
        self.embedding = nn.Embedding(len(vocabulary) + UNKNOWN + 1, width, padding_idx=PAD)
        self.around = nn.Conv1d(width, width, settings.neighbours, padding="same")
        self.attention = nn.Linear(width, 1)
        self.head = nn.Linear(width, len(self.classes))

    def tokens(self, document: Document) -> Tokens:
        """One token a word; words beyond the longest text are cut off."""
        words = document.words[: self.settings.longest]
        ids = [self._numbers.get(plain_word(word.text), UNKNOWN) for word in words]
        return Tokens(torch.tensor(ids, dtype=torch.long), torch.arange(len(ids)))

    def embed(self, ids: Tensor) -> Tensor:
        """Vectors of words."""
        found: Tensor = self.embedding(ids)
        return found

    def logits(self, embedded: Tensor, seen: Tensor) -> Tensor:
        """Logits of vectors."""
        shown = seen[:, :, None].to(embedded)
        found = torch.relu(self.around((embedded * shown).mT).mT)
        weights = self.attention(found).masked_fill(~seen[:, :, None], -1e4).softmax(1) * shown
        result: Tensor = self.head((found * weights).sum(1))
        return result


def find_vocabulary(documents: Sequence[Document], least: int = 1) -> list[str]:
    """The words of texts in alphabetical order, those that occur at least so often."""
    counts: dict[str, int] = {}
    for document in documents:
        for word in document.words:
            plain = plain_word(word.text)
            counts[plain] = counts.get(plain, 0) + 1
    return sorted(word for word, count in counts.items() if count >= least)
