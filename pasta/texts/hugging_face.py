"""Any sequence classifier of Hugging Face, explained word by word.

Tokens are parts of words, so a word is hidden with all its tokens, and attributions of its tokens
are summed. Which token belongs to which word is told by its place in the text, so that any fast
tokenizer serves: WordPiece, byte-level BPE (an emoji is several tokens), SentencePiece.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pasta import compute
from pasta.errors import PastaError
from pasta.texts.classifier import NO_WORD, TokenModel, Tokens
from pasta.texts.documents import Document


class HubModel(TokenModel):
    """A sequence classifier and its tokenizer.

    Parameters
    ----------
    network
        A model of transformers with a head for sequence classification: it takes ``input_ids`` or
        ``inputs_embeds`` and an ``attention_mask``, and returns ``logits``.
    tokenizer
        Its fast tokenizer.
    classes
        Names of the columns; those of the model's configuration if None.
    longest
        Tokens that are read; what the model has places for if None.

    Examples
    --------
    ``open_hub_model("distilbert-base-uncased-finetuned-sst-2-english")`` downloads one.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        classes: Sequence[str] | None = None,
        longest: int | None = None,
    ) -> None:
        super().__init__()
        if not getattr(tokenizer, "is_fast", False):
            raise PastaError(
                f"the tokenizer {type(tokenizer).__name__} does not tell where its tokens stand in "
                "the text, expected a fast one (AutoTokenizer gives it)"
            )
        self.network = network
        self.tokenizer = tokenizer
        config = network.config
        names = [str(config.id2label[one]) for one in sorted(config.id2label)]
        self.classes = tuple(names if classes is None else classes)
        if len(self.classes) != config.num_labels:
            raise PastaError(
                f"{len(self.classes)} classes for a model of {config.num_labels}: "
                f"{', '.join(self.classes)}"
            )
        self.longest = longest or _places(config, tokenizer)
        known = (tokenizer.pad_token_id, config.pad_token_id, tokenizer.eos_token_id)
        self.pad_id = next((int(one) for one in known if one is not None), 0)
        hidden = (tokenizer.mask_token_id, tokenizer.unk_token_id, self.pad_id)
        self.hidden_id = next(int(one) for one in hidden if one is not None)
        self.eval()

    def tokens(self, document: Document) -> Tokens:
        """Tokens with those that mark start and end; the word of each is found by its place."""
        found = self.tokenizer(
            document.text,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            truncation=True,
            max_length=self.longest,
        )
        own = [
            self._word_of(document, start, end, bool(special))
            for (start, end), special in zip(
                found["offset_mapping"], found["special_tokens_mask"], strict=True
            )
        ]
        ids = torch.tensor(found["input_ids"], dtype=torch.long)
        return Tokens(ids, torch.tensor(own, dtype=torch.long))

    def embed(self, ids: Tensor) -> Tensor:
        """Vectors of tokens, before places are added to them."""
        found: Tensor = self.network.get_input_embeddings()(ids)
        return found

    def logits(self, embedded: Tensor, seen: Tensor) -> Tensor:
        """Logits of vectors."""
        found: Tensor = self.network(inputs_embeds=embedded, attention_mask=seen.long()).logits
        return found

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        """Logits of tokens."""
        found: Tensor = self.network(input_ids=ids, attention_mask=seen.long()).logits
        return found

    @staticmethod
    def _word_of(document: Document, start: int, end: int, special: bool) -> int:
        """The word in which a token ends: some tokenizers count the blank before a word to it."""
        if special or end <= start:
            return NO_WORD
        index = document.word_at(end - 1)
        return NO_WORD if index is None else index


def open_hub_model(name: str, longest: int | None = None) -> HubModel:
    """Open a sequence classifier: a folder, or a name on the hub, which is downloaded.

    Weights are read from safetensors only; no code of the repository is run.
    """
    try:
        library = importlib.import_module("transformers")
    except ImportError as error:
        raise PastaError(
            f"the classifier {name} needs transformers: `pip install 'pasta-xai[vlm]'` brings it"
        ) from error
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name)
        network = library.AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise PastaError(
            f"{name}: cannot be opened as a sequence classifier: {reason} (expected a folder with "
            "config.json, model.safetensors and tokenizer.json, or a name on the Hugging Face hub)"
        ) from error
    return compute.place(HubModel(network, tokenizer, longest=longest))


def _places(config: Any, tokenizer: Any) -> int:
    """Tokens that fit into a model: its places, without those that RoBERTa keeps for padding."""
    known = [int(tokenizer.model_max_length)]
    places = getattr(config, "max_position_embeddings", None)
    if places:
        offset = config.pad_token_id + 1 if "roberta" in str(config.model_type) else 0
        known.append(int(places) - offset)
    return max(1, min(known))
