"""Small cost tables that several test files use."""

from pathlib import Path

import pandas as pd

from minrisk.costs import CostMatrix

ABC = ("a", "b", "c")
VALUES = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
KDD = "true,normal,probe,DOS\nnormal,0,1,2\nprobe,1,0,2\nDOS,2,1,0\n"


def write(folder: Path, text: str, name: str = "cost.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


def frame(cost: CostMatrix) -> pd.DataFrame:
    return cost.to_frame()
