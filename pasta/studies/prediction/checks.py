"""Rules of the study that concern several answers at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pandas as pd

from pasta.studies.base import Finding, place, quoted
from pasta.studies.prediction.settings import DesignParams

Images = Callable[[], pd.DataFrame]  # image_id, shown; empty before they are made


def check_trials(
    trials: pd.DataFrame, stored: pd.DataFrame, design: DesignParams, images: Images
) -> list[Finding]:
    """Sessions that are not as designed, answers that name no class, and wrong predictions.

    A person who left at practice or quiz has no session; whoever began has all of them.
    """
    both = pd.concat([stored, trials])  # an import may bring the rest of a person's answers
    found = list(_incomplete(both[both["participant_id"].isin(trials["participant_id"])], design))
    known = images()
    found += _wrong_classes(trials)
    if len(known):
        found += _other_predictions(trials, known)
    return found


def _incomplete(trials: pd.DataFrame, design: DesignParams) -> Iterator[Finding]:
    own = trials[trials["phase"] != "practice"]
    key = ["participant_id", "phase", "session", "position"]
    rows = own[~own.duplicated(key)]
    wanted = {"training": design.training, "test": design.test, "catch": design.catch}
    for person, answers in rows.groupby("participant_id", sort=False):
        pairs = zip(answers["session"], answers["phase"], strict=True)
        counts = Counter((int(session), str(phase)) for session, phase in pairs)
        highest = answers.groupby(["session", "phase"])["position"].max().to_dict()
        where = place(answers.index[0])
        beyond = sorted(set(answers["session"]) - set(range(1, design.sessions + 1)))
        if beyond:
            yield Finding(
                f"there is a session beyond the {design.sessions} of the design",
                "correct the session, or the design (prediction.design.sessions)",
                "trials",
                where,
                "session",
                f"session {beyond[0]} of {quoted(person)}",
            )
        for session in range(1, design.sessions + 1):
            for phase, number in wanted.items():
                size = counts[session, phase]
                last = int(highest.get((session, phase), 0))
                if size == number and last == number:
                    continue
                problem = f"a session has not {number} {phase} trials, numbered from 1"
                yield Finding(
                    problem,
                    "add what is missing, or remove all answers of the participant",
                    "trials",
                    where,
                    "position",
                    f"{size} in session {session} of {quoted(person)}, the last is number {last}",
                )


def _wrong_classes(trials: pd.DataFrame) -> Iterator[Finding]:
    main = trials[trials["phase"] != "practice"]
    for person, own in main.groupby("participant_id", sort=False):
        classes = set(own["shown"].dropna())
        wrong = own[own["answer"].notna() & ~own["answer"].isin(classes)]
        for where, answer in wrong["answer"].items():
            yield Finding(
                "an answer is none of the classes that the participant saw",
                f"write one of {', '.join(sorted(classes))}",
                "trials",
                place(where),
                "answer",
                f"{quoted(answer)} of {quoted(person)}",
            )


def _other_predictions(trials: pd.DataFrame, images: pd.DataFrame) -> Iterator[Finding]:
    # the practice has the same images in every experiment
    predicted = images.drop_duplicates("image_id").set_index("image_id")["shown"]
    true = trials["image_id"].map(predicted)
    wrong = trials[true.notna() & (true != trials["shown"])]
    for where, image, shown in zip(wrong.index, wrong["image_id"], wrong["shown"], strict=True):
        yield Finding(
            "the class shown is not the one that the model predicts",
            "correct the class, or import into the project that made the images",
            "trials",
            place(where),
            "shown",
            f"{quoted(shown)} for {quoted(image)}, predicted {quoted(predicted[image])}",
        )
