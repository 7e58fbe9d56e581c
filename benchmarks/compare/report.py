"""The table and the picture: one method, "ours", beside every other that has results.

A cell is a set and a kind of cost; its figure is the mean risk over the splits that both methods have. A probability
method counts with the better of its two rules, chosen by that very figure: generous to it. To keep cells without
mistakes, half a mistake of mean cost is added to each side, over all its test rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.common import is_quick, save_picture, settings
from benchmarks.common import results as folder
from benchmarks.compare.data import KINDS, ORDER
from benchmarks.compare.methods import METHODS
from benchmarks.compare.run import rows_of
from minrisk.comparison.result import markdown_table
from minrisk.comparison.statistics import contest_ranks

TITLES = {"default": "defaults", "tuned": "tuned", "others": "defaults, on other sets"}
TARGETS = {"lightgbm": 0.85, "catboost": 0.92}
COMPLETE = 0.9  # share of our cells that a method must have to be ranked


def results(mode: str) -> dict[str, pd.DataFrame]:
    """Return the results that there are, by method."""
    made = {}
    for name in METHODS:
        if rows := rows_of(name, mode):
            frame = pd.DataFrame(rows).drop_duplicates(["set", "split", "cost", "rule"], keep="last")
            numbers = ["split", "risk", "error", "logloss", "ece", "fit_s", "n_train"]
            made[name] = frame.assign(**{column: pd.to_numeric(frame[column]) for column in numbers})
    return made


def risk(frame: pd.DataFrame, keys: set[tuple[str, int, str]]) -> pd.Series:
    """Compute the mean over the splits in `keys` of the better rule, by (set, cost), half a mistake added."""
    frame = frame[[key in keys for key in zip(frame["set"], frame["split"], frame["cost"], strict=True)]]
    by_rule = frame.groupby(["set", "cost", "rule"]).agg(risk=("risk", "mean"), n=("n_train", "sum"))
    by_rule["risk"] += 0.5 / (by_rule["n"] * 3 / 7)
    return by_rule["risk"].groupby(level=["set", "cost"]).min()


def cells(ours: pd.DataFrame, peer: pd.DataFrame) -> pd.DataFrame:
    """Return columns ours, peer and log ratio, a row per (set, cost) that both have."""
    names = ["set", "split", "cost"]
    keys = set(ours[names].itertuples(index=False, name=None)) & set(peer[names].itertuples(index=False, name=None))
    made = pd.DataFrame({"ours": risk(ours, keys), "peer": risk(peer, keys)})
    return made.assign(log=np.log(made["ours"] / made["peer"]))


def p_value(logs: np.ndarray) -> float:
    """Test by Wilcoxon's two-sided signed ranks; NaN where all are equal or there are fewer than two."""
    logs = np.where(np.abs(logs) < 1e-12, 0.0, logs)
    return float(wilcoxon(logs).pvalue) if len(logs) > 1 and logs.any() else float("nan")


def ranks(frames: dict[str, pd.DataFrame], ours: str) -> tuple[dict[str, float], int]:
    """Return mean ranks over the cells that all nearly complete methods have on the same splits, and their number."""
    names = ["set", "split", "cost"]
    keys = {name: set(frame[names].itertuples(index=False, name=None)) for name, frame in frames.items()}
    whole = [name for name in frames if len(keys[name] & keys[ours]) >= COMPLETE * len(keys[ours])]
    shared = set.intersection(*(keys[name] for name in whole))
    risks = pd.DataFrame({name: risk(frames[name], shared) for name in whole})
    mean = contest_ranks(risks).mean(axis=0) if len(risks) and len(whole) > 1 else np.full(len(whole), np.nan)
    return dict(zip(whole, mean.tolist(), strict=True)), len(risks)


def without_best(by_set: np.ndarray) -> float:
    """Return the ratio less the set that favours ours most, which says whether one set makes it."""
    return float(np.exp(np.sort(by_set)[1:].mean())) if len(by_set) > 1 else float("nan")


def figures(frames: dict[str, pd.DataFrame], pairs: dict[str, pd.DataFrame], ours: str) -> pd.DataFrame:
    """Make a line for each peer."""
    rank, _ = ranks(frames, ours)
    lines: list[dict[str, Any]] = []
    for name, pair in pairs.items():
        by_set = pair["log"].groupby(level="set").mean().to_numpy()
        # of a method that is fitted once for all costs only the first cost's fit took time
        first = {n: frames[n].groupby(["set", "split"])["fit_s"].max().groupby("set").mean() for n in (ours, name)}
        seconds = {n: first[n].reindex(pair.index.get_level_values("set")).to_numpy() for n in (ours, name)}
        lines.append(
            {
                "peer": name,
                "version": frames[name]["version"].iloc[-1],
                "sets": len(by_set),
                "cells": len(pair),
                "ratio": float(np.exp(pair["log"].mean())),
                "without_best": without_best(by_set),
                "target": TARGETS.get(name, 1.0),
                "won": int((pair["log"] < -1e-12).sum()),
                "lost": int((pair["log"] > 1e-12).sum()),
                "p_sets": p_value(by_set),
                "p_cells": p_value(pair["log"].to_numpy()),
                "mean_rank": rank.get(name, np.nan),
                "rank_ours": rank[ours],
                "fit_time_ratio": float(np.exp(np.log(seconds[ours] / seconds[name]).mean())),
            }
        )
    return pd.DataFrame(lines)


