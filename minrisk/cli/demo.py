"""minrisk demo: methods blind to costs and others on real data, with a table, a model and two pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from minrisk.cli.streams import note

if TYPE_CHECKING:
    from minrisk.demo import Study


@click.command(short_help="Compare methods that know the costs with others on real data.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("minrisk-demo"),
    show_default=True,
    metavar="FOLDER",
    help="Where to put the model and the pictures.",
)
@click.option(
    "--costs",
    type=click.Choice(["clerk", "too-high"]),
    default="clerk",
    show_default=True,
    help="The story: unsure digits may go to a clerk, or reading too high is expensive.",
)
def demo(out: Path, costs: str) -> None:
    """Train on real data with a cost matrix, and compare with methods blind to costs.

    Reads the digits of amounts on cheques (scikit-learn's handwritten digits; nothing is downloaded).
    """
    _check_folder(out)
    from minrisk import demo as study_of
    from minrisk.cli.printing import print_demo, progress

    X, y = study_of.load_cheques()
    splits, rounds = study_of.SPLITS, study_of.ROUNDS
    with progress("comparing", splits * len(study_of.METHODS)) as advance:
        study = study_of.compare(X, y, study_of.cheque_costs(costs), splits, rounds, advance)
    print_demo(study, costs, _save(study, out))


def _check_folder(out: Path) -> None:
    """Make the folder, before any work."""
    from minrisk.cli.common import check_writable, make_folder

    make_folder(out)
    check_writable(out / "digits.minrisk")


def _save(study: Study, out: Path) -> dict[Path, str]:
    """Write the model and, where matplotlib is installed, the pictures; returns the method that each is of."""
    from minrisk import save
    from minrisk.cli.common import save_picture
    from minrisk.demo import METHOD_BY_ROUND, SHOWN_METHOD

    model = out / "digits.minrisk"
    save(study.model, model)
    files = {model: SHOWN_METHOD}
    try:
        import matplotlib
    except ImportError:
        note("no pictures, because matplotlib is not installed: pip install 'minrisk[plots]'")
        return files
    matplotlib.use("Agg")  # draws into files; needs no screen
    from minrisk.inspection.plotting import CostConfusionDisplay, RiskCurveDisplay

    curve = RiskCurveDisplay.from_estimator(study.by_round)
    confusion = CostConfusionDisplay.from_predictions(study.y_test, study.decided, study.model.cost_)
    pictures = (("costly-confusions.png", confusion, SHOWN_METHOD), ("risk-per-round.png", curve, METHOD_BY_ROUND))
    for name, display, method in pictures:
        save_picture(display.figure_, out / name, format="png", bbox_inches="tight")
        files[out / name] = method
    return files
