"""Libraries that minrisk can do without."""

from __future__ import annotations

from typing import Any


def pandas() -> Any:
    """Return pandas, or say how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        message = "Frames need pandas, which cannot be imported: pip install 'minrisk[cli]'."
        raise ImportError(message) from error
    return pd
