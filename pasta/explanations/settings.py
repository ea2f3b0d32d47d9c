"""Settings of explanation methods and of the perturbed copies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.sections import Count, Fraction, NotNegative, OpenSection, PerDataset, Positive, Section


class FactorizationParams(Section):
    """Deep Feature Factorization."""

    components: Count = 5  # into which the activations of one image are factorised


class LimeParams(Section):
    """LIME on superpixels."""

    samples: Count = 1000
    kernel_width: Positive = 0.25  # of the exponential kernel on cosine distances
    segmenter: Literal["quickshift", "slic"] = "quickshift"
    segments: Count = 50  # about so many superpixels, for slic
    penalty: Positive = 1.0  # of the ridge regression


class ShapParams(Section):
    """Kernel SHAP on superpixels."""

    samples: Count = 500
    segments: Count = 50


class RiseParams(Section):
    """RISE on images."""

    masks: Count = 2000
    cells: Count = 7  # of the coarse grid, along each side
    keep: Fraction = 0.5  # probability that a cell stays visible


class ScoreCamParams(Section):
    """ScoreCAM."""

    # only so many channels, those that vary most (Faster Score-CAM); null takes all
    channels: Count | None = None


class ConceptLimeParams(Section):
    """LIME on concept scores."""

    samples: Count = 5000
    kernel_width: Positive = 0.75  # times the square root of the number of concepts
    penalty: Positive = 1.0


class ConceptShapParams(Section):
    """Kernel SHAP on concept scores."""

    samples: Count = 2048


class ConceptRiseParams(Section):
    """RISE on concept scores."""

    masks: Count = 4000
    keep: Fraction = 0.5


class IntegratedGradientsParams(Section):
    """Integrated Gradients."""

    steps: Count = 50  # on the straight way from the baseline to the image
    baseline: float = 0.0  # the value of every pixel of the image that says nothing


class SmoothGradParams(Section):
    """SmoothGrad."""

    samples: Count = 25  # noisy copies of an image
    noise: Positive = 0.15  # standard deviation, as a share of the image's largest difference
    samples_at_once: Count = 5  # copies in one pass: draws, and so results, depend on it


class DeepLiftParams(Section):
    """DeepLIFT with the rescale rule."""

    baseline: float = 0.0


class GradientShapParams(Section):
    """Gradient SHAP (expected gradients)."""

    samples: Count = 25  # random points between the baseline and the image
    noise: NotNegative = 0.0  # standard deviation of what is added to the image
    baseline: float = 0.0
    samples_at_once: Count = 5  # points in one pass: draws, and so results, depend on it


class OcclusionParams(Section):
    """Occlusion by a square that moves over the image."""

    window: Fraction = 0.125  # side of the square, as a share of the image's shorter side
    stride: Fraction = 0.5  # by how much it moves, as a share of its own side
    baseline: float = 0.0  # the value of pixels behind it


class LrpParams(Section):
    """Layer-wise relevance propagation. By default these are zennit's rules EpsilonPlusFlat."""

    convolutions: Literal["epsilon", "gamma", "plus"] = "plus"
    linear: Literal["epsilon", "gamma", "plus"] = "epsilon"
    first: Literal["flat", "same"] = "flat"  # of the first layer, if it sees the image
    gamma: NotNegative = 0.25  # by how much the gamma rule favours contributions of one sign
    epsilon: Positive = 1e-6  # added to denominators


class KpcaCamParams(Section):
    """KPCA-CAM."""

    kernel: Literal["sigmoid", "rbf", "poly", "cosine", "linear"] = "sigmoid"
    gamma: Positive | None = None  # of the kernel; None is 1 / channels


class FinerCamParams(Section):
    """Finer-CAM."""

    comparisons: Count = 3  # classes with the nearest scores, whose share is taken away
    strength: NotNegative = 1.0  # of taking it away


class MethodsParams(OpenSection):
    """The methods that have something to set.

    A new method brings its settings in its own module, ``pasta/explanations/methods/<key>.py``.
    """

    room = "pasta.explanations.methods"

    dff: FactorizationParams = FactorizationParams()
    lime: LimeParams = LimeParams()
    shap: ShapParams = ShapParams()
    rise: RiseParams = RiseParams()
    scorecam: ScoreCamParams = ScoreCamParams()
    lime_cbm: ConceptLimeParams = ConceptLimeParams()
    shap_cbm: ConceptShapParams = ConceptShapParams()
    rise_cbm: ConceptRiseParams = ConceptRiseParams()
    integrated_gradients: IntegratedGradientsParams = IntegratedGradientsParams()
    smoothgrad: SmoothGradParams = SmoothGradParams()
    deeplift: DeepLiftParams = DeepLiftParams()
    gradient_shap: GradientShapParams = GradientShapParams()
    occlusion: OcclusionParams = OcclusionParams()
    lrp: LrpParams = LrpParams()
    kpca_cam: KpcaCamParams = KpcaCamParams()
    finer_cam: FinerCamParams = FinerCamParams()


class PerturbationParams(Section):
    """The search for a light and a strong perturbation of each image."""

    steps: Count = 8  # of the bisection
    tries: Count = 12  # perturbations to look at before giving up
    light: Fraction = 0.3  # the largest magnitude of a light perturbation


class ExplanationParams(Section):
    """Which images are explained, by what."""

    # of each dataset's test images, or by dataset: {coco: 250, monumai: 150}; all if it has fewer
    images: PerDataset
    batch_size: Count = 16
    budget: Annotated[int, Field(ge=1)] = 128  # images in one forward pass of a perturbation method
    extras: bool = True  # also the techniques that are not among the papers' 46
    methods: MethodsParams = MethodsParams()
    perturbations: PerturbationParams = PerturbationParams()
