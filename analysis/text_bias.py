"""Do annotators prefer concept explanations that sound like what they wrote themselves (Q0.1)?"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

import numpy as np
import pandas as pd

from analysis.likeness import likeness_correlations
from analysis.resampling import notes

MEASURES = ("bleu", "rouge1", "rougeL")

Similarity = Callable[[str, str], dict[str, float]]


def text_similarity(
    sentences: pd.DataFrame | None, descriptions: pd.DataFrame | None
) -> tuple[pd.DataFrame, str]:
    """BLEU and ROUGE of each concept sentence against the text of each annotator of the sample.

    BLEU of one sentence with up to four-word phrases as far as both texts are long enough
    (sacrebleu, ``effective_order``), as a share from 0 to 1; ROUGE-1 and ROUGE-L as F measures on
    word stems (rouge-score). Capitals do not matter. Equal pairs of texts are compared once.

    Parameters
    ----------
    sentences
        Columns sample_id, sentence: what the explanation says.
    descriptions
        Columns sample_id, annotator_id, text.

    References
    ----------
    Papineni et al. 2002, doi:10.3115/1073083.1073135; Post 2018, doi:10.18653/v1/W18-6319;
    Lin 2004, https://aclanthology.org/W04-1013

    Returns
    -------
    A frame with sample_id, annotator_id, bleu, rouge1, rougeL; and a note on what is missing
    """
    columns = ["sample_id", "annotator_id", *MEASURES]
    empty = pd.DataFrame(columns=columns)
    if descriptions is None or "text" not in descriptions or not len(descriptions):
        return empty, "no Q0.1 texts"
    if sentences is None or not len(sentences):
        return empty, "no concept sentences"
    pairs = descriptions.merge(sentences[["sample_id", "sentence"]], on="sample_id")
    for name in ("text", "sentence"):
        pairs = pairs[pairs[name].notna() & (pairs[name].astype(str).str.strip() != "")]
    if not len(pairs):
        return empty, "no Q0.1 texts on samples with a concept sentence"
    place, distinct = pd.factorize(pd.MultiIndex.from_frame(pairs[["sentence", "text"]]))
    values = pd.DataFrame(index=range(len(distinct)), columns=list(MEASURES), dtype=np.float64)
    remarks = []
    for library, make in (("sacrebleu", _bleu), ("rouge-score", _rouge)):
        try:
            similarity = make()
        except ImportError:
            remarks.append(f"{library} is not installed")
            continue
        found = pd.DataFrame([similarity(sentence, text) for sentence, text in distinct])
        values[found.columns] = found
    result = pairs[["sample_id", "annotator_id"]].reset_index(drop=True)
    return result.join(values.iloc[place].reset_index(drop=True))[columns], notes(remarks)


def text_bias(
    sentences: pd.DataFrame | None, descriptions: pd.DataFrame | None, ratings: pd.DataFrame
) -> pd.DataFrame:
    """Correlation of text similarity with the votes of the same annotator, per question.

    See :func:`text_similarity` for the first two parameters and
    :func:`analysis.likeness.likeness_correlations` for the result.
    """
    values, missing = text_similarity(sentences, descriptions)
    return likeness_correlations(values, ratings, MEASURES, missing=missing)


def _bleu() -> Similarity:
    metric = import_module("sacrebleu.metrics").BLEU(effective_order=True, lowercase=True)
    return lambda said, wrote: {"bleu": metric.sentence_score(said, [wrote]).score / 100}


def _rouge() -> Similarity:
    words = import_module("rouge_score.tokenizers").DefaultTokenizer(use_stemmer=True)
    words.tokenize = lru_cache(maxsize=100_000)(words.tokenize)  # each text is in many pairs
    scorer = import_module("rouge_score.rouge_scorer").RougeScorer(
        ["rouge1", "rougeL"], tokenizer=words
    )

    def similarity(said: str, wrote: str) -> dict[str, float]:
        found = scorer.score(wrote, said)
        return {name: found[name].fmeasure for name in ("rouge1", "rougeL")}

    return similarity
