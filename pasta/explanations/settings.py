"""Settings of explanation methods and of the perturbed copies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.readings import Reading
from pasta.sections import Count, Fraction, NotNegative, OpenSection, PerDataset, Positive, Section

Style = Literal["pasta", "released"]  # colours of heat maps, see pasta.explanations.rendering
Score = Literal["probability", "logit"]  # of the target class


class ReadingParams(Section):
    """A method that LATEC's paper, its released code and this project compute differently.

    Corrected maps have a value for each place, with its sign. The others have one for each channel
    of each place, cut at zero as the paper or the code does it.
    """

    reading: Reading = "corrected"


class FactorizationParams(Section):
    """Deep Feature Factorization."""

    components: Count = 5  # into which the activations of one image are factorised


class GridParams(ReadingParams):
    """Parts of an input for LIME and Kernel SHAP that form a grid."""

    cell: Count = 16  # places along each side of a cell, for the grid
    baseline: float = 0.0  # the value of hidden places, for the grid
    score: Score = "probability"  # what is explained, for the grid
    channels_apart: bool = False  # each channel of a cell is a feature of its own


class LimeParams(GridParams):
    """LIME on superpixels, or on a grid.

    With LATEC's settings (Table 7): ``{segmenter: grid, cell: 16, samples: 10, kernel_width: 1.0,
    surrogate: lasso, penalty: 1.0, score: logit}``.
    """

    samples: Count = 1000
    kernel_width: Positive = 0.25  # of the exponential kernel on cosine distances
    segmenter: Literal["quickshift", "slic", "grid"] = "quickshift"
    segments: Count = 50  # about so many superpixels, for slic
    surrogate: Literal["ridge", "lasso"] = "ridge"
    penalty: Positive = 1.0  # of the ridge or lasso regression


class ShapParams(GridParams):
    """Kernel SHAP on superpixels, or on a grid.

    With LATEC's settings (Table 7): ``{segmenter: grid, cell: 16, samples: 10, score: logit}``.
    """

    samples: Count = 500
    segmenter: Literal["slic", "grid"] = "slic"
    segments: Count = 50


class CamParams(ReadingParams):
    """GradCAM and GradCAM++."""


class RiseParams(Section):
    """RISE on images."""

    masks: Count = 2000
    cells: Count = 7  # of the coarse grid, along each side
    keep: Fraction = 0.5  # probability that a cell stays visible


class ScoreCamParams(ReadingParams):
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


class IntegratedGradientsParams(ReadingParams):
    """Integrated Gradients, at the places of Gauss and Legendre. LATEC has 30 steps."""

    steps: Count = 50  # on the straight way from the baseline to the image
    baseline: float = 0.0  # the value of every pixel of the image that says nothing


class SmoothGradParams(Section):
    """SmoothGrad."""

    samples: Count = 25  # noisy copies of an image
    noise: Positive = 0.15  # standard deviation, as a share of the image's largest difference
    samples_at_once: Count = 5  # copies in one pass: draws, and so results, depend on it


class DeepLiftParams(ReadingParams):
    """DeepLIFT with the rescale rule."""

    baseline: float = 0.0


class DeepLiftShapParams(ReadingParams):
    """DeepLIFT SHAP."""

    references: Count = 16  # so many of those that are given, the first ones


class ExpectedGradientsParams(ReadingParams):
    """Expected Gradients."""

    samples: Count = 40  # random points between random references and the image
    noise: NotNegative = 0.001  # standard deviation of what is added to the image


class GradientShapParams(Section):
    """Gradient SHAP (expected gradients)."""

    samples: Count = 25  # random points between the baseline and the image
    noise: NotNegative = 0.0  # standard deviation of what is added to the image
    baseline: float = 0.0
    samples_at_once: Count = 5  # points in one pass: draws, and so results, depend on it


class OcclusionParams(ReadingParams):
    """Occlusion by a square that moves over the image. LATEC's is 50 pixels wide, by 25."""

    window: Fraction = 0.125  # side of the square, as a share of the image's shorter side
    stride: Fraction = 0.5  # by how much it moves, as a share of its own side
    window_pixels: Count | list[Count] | None = None  # its sides instead, of all axes or of each
    stride_pixels: Count | list[Count] | None = None
    baseline: float = 0.0  # the value of pixels behind it


class LrpParams(ReadingParams):
    """Layer-wise relevance propagation. By default these are zennit's rules EpsilonPlusFlat.

    The rules of layers and of the first one hold for the corrected reading; the others have their
    own, by layer type and architecture, with LATEC's gamma (0.25) and epsilon (1e-4).
    """

    architecture: Literal["auto", "cnn", "transformer"] = "auto"  # for these others
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
    saliency: ReadingParams = ReadingParams()
    input_x_gradient: ReadingParams = ReadingParams()
    guided_backprop: ReadingParams = ReadingParams()
    gradcam: CamParams = CamParams()  # and gradcam++
    expected_gradients: ExpectedGradientsParams = ExpectedGradientsParams()
    deeplift_shap: DeepLiftShapParams = DeepLiftShapParams()
    raw_attention: ReadingParams = ReadingParams()
    attention_rollout: ReadingParams = ReadingParams()
    lrp_attention: ReadingParams = ReadingParams()
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
