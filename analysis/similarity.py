"""Do raters prefer what is similar to their own words, or to something else of their own?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from analysis.contrasts import clustered_correlation, codes_of, without_means
from analysis.resampling import Codes, holm

TEXT_MEASURES = ("bleu", "rouge1", "rougeL")
METHODS = ("pearson", "spearman")
SCOPES = ("pooled", "within")
_COLUMNS = ["measure", "item", "scope", "method", "n", "estimate", "low", "high"]
_COLUMNS += ["p", "p_holm", "note"]

Compared = tuple[np.ndarray, np.ndarray, list[Codes]]


def measure_texts(
    sentences: pd.DataFrame | None, descriptions: pd.DataFrame | None
) -> tuple[pd.DataFrame, str]:
    """BLEU and ROUGE of the sentence of a unit against the text of each of its raters.

    BLEU of one sentence with up to four-word phrases as far as both texts are long enough
    (sacrebleu, ``effective_order``), as a share from 0 to 1; ROUGE-1 and ROUGE-L as F measures on
    word stems (rouge-score). Capitals do not matter. Equal pairs of texts are compared once.

    Parameters
    ----------
    sentences
        Columns unit, sentence.
    descriptions
        Columns unit, rater, text.

    Returns
    -------
    measures : DataFrame
        unit, rater, bleu, rouge1, rougeL.
    note : str
        What is missing.

    References
    ----------
    Papineni et al. 2002, doi:10.3115/1073083.1073135; Post 2018, doi:10.18653/v1/W18-6319;
    Lin 2004, https://aclanthology.org/W04-1013

    Examples
    --------
    One word of two in the text is one of three in the sentence: F = 2 * 1 / (2 + 3).

    >>> sentences = pd.DataFrame({"unit": ["u"], "sentence": ["A black cat."]})
    >>> texts = pd.DataFrame({"unit": "u", "rater": ["a", "b"], "text": ["a black cat.", "a dog"]})
    >>> measure_texts(sentences, texts)[0][["unit", "rater", "rouge1"]]
      unit rater  rouge1
    0    u     a     1.0
    1    u     b     0.4
    """
    columns = ["unit", "rater", *TEXT_MEASURES]
    empty = pd.DataFrame(columns=columns)
    if descriptions is None or "text" not in descriptions or not len(descriptions):
        return empty, "no texts of raters"
    if sentences is None or not len(sentences):
        return empty, "no sentences"
    pairs = descriptions.merge(sentences[["unit", "sentence"]], on="unit")
    for name in ("text", "sentence"):
        pairs = pairs[pairs[name].notna() & (pairs[name].astype(str).str.strip() != "")]
    if not len(pairs):
        return empty, "no texts of raters on units with a sentence"
    # They load NLTK and scikit-learn, two seconds that are wasted without texts.
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenizers import DefaultTokenizer
    from sacrebleu.metrics.bleu import BLEU

    place, distinct = pd.factorize(pd.MultiIndex.from_frame(pairs[["sentence", "text"]]))
    bleu = BLEU(effective_order=True, lowercase=True)
    words = DefaultTokenizer(use_stemmer=True)
    words.tokenize = lru_cache(maxsize=100_000)(words.tokenize)  # each text is in many pairs
    rouge = RougeScorer(["rouge1", "rougeL"], tokenizer=words)
    rows = []
    for sentence, text in distinct:
        found = rouge.score(text, sentence)
        row = {"bleu": bleu.sentence_score(sentence, [text]).score / 100}
        rows.append(row | {name: score.fmeasure for name, score in found.items()})
    values = pd.DataFrame(rows, columns=list(TEXT_MEASURES)).iloc[place].reset_index(drop=True)
    result = pairs[["unit", "rater"]].reset_index(drop=True)
    return result.join(values), ""


def correlate_similarity(
    values: pd.DataFrame, ratings: pd.DataFrame, measures: Sequence[str]
) -> pd.DataFrame:
    """Correlate properties of (unit, rater) with the rater's votes on the unit.

    ``pooled`` correlates all votes. It cannot tell a bias from quality: a unit that names the right
    things is both liked and similar to what people wrote. ``within`` first takes the means of every
    unit and of every rater out of both, so that it asks whether, of the raters of the same unit,
    the one whose own words are closer to it rated it higher. Intervals allow for votes that share a
    unit or a rater; ``p_holm`` corrects among the tests of one scope and method.

    Parameters
    ----------
    values
        Columns unit, rater and the measures.
    ratings
        Columns unit, rater, item, rating.
    measures
        The columns of ``values`` to correlate.

    Returns
    -------
    DataFrame
        measure, item, scope, method, n, estimate, low, high, p, p_holm, note.

    Examples
    --------
    Raters like what is close to their own words. That some units are closer to everybody's words,
    and better, takes no part in ``within``.

    >>> close = pd.DataFrame({"unit": list("uuvvww"), "rater": list("ababab")})
    >>> close["rouge1"] = [0.1, 0.3, 0.5, 0.4, 0.6, 0.9]
    >>> votes = close[["unit", "rater"]].assign(item="trust", rating=[1, 2, 3, 2, 4, 5])
    >>> found = correlate_similarity(close, votes, ["rouge1"])
    >>> found[found["method"] == "pearson"][["measure", "scope", "n", "estimate"]].round(2)
      measure   scope  n  estimate
    0  rouge1  pooled  6      0.98
    2  rouge1  within  6      0.97
    """
    keys = ["unit", "rater"]
    joined = ratings[ratings["rating"].notna()].merge(values, on=keys, how="inner")
    # Codes are faster than texts, and every correlation numbers its clusters.
    joined = joined.assign(**{name: pd.factorize(joined[name])[0] for name in keys})
    items = [str(name) for name in sorted(ratings["item"].dropna().unique())]
    rows = []
    for measure in measures:
        for item in items:
            here = joined[(joined["item"] == item) & joined[measure].notna()]
            for scope in SCOPES:
                compared = _compared(here, measure, scope)
                for method in METHODS:
                    head = {"measure": measure, "item": item}
                    head |= {"scope": scope, "method": method}
                    rows.append(head | _correlation(compared, scope, method))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    if len(frame):
        frame["p_holm"] = frame.groupby(["scope", "method"])["p"].transform(holm)
    return frame


def _compared(here: pd.DataFrame, measure: str, scope: str) -> Compared:
    """The measure and the rating, and the unit and rater of each; within: without means."""
    x = here[measure].to_numpy(np.float64)
    y = here["rating"].to_numpy(np.float64)
    clusters: list[Codes] = [codes_of(here[name]) for name in ("unit", "rater")]
    if scope == "within" and len(x):
        shared = np.bincount(clusters[0])[clusters[0]] > 1  # a vote alone has nothing to compare
        x, y = x[shared], y[shared]
        clusters = [codes_of(codes[shared]) for codes in clusters]
        x, y = _cleared(x, clusters), _cleared(y, clusters)
    return x, y, clusters


def _correlation(compared: Compared, scope: str, method: str) -> dict[str, object]:
    x, y, clusters = compared
    row = clustered_correlation(x, y, *clusters, method=method)
    constant = scope == "within" and row["note"] == "one of the two does not vary"
    why = "it does not differ between the raters of a unit" if constant else str(row["note"])
    return row | {"note": why}


def _cleared(values: np.ndarray, clusters: list[Codes]) -> np.ndarray:
    """Without the means; rounding that is left of a constant is no signal."""
    left = without_means(values, *clusters)
    return np.where(
        np.abs(left) < 1e-9 * max(float(np.abs(values).max(initial=0)), 1e-300), 0, left
    )
