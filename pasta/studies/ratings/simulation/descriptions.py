"""Q0.1 and Q0.2: what an annotator points at before any explanation is seen.

Descriptions (Q0.1) and boxes (Q0.2) of one annotator and sample speak of the same few visible parts
of the image. Large ones are mentioned first and more often: Plackett-Luce draws with weights
proportional to the square root of a part's area.

Each annotator prefers some sentence forms and writes in full sentences, notes or small letters, as
people do. Parts and classes have more than one word. An image without annotated parts is described
by its whole.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pasta.seeds import generator
from pasta.studies.ratings.tables import BOXES
from pasta.tables import BOX

MOST = 4  # parts that one annotator mentions
LEAST = 0.01  # side of the smallest box that can be drawn, as a share of the image
# {parts}: "the head and the tail"; {list}: "head, tail"; {label}: the predicted class
FORMS = (
    "I can see {parts}.",
    "It is {label} because of {parts}.",
    "{Parts} {verb} typical of {label}.",
    "{Parts}.",
    "{List}",
    "What tells me it is {label}: {list}.",
    "I recognise {parts}, so it must be {label}.",
    "You can clearly make out {parts}.",
    "Mostly {parts}, as I would expect of {label}.",
    "The picture shows {parts}.",
    "I looked at {parts}.",
    "Seeing {parts} makes me think of {label}.",
)
WHOLE = (
    "The whole picture looks like {label}.",
    "The overall shape makes me think of {label}.",
    "I cannot name a part, but it looks like {label}.",
    "Colour and outline remind me of {label}.",
)
OTHER_WORDS = {
    "artifact wing": ("wing", "wings of the plane"),
    "animal wing": ("wing", "feathers"),
    "chain_wheel": ("chain", "pedals"),
    "license_plate": ("number plate", "license plate", "plate"),
    "bodywork": ("body of the car", "metal body"),
    "headlight": ("headlight", "front light", "lamp"),
    "muzzle": ("muzzle", "snout"),
    "torso": ("torso", "body"),
    "foot": ("foot", "feet"),
    "leg": ("leg", "legs"),
    "eye": ("eye", "eyes"),
    "ear": ("ear", "ears"),
    "wheel": ("wheel", "tyre", "wheels"),
    "window": ("window", "glass"),
    "coach": ("coach", "wagon"),
    "pinnacle-gothic": ("pinnacle", "pointed tower", "spire"),
    "solomonic-column": ("twisted column", "solomonic column"),
    "porthole": ("porthole", "round window"),
    "lintelled-doorway": ("doorway", "lintelled doorway"),
    "tv": ("tv", "television", "screen"),
    "couch": ("couch", "sofa"),
    "cell phone": ("phone", "mobile phone"),
    "refrigerator": ("fridge", "refrigerator"),
    "potted plant": ("plant", "potted plant"),
    "laptop": ("laptop", "computer"),
    "person": ("person", "people"),
}
CLASSES = {
    "tvmonitor": "a television",
    "pottedplant": "a potted plant",
    "shopping_and_dining": "a place for shopping or dining",
    "workplace": "a workplace",
    "home_or_hotel": "a home or a hotel",
    "transportation": "a scene of transportation",
    "sports_and_leisure": "a scene of sports and leisure",
    "cultural": "a cultural scene",
}
_STYLES = ("as it is", "small", "no stop")


def choose(plan: pd.DataFrame, regions: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Some regions for each row of a plan.

    ``plan`` needs sample_id, annotator_id, dataset and image_id; ``regions`` is the table of that
    name, of all datasets. Returns sample_id, annotator_id, concept, the box and ``order`` from 0,
    sorted by key; nothing for an image without parts.
    """
    plan = plan.sort_values(["annotator_id", "sample_id"], ignore_index=True)
    number, scores = [], []
    regions = regions.sort_values(["dataset", "image_id", "concept", "instance"])
    counts = plan.merge(_counts(regions), on=["dataset", "image_id"], how="left")["n"].fillna(0)
    for name, mine in counts.groupby(plan["annotator_id"], sort=True):
        random = generator(seed, "simulation", "mentions", str(name))
        number.append(random.integers(1, MOST + 1, len(mine)))
        scores.append(random.gumbel(size=int(mine.sum())))
    if not number:
        return pd.DataFrame(columns=["sample_id", "annotator_id", "concept", *BOX, "order"])
    pairs = plan.assign(number=np.concatenate(number)).merge(
        regions, on=["dataset", "image_id"], how="inner"
    )
    area = (pairs["x1"] - pairs["x0"]) * (pairs["y1"] - pairs["y0"])
    pairs["score"] = 0.5 * np.log(area) + np.concatenate(scores)
    pairs = pairs.sort_values(
        ["sample_id", "annotator_id", "score"], ascending=[True, True, False], ignore_index=True
    )
    pairs["order"] = pairs.groupby(["sample_id", "annotator_id"]).cumcount()
    chosen = pairs[pairs["order"] < pairs["number"]]
    return chosen[["sample_id", "annotator_id", "concept", *BOX, "order"]].reset_index(drop=True)


