"""What an explanation method is, and what it is given.

A method is a function from :class:`Given` (a model, a batch of images, the classes to explain) to
attributions: a saliency method returns maps (n, h, w) at any resolution, a concept method one
number per concept (n, concepts). Whatever several methods need, one forward and one backward pass
above all, :class:`Given` computes once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.hooks import frozen, hooked
from pasta.explanations.image import IMAGE
from pasta.explanations.modality import Modality
from pasta.explanations.techniques import METHOD_TITLES, Sign, Stage
from pasta.models.base import ConceptModel, torch_generator
from pasta.registry import Registry
from pasta.sections import Section

T = TypeVar("T")
Functioning = Literal[
    "gradient",
    "perturbation",
    "factorization",
    "gradient and factorization",
    "interpretable latent space",
    "counterfactual",
]
Attribution = Literal["image", "concepts"]
Reshape = Callable[[Tensor], Tensor]
# The attention of queries to keys (n, queries, keys), all blocks together, and the inputs, to maps
# (n, *any): where the tokens have their places.
Place = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Passes:
    """How often one image, or a changed copy of it, goes through the model."""

    forward: float = 0  # whole passes
    backward: float = 0  # from the logits to the target layer or to the image
    behind: float = 0  # forward passes of what lies behind the target layer alone

    def __add__(self, other: Passes) -> Passes:
        return Passes(
            self.forward + other.forward,
            self.backward + other.backward,
            self.behind + other.behind,
        )

    def times(self, number: float) -> Passes:
        """The same so often."""
        return Passes(number * self.forward, number * self.backward, number * self.behind)


@dataclass(frozen=True)
class Sizes:
    """What the work of a method depends on beside its settings."""

    image: tuple[int, ...]  # height and width
    channels: int = 0  # of the target layer
    references: int = 0  # inputs to compare with


CountPasses = Callable[[Any, Sizes], Passes]  # from a method's settings and the model's sizes


@dataclass(frozen=True)
class View:
    """A classifier as explanation methods see it."""

    network: nn.Module  # images (n, 3, height, width) to logits (n, classes)
    layer: nn.Module | None = None  # where CAM methods look
    reshape: Reshape | None = None  # the layer's output to (n, channels, h, w), if it is not so
    to_probabilities: Callable[[Tensor], Tensor] = field(default=lambda logits: logits.softmax(1))
    concepts: ConceptModel | None = None  # the same classifier, if it has concepts
    place: Place | None = None  # of attention, where tokens are no grid (points, for instance)

    def logits(self, images: Tensor) -> Tensor:
        """Class scores before any normalisation."""
        result: Tensor = self.network(images)
        return result

    def target_logits(self, images: Tensor, targets: Tensor) -> Tensor:
        """The score (n,) of one class for each image."""
        return self.logits(images).gather(1, targets[:, None])[:, 0]

    def probabilities(self, images: Tensor) -> Tensor:
        """Class probabilities."""
        return self.to_probabilities(self.logits(images))

    def maps(self, output: Tensor) -> Tensor:
        """The target layer's output as feature maps (n, channels, h, w)."""
        return output if self.reshape is None else self.reshape(output)

    def require_layer(self) -> nn.Module:
        """The target layer, or an error."""
        if self.layer is None:
            raise PastaError("this model has no layer that CAM methods could look at")
        return self.layer

    def require_concepts(self) -> ConceptModel:
        """The concept model, or an error."""
        if self.concepts is None:
            raise PastaError("this model is not a concept model")
        return self.concepts


@dataclass(frozen=True)
class SharedPass:
    """What one forward and one backward pass leave behind at the target layer."""

    activations: Tensor  # (n, channels, *any), for images (n, channels, h, w)
    gradients: Tensor  # same shape: derivative of the target's logit
    found: Any = None  # what the method that brought this pass has collected on the way


Pass = Callable[[View, Tensor, Tensor], SharedPass]  # of images and the classes to explain


def shared_pass(view: View, images: Tensor, targets: Tensor) -> SharedPass:
    """Run the model once forward, and once back from the targets' logits to the target layer."""
    leaves: list[Tensor] = []

    def cut(_layer: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1].clone()  # what follows may change it in place

    # with frozen parameters nothing before the layer is remembered for the way back
    with torch.enable_grad(), frozen(view.network), hooked(view.require_layer(), cut):
        chosen = view.target_logits(images, targets).sum()
        (gradients,) = torch.autograd.grad(chosen, leaves[0])
    return SharedPass(view.maps(leaves[0].detach()), view.maps(gradients))


@dataclass
class Given:
    """A batch to explain, and what its methods share."""

    view: View
    images: Tensor  # (n, channels, *spatial); for images (n, 3, height, width), 0 to 1
    targets: Tensor  # (n,), the class whose score is explained
    settings: Mapping[str, Any] = field(default_factory=dict)  # method -> its parameters
    seed: int = 0
    budget: int = 256  # images that may be in one forward pass
    run_pass: Pass = shared_pass  # a method may bring a pass that serves all others, too
    modality: Modality = IMAGE
    references: Tensor | None = None  # (m, channels, *spatial), inputs to compare with
    shared: dict[str, Any] = field(init=False, default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.images)

    @property
    def size(self) -> tuple[int, ...]:
        """Height and width of the images, or whatever their modality has."""
        return tuple(self.images.shape[2:])

    def generator(self, number: int, purpose: str) -> torch.Generator:
        """Randomness that depends on the image itself, not on its place in a batch or a list."""
        pixels = compute.to_numpy(self.images[number].contiguous()).tobytes()
        digest = hashlib.md5(pixels, usedforsecurity=False).hexdigest()
        return torch_generator(self.seed, purpose, digest)

    def generators(self, purpose: str) -> list[torch.Generator]:
        """The randomness of each image."""
        return [self.generator(number, purpose) for number in range(len(self))]

    @contextmanager
    def seeded(self, purpose: str) -> Iterator[None]:
        """Set what libraries draw from, torch's and NumPy's global generators, for the first image.

        Afterwards they are as they were before.
        """
        number = int(torch.randint(2**32, (1,), generator=self.generator(0, purpose)))
        device = self.images.device
        numpy_state = np.random.get_state()  # noqa: NPY002 (captum and grad-cam draw from it)
        with ExitStack() as stack:
            stack.callback(np.random.set_state, numpy_state)
            stack.enter_context(torch.random.fork_rng(devices=[]))
            torch.default_generator.manual_seed(number)
            np.random.seed(number)  # noqa: NPY002
            if device.type == "cuda":
                stack.enter_context(torch.cuda.device(device))
            if device.type not in ("cpu", "meta"):
                accelerator = torch.get_device_module(device)
                stack.callback(accelerator.set_rng_state, accelerator.get_rng_state())
                accelerator.manual_seed(number)
            yield

    def one_by_one(self) -> Iterator[Given]:
        """The same request for each image alone."""
        for number in range(len(self)):
            part = slice(number, number + 1)
            yield replace(self, images=self.images[part], targets=self.targets[part])

    @cached_property
    def passed(self) -> SharedPass:
        """One forward and one backward pass, for all methods that look at them."""
        return self.run_pass(self.view, self.images, self.targets)

    def once(self, what: str, compute: Callable[[], T]) -> T:
        """What several methods share, beside the passes below; it is computed for the first."""
        if what not in self.shared:
            self.shared[what] = compute()
        found: T = self.shared[what]
        return found

    def require_references(self) -> Tensor:
        """The references, where the inputs are, or an error."""
        if self.references is None:
            raise PastaError(NO_REFERENCES.format("this method"))
        return self.references.to(self.images)

    @cached_property
    def concept_scores(self) -> Tensor:
        """Scores of the concepts (n, concepts), for all methods that explain by concepts."""
        with torch.no_grad():
            return self.view.require_concepts().concept_scores(self.images)


Method = Callable[[Given], Tensor]
METHODS: Registry[Method] = Registry("method")
BACKBONES = ("resnet50", "vit_b_16", "clip_zero_shot")  # black boxes of which maps are rated


