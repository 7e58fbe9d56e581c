"""Libraries that minrisk can do without."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def library(name: str, extra: str, needing: str) -> Any:
    """Import an optional library, or say how to get it.

    Parameters
    ----------
    name : str
        Of the module.
    extra : str
        The extra of minrisk that installs it.
    needing : str
        Subject and verb of the message, as "Pictures need".

    Raises
    ------
    ImportError
        If the module cannot be imported.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        message = f"{needing} {package}, which cannot be imported: pip install 'minrisk[{extra}]'."
        raise ImportError(message) from error


def pandas() -> Any:
    """Return pandas, or say how to get it."""
    return library("pandas", "cli", "Frames need")
