"""What `benchmarks.rare` found, family by family: ratios of cost to every peer's, and of one version to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import show

OURS, OTHER = "minrisk", "minrisk 1"
KEY = ["family", "table", "seed"]
NUMBERS = ("tests", "unit", "cost", "log_loss", "auc", "seconds", "rounds", "believed")
SEEN = 0.55  # AUC of a peer from which there is something to learn
WORST = 10  # tables shown


def frame_of(lines: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Figures as numbers; of a line that is there twice the last one."""
    frame = pd.DataFrame(lines)
    for name in NUMBERS:
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame.drop_duplicates([*KEY, "method"], keep="last")


def wide(frame: pd.DataFrame, figure: str) -> pd.DataFrame:
    """A row for each table, a column for each method."""
    return frame.pivot(index=KEY, columns="method", values=figure)


def table_of(line: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in KEY)


def geometric(ratios: Any) -> float:
    """The mean of what is there."""
    logs = np.log(np.asarray(ratios, dtype=float))
    return float(np.exp(np.nanmean(logs))) if np.isfinite(logs).any() else float("nan")


class Figures:
    """Figures of methods on tables, a row for each table and a column for each method; a small unit is added to all."""

    def __init__(self, lines: Sequence[Mapping[str, str]]) -> None:
        self.lines = frame_of(lines)
        tests = self.lines.groupby(KEY)["tests"].max()
        unit = self.lines.groupby(KEY)["unit"].max()
        self.cost = wide(self.lines, "cost").add(unit, axis=0)
        self.log_loss = wide(self.lines, "log_loss").add(1 / tests, axis=0)
        self.auc, self.seconds = wide(self.lines, "auc"), wide(self.lines, "seconds")
        self.ours = self.lines[self.lines["method"] == OURS].set_index(KEY)
        self.unit = unit
        self.peers = [name for name in self.cost.columns if name not in (OURS, OTHER)]

    def families(self) -> list[str]:
        return list(dict.fromkeys(self.lines["family"]))

    def of(self, family: str) -> Figures:
        return Figures(self.lines[self.lines["family"] == family].to_dict("records"))


def by_peer(found: Figures) -> dict[str, dict[str, float]]:
    """Ours beside each peer on the tables that both have: ratios of cost and log-loss, what its AUC is above ours."""
    return {
        peer: {
            "cost": geometric(found.cost[OURS] / found.cost[peer]),
            "log-loss": geometric(found.log_loss[OURS] / found.log_loss[peer]),
            "AUC gap": float((found.auc[peer] - found.auc[OURS]).mean()),
            "seconds": geometric(found.seconds[OURS] / found.seconds[peer].replace(0, np.nan)),
        }
        for peer in found.peers
    }


def of_family(name: str, found: Figures) -> dict[str, Any]:
    """Ours beside the peer that is best over the family's tables, and beside the best of each table."""
    peers = by_peer(found)
    line: dict[str, Any] = {"family": name, "tables": int(found.cost[OURS].notna().sum())}
    if peers:
        best = max(peers, key=lambda peer: np.nan_to_num(peers[peer]["cost"]))
        rest = found.peers
        line |= {
            "best peer": best,
            **{f"{figure} / best": value for figure, value in peers[best].items() if figure in ("cost", "log-loss")},
            "AUC gap": peers[best]["AUC gap"],
            "cost / best of each table": geometric(found.cost[OURS] / found.cost[rest].min(axis=1)),
            "log-loss / best of each table": geometric(found.log_loss[OURS] / found.log_loss[rest].min(axis=1)),
            "AUC gap of each table": float((found.auc[rest].max(axis=1) - found.auc[OURS]).mean()),
            "no rounds": int(((found.ours["rounds"] == 0) & (found.auc[rest].max(axis=1) > SEEN)).sum()),
        }
    if OTHER in found.cost:
        line["spread"] = geometric(np.exp(np.abs(np.log(found.cost[OTHER] / found.cost[OURS]))))
    believed = found.ours["believed"] + found.unit
    return line | {
        "believed / true": geometric(believed / found.cost[OURS]),
        "seconds": float(found.ours["seconds"].mean()),
        "warnings": int((found.ours["warnings"] != "").sum()),
    }


