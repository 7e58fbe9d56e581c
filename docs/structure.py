"""Draw the structure of the package: rooms, their code lines, and which room imports which.

``python docs/structure.py docs/images/structure.png`` draws this tree, ``--commit NAME`` that of a commit.
A room is a package of `minrisk/`, or a module at its top. It stands on the floor above the highest room that it
imports, so arrows run downwards; one that does not is part of a circle, and red. Arrows that follow from others are
pale. A room is wider the more code it has.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tokenize
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def sources(commit: str | None) -> dict[str, str]:
    """Return the text of every Python file of the package by its path."""
    if commit is None:
        return {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "minrisk").rglob("*.py"))}
    archive = subprocess.run(["git", "archive", commit, "minrisk"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = sorted(name for name in tar.getnames() if name.endswith(".py"))
        return {name: tar.extractfile(name).read().decode() for name in names}


def code_lines(text: str) -> int:
    """Count the lines that hold code: neither blank, nor comments, nor docstrings."""
    held = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in SPACE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            held -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(held)


def room_of(path: str) -> str:
    parts = Path(path).with_suffix("").parts[1:]
    return parts[0]


def imported(text: str, path: str, known: set[str]) -> set[str]:
    """Return the rooms that a file imports."""
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    rooms = {name.split(".")[1] for name in modules if name.startswith("minrisk.")}
    return (rooms & known) - {room_of(path)}


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Return the floor of each room: one above the highest that it imports; rooms of a circle share one."""
    floor = dict.fromkeys(arrows, 0)
    for _ in arrows:
        floor = {room: max((floor[other] + 1 for other in arrows[room]), default=0) for room in arrows}
    return {room: min(height, len(arrows)) for room, height in floor.items()}


def implied(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return for each room the rooms that it also reaches by way of another one."""
    below: dict[str, set[str]] = {}

    def reached(room: str) -> set[str]:
        if room not in below:
            below[room] = set()  # a circle ends here
            below[room] = set.union(set(), *({other} | reached(other) for other in arrows[room]))
        return below[room]

    return {room: set.union(set(), *(reached(other) for other in arrows[room])) for room in arrows}


def draw(files: dict[str, str], title: str, out: str) -> None:
    lines: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for path, text in files.items():
        lines[room_of(path)] += code_lines(text)
        counts[room_of(path)] += 1
    known = set(lines) - {"__init__", "__main__"}
    arrows: dict[str, set[str]] = {room: set() for room in known}
    for path, text in files.items():
        if room_of(path) in known:
            arrows[room_of(path)] |= imported(text, path, known)
    floor = floors(arrows)
    levels = [sorted(room for room in known if floor[room] == level) for level in range(max(floor.values()) + 1)]
    place = {}
    # Rooms of a floor stand near the mean place of what they import, as far as their widths allow.
    widths = {room: max(0.16 * len(room) + 0.2, 0.045 * lines[room] ** 0.5) for room in known}
    for level, rooms in enumerate(levels):
        wish = {
            room: sum(place[other][0] for other in arrows[room]) / len(arrows[room]) if arrows[room] else 0.0
            for room in rooms
        }
        ordered = sorted(rooms, key=lambda room: (wish[room], room))
        total = sum(widths[room] + 0.35 for room in ordered)
        x = -total / 2
        for room in ordered:
            place[room] = (x + widths[room] / 2, float(level))
            x += widths[room] + 0.35
    fig, ax = plt.subplots(figsize=(11, 0.8 * len(levels) + 1.2))
    also = implied(arrows)
    for room, others in arrows.items():
        for other in others:
            (x0, y0), (x1, y1) = place[room], place[other]
            color = ("#dde3ea" if other in also[room] else "#5b7ea6") if y1 < y0 else "#c03030"
            ax.annotate(
                "",
                (x1, y1 + 0.22),
                (x0, y0 - 0.22),
                arrowprops={"arrowstyle": "-|>", "color": color, "lw": 0.7, "shrinkA": 0, "shrinkB": 0},
                zorder=1 if other in also[room] else 2,
            )
    for room, (x, y) in place.items():
        width = widths[room]
        ax.add_patch(
            plt.Rectangle((x - width / 2, y - 0.22), width, 0.44, fc="#eef3fa", ec="#34506e", lw=0.9, zorder=3)
        )
        ax.text(x, y + 0.07, room, ha="center", va="center", fontsize=7.5, zorder=4)
        ax.text(x, y - 0.11, f"{lines[room]} in {counts[room]}", ha="center", va="center", fontsize=6, zorder=4)
    number = sum(len(others) for others in arrows.values())
    told = f"{title}: {sum(lines.values())} lines of code in {len(files)} files, {len(known)} rooms"
    ax.set_title(f"{told} on {len(levels)} floors, {number} arrows", fontsize=9)
    ax.autoscale_view()
    ax.set_axis_off()
    drawn = io.BytesIO()
    fig.savefig(drawn, dpi=100, bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(64).save(out, optimize=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("out")
    options.add_argument("--commit", help="draw the tree of this commit in place of the working tree's")
    arguments = options.parse_args()
    draw(sources(arguments.commit), arguments.commit or "today", arguments.out)


if __name__ == "__main__":
    main()
