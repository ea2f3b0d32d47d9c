"""Training of the small CLIP: repeatable, and on what is true."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional

from pasta import store
from pasta.models.base import torch_generator
from pasta.models.clip import ABOUT, FOLDER, ClipEncoder, load_clip, open_model, prompt_table
from pasta.models.clip_training import (
    Mixture,
    Truth,
    augment,
    brief,
    caption_loss,
    class_loss,
    concept_loss,
    encode_briefly,
    is_true,
    make_clip,
    train_clip,
    write_captions,
)
from pasta.models.data import TrainingData, as_tensor
from tests.models.clip_data import SIZE, TEMPLATE, clip_params, drawn_data, silent


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[TrainingData]:
    root = tmp_path_factory.mktemp("clip")
    return [drawn_data(root, name) for name in ("catsdogscars", "monumai")]


def test_the_same_seed_gives_the_same_weights(parts: list[TrainingData]) -> None:
    first, history = train_clip(parts, clip_params(), 1, silent)
    second, again = train_clip(parts, clip_params(), 1, silent)
    assert first.md5 == second.md5
    assert history == again
    other, _ = train_clip(parts, clip_params(epochs=1, small_share=0.0), 2, silent)
    assert other.md5 != first.md5


def test_the_stage_leaves_weights_that_load_and_a_note(
    parts: list[TrainingData], tmp_path: Path
) -> None:
    heard: list[tuple[int | None, int | None]] = []

    def listen(words: str, done: int | None = None, total: int | None = None) -> None:
        heard.append((done, total))

    about, history = make_clip(parts, clip_params(), 1, tmp_path / FOLDER, listen)
    encoder = load_clip(clip_params(), tmp_path, 0)
    assert store.read_json(tmp_path / FOLDER / ABOUT) == about
    assert about["md5"] == encoder.md5
    assert set(about["zero_shot_accuracy"]) == {"catsdogscars", "monumai"}
    assert heard == [(1, 2), (2, 2)]
    assert len(history.curves["loss"]) == 2
    assert history.best_epoch == 2  # the first epoch is a small one


def test_training_learns(parts: list[TrainingData]) -> None:
    settings = clip_params(epochs=14, small_share=0.0, patience=14)
    _, history = train_clip(parts, settings, 1, silent)
    assert history.curves["loss"][-1] < 0.9 * history.curves["loss"][0]


def test_every_training_image_comes_once_with_a_true_caption(parts: list[TrainingData]) -> None:
    model, tokenizer = open_model("pasta-tiny", None, SIZE)
    table = prompt_table([part.dataset.vocabulary for part in parts], TEMPLATE)
    encoder = ClipEncoder(model, tokenizer, "random")
    told = [
        write_captions(part, encoder, TEMPLATE, torch_generator(0, "captions")) for part in parts
    ]
    mixture = Mixture(parts, table, told)
    batches = list(mixture.epoch(16, torch.Generator().manual_seed(0), SIZE))
    assert [len(batch.images) for batch in batches] == [16, 16, 16]
    for batch in batches:
        assert len(batch.captions) == 16
        for truth in batch.truths:
            assert is_true(truth).diagonal().all()
            assert (truth.named <= truth.presence).all()
    seen = torch.cat([batch.images for batch in batches]).flatten(1)
    assert len({image.numpy().tobytes() for image in seen}) == 48


def test_losses_follow_the_truth() -> None:
    truth = Truth(
        images=slice(0, 3),
        classes=torch.tensor([0, 1]),
        concepts=torch.tensor([2, 3]),
        labels=torch.tensor([0, 0, 1]),
        presence=torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]),
        named=torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]),
    )
    expected = [[True, True, False], [False, True, False], [False, False, True]]
    assert is_true(truth).tolist() == expected
    right = torch.tensor([[9.0, -9, 9, 9], [9, -9, 9, -9], [-9, 9, -9, 9]])
    for loss in (class_loss, concept_loss):
        assert float(loss(right, [truth])) < 0.01
        assert float(loss(-right, [truth])) > 5
    matching = 20 * torch.tensor(expected).float()
    assert float(caption_loss(matching, [truth])) < float(caption_loss(matching.flip(0), [truth]))


def test_augmentation_keeps_shape_and_range() -> None:
    images = torch.rand(4, 3, 20, 20)
    changed = augment(images, 0.1, torch.Generator().manual_seed(0))
    assert changed.shape == images.shape
    assert not torch.equal(changed, images)
    assert float(changed.min()) >= 0
    assert float(changed.max()) <= 1
    still = augment(images, 0.0, torch.Generator().manual_seed(0))
    assert torch.equal(still.flip(3).sort(3).values, images.sort(3).values)


def test_moved_images_repeat_their_border() -> None:
    images = torch.randint(0, 256, (5, 3, 20, 20), dtype=torch.uint8)
    moved = augment(images, 0.1, torch.Generator().manual_seed(3))
    padded = functional.pad(images.float(), (2,) * 4, mode="replicate").byte()
    places = [
        padded[:, :, down : down + 20, right : right + 20]
        for down in range(5)
        for right in range(5)
    ]
    for number, image in enumerate(moved):
        own = [place[number] for place in places]
        assert any(torch.equal(image, one) or torch.equal(image, one.flip(2)) for one in own)


def test_small_pictures_of_all_images_are_made_once(parts: list[TrainingData]) -> None:
    part = parts[0]
    small = part.pixels_at(SIZE // 2)
    assert small.shape == (len(part.labels), SIZE // 2, SIZE // 2, 3)
    assert part.pixels_at(SIZE // 2) is small
    whole = part.images(torch.tensor([3]))
    expected = functional.interpolate(
        whole, (SIZE // 2, SIZE // 2), mode="bicubic", antialias=True
    ).clamp(0, 1)
    torch.testing.assert_close(as_tensor(small[3:4]), expected, atol=0.51 / 255, rtol=0)
    assert torch.equal(as_tensor(part.pixels_at(SIZE)[3:4].copy()), whole)


def test_texts_without_their_empty_places_are_the_same() -> None:
    model, tokenizer = open_model("pasta-tiny", None, None, 0)
    tokens = tokenizer(["a photo of a cat", "a photo of a dog with a tail"])
    found = encode_briefly(model, brief(tokens))
    torch.testing.assert_close(found, model.encode_text(tokens, normalize=True))
    (slope,) = torch.autograd.grad(found.sum(), model.positional_embedding)
    assert slope.isfinite().all()
