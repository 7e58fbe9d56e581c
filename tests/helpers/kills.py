"""Commands that are killed at random moments while they replace a model, as often as the caller says."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.helpers.command_line import run

ROOT = Path(__file__).parents[2]
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
HIDDEN = ".minrisk-*"


class Kill(NamedTuple):
    """What a kill left."""

    signal: str
    after: float  # seconds
    code: int
    said: str
    holds: str  # "old", "new", or what else the file is
    left: int  # hidden files beside it


def fit(folder, number):
    """Arguments of a fit on `folder`/train.csv that replaces `folder`/m.minrisk; those of two numbers differ."""
    options = f"--target grade --method rebel --n-estimators {10 * number} --n-jobs 1 --out"
    return ["fit", str(folder / "train.csv"), *options.split(), str(folder / "m.minrisk")]


def command(folder, number):
    """The same in a process of its own."""
    return [sys.executable, "-m", "minrisk", *fit(folder, number)]


def write_table(folder):
    """Three hundred rows with a class called grade."""
    draw = random.Random(0)
    rows = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(300)]
    lines = [f"{a},{b},{'good' if a + b > 0 else 'bad'}" for a, b in rows]
    (folder / "train.csv").write_text("a,b,grade\n" + "\n".join(lines) + "\n")


def start(*arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        arguments, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more
    )


def kill_at_random(folder, n_cases, seed=0):
    """Kills of two fits by turns, each over the model of the other; yields a `Kill` for each."""
    write_table(folder)
    out, models, draw = folder / "m.minrisk", {}, random.Random(seed)
    run(*fit(folder, 1))
    models[1], begun = out.read_bytes(), time.perf_counter()
    assert start(*command(folder, 2)).wait() == 0
    lasts, models[2] = time.perf_counter() - begun, out.read_bytes()
    assert models[1] != models[2]
    for case in range(n_cases):
        old, new = (models[2], models[1]) if case % 2 else (models[1], models[2])
        out.write_bytes(old)
        process, after = start(*command(folder, 1 if case % 2 else 2)), draw.uniform(0, 1.1 * lasts)
        time.sleep(after)
        name = SIGNALS[case % len(SIGNALS)]
        process.send_signal(getattr(signal, name))
        said = process.communicate(timeout=60)[1]
        content = out.read_bytes()
        holds = {old: "old", new: "new"}.get(content, f"{len(content)} other bytes")
        yield Kill(name, after, process.returncode, said, holds, len(list(folder.glob(HIDDEN))))
