"""Machine code: row loops in C++, which release the GIL and are given a range of rows or features.

It is compiled for several levels of a kind of processor, all of which make the same numbers. Import takes the fastest
that this processor runs, or the one that the environment variable MINRISK_LEVEL names. Each part of it is a module
here: `minrisk._kernels.grow` is what `grow.cpp` defines.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

try:
    from minrisk._kernels._processor import levels
except ModuleNotFoundError as error:
    raise ImportError(
        f"minrisk's machine code must lie beside its sources, but there is none in {os.path.dirname(__file__)}: start "
        "Python outside the clone if minrisk is installed, or compile it there by 'make test'."
    ) from error

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


LEVELS: tuple[str, ...] = levels()
LEVEL = os.environ.get("MINRISK_LEVEL") or LEVELS[0]
if LEVEL not in LEVELS:
    raise ImportError(
        f"MINRISK_LEVEL must be one of {', '.join(LEVELS)}, but it is {LEVEL}: unset it, or name one of these."
    )

for _name, _part in vars(import_module(f"{__name__}._{LEVEL}")).items():
    if isinstance(_part, ModuleType):
        sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _part
