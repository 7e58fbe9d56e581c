"""minrisk demo: methods blind to costs and others on real data, with a table, a model and two pictures."""

from __future__ import annotations

from pathlib import Path

import click

import minrisk
from minrisk import demo as study_of
from minrisk.cli import options
from minrisk.cli.common import make_folder, save_picture
from minrisk.cli.printing import print_demo, progress
from minrisk.cli.streams import note

MODEL, CONFUSIONS, CURVE = "digits.minrisk", "costly-confusions.png", "risk-per-round.png"


@options.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("minrisk-demo"),
    metavar="FOLDER",
    help="Where to put the model and the pictures.",
)
@click.option(
    "--costs",
    type=click.Choice(study_of.STORIES),
    default="clerk",
    help="The story: unsure digits may go to a clerk, or reading too high is expensive.",
)
def demo(out: Path, costs: str) -> None:
    """Train on real data with a cost matrix, and compare with methods blind to costs.

    Reads the digits of amounts on cheques (scikit-learn's handwritten digits; nothing is downloaded).
    """
    make_folder(out, [MODEL])
    X, y = study_of.load_cheques()
    splits, rounds = study_of.SPLITS, study_of.ROUNDS
    with progress("comparing", splits * len(study_of.METHODS)) as advance:
        study = study_of.compare(X, y, study_of.cheque_costs(costs), splits, rounds, advance)
    print_demo(study, costs, _save(study, out))


def _save(study: study_of.Study, out: Path) -> dict[Path, str]:
    """Write the model and, where matplotlib is installed, the pictures; returns the method that each is of."""
    model = out / MODEL
    minrisk.save(study.model, model)
    files = {model: study_of.SHOWN_METHOD}
    from minrisk.inspection import CostConfusionDisplay, RiskCurveDisplay

    how = {"format": "png", "bbox_inches": "tight"}
    judged = study.y_test, study.decided, study.model.cost_
    try:
        save_picture(lambda: CostConfusionDisplay.from_predictions(*judged), out / CONFUSIONS, **how)
    except ImportError:
        note("no pictures, because matplotlib is not installed: pip install 'minrisk[plots]'")
        return files
    save_picture(lambda: RiskCurveDisplay.from_estimator(study.by_round), out / CURVE, **how)
    return files | {out / CONFUSIONS: study_of.SHOWN_METHOD, out / CURVE: study_of.METHOD_BY_ROUND}
