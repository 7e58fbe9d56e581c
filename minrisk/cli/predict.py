"""minrisk predict: one decision per row of a table."""

from __future__ import annotations

from pathlib import Path

import click

from minrisk.cli.common import check_writable, feature_names, features_for, load_model, note


@click.command(short_help="Decide for every row of a table.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write here (.csv, .csv.gz or .parquet); without it CSV goes to standard output.")
def predict(model: Path, data: Path, out: Path | None) -> None:
    """Decide for every row of DATA: a table of one column, 'decision', in the order of the rows.

    Columns are found by name; those the model does not know are left alone.
    """
    from minrisk.io.tables import column_names, kind_of, missing_columns, read_table, write_table

    if out is not None:
        kind_of(out)
        check_writable(out)
        if out.exists() and any(path.exists() and out.samefile(path) for path in (data, model)):
            raise click.ClickException(f"--out {out} would overwrite the model or the data: give another name.")
    estimator = load_model(model)
    names, known = column_names(data), feature_names(estimator)
    if known is not None:
        missing_columns(names, known, data, "which the model was trained on")
        unused = [name for name in names if name not in set(known)]
        if unused:
            plural = "" if len(unused) == 1 else "s"
            note(f"column{plural} of {data} not used: {', '.join(map(repr, unused[:8]))}"
                 + ("" if len(unused) <= 8 else f" and {len(unused) - 8} more"))

    import pandas as pd

    frame = pd.DataFrame({"decision": estimator.predict(features_for(estimator, read_table(data), data))})
    if out is None:
        click.echo(frame.to_csv(index=False, lineterminator="\n"), nl=False)
    else:
        write_table(frame, out)