def pivot(pairs: dict[str, pd.DataFrame], level: str, order: tuple[str, ...]) -> pd.DataFrame:
    """Return the geometric mean of the ratio of ours to each peer, by set or by cost."""
    made = pd.DataFrame({name: np.exp(pair["log"].groupby(level=level).mean()) for name, pair in pairs.items()})
    return made.reindex([name for name in order if name in made.index])


def calibration(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Average log-loss and ECE with 0/1 costs over the (set, split) that all methods with probabilities have."""
    made = {}
    for name, frame in frames.items():
        rows = frame[(frame["cost"] == "0/1") & frame["logloss"].notna()]
        if len(rows):
            made[name] = rows.drop_duplicates(["set", "split"]).set_index(["set", "split"])[["logloss", "ece", "error"]]
    shared = [set(rows.index) for rows in made.values()]
    keys = sorted(max(shared, key=len).intersection(*shared)) if shared else []
    return pd.DataFrame({name: rows.loc[keys].mean() for name, rows in made.items()}).T.assign(fits=len(keys))


def text(frame: pd.DataFrame, title: str) -> str:
    """Make a Markdown table."""

    def cell(value: Any) -> str:
        if isinstance(value, float | np.floating):
            return "" if np.isnan(value) else f"{value:.3g}" if abs(value) < 0.0995 else f"{value:.3f}"
        return str(value)

    lines = [[str(name), *map(cell, row)] for name, row in zip(frame.index, frame.to_numpy(dtype=object), strict=True)]
    return markdown_table([title, *map(str, frame.columns)], lines) + "\n"


def picture(pairs: dict[str, pd.DataFrame], ours: str, name: str) -> None:
    """Draw the risk relative to LightGBM by set, a dot for each method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    base = "lightgbm" if "lightgbm" in pairs else next(iter(pairs))
    rows = pivot(pairs, "set", ORDER)
    rows = rows[rows[base].notna()].sort_values(base, ascending=False)
    figure, axes = plt.subplots(figsize=(8.5, 1.8 + 0.27 * len(rows)), layout="constrained")
    at = np.arange(len(rows))
    axes.hlines(
        at,
        *np.nanpercentile(rows[base].to_numpy()[:, None] / rows.to_numpy(), [0, 100], axis=1),
        color="0.88",
        zorder=0,
    )
    markers = "sDv^Pphd<>"
    for i, name in enumerate(n for n in rows if n != base):
        axes.scatter(
            rows[base] / rows[name], at, s=26, marker=markers[i % 10], color=f"C{i + 1}", alpha=0.75, label=name
        )
    axes.scatter(rows[base], at, s=48, color="black", label=ours, zorder=3)
    axes.axvline(1, color="0.4", lw=1)
    axes.set(
        xscale="log",
        yticks=at,
        yticklabels=rows.index,
        xlabel=f"risk / risk of {base} (left: better)",
        ylim=(-0.8, len(rows) - 0.2),
    )
    low, high = axes.get_xlim()
    ticks = np.array([0.2, 0.33, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5])
    if high / low > 20:
        ticks = np.outer(10.0 ** np.arange(-4, 5), [1, 3] if high / low > 200 else [1, 2, 5]).ravel()
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    save_picture(figure, name, dpi=130)


def make(ours: str, mode: str) -> None:
    """Write the Markdown, the CSV and the picture of what results there are."""
    frames = results(mode)
    pairs = {
        name: pair
        for name, frame in frames.items()
        if name != ours and ours in frames and len(pair := cells(frames[ours], frame))
    }
    if not pairs:
        print(f"Nothing to report on {ours} yet.")
        return
    name = "compare" + ("" if mode == "default" else f"_{mode}")
    if ours != "minrisk" and not is_quick():
        name += f"_{ours}.quick"
    table = figures(frames, pairs, ours)
    table.to_csv(folder() / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
    picture(pairs, ours, name)
    rank, ranked = ranks(frames, ours)
    made = settings()
    parts = [
        f"# {ours} beside the others, {TITLES[mode]}\n",
        " ".join((__doc__ or "").split("\n\n", 1)[1].split()) + "\n",
        f"Ratios below 1: {ours} is better; without_best leaves out the set that favours it most. p: two-sided "
        f"Wilcoxon signed-rank, over sets and over cells. Mean rank over the {ranked} cells that all nearly complete "
        f"methods have; {ours}: {rank[ours]:.2f} of {len(rank)}. Fit time: {ours} / peer for one cost, as it came on a "
        f"busy machine: a rough guide. Made {made['date']}.\n",
        text(table.drop(columns="rank_ours").set_index("peer"), "peer"),
        f"![Risk by set]({name}.png)\n",
        "## By kind of cost\n",
        text(pivot(pairs, "cost", KINDS), "cost"),
        "## By set\n",
        text(pivot(pairs, "set", ORDER), "set"),
        "## Probabilities\n",
        text(calibration(frames), "method"),
    ]
    (folder() / f"{name}.md").write_text("\n".join(parts), encoding="utf-8")
    print(parts[2], parts[3], sep="\n")
