"""What a profile will cost, before anything starts: passes, hours, disk and memory of each stage.

Passes are counted from the settings by the functions that the stages plan with: a method or a
metric says what it needs for one image. The work of one pass is counted on a copy of the network
without weights, by torch. ``rates.yaml`` knows how fast devices are; this machine is measured.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import open_clip
import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from torchvision.models import vit_b_32

from pasta import compute
from pasta.applications.prepared.masks import share_out
from pasta.benchmark.material import apply_settings, list_techniques
from pasta.benchmark.runner import list_readings
from pasta.config import Params, parse_yaml
from pasta.datasets.build import input_size
from pasta.datasets.stored import FORMS
from pasta.datasets.vocabulary import vocabulary
from pasta.embedding.encoders import ENCODERS
from pasta.embedding.stage import different_ways
from pasta.embedding.stored import HANDCRAFTED, variants
from pasta.explanations.base import Passes, Sizes
from pasta.explanations.catalog import METHODS, techniques
from pasta.explanations.catalog import technique as named
from pasta.explanations.engine import count_passes, view_of
from pasta.explanations.image import impute
from pasta.explanations.suite import share_passes
from pasta.explanations.techniques import Technique
from pasta.layout import Group, every_group, groups
from pasta.metrics.api import cost as metric_cost
from pasta.metrics.base import Cost
from pasta.metrics.runner import explains_again, list_wanted, plan_work
from pasta.models.base import MODELS, ConceptModel
from pasta.models.clip import quiet
from pasta.models.data import ModelContext
from pasta.models.resnet import ScaledResNet
from pasta.models.settings import EncoderParams, OnClipParams
from pasta.scoring.studies import setups
from pasta.sections import for_dataset

RATES = Path(__file__).with_name("rates.yaml")
HERE = "this machine"
Kind = Literal["convolution", "attention"]
Precision = Literal["float32", "mixed"]
_BACK = 2  # forward passes that a backward pass is worth
_BEHIND = 0.1  # of a transformer's forward pass, at most, lies behind the layer that CAMs look at
_SHARES = (0.7, 0.1, 0.2)  # of a dataset's files for training, validation and test
_GIGA = 1e9


@dataclass(frozen=True)
class Network:
    """One pass of a network in numbers."""

    gigaflops: float  # of the forward pass of one image
    parameters: float
    kind: Kind = "convolution"
    channels: int = 0  # of the layer that CAM methods look at
    activations: float = 0.0  # numbers that all layers give for one image
    largest: float = 0.0  # numbers of the largest layer


@dataclass(frozen=True)
class Work:
    """A part of a stage: passes of one network, work of CPU cores, and what is left on disk."""

    stage: str
    item: str
    network: Network | None = None
    passes: Passes = Passes()  # noqa: RUF009 (frozen)
    precision: Precision = "float32"
    core_seconds: float = 0.0
    steps: float = 0.0  # of training scores
    disk: float = 0.0  # bytes
    at_once: int = 1  # images in a pass
    trains: bool = False

    @property
    def equivalent(self) -> float:
        """All passes as so many forward passes."""
        passes = self.passes
        behind = _BEHIND if self.network and self.network.kind == "attention" else 0.0
        return passes.forward + _BACK * passes.backward + behind * passes.behind

    @property
    def teraflops(self) -> float:
        """All work of the network."""
        return 0.0 if self.network is None else self.equivalent * self.network.gigaflops / 1e3

    @property
    def memory(self) -> float:
        """Bytes on the device, about: weights, and what one pass needs beside them."""
        if self.network is None:
            return 0.0
        if self.trains:  # weights, their gradients and two moments; all activations stay
            return 16 * self.network.parameters + 4 * self.at_once * self.network.activations
        return 4 * self.network.parameters + 12 * self.at_once * self.network.largest


# The work of one pass


def count_work(network: nn.Module, image: Tensor, layer: nn.Module | None = None) -> Network:
    """Count what one image costs, by torch; only shapes matter, so both may be on `meta`."""
    outputs: list[int] = []
    channels: list[int] = []

    def leaf(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            outputs.append(output.numel())

    def look(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        channels.append(output.shape[1 if output.ndim == 4 else -1])

    hooks = [
        module.register_forward_hook(leaf)
        for module in network.modules()
        if not list(module.children())
    ]
    hooks += [] if layer is None else [layer.register_forward_hook(look)]
    try:
        with FlopCounterMode(display=False) as counter:
            network(image)
    finally:
        for hook in hooks:
            hook.remove()
    convolutions = any(
        isinstance(one, nn.Conv2d) and one.stride == (1, 1) for one in network.modules()
    )
    return Network(
        counter.get_total_flops() / _GIGA,
        sum(one.numel() for one in network.parameters()),
        "convolution" if convolutions else "attention",
        channels[0] if channels else 0,
        float(sum(outputs)),
        float(max(outputs, default=0)),
    )


def classifier_work(name: str, key: str, params: Params) -> Network:
    """One pass of a classifier of a group; the target layer is that of CAM methods."""
    settings = getattr(params.models[key], name)
    if isinstance(settings, OnClipParams):
        return encoder_work(settings.encoder or params.clip)
    dataset = params.groups[key]
    size = input_size(dataset, params)
    known = (name, settings.model_dump_json(), dataset, size)
    if known not in _BUILT:
        words = vocabulary(dataset)
        about = (words.dataset, words.classes, words.concepts, size, 0, params, Path())
        with torch.device("meta"):
            model = MODELS[name].build(ModelContext(*about), settings).eval()
            whole = model.extractor if isinstance(model, ConceptModel) else model
            image = torch.zeros(1, *_shape(dataset, params))
            _BUILT[known] = count_work(whole, image, view_of(model).layer)
    return _BUILT[known]


_BUILT: dict[tuple[str, str, str, int], Network] = {}


def encoder_work(settings: EncoderParams) -> Network:
    """One picture through the image tower of an encoder."""
    return tower_work(settings.architecture, settings.image_size)


@cache
def tower_work(architecture: str, image_size: int | None = None) -> Network:
    """One picture through an image tower that open_clip knows, built without weights."""
    with quiet(), torch.device("meta"):
        model: Any = open_clip.create_model(
            architecture, device="meta", force_image_size=image_size
        )
    side = model.visual.image_size
    side = side if isinstance(side, int) else side[0]
    found = count_work(model.visual, torch.zeros(1, 3, side, side, device="meta"))
    whole = sum(one.numel() for one in model.parameters())
    blocks = open_clip.get_model_config(architecture)["vision_cfg"]
    channels = blocks.get("width", 1024)
    return replace(
        found, parameters=whole, channels=channels if isinstance(channels, int) else 1024
    )


def embedding_work(name: str) -> Network:
    """One picture through a registered encoder of explanations."""
    hub = rates()["hub"]
    if name in hub:
        return Network(**hub[name])
    return tower_work(str(ENCODERS.entry(name).metadata["architecture"]))


@cache
def rates() -> dict[str, Any]:
    """What ``rates.yaml`` knows."""
    found: dict[str, Any] = parse_yaml(RATES, RATES.read_text())
    return found


# The stages


@dataclass(frozen=True)
class Splits:
    """How many images a dataset has."""

    train: int
    validation: int
    test: int

    @property
    def whole(self) -> int:
        """All of them."""
        return self.train + self.validation + self.test


def splits_of(dataset: str, params: Params) -> Splits:
    """The numbers that the parameters give, or those of the real dataset."""
    own = params.datasets[dataset]
    known = rates()["datasets"].get(dataset, 0)
    given = (own.train, own.validation, own.test)
    if None in given and not known:
        raise KeyError(dataset)
    return Splits(*(
        math.ceil(known * share) if number is None else number
        for number, share in zip(given, _SHARES, strict=True)
    ))  # fmt: skip


def list_parts(params: Params) -> list[Callable[[], Iterator[Work]]]:
    """What lists the work of each stage and group; to count the passes of a new network takes a
    second."""
    every, trained = (
        [one for one in some if not _is_released(one.dataset, params)]
        for some in (groups(params, Path()), every_group(params, Path()))
    )
    return [
        *(partial(stage, params) for stage in (_images, _clip)),
        *(partial(_train, group, params) for group in trained),
        *(partial(stage, group, params) for stage in (_explain, _measure) for group in every),
        partial(_embed, every, params),
        *(partial(stage, every, params) for stage in (_masks, _towers, _candidates) if every),
        partial(list_benchmark, params),
        partial(_score, params),
    ]


def list_work(params: Params) -> list[Work]:
    """All work of a profile, stage by stage."""
    return [work for part in list_parts(params) for work in part()]


def _pixels(params: Params) -> int:
    return params.image_size**2


def _core(name: str, params: Params) -> float:
    """Seconds of a core for one image of this size."""
    return float(rates()["core_seconds"][name]) * _pixels(params) / 224**2


def _rated(dataset: str, params: Params) -> int:
    asked = for_dataset(params.explanations.images, dataset)
    return min(asked, splits_of(dataset, params).test)


def _fresh(dataset: str, params: Params, number: int) -> int:
    return min(number, splits_of(dataset, params).test - _rated(dataset, params))


def _images(params: Params) -> Iterator[Work]:
    for dataset in params.datasets:
        released = _is_released(dataset, params)
        number = rates()["released_images"] if released else splits_of(dataset, params).whole
        values = math.prod(_shape(dataset, params)) / 3  # of images, pixels
        seconds = number * _core("decoding", params) * values / _pixels(params)
        yield Work("images", dataset, core_seconds=seconds, disk=4.0 * number * values)


def _shape(dataset: str, params: Params) -> tuple[int, ...]:
    """Channels and places of one input."""
    form = FORMS[vocabulary(dataset).modality]
    return (form.channels, *[input_size(dataset, params)] * form.axes)


def _is_released(dataset: str, params: Params) -> bool:
    """Whether images, explanations and votes come from a release: nothing is computed of them."""
    return params.datasets[dataset].source == "released"


def _clip(params: Params) -> Iterator[Work]:
    own = params.clip
    if own.weights == "none":
        return
    network = encoder_work(own)
    images = (name for name in params.datasets if vocabulary(name).modality == "image")
    every = [splits_of(name, params) for name in images]
    if own.weights == "trained":
        epochs = own.training.epochs
        passes = Passes(1, 1).times(epochs * sum(one.train for one in every))
        size, disk = own.training.batch_size, 4.0 * network.parameters
        yield Work(
            "clip", "training", network, passes, "mixed", disk=disk, at_once=size, trains=True
        )
    looked = Passes(forward=sum(one.test for one in every))
    yield Work("clip", "accuracy", network, looked, at_once=64)


def _train(group: Group, params: Params) -> Iterator[Work]:
    section, number = params.models[group.key], splits_of(group.dataset, params)
    seen: set[str] = set()  # encoders whose vectors several models share
    for name in section.backbones:
        settings = getattr(section, name)
        network = classifier_work(name, group.key, params)
        item = f"{group.key}/{name}"
        if isinstance(settings, OnClipParams):
            own = settings.encoder or params.clip
            forward = number.test + (0 if own.architecture in seen else number.whole)
            seen.add(own.architecture)
            yield Work("train", item, network, Passes(forward=forward), at_once=64)
            continue
        training = settings.training
        passes = Passes(1, 1).times(training.epochs * number.train)
        disk = 4.0 * network.parameters
        yield Work(
            *("train", item, network, passes, "mixed"),
            disk=disk,
            at_once=training.batch_size,
            trains=True,
        )
        looked = Passes(forward=training.epochs * number.validation + number.test)
        yield Work("train", f"{item}, validation", network, looked, at_once=128)


def _ours(group: Group, params: Params) -> dict[str, list[Technique]]:
    """The techniques of a group by backbone."""
    chosen = techniques(params.explanations.extras)
    return {
        name: [one for one in chosen if one.backbone == name]
        for name in params.models[group.key].backbones
    }


def search_passes(params: Params) -> Passes:
    """The most that the search for the perturbed copies of one image asks."""
    own = params.explanations.perturbations
    light, strong = own.tries * (1 + own.steps), own.tries + own.steps
    return Passes(forward=2 + light + strong)


def _segmenting(methods: Sequence[str], params: Params) -> float:
    """Seconds of a core to cut one image into superpixels."""
    cutting = {"lime": params.explanations.methods.lime.segmenter, "shap": "slic"}
    return sum(_core(cutting[name], params) for name in methods if name in cutting)


def _explain(group: Group, params: Params) -> Iterator[Work]:
    own, number = params.explanations, _rated(group.dataset, params)
    size = (params.image_size, params.image_size)
    for backbone, ours in _ours(group, params).items():
        if not ours:
            continue
        network = classifier_work(backbone, group.key, params)
        asked = search_passes(params).times(number)
        item = f"{group.key}/{backbone}"
        disk = 2.0 * number * 3 * _pixels(params)
        yield Work("explain", f"{item}, copies", network, asked, disk=disk, at_once=own.budget)
        for methods in share_passes([one.method for one in ours]):
            each = count_passes(methods, own.methods, Sizes(size, network.channels))
            maps = sum(METHODS.entry(name).metadata["attribution"] == "image" for name in methods)
            yield Work(
                *("explain", f"{item}: {', '.join(methods)}", network, each.times(3 * number)),
                core_seconds=3 * number * _segmenting(methods, params),
                disk=2.0 * maps * 3 * number * _pixels(params),
                at_once=own.budget if len(methods) == 1 else own.batch_size,
            )


def _measure(group: Group, params: Params) -> Iterator[Work]:
    own, settings = params.metrics, params.explanations
    ours = [one for some in _ours(group, params).values() for one in some if one.kind == "saliency"]
    rated, size = _rated(group.dataset, params), (params.image_size, params.image_size)
    for backbone, methods, metrics in plan_work(ours, list_wanted(own), own):
        network = classifier_work(backbone, group.key, params)
        together: dict[int, Cost] = {}
        for one in metrics:
            asked = for_dataset(own.images.get(one.name, rated), group.dataset)
            number = min(asked, rated)
            each = metric_cost(one.name, 1, own, (3, *size), **one.options)
            together[number] = together.get(number, Cost()) | each
        again = explains_again(metrics[0])
        for number, each in together.items():
            passes = Passes(forward=each.forward_passes)
            if again:
                once = count_passes(methods, settings.methods, Sizes(size, network.channels))
                passes = once.times(each.explanations)
            cores = each.imputations * _core("imputation", params)
            cores += each.explanations * _segmenting(methods, params)
            yield Work(
                *("measure", f"{group.key}/{backbone}: {', '.join(methods)}", network),
                passes.times(number),
                core_seconds=number * cores,
                at_once=own.batch_size or 64,
            )


def list_benchmark(params: Params) -> Iterator[Work]:
    """The maps of the benchmark, and their metrics, dataset by dataset."""
    study = params.benchmark
    for dataset in study.datasets:
        if _is_released(dataset, params):
            continue
        words, shape = vocabulary(dataset), _shape(dataset, params)
        for reading, number in list_readings(dataset, params):
            own = apply_settings(params, words, reading)
            for model in study.models:
                keys = [
                    key
                    for key, of in params.groups.items()
                    if of == dataset and model in params.models[key].backbones
                ]
                if keys:
                    network = classifier_work(model, keys[0], params)
                    ours = list_techniques([model], own, words.modality)
                    item = f"{dataset}/{model}, {reading}"
                    yield from _benchmark_cell(item, network, ours, own, number, shape)


def _benchmark_cell(
    item: str,
    network: Network,
    techniques: Sequence[Technique],
    params: Params,
    number: int,
    shape: tuple[int, ...],
) -> Iterator[Work]:
    """All methods and metrics on one classifier."""
    settings, metrics = params.explanations.methods, params.metrics
    sizes = Sizes(shape[1:], network.channels)
    methods = [one.method for one in techniques]
    whole = count_passes(methods, settings, sizes).times(number)
    cores = 0.0
    for _, some, wanted in plan_work(techniques, list_wanted(metrics), metrics):
        each = Cost()
        for one in wanted:
            each |= metric_cost(one.name, 1, metrics, shape, **one.options)
        again = count_passes(some, settings, sizes).times(each.explanations)
        whole += (again + Passes(forward=each.forward_passes)).times(number)
        cores += number * len(some) * each.imputations * _core("imputation", params)
    disk = 4.0 * math.prod(shape[1:]) * number * len(methods)
    yield Work(
        *("benchmark", item, network, whole),
        core_seconds=cores,
        disk=disk,
        at_once=params.explanations.budget,
    )


def _embed(every: Sequence[Group], params: Params) -> Iterator[Work]:
    counts = {"saliency": 0, "concept": 0}
    for group in every:
        for some in _ours(group, params).values():
            for one in some:
                counts[one.kind] += _rated(group.dataset, params)
    if any(_is_released(dataset, params) for dataset in params.datasets):
        counts["saliency"] += rates()["scoring"]["samples"]
    for kind, settings in different_ways(variants(params.embedding)):
        if kind == HANDCRAFTED:
            continue
        network = embedding_work(settings.encoder)
        share = 1.0 if kind == "saliency" else 0.1  # a sentence is shorter than a picture
        number = counts[kind]
        yield Work(
            *("embed", f"{settings.encoder}, {kind}", network, Passes(forward=share * number)),
            precision="mixed",
            disk=4.0 * 1024 * number,
            at_once=settings.batch_size,
        )


def _with_classifier(every: Sequence[Group], backbone: str, params: Params) -> list[Group]:
    own = [one for one in every if backbone in params.models[one.key].backbones]
    return list({one.dataset: one for one in own}.values())


def _masks(every: Sequence[Group], params: Params) -> Iterator[Work]:
    own = params.applications.steering
    chosen = _with_classifier(every, own.backbone, params)
    encoder = embedding_work(params.embedding.encoder)
    for group, asked in share_out(chosen, own.images) if chosen else ():
        number = _fresh(group.dataset, params, asked)
        passes = Passes(forward=number * own.masks)
        network = classifier_work(own.backbone, group.key, params)
        yield Work("masks", group.dataset, network, passes, at_once=params.explanations.budget)
        disk = 4.0 * 1024 * passes.forward
        yield Work(
            *("masks", f"{group.dataset}, vectors", encoder, passes, "mixed"),
            disk=disk,
            at_once=own.batch_size,
        )


def _towers(every: Sequence[Group], params: Params) -> Iterator[Work]:
    own, settings = params.applications.backbones, params.explanations
    for tower in own.towers:
        network = tower_work(tower.architecture or params.clip.architecture)
        there = {one.dataset for one in every} & set(own.datasets)
        number = sum(_fresh(name, params, for_dataset(own.images, name)) for name in there)
        passes = Passes()
        for methods in (own.methods,):
            size = (params.image_size, params.image_size)
            passes += count_passes(methods, settings.methods, Sizes(size, network.channels))
        disk = 2.0 * number * len(own.methods) * _pixels(params)
        yield Work(
            *("towers", tower.name, network, passes.times(number)),
            core_seconds=number * _segmenting(own.methods, params),
            disk=disk,
            at_once=settings.budget,
        )


def _candidates(every: Sequence[Group], params: Params) -> Iterator[Work]:
    own, settings = params.applications.tuning, params.explanations
    for study in own.studies:
        technique = named(study.technique)
        settings_tried = math.prod(len(values) for values in study.grid.values())
        for group in _with_classifier(every, technique.backbone, params):
            asked = [for_dataset(one, group.dataset) for one in (own.search, own.held_out)]
            number = _fresh(group.dataset, params, sum(asked))
            network = classifier_work(technique.backbone, group.key, params)
            size = Sizes((params.image_size, params.image_size), network.channels)
            each = count_passes([technique.method], settings.methods, size)
            drops = Passes(forward=1 + params.applications.subsets)  # of held-out images
            passes = each.times(settings_tried * number) + drops.times(min(number, asked[1]))
            yield Work(
                *("candidates", f"{group.dataset}: {technique.key}", network, passes),
                core_seconds=number * _segmenting([technique.method], params),
                disk=2.0 * settings_tried * number * _pixels(params),
                at_once=settings.budget,
            )


def _score(params: Params) -> Iterator[Work]:
    """Training of the scores that are networks; the rest takes minutes."""
    own, about = params.scoring, rates()["scoring"]
    rows = about["samples"] * own.split.train
    steps = 0.0
    for one in setups(params.embedding, own):
        networks = {"pasta-linear": own.linear, "pasta-mlp": own.mlp}
        if one.scorer in networks:
            training = networks[one.scorer]
            each = training.epochs * math.ceil(rows / training.batch_size)
            steps += each * own.split.seeds * len(one.questions) / about["networks_together"]
        elif one.scorer == "ordinal":
            steps += own.ordinal.steps * own.split.seeds
    yield Work("score", "networks", steps=math.ceil(steps))


# Devices


@dataclass(frozen=True)
class Device:
    """How fast a device is: teraflop/s by precision and kind, and what CPU cores do beside it."""

    name: str
    teraflops: Mapping[str, Mapping[str, float]]
    cores: int = 1  # that share the work no GPU does
    slowness: float = 1.0  # of a core, compared with that of rates.yaml

    def seconds(self, work: Work) -> float:
        """How long a part of a stage takes."""
        found = work.core_seconds * self.slowness / self.cores
        found += work.steps * float(rates()["scoring"]["step_milliseconds"]) / 1e3 * self.slowness
        if work.network is not None:
            found += work.teraflops / self.teraflops[work.precision][work.network.kind]
        return found


def known_devices() -> list[Device]:
    """Those of ``rates.yaml``."""
    return [Device(name, about) for name, about in rates()["devices"].items()]


def measure_here(seconds: float = 1.0) -> Device:
    """Measure this machine for a few seconds: a residual network, a transformer, an imputation."""
    where = compute.device()
    speeds: dict[str, dict[str, float]] = {"float32": {}, "mixed": {}}
    networks: dict[str, Callable[[], nn.Module]] = {
        "convolution": lambda: ScaledResNet(64, (3, 4, 6, 3), 10),
        "attention": lambda: vit_b_32(num_classes=10),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(os.cpu_count() or 1)
    try:
        for kind, build in networks.items():
            network = compute.place(build().eval(), where)
            work = count_work(network, compute.place(torch.zeros(1, 3, 224, 224), where))
            plain = _images_per_second(network, where, nullcontext(), seconds)
            casting = compute.autocast(where)
            same = isinstance(casting, nullcontext)
            fast = plain if same else _images_per_second(network, where, casting, seconds)
            speeds["float32"][kind] = plain * work.gigaflops / 1e3
            speeds["mixed"][kind] = fast * work.gigaflops / 1e3
    finally:
        torch.set_num_threads(threads)
    cores = 1 if where.type != "cpu" else os.cpu_count() or 1
    return Device(HERE, speeds, cores, _slowness())


def _images_per_second(
    network: nn.Module, where: torch.device, casting: AbstractContextManager[Any], seconds: float
) -> float:
    images = compute.place(torch.rand(4 if where.type == "cpu" else 64, 3, 224, 224), where)
    done = 0
    with torch.inference_mode(), casting:
        network(images).sum().item()  # the first one is slow
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            network(images).sum().item()
            done += len(images)
    return done / (time.perf_counter() - started)


def _slowness() -> float:
    """How much longer a core takes here than that of ``rates.yaml``."""
    random = np.random.default_rng(0)
    image = torch.from_numpy(random.random((1, 3, 224, 224), dtype=np.float32))
    places = np.add.outer(np.arange(224), np.arange(224)) / 448
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    started = time.process_time()
    for share in shares:
        impute(image, torch.from_numpy(places < share)[None])
    spent = (time.process_time() - started) / len(shares)
    return max(spent / float(rates()["core_seconds"]["imputation"]), 0.1)


# The table

STAGES = (
    *("images", "clip", "train", "explain", "measure", "benchmark", "embed", "masks", "towers"),
    *("candidates", "score"),
)


def tabulate(work: Sequence[Work], devices: Sequence[Device]) -> pd.DataFrame:
    """A row for each stage, and their sum: passes, hours on each device, gigabytes."""
    rows = []
    for stage in STAGES:
        own = [one for one in work if one.stage == stage]
        rows.append({
            "stage": stage,
            "passes": sum(one.passes.forward + one.passes.backward for one in own),
            **{one.name: sum(map(one.seconds, own)) / 3600 for one in devices},
            "disk": sum(one.disk for one in own) / _GIGA,
            "memory": max((one.memory for one in own), default=0) / _GIGA,
        })  # fmt: skip
    table = pd.DataFrame(rows)
    summed = table.drop(columns=["stage", "memory"]).sum()
    total = {"stage": "all", **summed, "memory": table["memory"].max()}
    return pd.concat([table, pd.DataFrame([total])], ignore_index=True)
