"""The summary of `benchmarks.front`: what ours costs in a peer's time, and in half of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common import kept, results, save, save_picture, settings, show
from benchmarks.compare.data import KINDS
from benchmarks.compare.report import text

FITS = "front_fits"
PEERS = {"lightgbm": "lightgbm", "xgboost": "xgboost", "catboost": "catboost"}
SETTINGS = 30  # of a peer
OFFICIAL = "official"  # kddcup99's costs
WHEN = ("in time", "in time by rounds", "in half the time", "in half the time by rounds", "of defaults")
TARGETS = {"time": 0.92, "half the time": 1.0, "any set": 1.05}  # ratios of expected cost, at most


def best_setting(rows: list[dict[str, str]]) -> dict[str, str]:
    """Least log-loss on the left-out eighth."""
    return min((row for row in rows if row["fitted_on"] == "eighths"), key=lambda row: float(row["left_out_log_loss"]))


def best_fits(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Of a peer's fits those of the best setting: on seven eighths of the rows, and on all."""
    if not any(row["fitted_on"] == "eighths" for row in rows):
        return []
    best = best_setting(rows)
    return [best, *(row for row in rows if (row["setting"], row["fitted_on"]) == (best["setting"], "all"))]


def ratio(ours: dict[str, str], peer: dict[str, str]) -> float:
    """Geometric mean over the six kinds of expected cost, half a mistake added to each."""
    added = 0.5 / float(ours["tests"])
    logs = [np.log((float(ours[kind]) + added) / (float(peer[kind]) + added)) for kind in KINDS]
    return float(np.exp(np.mean(logs)))


def rank(row: dict[str, str]) -> tuple[bool, float, int, float]:
    """The higher, the sooner a fit of ours counts: the defaults, the larger budget of time, more rounds, less time."""
    budget = json.loads(row["parameters"]).get("time_budget", 0.0)
    return row["setting"] == "defaults", budget, int(row["rounds"]), -float(row["seconds"])


def within(ours: list[dict[str, str]], seconds: float) -> dict[str, str] | None:
    """Of the fits that took at most so many seconds, the one that counts."""
    return max((row for row in ours if float(row["seconds"]) <= seconds), key=rank, default=None)


