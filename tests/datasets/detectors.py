"""A Grounding DINO of the real class, tiny, with random weights, in a folder as on the hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import (
    BertTokenizer,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    GroundingDinoImageProcessor,
    GroundingDinoProcessor,
)

from pasta.datasets.vocabulary import VOCABULARIES, readable

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".")


def tokenizer(folder: Path) -> BertTokenizer:
    """BERT's tokenizer with the words of the vocabulary; "license plate" has three tokens."""
    concepts = VOCABULARIES["catsdogscars"].concepts
    words = {word for concept in concepts for word in readable(concept).split()}
    tokens = [*SPECIAL, *sorted(words - {"license"}), "lice", "##nse"]
    file = folder / "vocab.txt"
    file.write_text("".join(f"{token}\n" for token in tokens))
    return BertTokenizer(str(file))


def tiny_detector(folder: Path, weights: bool = True) -> Path:
    """Write configuration, processor and, unless only these are wanted, weights."""
    folder.mkdir(parents=True, exist_ok=True)
    words = tokenizer(folder)
    config = GroundingDinoConfig(
        backbone_config={
            "model_type": "swin",
            "image_size": 64,
            "embed_dim": 8,
            "depths": [1, 1, 1, 1],
            "num_heads": [1, 1, 2, 2],
            "window_size": 2,
            "out_indices": [2, 3, 4],
        },
        text_config={
            "model_type": "bert",
            "vocab_size": len(words),
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
            "max_position_embeddings": 64,
        },
        d_model=32,
        num_queries=20,
        encoder_layers=1,
        decoder_layers=2,  # one more than the first, whose boxes they share
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_text_len=24,
    )
    config.save_pretrained(folder)
    images = GroundingDinoImageProcessor(size={"shortest_edge": 48, "longest_edge": 72})
    processor_class: Any = GroundingDinoProcessor
    processor_class(images, words).save_pretrained(folder)
    if weights:
        torch.manual_seed(0)
        GroundingDinoForObjectDetection(config).save_pretrained(folder)
    return folder
