"""Warnings that point at the line of whoever called minrisk, however deep within it they are given."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as of the first line outside of this package, so that "once for each place" means the caller's places."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