def draw_boxes(mentions: pd.DataFrame, jitter: float, seed: int) -> pd.DataFrame:
    """The ``boxes`` table: each mentioned part's box with its sides moved, inside the image.

    A side moves by a normal draw with the deviation ``jitter`` times the box's size in that
    direction; sides that change places or leave too little are put ``LEAST`` apart.
    """
    mentions = mentions.sort_values(["annotator_id", "sample_id", "order"], ignore_index=True)
    corners = mentions[list(BOX)].to_numpy(np.float64)
    moves = [
        generator(seed, "simulation", "boxes", str(name)).standard_normal((len(mine), 4))
        for name, mine in mentions.groupby("annotator_id", sort=True)
    ]
    size = np.tile(corners[:, 2:] - corners[:, :2], 2)
    moved = corners + jitter * size * np.concatenate([*moves, np.empty((0, 4))])
    low, high = np.minimum(moved[:, :2], moved[:, 2:]), np.maximum(moved[:, :2], moved[:, 2:])
    low = np.clip(low, 0, 1 - LEAST)
    high = np.clip(np.maximum(high, low + LEAST), 0, 1)
    frame = mentions[["sample_id", "annotator_id"]].assign(box=mentions["order"].astype("int64"))
    frame[list(BOX)] = np.round(np.concatenate([low, high], axis=1), 4)
    frame["simulated"] = True
    frame = frame.sort_values(list(BOXES.key), ignore_index=True)
    return frame.astype({"sample_id": "str", "annotator_id": "str"})


def write_texts(plan: pd.DataFrame, mentions: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The ``descriptions`` table: one text for each row of a plan with the ``predicted`` class."""
    plan = plan.sort_values(["annotator_id", "sample_id"], ignore_index=True)
    named = mentions.groupby(["sample_id", "annotator_id"])["concept"].agg(list).to_dict()
    texts: list[str] = []
    for name, mine in plan.groupby("annotator_id", sort=True):
        random = generator(seed, "simulation", "texts", str(name))
        taste = random.dirichlet(np.full(len(FORMS), 0.7))
        style = str(random.choice(_STYLES, p=[0.6, 0.2, 0.2]))
        forms = random.choice(len(FORMS), len(mine), p=taste)
        draws = random.random((len(mine), 8))
        for row, form, draw in zip(mine.itertuples(index=False), forms, draws, strict=True):
            concepts = list(dict.fromkeys(named.get((row.sample_id, row.annotator_id), [])))
            text = sentence(concepts, str(row.predicted), int(form), draw.tolist())
            texts.append(_styled(text, style))
    frame = plan[["sample_id", "annotator_id"]].assign(text=texts, simulated=True)
    frame = frame.sort_values(["sample_id", "annotator_id"], ignore_index=True)
    return frame.astype({"sample_id": "str", "annotator_id": "str", "text": "str"})


def sentence(concepts: list[str], label: str, form: int, draws: list[float]) -> str:
    """One sentence; ``draws`` in [0, 1) choose the words, the first the form without parts."""
    described = _with_article(label)
    if not concepts:
        return WHOLE[int(draws[0] * len(WHOLE))].format(label=described)
    words = list(dict.fromkeys(map(_worded, concepts, draws[1:])))
    parts = _joined([f"the {word}" for word in words])
    return FORMS[form].format(
        parts=parts,
        Parts=parts[0].upper() + parts[1:],
        list=", ".join(words),
        List=(", ".join(words)).capitalize(),
        label=described,
        verb="are" if len(words) > 1 or words[0].endswith("s") else "is",
    )


def _worded(concept: str, draw: float) -> str:
    words = OTHER_WORDS.get(concept, (concept.replace("_", " ").replace("-", " "),))
    return words[int(draw * len(words))]


def _with_article(label: str) -> str:
    if label in CLASSES:
        return CLASSES[label]
    if label[0].isupper():  # a style, such as Gothic
        return f"a {label} building"
    return f"{'an' if label[0] in 'aeiou' else 'a'} {label.replace('_', ' ')}"


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _styled(text: str, style: str) -> str:
    if style == "small":
        return text.lower()
    return text.rstrip(".") if style == "no stop" else text


def _counts(regions: pd.DataFrame) -> pd.DataFrame:
    return regions.groupby(["dataset", "image_id"]).size().rename("n").reset_index()
