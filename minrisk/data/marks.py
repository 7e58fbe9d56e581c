"""How numbers are written with decimal marks and marks between thousands."""

from __future__ import annotations

import re

__all__ = ["COMMA_GROUPS", "COMMA_NUMBER", "GROUPED", "POINTED", "POINT_GROUPS"]

COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")  # 1,5
COMMA_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+,\d+\s*")  # 1.000,5: no other mark can be meant
POINTED = re.compile(r"\s*[+-]?(?:\d+(?:\.\d{3})*\.\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")  # a number written with points
POINT_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+\s*")  # 1.000, which is one or a thousand
GROUPED = re.compile(r"\s*[+-]?\d{1,3},\d{3}\s*")  # 1,234: a decimal comma, or one between thousands
