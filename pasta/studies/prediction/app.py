"""The prediction study in the study app: its tables, from what people answered on the pages.

``about`` of a trial has phase, session, position, image_id and the class ``shown``. The checks
called ``practice`` and ``quiz`` are the first two stages of the screening: ``about`` of the
practice has a row for each of its images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pasta.studies.app.exporting import Given, Person, Rows

PRACTICE, QUIZ = "practice", "quiz"


def tables(people: Sequence[Person]) -> Mapping[str, Rows]:
    """The tables of the prediction study as rows.

    Somebody who was sent away after the practice or the quiz has no trials but those of the
    practice. Somebody who left on the way is not in the tables: the place was given again.
    """
    participants: Rows = []
    trials: Rows = []
    for person in people:
        participants.append(_participant(person))
        first = next((one for one in person.checks if one.step.id == PRACTICE), None)
        if first is not None:
            trials += _practice(first)
        trials += [_trial(one) for one in person.answers if one.step.kind in ("training", "choice")]
    return {"participants": participants, "trials": trials}


def _participant(person: Person) -> dict[str, object]:
    practice = [one for one in person.checks if one.step.id == PRACTICE]
    quiz = next((one for one in person.checks if one.step.id == QUIZ), None)
    everything = [*person.answers, *person.checks]
    experiment = next(
        (one.step.about["experiment"] for one in everything if "experiment" in one.step.about), ""
    )
    right = None
    if quiz is not None and quiz.wrong is not None and quiz.step.expected is not None:
        right = len(quiz.step.expected) - quiz.wrong
    return {
        "participant_id": person.name,
        "experiment": experiment,
        "condition": person.condition,
        "practice_tries": len(practice) or None,
        "practice_passed": any(one.wrong == 0 for one in practice) if practice else None,
        "quiz_right": right,
        "age": person.age,
        "sex": person.sex,
        "country": person.country,
        "simulated": False,
    }


def _trial(given: Given) -> dict[str, object]:
    about, answer = given.step.about, given.answer.get("class")
    return {
        "participant_id": given.person,
        "session": about["session"],
        "phase": about["phase"],
        "position": about["position"],
        "image_id": about["image_id"],
        "shown": about["shown"],
        "answer": answer,
        "right": None if answer is None else answer == about["shown"],
        "seconds": given.seconds,
        "simulated": False,
    }


def _practice(given: Given) -> Rows:
    """The trials of the first try; all were on one page, so there is no time for each."""
    rows: Rows = []
    for position, (question, image) in enumerate(given.step.about["images"].items(), start=1):
        shown = (given.step.expected or {})[question]
        rows.append(
            {
                "participant_id": given.person,
                "session": 0,
                "phase": "practice",
                "position": position,
                "image_id": image,
                "shown": shown,
                "answer": given.answer[question],
                "right": given.answer[question] == shown,
                "seconds": None,
                "simulated": False,
            }
        )
    return rows
