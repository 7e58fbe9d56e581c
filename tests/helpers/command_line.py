"""Runs of the command line in this process."""

from click.testing import CliRunner

from minrisk.cli.app import app


def invoke(*args, input=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "100"}, input=input)


def run(*args):
    """Standard output of a run that must succeed."""
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*args):
    """The one line of a run that must fail, without a traceback."""
    result = invoke(*args)
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert result.stderr.startswith("minrisk: ") and result.stderr.endswith("\n") and result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr
