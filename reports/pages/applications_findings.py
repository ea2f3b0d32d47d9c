"""The applications in a few sentences."""

from __future__ import annotations

from reports.pages.applications_backbones import backbones_finding
from reports.pages.applications_mixture import CROSSED, ELSEWHERE, HELD_OUT, MEAN
from reports.pages.applications_steering import steering_finding
from reports.pages.applications_tuning import tuning_finding
from reports.pages.applications_words import Parts, change, method_title, served
from reports.pages.parts import Tables, chosen, one, table
from reports.words import count, listed


def applications_findings(tables: Parts, up: int = 1) -> list[str]:
    """Sentences for the overview; none about what was not computed.

    ``up`` is -1 where few predicted stars are good news.
    """
    said = [*_mixture(tables.get("mixture")), *_front(tables.get("mixture"))]
    trends = table(tables.get("backbones"), "trends")
    said += [backbones_finding(trends)] if len(trends) else []
    curve = table(tables.get("steering"), "curve")
    said += [steering_finding(curve)] if len(curve) else []
    verdicts = table(tables.get("tuning"), "verdict")
    for key in dict.fromkeys(verdicts["technique"]) if len(verdicts) else []:
        said.append(tuning_finding(chosen(verdicts, technique=key), up))
    return [sentence for sentence in said if sentence]


def _mixture(tables: Tables | None) -> list[str]:
    comparison = table(tables, "comparison")
    own = chosen(comparison, images=CROSSED)
    new = own if len(own) else chosen(comparison, images=HELD_OUT)
    row = one(new, measure="quality", against=ELSEWHERE)
    lost = one(new, measure="faithfulness", against=MEAN)
    if row is None:
        score = one(new, measure="score", against=MEAN)
        if score is None:
            return []
        text = (
            "Taking for each image the explanation with the best score changes predicted stars by "
            f"{change(score)} against the mean of all methods"
        )
    else:
        always = str(row["note"]).split(";")[0].removeprefix("always ")
        usual = " or ".join(method_title(key) for key in always.split(" or "))
        text = (
            f"Taking for each of {count(int(row['n']), 'image')} the explanation with the best "
            f"score changes true quality by {change(row)} against always taking {usual}: "
            f"{served(row)}"
        )
        public = one(comparison, images=HELD_OUT, measure="quality", against=ELSEWHERE)
        if len(own) and public is not None:
            text += (
                f" (by the public scorer, on the {count(int(public['n']), 'image')} it has not "
                f"seen: {change(public)})"
            )
    if lost is not None:
        text += f"; faithfulness changes by {change(lost, 3)} against the mean of all methods"
    return [f"{text}."]


def _front(tables: Tables | None) -> list[str]:
    places = table(tables, "places")
    if places.empty:
        return []
    front = places[places["on_front"].astype(bool)].sort_values("score", ascending=False)
    names = [method_title(str(key)) for key in front["technique"]]
    ends = listed(list(dict.fromkeys([names[0], names[-1]]))) if names else ""
    if not ends:
        return []
    return [
        f"{count(len(front), 'technique')} of {len(places)} are on the Pareto front of "
        f"plausible and faithful, whose ends are {ends}."
    ]
