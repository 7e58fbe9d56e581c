"""The kinds of members, plain ones first. To add one, write a file with a `Kind` and name it here."""

from __future__ import annotations

from minrisk.ensemble.kind import Kind
from minrisk.ensemble.kinds.gentle import Gentle
from minrisk.ensemble.kinds.logistic import Logistic
from minrisk.ensemble.kinds.plain import Plain as Plain
from minrisk.ensemble.kinds.random import Random
from minrisk.ensemble.kinds.smooth import Smooth

CHALLENGERS: tuple[type[Kind], ...] = (Logistic, Random, Gentle, Smooth)
