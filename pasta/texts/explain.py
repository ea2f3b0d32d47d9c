"""Which words speak for a class: LIME, Integrated Gradients, Feature Ablation, Kernel SHAP.

All of them are captum's. The players are words: what is hidden is a word with all its tokens, and
where gradients find a value for each token, those of a word are summed. A method is a function from
:class:`Question` to one number a word; :data:`TEXT_METHODS` has them by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import torch
from captum.attr import FeatureAblation, IntegratedGradients, LimeBase
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.attribution import Status, statuses
from pasta.explanations.hooks import evaluating
from pasta.explanations.methods.lime import Ridge, random_switches, width_kernel
from pasta.explanations.methods.shap import ShapleySolution, coalitions
from pasta.explanations.superpixels import Surrogate
from pasta.models.base import torch_generator
from pasta.progress import late_bar
from pasta.registry import Registry
from pasta.texts.classifier import NO_WORD, TextModel, TokenModel
from pasta.texts.documents import Document, as_documents
from pasta.texts.settings import TextMethodsParams

Weights = NDArray[np.float64]
DEFAULTS = TextMethodsParams()
METHODS = ("lime", "integrated_gradients", "feature_ablation", "kernel_shap")


@dataclass(frozen=True)
class Question:
    """A text, the class to explain, and how.

    Attributes
    ----------
    words
        How many words the model reads; methods explain these.
    budget
        Copies of the text in one pass of the model.
    """

    model: TextModel
    document: Document
    target: int
    settings: TextMethodsParams
    seed: int
    words: int
    budget: int

    def generator(self, purpose: str) -> torch.Generator:
        """Randomness that depends on the text itself, not on its place in a list."""
        digest = hashlib.md5(
            self.document.text.encode(errors="surrogatepass"), usedforsecurity=False
        )
        return torch_generator(self.seed, purpose, digest.hexdigest())

    def ask(self, switches: Tensor) -> Tensor:
        """Scores (copies, classes) of copies, in which words (copies, words) are seen or not."""
        kept = torch.ones(len(switches), len(self.document), dtype=torch.bool)
        kept[:, : self.words] = switches.bool().cpu()
        how = self.settings
        return self.model.ask(self.document, kept, removal=how.removal, score=how.score)


TextMethod = Callable[[Question], Tensor]  # to one number (words,) for each word that is read
TEXT_METHODS: Registry[TextMethod] = Registry("explanation method of texts")


@TEXT_METHODS.register("lime", title="LIME", doi="10.1145/2939672.2939778", gradients=False)
def lime(question: Question) -> Tensor:
    """Coefficients of a weighted ridge regression on which words are seen."""
    settings = question.settings.lime
    rows = random_switches(settings.samples, question.words, question.generator("lime"))
    rows, times = torch.unique(rows, dim=0, return_counts=True)
    weights = width_kernel(1 - rows.double().mean(1).sqrt(), settings.kernel_width) * times
    return _fit(question, rows, weights, Ridge(settings.penalty))


@TEXT_METHODS.register(
    "integrated_gradients",
    title="Integrated Gradients",
    doi="10.48550/arXiv.1703.01365",
    gradients=True,
)
def integrated_gradients(question: Question) -> Tensor:
    """Gradients times embeddings along the way from a text of hidden words, summed for each word.

    They add up to the score of the text minus that of hidden words alone.
    """
    model = question.model
    if not isinstance(model, TokenModel):
        raise PastaError(
            f"integrated_gradients needs a network of tokens, but {type(model).__name__} only "
            "answers questions"
        )
    tokens = model.tokens(question.document)
    where = compute.device_of(model)
    own = compute.place(tokens.words, where)
    ids = compute.place(tokens.ids, where)[None]
    seen = torch.ones_like(ids, dtype=torch.bool)
    with torch.no_grad():
        start = model.embed(torch.where(own == NO_WORD, ids, model.hidden_id))
        end = model.embed(ids)

    def score(embedded: Tensor) -> Tensor:
        found = model.logits(embedded, seen.expand(len(embedded), -1))
        return found.softmax(1) if question.settings.score == "probability" else found

    found = IntegratedGradients(score).attribute(
        end,
        baselines=start,
        target=question.target,
        n_steps=question.settings.integrated_gradients.steps,
        internal_batch_size=question.budget,
    )
    return sum_tokens(found[0].sum(-1), own, question.words)


@TEXT_METHODS.register(
    "feature_ablation",
    title="Feature Ablation",
    doi="10.48550/arXiv.1612.08220",
    gradients=False,
)
def feature_ablation(question: Question) -> Tensor:
    """What the score loses when one word is hidden."""
    found: Tensor = FeatureAblation(question.ask).attribute(
        torch.ones(1, question.words, dtype=torch.double),
        target=question.target,
        perturbations_per_eval=question.budget,
    )
    return found[0]


@TEXT_METHODS.register(
    "kernel_shap", title="Kernel SHAP", doi="10.48550/arXiv.1705.07874", gradients=False
)
def kernel_shap(question: Question) -> Tensor:
    """Shapley values of words, from the heaviest coalitions.

    They add up to the score of the text minus that of hidden words alone.
    """
    samples = question.settings.kernel_shap.samples
    masks, weights = coalitions(question.words, samples, question.generator("kernel_shap"))
    ends = torch.tensor([[True], [False]]).expand(2, question.words)
    rows = torch.cat([ends, masks])
    return _fit(question, rows, torch.cat([weights.new_ones(2), weights]), ShapleySolution())


def _fit(question: Question, rows: Tensor, weights: Tensor, surrogate: Surrogate) -> Tensor:
    """Let captum ask about copies (m, words) and fit a surrogate to the answers."""
    waiting = iter(torch.split(weights, 1))

    def perturb(_whole: Tensor, **_: Any) -> Iterator[Tensor]:
        yield from torch.split(rows, 1)

    def weigh(*_: Any, **__: Any) -> Tensor:
        return next(waiting)

    def as_it_is(row: Tensor, _whole: Tensor, **_: Any) -> Tensor:
        return row

    run = LimeBase(question.ask, surrogate, weigh, perturb, True, as_it_is, None)
    found: Tensor = run.attribute(
        torch.ones(1, question.words, dtype=torch.bool),
        target=question.target,
        n_samples=len(rows),
        perturbations_per_eval=question.budget,
    )
    return found


def sum_tokens(values: Tensor, own: Tensor, words: int) -> Tensor:
    """Values of tokens (t,) as those of the words (words,) that they belong to; -1 is none.

    >>> sum_tokens(torch.tensor([9.0, 1.0, 2.0, 3.0]), torch.tensor([-1, 0, 0, 1]), 2).tolist()
    [3.0, 3.0]
    """
    inside = own != NO_WORD
    result = values.new_zeros(words)
    return result.index_add(0, own[inside], values[inside])


Found = dict[str, list[Weights]]
Known = dict[str, list[Status]]


@overload
def explain_texts(
    model: TextModel,
    texts: Sequence[str | Document],
    targets: Sequence[int] | None = None,
    methods: Sequence[str] = ...,
    *,
    settings: TextMethodsParams = ...,
    seed: int = 0,
    budget: int = 256,
    return_status: Literal[False] = False,
) -> Found: ...


@overload
def explain_texts(
    model: TextModel,
    texts: Sequence[str | Document],
    targets: Sequence[int] | None = None,
    methods: Sequence[str] = ...,
    *,
    settings: TextMethodsParams = ...,
    seed: int = 0,
    budget: int = 256,
    return_status: Literal[True],
) -> tuple[Found, Known]: ...


def explain_texts(
    model: TextModel,
    texts: Sequence[str | Document],
    targets: Sequence[int] | None = None,
    methods: Sequence[str] = METHODS,
    *,
    settings: TextMethodsParams = DEFAULTS,
    seed: int = 0,
    budget: int = 256,
    return_status: bool = False,
) -> Found | tuple[Found, Known]:
    """Explain any classifier of texts, word by word.

    Texts have no common size and classifiers of texts take no tensors, so that this stands beside
    :func:`pasta.explain`, with the same words.

    Parameters
    ----------
    model
        What classifies: a trained network of words, :class:`~pasta.texts.hugging_face.HubModel`
        for sequence classifiers of Hugging Face, or
        :class:`~pasta.texts.classifier.FunctionModel` for any function of texts.
    texts
        The texts, or documents.
    targets
        The class to explain for each text; None explains the predicted ones.
    methods
        lime, integrated_gradients (networks only), feature_ablation, kernel_shap.
    settings, seed
        Of the methods, and of their randomness, which also depends on the text.
    budget
        Copies of a text in one pass of the model: less where memory is short.
    return_status
        Also say what is the matter with the weights of each text.

    Returns
    -------
    For each method one array (words,) a text: positive weights speak for the class. Words that the
    model does not read, because the text is too long for it, have the weight 0. With
    ``return_status`` also a list for each method: ``ok``, ``zero``, ``constant`` or ``nan``.

    Examples
    --------
    >>> from pasta.texts.classifier import FunctionModel
    >>> def judge(texts):
    ...     good = np.array([0.9 if "good" in text else 0.2 for text in texts])
    ...     return np.stack([1 - good, good], 1)
    >>> model = FunctionModel(judge, ["bad", "good"])
    >>> explain_texts(model, ["so very good"], methods=["feature_ablation"])
    {'feature_ablation': [array([0. , 0. , 0.7])]}
    """
    documents = as_documents(texts)
    for name in methods:
        TEXT_METHODS.entry(name)
    found: Found = {name: [] for name in methods}
    with (
        torch.inference_mode(False),
        evaluating(model),
        late_bar("explain", len(documents) * len(found)) as line,
    ):
        chosen = _checked_targets(model, documents, targets)
        for document, target in zip(documents, chosen, strict=True):
            words = model.read_words(document)
            question = Question(model, document, target, settings, seed, words, budget)
            for name in found:
                found[name].append(_weights(question, TEXT_METHODS[name]))
                line.advance(1, words=name)
    known: Known = {name: [statuses(one[None])[0] for one in own] for name, own in found.items()}
    return (found, known) if return_status else found


def predict_texts(model: TextModel, texts: Sequence[str | Document]) -> Weights:
    """Probabilities (n, classes) of texts."""
    found: Weights = compute.to_numpy(model.probabilities(as_documents(texts))).astype(np.float64)
    return found


def _weights(question: Question, method: TextMethod) -> Weights:
    result = np.zeros(len(question.document))
    if question.words:
        result[: question.words] = compute.to_numpy(method(question).double())
    return result


def _checked_targets(
    model: TextModel, documents: Sequence[Document], targets: Sequence[int] | None
) -> list[int]:
    if targets is None:
        return [int(one) for one in model.probabilities(documents).argmax(1)]
    if len(targets) != len(documents):
        raise PastaError(f"{len(targets)} targets for {len(documents)} texts, expected one each")
    for one in targets:
        if not 0 <= int(one) < len(model.classes):
            raise PastaError(f"there is no class {one}: the model has {len(model.classes)}, from 0")
    return [int(one) for one in targets]


def titles() -> Mapping[str, str]:
    """The methods as people know them."""
    return {one.key: str(one.metadata["title"]) for one in TEXT_METHODS.entries()}
