"""Other packages: those that minrisk can do without, and the versions that results follow from."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

COMPUTING = ("numpy", "scipy", "scikit-learn")  # packages that make a difference to models


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


@cache
def own_version() -> str:
    """Return the version of minrisk, and a digest of its code, which may be edited."""
    import minrisk

    root = Path(minrisk.__file__).parent
    state = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".cpp", ".hpp")):
        state.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return f"{minrisk.__version__} {state.hexdigest()[:32]}"


def versions() -> dict[str, str]:
    """Return the versions of all that computes here, by package."""
    return {"minrisk": own_version()} | {name: version(name) for name in COMPUTING}