def summary(rows: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """A line for each set, peer and way to fit its best setting: what we have in its time, and in half of it."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        ours = [row for row in rows if (row["set"], row["method"]) == (name, "minrisk")]
        default = next((row for row in ours if row["setting"] == "defaults"), None)
        for peer in PEERS:
            theirs = [row for row in rows if (row["set"], row["method"]) == (name, peer)]
            if not theirs or default is None:
                continue
            tried = sum(row["fitted_on"] == "eighths" for row in theirs)
            lines += [line_of(found, tried, ours, default) for found in best_fits(theirs)]
    return lines


def line_of(peer: dict[str, str], tried: int, ours: list[dict[str, str]], default: dict[str, str]) -> dict[str, Any]:
    """Ours beside a fit of a peer's."""
    seconds = float(peer["seconds"])
    line = {
        **{key: peer[key] for key in ("set", "method", "fitted_on")},
        "settings": tried,
        "best": peer["parameters"],
        "rounds": peer["rounds"],
        "cut": peer["cut"],
        "seconds": seconds,
        "error": 100 * float(peer["error"]),
        "log_loss": float(peer["log_loss"]),
        OFFICIAL: peer[OFFICIAL],
    }
    for label, share in (("time", 1.0), ("half the time", 0.5)):
        found = within(ours, share * seconds)
        line |= {
            f"ours in {label}": found["setting"] if found else "none",
            **{
                f"{key} in {label}": factor * float(found[key]) if found else float("nan")
                for key, factor in (("seconds", 1), ("error", 100), ("log_loss", 1))
            },
            f"ratio in {label}": ratio(found, peer) if found else float("nan"),
            f"{OFFICIAL} in {label}": found[OFFICIAL] if found else "",
        }
        other = within([row for row in ours if "time_budget" not in row["parameters"]], share * seconds)
        line |= {
            f"ours in {label} by rounds": other["setting"] if other else "none",
            f"ratio in {label} by rounds": ratio(other, peer) if other else float("nan"),
        }
    return {
        **line,
        "ratio of defaults": ratio(default, peer),
        "seconds of defaults": float(default["seconds"]),
        f"{OFFICIAL} of defaults": default[OFFICIAL],
    }


def means(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Geometric means over sets for each peer, and the worst set."""
    found = []
    for peer, fitted_on in itertools.product(PEERS, ("eighths", "all")):
        own = [line for line in lines if (line["method"], line["fitted_on"]) == (peer, fitted_on)]
        if not own:
            continue
        row: dict[str, Any] = {"method": peer, "fitted_on": fitted_on, "sets": len(own)}
        for label in WHEN:
            ratios = {line["set"]: line[f"ratio {label}"] for line in own}
            known = {name: value for name, value in ratios.items() if not np.isnan(value)}
            worst = max(known, key=known.__getitem__, default="")
            row |= {
                f"{label}": float(np.exp(np.mean(np.log([*known.values()])))) if known else float("nan"),
                f"sets {label}": len(known),
                f"worst {label}": f"{worst} {known[worst]:.2f}" if known else "",
            }
        row["seconds"] = float(np.exp(np.mean([np.log(line["seconds of defaults"] / line["seconds"]) for line in own])))
        found.append(row)
    return found


def written(doc: str | None) -> str:
    """What the benchmark's own description says of its fits."""
    return " ".join((doc or "").split("\n\n", 1)[1].split("\n\n`--large`")[0].split())


def picture(lines: Sequence[dict[str, Any]]) -> None:
    """Cost and time of our defaults, as shares of those of the peers' best settings: a dot for each set and peer."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 5.6), layout="constrained")
    axes.axhline(1, color="0.6", lw=1, zorder=0)
    axes.axvline(1, color="0.6", lw=1, zorder=0)
    names = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
    for peer, color, marker, beside, side in (
        ("lightgbm", "C2", "o", (0, 9), "center"),
        ("xgboost", "C3", "v", (7, 0), "left"),
        ("catboost", "C5", "P", (-7, -2), "right"),
    ):
        own = [line for line in lines if (line["method"], line["fitted_on"]) == (peer, "eighths")]
        times = [line["seconds of defaults"] / line["seconds"] for line in own]
        costs = [line["ratio of defaults"] for line in own]
        axes.scatter(times, costs, s=42, color=color, marker=marker, alpha=0.8, label=names[peer])
        for line, x, y in zip(own, times, costs, strict=True):
            axes.annotate(
                line["set"],
                (x, y),
                xytext=beside,
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=8,
                color="0.25",
            )
    axes.margins(x=0.12)
    axes.set(xscale="log", yscale="log")
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        ticks = [tick for tick in (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.2, 1.5, 2, 3) if low <= tick <= high]
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(
        xlabel="time of a fit of minrisk's defaults / of the peer's best setting (left: faster)",
        ylabel="expected cost of minrisk / of the peer (below: better)",
    )
    axes.legend(frameon=False, loc="upper right")
    save_picture(figure, "front", dpi=130)


def report(description: str) -> bool:
    """Write and show what there is; whether there is anything."""
    import pandas as pd

    lines = summary(kept(FITS))
    if not lines:
        return False
    save("front", lines)
    picture(lines)
    over = means(lines)
    brief = [
        {
            "set": line["set"],
            "peer": line["method"],
            "fitted on": line["fitted_on"],
            "settings": line["settings"],
            "cut": line["cut"],
            "s": line["seconds"],
            "error": line["error"],
            **{
                column: line[column]
                for label in ("time", "half the time")
                for column in (
                    f"ours in {label}",
                    f"seconds in {label}",
                    f"error in {label}",
                    f"ratio in {label}",
                    f"ratio in {label} by rounds",
                )
            },
            "s of defaults": line["seconds of defaults"],
            "ratio of defaults": line["ratio of defaults"],
        }
        for line in lines
    ]
    context = settings()
    parts_of = [
        "# Expected cost against processor seconds\n",
        description + "\n",
        f"Ratios of expected cost, ours to the peer's, in the geometric mean over six kinds of cost; below 1 ours is "
        f"lower. Targets: at most {TARGETS['time']} in the same time over all sets and {TARGETS['any set']} on each, "
        f"at most {TARGETS['half the time']} in half the time. Sets where no fit of ours took so little time have no "
        f"ratio. `by rounds`: of our fits without a budget of time alone. `seconds`: those of our defaults over the "
        f"peer's. `settings`: how many of a peer's {SETTINGS} were tried. `cut`: the peer's fit was ended by the limit "
        f"of seconds. Made {context['date']} at {context['commit']}.\n",
        "## Over sets\n",
        text(pd.DataFrame(over).set_index("method"), "peer"),
        "## By set\n",
        text(pd.DataFrame(brief).set_index("set"), "set"),
    ]
    judged = [
        {
            "set": line["set"],
            "peer": line["method"],
            "fitted on": line["fitted_on"],
            "peer's": line[OFFICIAL],
            **{f"ours {when}": line[f"{OFFICIAL} {when}"] for when in ("in time", "in half the time", "of defaults")},
        }
        for line in lines
        if line[OFFICIAL]
    ]
    if judged:
        parts_of += ["## By official costs\n", text(pd.DataFrame(judged).set_index("set"), "set")]
    (results() / "front.md").write_text("\n".join(parts_of), encoding="utf-8")
    show(over)
    show(brief)
    return True
