#!/usr/bin/env python3
"""Prints the version of the package, for its build."""

import re
import sys
from pathlib import Path

source = (Path(__file__).parent / "minrisk" / "__init__.py").read_text()
sys.stdout.write(re.search(r'^__version__ = "(.*)"$', source, re.MULTILINE)[1])