def report(lines: Sequence[Mapping[str, str]], path: Path | None) -> None:
    """Show ours beside the peers, family by family, and write it to a file if one is named."""
    judged = {table_of(line) for line in lines if line["method"] == OURS and line["cost"]}
    if not judged:
        print("There is nothing to sum up: no table has a result of ours.")
        return
    whole = Figures([line for line in lines if table_of(line) in judged])
    names = whole.families()
    families = [of_family(name, whole.of(name)) for name in names] + [of_family("all", whole)]
    peers = [
        {"family": name, "peer": peer, **figures}
        for name, found in [*((name, whole.of(name)) for name in names), ("all", whole)]
        for peer, figures in by_peer(found).items()
    ]
    failed = [
        {key: line[key] for key in ("family", "table", "seed", "method", "problem")}
        for line in lines
        if line["problem"]
    ]
    titled = [("By family", families), ("By peer", peers), ("What could not be done", failed)]
    titled = [(title, filled(rows)) for title, rows in titled if rows]
    for title, rows in titled:
        print(f"\n{title}")
        show(rows)
    if path is not None:
        parts = [f"## {title}\n\n{markdown(rows)}" for title, rows in titled]
        path.write_text(
            "\n".join([f"# Tables as users with unequal costs have them\n\n{EXPLAINED}\n", *parts]), encoding="utf-8"
        )


EXPLAINED = f"""\
Ratios are those of ours to the peer's, geometric means over tables; below 1 ours is better.
The best peer is the one of least cost over the family; "best of each table" has another peer on each table.
An AUC gap is the peer's AUC less ours. "No rounds" counts fits of ours without a round where a peer's AUC is above
{SEEN}. "Spread" is the ratio of the costs of two random states, the larger to the smaller. "Believed" is what left-out
rows said that the decisions cost. `benchmarks/rare.py` says more."""


def filled(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each row with the columns of all."""
    names = dict.fromkeys(key for row in rows for key in row)
    return [{name: row.get(name, "") for name in names} for row in rows]


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0])
    cells = [[f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in [names, ["---"] * len(names), *cells])


def compared(lines: Sequence[Mapping[str, str]], against: Sequence[Mapping[str, str]]) -> None:
    """Show ours as a share of another version's, family by family, and the tables on which it is worst."""
    ours, others = ([line for line in part if line["method"] == OURS] for part in (lines, against))
    if not {table_of(line) for line in ours} & {table_of(line) for line in others}:
        print("There is nothing to compare: the files have no table of ours in common.")
        return
    both = frame_of(ours).set_index(KEY).join(frame_of(others).set_index(KEY), how="inner", rsuffix=" of old")
    shares = pd.DataFrame(
        {
            "cost": (both["cost"] + both["unit"]) / (both["cost of old"] + both["unit"]),
            "log-loss": (both["log_loss"] + 1 / both["tests"]) / (both["log_loss of old"] + 1 / both["tests"]),
            "AUC": both["auc"] - both["auc of old"],
            "seconds": both["seconds"] / both["seconds of old"],
        }
    )
    print("\nAgainst the other version: ratios of ours to it, and differences of the AUC")
    groups = [*shares.groupby(level="family", sort=False), ("all", shares)]
    show(
        [
            {
                "family": name,
                "tables": len(part),
                **{key: geometric(part[key]) for key in ("cost", "log-loss")},
                "AUC": float(part["AUC"].mean()),
                "seconds": geometric(part["seconds"]),
            }
            for name, part in groups
        ]
    )
    for figure in ("cost", "log-loss"):
        print(f"\nThe worst tables by {figure}")
        worst = shares.sort_values(figure, ascending=False).head(WORST).reset_index()
        show(worst.to_dict("records"))
