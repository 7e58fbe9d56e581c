"""What results follow from beside data and parameters: the code of this package, and versions of others."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

COMPUTING = ("numpy", "scipy", "numba", "scikit-learn")  # packages that make a difference to models


@cache
def own_version() -> str:
    """Give the version of minrisk, and a digest of its code, which may be edited."""
    import minrisk

    root = Path(minrisk.__file__).parent
    state = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        state.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return f"{minrisk.__version__} {state.hexdigest()[:32]}"


def versions() -> dict[str, str]:
    """Give the versions of all that computes here, by package."""
    return {"minrisk": own_version()} | {name: version(name) for name in COMPUTING}
