"""Table VII of the stage-wise MCBoost paper: MNIST with histograms of oriented gradients, 1000 stumps, test error.

Images are deskewed by their moments. Gradients (of a Gaussian with a standard deviation of one pixel) vote for the two
nearest of 12 directions, light to dark apart from dark to light; each block of 4 x 4, 7 x 7 and 14 x 14 pixels, at
every half block, is one histogram, each level scaled to unit length. 13^2 + 7^2 + 3^2 = 227 blocks, 2724 features,
where the paper has 2172 = 12 * 181 and does not say which. scikit-image's HOG has other blocks (2 x 2 cells, the cells
do not overlap) and no signs. The features are kept in the folder ``--cache``, the results of the other methods in the
file. AdaBoost.MH has one rate and a sign for each class in a round, AdaBoost.ECC draws random halves, as in Table V.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.ndimage import affine_transform, gaussian_filter

from benchmarks.common import ROOT, kept, load, parser, results, save, settings, show
from minrisk import AdaBoostECCClassifier, AdaBoostMHClassifier, StagewiseMCBoostClassifier

PAPER = {"exponential": 1.14, "logistic": 1.03, "AdaBoost.MH": 1.29, "AdaBoost.ECC": 1.24}
DIRECTIONS, SIZES = 12, (4, 7, 14)
MARKS, QUICK_MARK = (50, 100, 200, 500, 1000), 10


def deskewed(image: np.ndarray) -> np.ndarray:
    """The image sheared upright about its centre of mass."""
    total = image.sum()
    rows, columns = np.mgrid[:28, :28]
    row, column = (rows * image).sum() / total, (columns * image).sum() / total
    slant = ((rows - row) * (columns - column) * image).sum() / (((rows - row) ** 2) * image).sum()
    shear = np.array([[1.0, 0.0], [slant, 1.0]])
    return np.asarray(affine_transform(image, shear, np.array([row, column]) - shear @ [13.5, 13.5], order=1))


def features(images: np.ndarray) -> np.ndarray:
    """Histograms of all blocks, (n, 2724), float32."""
    upright = np.stack([deskewed(pixels.reshape(28, 28) / 255.0) for pixels in images])
    dy, dx = (gaussian_filter(upright, (0, 1, 1), order=order) for order in ((0, 1, 0), (0, 0, 1)))
    strength, direction = np.hypot(dy, dx), np.arctan2(dy, dx) * DIRECTIONS / (2 * np.pi)
    levels, half = [], DIRECTIONS / 2
    sums = np.zeros((len(images), DIRECTIONS, 29, 29))  # over all pixels above and to the left
    for k in range(DIRECTIONS):
        away = np.abs((direction - k + half) % DIRECTIONS - half)
        sums[:, k, 1:, 1:] = (strength * np.maximum(1 - away, 0)).cumsum(axis=1).cumsum(axis=2)
    for size in SIZES:
        start = np.arange(0, 2 * (28 - size) + 1, size) // 2
        rows = sums[:, :, start + size] - sums[:, :, start]
        level = (rows[..., start + size] - rows[..., start]).reshape(len(images), -1)
        levels.append(level / (np.linalg.norm(level, axis=1, keepdims=True) + 1e-6))
    return np.concatenate(levels, axis=1).astype(np.float32)


def made(method: str, n_rounds: int, n_jobs: int) -> Any:
    """An estimator by its name in `PAPER`: a loss is stage-wise MCBoost's."""
    if method == "AdaBoost.MH":
        return AdaBoostMHClassifier(response="sign", n_estimators=n_rounds, n_jobs=n_jobs)
    if method == "AdaBoost.ECC":
        return AdaBoostECCClassifier(n_estimators=n_rounds, random_state=0, n_jobs=n_jobs)
    return StagewiseMCBoostClassifier(loss=method, n_estimators=n_rounds, n_jobs=n_jobs)


def main() -> None:
    options = parser(__doc__, "10 stumps on some digits")
    options.add_argument("--methods", nargs="+", choices=tuple(PAPER), default=list(PAPER))
    options.add_argument("--rounds", type=int, default=MARKS[-1], help="fewer where time is short")
    options.add_argument("--cache", type=Path, default=ROOT / "build")
    arguments = options.parse_args()
    data = load("mnist")
    cache = results() if arguments.quick else arguments.cache
    path = cache / "mnist_gradient_blocks.npy"
    if not path.is_file():
        parts = np.array_split(data.X, 64)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.concatenate(Parallel(n_jobs=arguments.jobs)(delayed(features)(part) for part in parts)))
    X, train = np.load(path), data.training
    assert train is not None
    rows: list[dict[str, Any]] = [row for row in kept("stagewise_mnist") if row["method"] not in arguments.methods]
    for method in arguments.methods:
        n = QUICK_MARK if arguments.quick else arguments.rounds
        model = made(method, n, arguments.jobs)
        start = time.perf_counter()
        model.fit(X[train], data.y[train])
        seconds = time.perf_counter() - start
        wrong = [100 * float(np.mean(decided != data.y[~train])) for decided in model.staged_predict(X[~train])]
        for mark in (QUICK_MARK,) if arguments.quick else MARKS:
            if mark <= len(wrong):
                last = mark == len(wrong)
                rows.append(
                    {
                        "method": method,
                        "rounds": mark,
                        "error": wrong[mark - 1],
                        "features": X.shape[1],
                        "seconds": seconds if last else float("nan"),
                        "paper_error": PAPER[method] if mark == 1000 else float("nan"),
                        **settings(),
                    }
                )
        save("stagewise_mnist", rows)
        show(rows)


if __name__ == "__main__":
    main()
