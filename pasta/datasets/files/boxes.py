"""Boxes of concepts in images that have none: Grounding DINO looks for the words of a vocabulary.

P1 (A.1.1) had Grounding DINO find the 39 parts in Cats Dogs Cars and looked at all boxes by hand.
The words go to the network in prompts of a few phrases; the score of a phrase in a box is the mean
over its tokens, as in the authors' own evaluation on COCO; boxes of one concept that overlap are
thinned out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torchvision.ops import batched_nms, box_convert, clip_boxes_to_image, remove_small_boxes
from transformers import (
    AutoConfig,
    AutoModelForZeroShotObjectDetection,
    AutoProcessor,
    logging,
)

from pasta import compute, store
from pasta.datasets.files import annotating
from pasta.datasets.files.annotating import Picture
from pasta.datasets.files.cats_dogs_cars import BOXES, EDGES, ClassFolders
from pasta.datasets.files.check import CLASS_FOLDERS, LAYOUTS
from pasta.datasets.files.images import decode
from pasta.datasets.vocabulary import readable
from pasta.errors import InputError, PastaError
from pasta.processes import remember
from pasta.progress import bar
from pasta.resume import Arrays
from pasta.seeds import entropy
from pasta.text_files import write_csv

MODEL = "IDEA-Research/grounding-dino-base"
SEPARATOR = "."
LITTLE = 32  # images: fewer are looked at in this process
COLUMNS = ("file", "concept", *EDGES, "score")


@dataclass(frozen=True)
class Detector:
    """Which network looks: a name on the Hugging Face hub, or a folder in its layout."""

    model: str = MODEL
    random: bool = False  # random weights in the model's configuration
    seed: int = 0


@dataclass(frozen=True)
class Search:
    """What is looked for: concepts by phrase, in prompts, and which boxes count."""

    prompts: tuple[tuple[str, ...], ...]
    threshold: float = 0.3  # least score
    overlap: float = 0.5  # largest intersection over union of two boxes of one concept

    @property
    def phrases(self) -> tuple[str, ...]:
        """All phrases in the order of the prompts."""
        return tuple(phrase for prompt in self.prompts for phrase in prompt)


@remember
def open_detector(detector: Detector) -> tuple[Any, Any]:
    """The processor, and the network in evaluation mode on the device of this process."""
    processor = open_processor(detector.model)
    network_class: Any = AutoModelForZeroShotObjectDetection
    words: Any = logging
    words.set_verbosity_error()  # what is missing is said below
    with _hub_errors(detector.model), torch.random.fork_rng(devices=[]):
        torch.manual_seed(entropy(detector.seed, "boxes", "weights") % 2**63)
        if detector.random:
            config = AutoConfig.from_pretrained(detector.model)
            network = network_class.from_config(config)
        else:
            network, told = network_class.from_pretrained(detector.model, output_loading_info=True)
            missing = sorted(told["missing_keys"])
            if missing:
                raise ValueError(f"no weights for {missing[0]} and {len(missing) - 1} more")
    return processor, compute.place(network.eval())


def open_processor(model: str) -> Any:
    """What prepares images and text for a network."""
    processor_class: Any = AutoProcessor
    with _hub_errors(model):
        return processor_class.from_pretrained(model)


@contextmanager
def _hub_errors(model: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise PastaError(
            f"{model}: cannot be loaded as a Grounding DINO network: {lines[0]}. Expected a name "
            f"on the Hugging Face hub, such as {MODEL}, which needs a network once, or a folder "
            "with config.json, model.safetensors, preprocessor_config.json and the tokenizer's "
            "files"
        ) from None


def phrases_of(concepts: Sequence[str]) -> dict[str, str]:
    """The concept of each phrase: a concept as one would write it in a sentence.

    >>> phrases_of(["license_plate", "head"])
    {'license plate': 'license_plate', 'head': 'head'}
    """
    phrases = {readable(concept).lower().strip(): concept for concept in concepts}
    if len(phrases) < len(concepts) or any(SEPARATOR in phrase for phrase in phrases):
        raise PastaError(
            f"the concepts {', '.join(concepts)} do not make different phrases without full stops"
        )
    return phrases


def write_prompts(
    phrases: Sequence[str], at_once: int, tokenizer: Any, limit: int
) -> tuple[tuple[str, ...], ...]:
    """Divide phrases into prompts of at most so many phrases and so many tokens."""
    prompts: list[tuple[str, ...]] = []
    for phrase in phrases:
        longer = (*prompts[-1], phrase) if prompts else (phrase,)
        if prompts and len(longer) <= at_once and count_tokens(longer, tokenizer) <= limit:
            prompts[-1] = longer
        elif count_tokens((phrase,), tokenizer) <= limit:
            prompts.append((phrase,))
        else:
            raise PastaError(f"the phrase {phrase!r} has more than {limit} tokens")
    return tuple(prompts)


def join_phrases(prompt: Sequence[str]) -> str:
    """The text of a prompt.

    >>> join_phrases(["head", "license plate"])
    'head. license plate.'
    """
    return " ".join(f"{phrase}{SEPARATOR}" for phrase in prompt)


def count_tokens(prompt: Sequence[str], tokenizer: Any) -> int:
    """How many tokens a prompt has, with those at its start and end."""
    return len(tokenizer(join_phrases(prompt))["input_ids"])


def find_spans(tokens: Sequence[int], separator: int) -> list[list[int]]:
    """The places of the tokens of each phrase; each phrase ends with a separator.

    >>> find_spans([101, 7, 4, 8, 9, 4, 102], separator=4)
    [[1], [3, 4]]
    """
    spans: list[list[int]] = []
    start = 1  # after the token that opens the text
    for place, token in enumerate(tokens):
        if token == separator:
            spans.append(list(range(start, place)))
            start = place + 1
    return spans


def score_phrases(logits: Tensor, spans: Sequence[Sequence[int]]) -> Tensor:
    """Boxes x phrases: the mean probability of the tokens of a phrase."""
    probabilities = logits.float().sigmoid()
    return torch.stack([probabilities[:, list(span)].mean(1) for span in spans], 1)


def choose_boxes(
    boxes: Tensor, scores: Tensor, size: tuple[int, int], threshold: float, overlap: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Choose the boxes that count, best first.

    Parameters
    ----------
    boxes
        Boxes x (centre x, centre y, width, height), as fractions of the image.
    scores
        Boxes x phrases.
    size
        Width and height of the image in pixels.

    Returns
    -------
    corners in pixels, place of the phrase, and score, of each box that has at least the threshold,
    a pixel in each direction, and no better box of its phrase that it overlaps
    """
    width, height = size
    corners = box_convert(boxes.float(), "cxcywh", "xyxy")
    corners = clip_boxes_to_image(
        corners * corners.new_tensor([width, height] * 2), (height, width)
    )
    place, phrase = torch.nonzero(scores >= threshold, as_tuple=True)
    found, score = corners[place], scores[place, phrase].float()
    large = remove_small_boxes(found, 1.0)
    found, phrase, score = found[large], phrase[large], score[large]
    kept = batched_nms(found, score, phrase, overlap)
    return found[kept], phrase[kept], score[kept]


