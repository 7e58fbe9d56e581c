"""The command `minrisk`. Importing this package costs nothing; what it needs comes with `minrisk[cli]`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("click", "rich", "pandas", "pyarrow")


def main() -> None:
    """Run the command line with the arguments of this process; exits with 0, or with 2 on bad input."""
    from minrisk.cli.signals import stoppable

    with stoppable():
        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            what = " and ".join(missing)
            how = "not installed here: pip install 'minrisk[cli]'"
            sys.stderr.write(f"minrisk: the command line needs {what}, {how}\n")
            sys.exit(2)
        from minrisk.cli.app import app
        from minrisk.cli.streams import prepare

        prepare()
        app(prog_name="minrisk")
