#!/usr/bin/env python3
"""The version: the build prints it, and the package imports it."""

__version__ = "0.1.0"

if __name__ == "__main__":
    print(__version__)  # noqa: T201