@dataclass(frozen=True)
class BoxUnit:
    """Some images that the network sees at a time."""

    root: Path
    detector: Detector
    search: Search
    pictures: tuple[Picture, ...]


def find_boxes(unit: BoxUnit) -> Arrays:
    """The boxes in some images: place of the image, place of the phrase, corners and score."""
    images, problems = [], []
    for picture in unit.pictures:
        try:
            images.append(decode(unit.root / picture.name))
            problems.append("")
        except InputError as error:
            problems.append(error.problem)
    readable_places = [place for place, problem in enumerate(problems) if not problem]
    parts: list[tuple[Tensor, ...]] = []
    if images:
        for first, boxes, scores in _look(unit, images):
            for place, image, some, their in zip(
                readable_places, images, boxes, scores, strict=True
            ):
                search = unit.search
                corners, phrase, score = choose_boxes(
                    some, their, image.size, search.threshold, search.overlap
                )
                parts.append((torch.full_like(phrase, place), phrase + first, corners, score))
    empty = (torch.empty(0, dtype=torch.long),) * 2 + (torch.empty(0, 4), torch.empty(0))
    joined = [torch.cat(some) for some in zip(*parts, strict=True)] if parts else list(empty)
    names = ("image", "phrase", "corners", "score")
    found = {name: compute.to_numpy(one) for name, one in zip(names, joined, strict=True)}
    return {**found, "problems": np.array(problems, dtype=np.str_)}


