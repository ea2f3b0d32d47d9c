"""Settings of the scoring functions that the PASTA networks are compared with."""

from __future__ import annotations

from pasta.params.base import Count, NotNegative, Positive, Section


class PenaltyParams(Section):
    """Ridge or lasso: how much large weights cost."""

    alpha: NotNegative


class SupportVectorParams(Section):
    """Support vector regression with a radial kernel of scikit-learn's width ``scale``."""

    cost: Positive
    epsilon: NotNegative  # errors up to this many stars cost nothing


class HiddenLayerParams(Section):
    """A perceptron with one hidden layer, trained by scikit-learn."""

    hidden: Count
    epochs: Count


class BaselineParams(Section):
    """All of them; the first version names 100 hidden units and nothing else (Table 17)."""

    ridge: PenaltyParams
    lasso: PenaltyParams
    svm: SupportVectorParams
    mlp: HiddenLayerParams
    handcrafted: PenaltyParams
