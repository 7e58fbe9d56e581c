"""Runs of the command line in this process."""

import json

from click.testing import CliRunner

from minrisk.cli.app import app

FEW = "--method rebel --n-estimators 5"  # a fit that takes a moment


def arguments(*args):
    """The arguments as texts; options may stand in one text, as in "--target y --drop id"."""
    return [word for text in map(str, args) for word in (text.split() if text.startswith("--") else [text])]


def invoke(*args, input=None):
    return CliRunner().invoke(app, arguments(*args), env={"COLUMNS": "100"}, input=input)


def run(*args):
    """Standard output of a run that must succeed."""
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*args):
    """What such a run tells with --json."""
    return json.loads(run(*args, "--json"))


def refused(*args):
    """The one line of a run that must fail, without a traceback."""
    result = invoke(*args)
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert result.stderr.startswith("minrisk: ") and result.stderr.endswith("\n") and result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr
