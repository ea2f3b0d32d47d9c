"""The seventeen methods of LATEC, and the parameters of its Table 7 as settings.

LATEC (doi:10.48550/arXiv.2409.16756) names methods by two or three letters. On point clouds class
activation maps are left out, and attention explains transformers only.
"""

from __future__ import annotations

from typing import Any, Literal

from pasta.explanations.settings import MethodsParams
from pasta.readings import Reading

Input = Literal["image", "volume", "cloud"]
LETTERS: dict[str, str] = {  # in the order of LATEC's tables
    "OC": "occlusion",
    "LIME": "lime",
    "KS": "shap",
    "VG": "saliency",
    "IxG": "input_x_gradient",
    "GB": "guided_backprop",
    "GC": "gradcam",
    "SC": "scorecam",
    "C+": "gradcam++",
    "IG": "integrated_gradients",
    "EG": "expected_gradients",
    "DL": "deeplift",
    "DLS": "deeplift_shap",
    "LRP": "lrp",
    "RA": "raw_attention",
    "RoA": "attention_rollout",
    "LA": "lrp_attention",
}
CAMS = ("gradcam", "scorecam", "gradcam++")
ATTENTION = ("raw_attention", "attention_rollout", "lrp_attention")
_CELLS = {"image": 16, "volume": 7, "cloud": 1}
_WINDOWS = {"image": (50, 25), "volume": (7, 4), "cloud": (1, 1)}


def methods_for(kind: Input, *, attention: bool) -> tuple[str, ...]:
    """Keys of the methods that LATEC applies to a kind of input, in its order.

    Parameters
    ----------
    kind
        Of the input.
    attention
        Whether the network is a transformer.

    Examples
    --------
    >>> [len(methods_for("image", attention=one)) for one in (False, True)]
    [14, 17]
    >>> [len(methods_for("cloud", attention=one)) for one in (False, True)]
    [11, 14]
    """
    left_out = (*(CAMS if kind == "cloud" else ()), *(() if attention else ATTENTION))
    return tuple(key for key in LETTERS.values() if key not in left_out)


def settings_of_table_7(kind: Input, reading: Reading = "corrected") -> MethodsParams:
    """Table 7's parameters as settings.

    Where text and code differ, a reading has its own: on clouds the code has a feature of LIME and
    Kernel SHAP for each coordinate instead of each point, a penalty of 1 instead of 4, and 16 steps
    of Integrated Gradients instead of 30. Scores are logits. Lasso finds its minimum, which the
    code's few steps of gradient descent do not.

    Parameters
    ----------
    kind
        Of the input.
    reading
        Of all methods.

    Examples
    --------
    >>> settings_of_table_7("volume").occlusion.window_pixels
    7
    >>> settings_of_table_7("cloud", "released").lime.channels_apart
    True
    """
    released, cloud = reading == "released", kind == "cloud"
    grid: dict[str, Any] = {
        "segmenter": "grid",
        "cell": _CELLS[kind],
        "samples": 10,
        "score": "logit",
        "channels_apart": released and cloud,
    }
    regression: dict[str, Any] = {
        "kernel_width": 1.0,
        "surrogate": "ridge" if cloud else "lasso",
        "penalty": 4.0 if cloud and not released else 1.0,
    }
    window, stride = _WINDOWS[kind]
    sections: dict[str, dict[str, Any]] = {
        key: {} for key in LETTERS.values() if key != "gradcam++"
    }
    sections["occlusion"] = {"window_pixels": window, "stride_pixels": stride}
    sections["lime"], sections["shap"] = grid | regression, grid
    sections["integrated_gradients"] = {"steps": 16 if released and cloud else 30}
    sections["expected_gradients"] = {"samples": 16 if cloud else 40, "noise": 0.001}
    sections["deeplift_shap"] = {"references": 16}
    sections["lrp"] = {"gamma": 0.25, "epsilon": 1e-5 if cloud else 1e-4}
    return MethodsParams.model_validate(
        {key: {"reading": reading, **section} for key, section in sections.items()}
    )