def method(
    key: str,
    *,
    functioning: Functioning,
    doi: str,
    title: str | None = None,
    attribution: Attribution = "image",
    stage: Stage = "post-hoc",
    sign: Sign = "positive",
    backbones: tuple[str, ...] = BACKBONES,
    needs_layer: bool = False,
    own_pass: Pass | None = None,
    network: type[nn.Module] | None = None,
    settings: type[Section] | None = None,
    any_modality: bool = False,
    needs_references: bool = False,
    needs_attention: bool = False,
    passes: CountPasses | None = None,
) -> Callable[[Method], Method]:
    """Register a method with what there is to know about it.

    Without a ``title`` a method has that of ``techniques.yaml``, or else its key. ``sign`` says
    what becomes of negative values: a positive method's are cut off, a signed one's are shown in
    another colour. ``backbones`` are those the method is applied to in this project.
    A method that looks at the target layer ``needs_layer``; its ``own_pass`` takes the place of the
    shared one, for all methods of a batch; ``network`` is the only kind that it can explain.
    ``any_modality`` says that it explains more than images; a method that ``needs_references``
    compares with other inputs, one that ``needs_attention`` explains transformers only.
    ``passes`` counts the passes of one image beside those that methods share; without it a method
    that lives on a shared pass or on concept scores needs none of its own, and another one a
    forward and a backward pass.
    ``settings`` is the class of its
    section in the parameters, whose defaults hold unless params.yaml has something else under
    ``explanations.methods.<key>``.
    """
    return METHODS.register(
        key,
        title=title or METHOD_TITLES.get(key, key),
        functioning=functioning,
        doi=doi,
        attribution=attribution,
        stage=stage,
        sign=sign,
        backbones=backbones,
        needs_layer=needs_layer,
        own_pass=own_pass,
        network=network,
        settings=settings,
        any_modality=any_modality,
        needs_references=needs_references,
        needs_attention=needs_attention,
        passes=passes,
    )


def require_network(key: str, network: nn.Module, modality: Modality = IMAGE) -> None:
    """An error if a method cannot explain a kind of network or of input."""
    about = METHODS.entry(key).metadata
    if modality.name != IMAGE.name and not about["any_modality"]:
        raise PastaError(f"{about['title']} explains images only, not the modality {modality.name}")
    kind, found = about["network"], type(network).__name__
    if kind is not None and not isinstance(network, kind):
        raise PastaError(f"{about['title']} needs a {kind.__name__}; {found} is not one")


NO_REFERENCES = (
    "{} compares with other inputs, and none are given: pass references (m, channels, *spatial), "
    "inputs of the same kind, as `references=` of explain or of Work"
)


def require_inputs(key: str, view: View, references: Tensor | None, size: Sequence[int]) -> None:
    """An error if there is no layer or there are no references, and the method needs them.

    Parameters
    ----------
    key
        Of the method.
    view, references
        What there is.
    size
        Channels and spatial axes of the inputs, which references must have, too.
    """
    about = METHODS.entry(key).metadata
    title = about["title"]
    if about["needs_layer"] and view.layer is None:
        raise PastaError(f"{title} looks at a layer, and this model has none that is known")
    if not about["needs_references"]:
        return
    if references is None:
        raise PastaError(NO_REFERENCES.format(title))
    if len(references) < 1 or tuple(references.shape[1:]) != tuple(size):
        raise PastaError(
            f"the references have the shape {tuple(references.shape)}, expected (m, "
            f"{', '.join(map(str, size))}) as the inputs have"
        )


def raw_maps(
    computed: Tensor, size: tuple[int, ...], sign: Sign, modality: Modality = IMAGE
) -> Tensor:
    """Rectify (positive methods) and enlarge to the images' size.

    Maps that have a value for each channel of each place (n, channels, *spatial) stay as they are.
    """
    maps = computed.relu() if sign == "positive" else computed
    maps = maps.float()
    if tuple(maps.shape[1:]) == size or maps.ndim == len(size) + 2:
        return maps
    return modality.resize(maps, size)


def exact(values: Tensor) -> Tensor:
    """The same in double precision; on Apple's GPUs, which have none, in main memory."""
    return (values.cpu() if values.device.type == "mps" else values).double()
