"""The embedded corpus: balanced, deterministic, its cue words exactly known."""

from __future__ import annotations

from collections import Counter

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from pasta.errors import PastaError
from pasta.texts.corpus import CLASSES, draw_review, draw_reviews, marked_document, phrases
from pasta.texts.documents import Document, plain_word
from pasta.texts.settings import NetworkParams
from pasta.texts.training import accuracy, label_numbers, train_network

TURNING = {"not", "nothing", "never", "anything", "but", "cannot"}


def cue_words(document: Document) -> list[str]:
    return [plain_word(document.words[one].text) for one in document.cues]


def test_a_review_depends_on_seed_split_and_number_alone() -> None:
    many = draw_reviews(30, "test", 3)
    assert many[17] == draw_review(17, "test", 3) == draw_reviews(18, "test", 3)[17]
    texts = {one.text for split in ("train", "test") for one in draw_reviews(300, split, 3)}
    assert len(texts) > 590
    assert not {one.text for one in many} & {one.text for one in draw_reviews(30, "test", 4)}


def test_classes_are_balanced_and_nothing_of_the_templates_is_left() -> None:
    every = draw_reviews(500, "train", 0)
    assert Counter(one.label for one in every) == {"negative": 250, "positive": 250}
    assert not any(set(one.text) & set("[]{}") or "  " in one.text for one in every)
    assert all(10 <= len(one) <= 80 for one in every)


def test_every_cue_is_a_word_that_tells_the_class() -> None:
    """An adjective of the class, one of the other class that is negated, or a word of a verdict."""
    known = phrases()
    verdicts = {
        label: {
            word
            for sentence in known["verdicts"][label]
            for word in cue_words(marked_document(sentence, "", label))
        }
        for label in CLASSES
    }
    for one in draw_reviews(400, "test", 1):
        other = CLASSES[1 - CLASSES.index(one.label)]
        words = cue_words(one)
        assert words, one.text
        turned = any(word in TURNING for word in words)
        for word in words:
            own = word in known["adjectives"][one.label] or word in verdicts[one.label]
            against = turned and word in known["adjectives"][other]
            assert own or against or word in TURNING, (word, one.text)


def test_words_that_mislead_are_no_cues() -> None:
    for one in draw_reviews(200, "test", 2):
        plain = [plain_word(word.text) for word in one.words]
        for place in [n for n, word in enumerate(plain) if word in ("weather", "ride", "concert")]:
            assert not {place, place + 1, place + 2} & set(one.cues), one.text


def test_marks_become_indices() -> None:
    found = marked_document("It was [anything] [but] [dull], so good.", "a", "positive")
    assert (found.text, found.cues) == ("It was anything but dull, so good.", (2, 3, 4))


def test_an_unknown_split_is_named() -> None:
    with pytest.raises(PastaError, match="there is no split 'dev', expected one of train"):
        draw_reviews(1, "dev", 0)


def test_word_order_is_needed_to_tell_the_classes() -> None:
    """A network that sees neighbours is right where a bag of words is not."""
    train, validation, test = (
        draw_reviews(count, split, 0)
        for count, split in ((400, "train"), (80, "validation"), (200, "test"))
    )
    counts = CountVectorizer()
    seen = counts.fit_transform([one.text for one in train])
    bag = LogisticRegression(max_iter=300).fit(seen, [one.label for one in train])
    of_bag = bag.score(counts.transform([one.text for one in test]), [one.label for one in test])
    network, _ = train_network(train, validation, CLASSES, NetworkParams(), 0)
    of_network = accuracy(network, test, label_numbers(test, CLASSES))
    assert of_bag < 0.9 < of_network
