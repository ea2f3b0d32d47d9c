"""How much of a logit LRP finds again in the input.

Relevance is neither lost nor won by a rule; but biases, class tokens and places keep their share,
and stabilisers take some. What is left is a fact about an architecture and a composite, and is
reported beside the maps.
"""

from __future__ import annotations

import copy

import pandas as pd
import torch
from torch import Tensor, nn

from pasta.explanations.attention import has_attention
from pasta.explanations.hooks import evaluating, frozen
from pasta.explanations.methods.lrp import relevance_by_mode, rules_of
from pasta.explanations.settings import LrpParams
from pasta.readings import Reading

READINGS: tuple[Reading, ...] = ("paper", "released", "corrected")
_KEEP = ("bias", "running_mean", "class_token", "cls_token", "cls", "pos", "pos_embed")
_KEEP_ALSO = ("pos_embedding", "position_embeddings")


def conservation(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    settings: LrpParams | None = None,
    name: str | None = None,
) -> pd.DataFrame:
    """Compare the sum of LRP's relevance with the logit, in every reading.

    Parameters
    ----------
    model
        Inputs (n, channels, *spatial) to logits, where the inputs are.
    inputs, targets
        The inputs and the classes whose logits are shared out.
    settings
        Of LRP; their reading is ignored.
    name
        Of the architecture; None takes the name of the model's class.

    Returns
    -------
    A row for each reading, with and without biases, and each input, with the columns
    ``architecture``, ``reading``, ``biases`` (``kept``, or ``zero``: biases, means of batch norms,
    class tokens and embeddings of places are set to zero in a copy), ``input``, ``logit``,
    ``relevance`` (the sum of an unclipped map) and ``share`` (relevance / logit).

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> _ = torch.manual_seed(0)
    >>> network = nn.Sequential(nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> frame = conservation(network.double(), torch.rand(1, 3, 2, 2).double(), torch.tensor([1]))
    >>> kept = frame[(frame.reading == "corrected") & (frame.biases == "zero")]
    >>> round(float(kept.share.iloc[0]), 3)
    1.0
    """
    chosen = LrpParams() if settings is None else settings
    parts = []
    for biases in ("kept", "zero"):
        network = model if biases == "kept" else without_biases(model)
        with evaluating(network), frozen(network), torch.enable_grad():
            transformer = has_attention(network, inputs[:1])
            for reading in READINGS:
                rules = rules_of(chosen.model_copy(update={"reading": reading}), transformer)
                leaf = inputs.detach().clone().requires_grad_()
                found = relevance_by_mode(network, leaf, targets, rules).detach()
                with torch.no_grad():
                    logits = network(inputs).gather(1, targets[:, None])[:, 0]
                sums = found.flatten(1).double().sum(1).cpu().numpy()
                numbers = logits.double().cpu().numpy()
                parts.append(
                    pd.DataFrame(
                        {
                            "architecture": name or type(model).__name__,
                            "reading": reading,
                            "biases": biases,
                            "input": range(len(inputs)),
                            "logit": numbers,
                            "relevance": sums,
                            "share": sums / numbers,
                        }
                    )
                )
    return pd.concat(parts, ignore_index=True)


def without_biases(network: nn.Module) -> nn.Module:
    """Copy a network, and set to zero what keeps relevance for itself."""
    copied = copy.deepcopy(network)
    with torch.no_grad():
        for name, value in (*copied.named_parameters(), *copied.named_buffers()):
            last = name.rsplit(".", 1)[-1]
            if last.endswith("bias") or last in _KEEP + _KEEP_ALSO:
                value.zero_()
    return copied