def _look(unit: BoxUnit, images: Sequence[Any]) -> Iterator[tuple[int, Tensor, Tensor]]:
    """For each prompt: the place of its first phrase, boxes and scores of every image."""
    processor, network = open_detector(unit.detector)
    where = compute.device_of(network)
    pixels = processor.image_processor(images=list(images), return_tensors="pt").to(where)
    tokenizer, first = processor.tokenizer, 0
    for prompt in unit.search.prompts:
        text = tokenizer([join_phrases(prompt)] * len(images), return_tensors="pt").to(where)
        spans = find_spans(
            text["input_ids"][0].tolist(), tokenizer.convert_tokens_to_ids(SEPARATOR)
        )
        if len(spans) != len(prompt) or not all(spans):
            raise PastaError(f"the tokenizer of {unit.detector.model} knows no full stop")
        with torch.inference_mode():
            answer = network(**pixels, **text)
        scores = [score_phrases(one, spans).cpu() for one in answer.logits]
        yield first, answer.pred_boxes.cpu(), torch.stack(scores)
        first += len(prompt)


def box_dataset(
    source: ClassFolders,
    detector: Detector,
    *,
    threshold: float = 0.3,
    overlap: float = 0.5,
    at_once: int = 13,
    batch: int = 4,
    lenient: bool = False,
    overwrite: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Find the concepts of a dataset of class folders in all of its images; write ``boxes.csv``.

    Returns
    -------
    table of all boxes (file, concept, x0, y0, x1, y1, score), and the images that were left out
    with the reason
    """
    root = source.root
    annotating.require_folder(root, LAYOUTS.get(source.dataset, CLASS_FOLDERS))
    annotating.require_new(root / BOXES, overwrite)
    names = sorted(source.relative(picture.path) for picture in source.pictures.values())
    pictures, missing = annotating.look_at(root, names, lenient)
    concepts = phrases_of(source.vocabulary.concepts)
    processor = open_processor(detector.model)
    with _hub_errors(detector.model):
        limit = AutoConfig.from_pretrained(detector.model).max_text_len
    prompts = write_prompts(list(concepts), at_once, processor.tokenizer, limit)
    search = Search(prompts, threshold, overlap)
    with annotating.kept_beside(root / BOXES, {"detector": detector, "search": search}) as kept:
        divided = annotating.divide(pictures, batch)
        units = [BoxUnit(root, detector, search, some) for some in divided]
        found: dict[int, Arrays] = {}
        little = len(pictures) <= LITTLE
        with bar(f"boxes of {source.dataset}", len(pictures), "images") as progress:
            for place, boxes in compute.map_units(find_boxes, units, kept, little):
                found[place] = boxes
                progress.advance(len(units[place].pictures))
        bad = [
            f"{picture.name}: {problem}"
            for place, unit in enumerate(units)
            for picture, problem in zip(unit.pictures, found[place]["problems"], strict=True)
            if problem
        ]
        annotating.refuse(root, bad, len(pictures), lenient, "cannot be read")
        table = _table(units, found, [concepts[phrase] for phrase in search.phrases])
        if table.empty:
            raise PastaError(
                f"no box in {len(pictures):,} images has a score of {threshold:g}; no table was "
                "written. A lower --threshold finds more"
            )
        with store.atomic(root / BOXES) as temporary:
            write_csv(table, temporary)
    return table, [*missing, *bad]


def _table(
    units: Sequence[BoxUnit], found: Mapping[int, Arrays], concepts: Sequence[str]
) -> pd.DataFrame:
    frames = []
    for place, unit in enumerate(units):
        boxes = found[place]
        names = [picture.name for picture in unit.pictures]
        frame = pd.DataFrame(boxes["corners"].astype(float).round(2), columns=list(EDGES))
        frame["file"] = [names[image] for image in boxes["image"]]
        frame["concept"] = [concepts[phrase] for phrase in boxes["phrase"]]
        frame["score"] = boxes["score"].astype(float).round(4)
        frames.append(frame)
    table = pd.concat(frames, ignore_index=True)[list(COLUMNS)]
    return table.sort_values(["file", "concept", "score"], ascending=[True, True, False])
