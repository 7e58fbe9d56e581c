"""What a fit that was killed goes on from: the rounds of all its loops, in a file that is data and never code.

A fit is repeatable: the same rows, parameters and versions make the same rounds. So the call is made again, and each
run of the loop takes the rounds that the file holds of it and goes on as a warm start does (`Rows.start_at`). All else
is made again. What would make other rounds is hashed, and compared before the first one.

A file is BEGINNING, SHA-256 of the rest, length of a JSON header (uint64), the header, and the arrays that it names one
after another; little-endian. Damage is told by the checksum. What damage cannot explain is looked at before a kernel
sees it: whether trees are trees, and of this many features.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from minrisk._kernels._dtypes import LEAF_BIN, MAX_DEPTH
from minrisk._typing import Int32Array, IntArray
from minrisk._utils import warn_caller
from minrisk._utils.temporary import temporary
from minrisk.boosting.loop import Progress
from minrisk.boosting.monitors import Monitor, RiskHistory, RoundInfo, Stages
from minrisk.data.row_blocks import RowBlocks
from minrisk.data.sparse import SparseRows
from minrisk.model.similarities import PackedSimilarities, Similarity, pack_similarities
from minrisk.model.trees import Tree
from minrisk.rows.rows import Rows

BEGINNING = b"minrisk checkpoint 1\n"
DIGEST_AND_LENGTH = struct.Struct("<32sQ")
PAUSE = 30.0  # seconds between two writes, at least,
SHARE = 0.02  # and the share of the time that writing may take
KEPT_TYPES = "<f8", "<i8", "<i4", "|b1"  # that arrays may be of
NODES = {  # of a `Tree`
    "feature": np.int32,
    "bin": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "value": np.float64,
    "vector": np.int32,
    "gain": np.float64,
}
Arrays = dict[str, np.ndarray]
ROUNDS_ASKED = "n_estimators"  # what a warm start may change


Stateful = RiskHistory | Stages  # monitors that go on with what they have seen of earlier rounds


class Mark(NamedTuple):
    """Hold how much of a `Progress` is of whole rounds: its lists only grow, so other threads may read as much."""

    trees: int
    losses: int
    log_scales: int
    edges: int
    log_scale: float


class Run:
    """One run of the loop, by a name that it has in every fit of the same; a monitor of it.

    Parameters
    ----------
    name : str
    checkpoint : Checkpoint, optional
        Default: nothing is kept.
    """

    counts_only = True

    def __init__(self, name: str = "", checkpoint: Checkpoint | None = None) -> None:
        self.name, self._checkpoint = name, checkpoint
        self._progress: Progress | None = None
        self._seen: Sequence[Stateful] = ()
        self._mark: Mark | None = None
        self._found: Arrays | None = None if checkpoint is None else checkpoint.take(self)

    def begun(self, rows: Rows, seen: Sequence[Stateful] = (), per_round: int = 1) -> Progress | None:
        """Return the rounds that were kept, of so many learners; None where there are none. Monitors go on from them.

        Raises
        ------
        ValueError
            If they are not of such rows.
        """
        if self._found is None:
            return None
        assert self._checkpoint is not None
        with self._checkpoint.refusing():
            progress = _progress_of(self._found, rows.n_features, rows.n_scores, per_round)
            n_rounds = len(progress.trees) // per_round
            for number, monitor in enumerate(seen):
                _check(len(progress.log_scales) == n_rounds + 1, len(progress.edges) == n_rounds)
                state = _under(self._found, f"{number} ")
                _check_seen(state, n_rounds, rows.n_scores, whole=number == 0)
                monitor.restore(state)
        self.follow(progress, seen)
        self._set_mark()
        self._found = None  # at last: another thread may write in the meantime
        return progress

    def follow(self, progress: Progress, seen: Sequence[Stateful] = ()) -> list[Monitor]:
        """Give the monitors that keep these rounds from now on, and the state of others."""
        if self._checkpoint is None:
            return []
        self._progress, self._seen = progress, seen
        return [self]

    def before_rounds(self, info: RoundInfo) -> None:
        """Do nothing: a constant is made again."""

    def after_round(self, info: RoundInfo) -> bool:
        """Write, where it is time to."""
        assert self._checkpoint is not None
        self._set_mark()
        self._checkpoint.write_if_due()
        return False

    def _set_mark(self) -> None:
        made = self._progress
        assert made is not None
        self._mark = Mark(len(made.trees), len(made.losses), len(made.log_scales), len(made.edges), made.log_scale)

    def arrays(self) -> Arrays:
        """Give what is kept of it; nothing before its first round."""
        if self._found is not None:
            return self._found
        if self._mark is None or self._progress is None:
            return {}
        arrays = _arrays_of(self._progress, self._mark)
        for number, monitor in enumerate(self._seen):
            arrays |= {f"{number} {name}": np.asarray(of) for name, of in monitor.state().items()}
        return arrays


class KeptRounds(NamedTuple):
    """Hold what a fit goes on from: the rounds of its runs, and what they depend on."""

    hashes: dict[str, str]
    seed: int | None
    runs: dict[str, Arrays]


class Checkpoint:
    """The rounds of a fit, in a file while it goes on, or in memory between two fits.

    Parameters
    ----------
    path : str or Path, optional
        Default: there is no file.
    kept : KeptRounds, optional
        Of the fit before, for a warm start; the file goes before it.

    Raises
    ------
    ValueError
        If there is a file that is no checkpoint.
    OSError
        If no file can be written there.
    """

    def __init__(self, path: str | os.PathLike[str] | None, kept: KeptRounds | None = None) -> None:
        self.path = None if path is None else Path(path).absolute()
        self._hashes, self._runs = dict[str, str](), list[Run]()
        self._lock, self._due = Lock(), float("inf") if path is None else time.monotonic() + PAUSE
        self._in_memory, self._own, self._warned = True, None, False
        if self.path is not None:
            with temporary(self.path.parent, private=True):
                pass
            self._own = self._there()
            if self._own is not None:
                self._in_memory = False
                with self.refusing():
                    kept = _read(self.path)
        before, self.seed, found = kept or KeptRounds({}, None, {})
        self._before, self._found = (before if kept else None), dict(found)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Open a block whose errors mean that the file is not what it should be."""
        try:
            yield
        except (OSError, MemoryError):
            raise
        except Exception:  # whatever a hostile file provokes is one kind of error to the caller
            raise ValueError(
                f"{self.path} is no checkpoint of minrisk, or is damaged: remove it to begin again, or name another "
                "file."
            ) from None

    def same(self, what: str, *parts: Any) -> None:
        """Compare what rounds depend on: rows, arrays, or whatever has a text.

        Raises
        ------
        ValueError
            If a fit with something else has written the file.
        """
        digest = hashlib.sha256()
        for one in itertools.chain.from_iterable(map(_pieces, parts)):
            if isinstance(one, np.ndarray) and one.dtype != object:
                digest.update(f"{one.dtype.str} {one.shape} ".encode())
                digest.update(np.ascontiguousarray(one).reshape(-1).view(np.uint8).data)
            else:
                digest.update(repr(one.tolist() if isinstance(one, np.ndarray) else one).encode() + b"\0")
        self._hashes[what] = digest.hexdigest()
        if self._before is None or self._before.get(what) == self._hashes[what]:
            return
        if not self._in_memory:
            raise ValueError(
                f"{self.path} is a checkpoint of a fit with other {what}: give the same as there, or remove the file "
                "to begin again."
            )
        if what != ROUNDS_ASKED:
            raise ValueError(
                f"warm_start goes on with the same fit, got other {what}: set warm_start=False to begin again, or let "
                "new rows refresh the model by refit_leaves."
            )

    def take(self, run: Run) -> Arrays | None:
        """Give what was kept of a run, and keep it from now on."""
        with self._lock:
            self._runs.append(run)
            return self._found.pop(run.name, None)

    def write_if_due(self) -> None:
        """Write if the last time is long enough ago, and no other thread does."""
        if time.monotonic() < self._due or not self._lock.acquire(blocking=False):
            return
        begun = time.monotonic()
        try:
            self._write()
        except (OSError, MemoryError) as error:
            if not self._warned:
                self._warned = True
                self._warn("written", error, "the fit goes on, and tries again.")
        finally:
            now = time.monotonic()
            self._due = now + max(PAUSE, (now - begun) / SHARE)
            self._lock.release()

    def _warn(self, what: str, error: Exception, but: str) -> None:
        reason = getattr(error, "strerror", None) or error
        warn_caller(f"The checkpoint {self.path} cannot be {what} ({reason}): {but}")

    def kept(self) -> KeptRounds:
        """Give all rounds until now."""
        runs = {run.name: arrays for run in self._runs if (arrays := run.arrays())}
        return KeptRounds(self._hashes, self.seed, {**self._found, **runs})

    def _there(self) -> tuple[int, int] | None:
        """Tell the file that is there from any other."""
        assert self.path is not None
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _write(self) -> None:
        hashes, seed, runs = self.kept()
        kinds = {
            name: {part: [array.dtype.str, array.shape] for part, array in arrays.items()}
            for name, arrays in runs.items()
        }
        header = json.dumps({"hashes": hashes, "seed": seed, "runs": kinds}).encode()
        pieces: list[Any] = [struct.pack("<Q", len(header)), header]
        pieces += [
            np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            for arrays in runs.values()
            for array in arrays.values()
        ]
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        assert self.path is not None
        with temporary(self.path.parent, private=True) as beside:
            with open(beside, "r+b") as file:
                file.writelines([BEGINNING, digest.digest(), *pieces])
                file.flush()
                os.fsync(file.fileno())  # before the name is given away: a machine that fails leaves one whole file
            # Two fits that name the same file would overwrite each other's rounds for ever.
            if self._there() not in (None, self._own):
                raise OSError("another fit writes it")
            os.replace(beside, self.path)
        self._own = self._there()

    def done(self) -> None:
        """Remove the file, unless it is another fit's, as this one has ended."""
        with self._lock:
            self._due = float("inf")
            try:
                if self.path is not None and self._own is not None and self._there() == self._own:
                    self.path.unlink(missing_ok=True)
            except OSError as error:  # the model is worth more
                self._warn("removed", error, "the fit has ended all the same; remove it.")


def _pieces(part: Any) -> Iterator[Any]:
    """Yield arrays of rows, or the part itself."""
    if isinstance(part, RowBlocks):
        yield from (block for _, block in part.blocks())
    elif isinstance(part, SparseRows):
        yield from (part.matrix.data, part.matrix.indices, part.matrix.indptr)
    else:
        yield part


def _read(path: Path) -> KeptRounds:
    """Read what a file holds; raise whatever a damaged one provokes."""
    if not stat.S_ISREG(path.stat().st_mode):  # others may have no end
        raise ValueError(path)
    with open(path, "rb") as file:
        whole = file.read(len(BEGINNING))
        if whole != BEGINNING:
            raise ValueError(path)
        whole += file.read()
    digest, length = DIGEST_AND_LENGTH.unpack_from(whole, len(BEGINNING))
    first = len(BEGINNING) + DIGEST_AND_LENGTH.size + length
    if hashlib.sha256(memoryview(whole)[len(BEGINNING) + 32 :]).digest() != digest:
        raise ValueError(path)
    header = json.loads(whole[len(BEGINNING) + DIGEST_AND_LENGTH.size : first])
    hashes, seed, runs = dict(header["hashes"]), header["seed"], dict[str, Arrays]()
    if seed is not None and not (isinstance(seed, int) and 0 <= seed < 2**31):
        raise ValueError(seed)
    for name, kinds in header["runs"].items():
        runs[name] = {}
        for part, (kind, shape) in kinds.items():
            if kind not in KEPT_TYPES or not all(isinstance(size, int) and size >= 0 for size in shape):
                raise ValueError(kind)
            array = np.frombuffer(whole, kind, int(np.prod(shape, dtype=object)), first).reshape(shape)
            runs[name][part], first = array, first + array.nbytes
    return KeptRounds(hashes, seed, runs)


# -- rounds as arrays ------------------------------------------------------------------------------------------------
def _under(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _arrays_of(made: Progress, mark: Mark) -> Arrays:
    """Return the rounds of a progress that are whole."""
    assert made.intercept is not None
    learners, vectors = made.trees[: mark.trees], made.vectors[: mark.trees]
    arrays = {
        "intercept": made.intercept,
        "log_scale": np.array([mark.log_scale]),
        "losses": np.array(made.losses[: mark.losses], dtype=np.float64),
        "log_scales": np.array(made.log_scales[: mark.log_scales], dtype=np.float64),
        "edges": np.array(made.edges[: mark.edges], dtype=np.float64),
        "vectors": np.concatenate([np.empty((0, len(made.intercept))), *vectors]),
        "n_vectors": np.array([len(own) for own in vectors], dtype=np.int64),
    }
    if learners and isinstance(learners[0], Similarity):
        packed = pack_similarities(learners)
        return arrays | {f"s {field.name}": getattr(packed, field.name) for field in fields(packed)}
    arrays["nodes"] = np.array([len(tree.feature) for tree in learners], dtype=np.int64)
    arrays["linear"] = np.array([tree.slope is not None for tree in learners], dtype=np.bool_)
    for name, dtype in NODES.items():
        arrays[f"t {name}"] = np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in learners)])
    for name in ("slope", "origin"):
        parts = [getattr(tree, name) for tree in learners if tree.slope is not None]
        arrays[f"l {name}"] = np.concatenate([np.empty(0), *parts])
    return arrays


def _progress_of(arrays: Arrays, n_features: int, n_scores: int, per_round: int) -> Progress:
    """Return the rounds; raise `ValueError` where they are none of so many features, scores and learners each."""
    intercept, n_vectors = arrays["intercept"].copy(), arrays["n_vectors"]
    log_scales, losses, edges = (arrays[name].tolist() for name in ("log_scales", "losses", "edges"))
    floats = [arrays["vectors"], intercept, arrays["log_scale"]]
    _check(
        intercept.shape == (n_scores,),
        arrays["vectors"].shape == (n_vectors.sum(), n_scores),
        n_vectors.min(initial=1) > 0,
        all(one.dtype == np.float64 and np.isfinite(one).all() for one in floats),
    )
    learners = _similarities(arrays, n_features) if "s near" in arrays else _trees(arrays, n_features)
    n_rounds, rest = divmod(len(learners), per_round)
    _check(
        [learner.n_vectors for learner in learners] == n_vectors.tolist(),
        rest == 0,
        len(losses) == n_rounds + 1,
        len(log_scales) <= n_rounds + 1,
        len(edges) <= n_rounds,
        np.isfinite([*losses, *log_scales]).all(),
        all(0.0 <= edge <= 1.0 or edge != edge for edge in edges),
    )
    vectors = [own.copy() for own in np.split(arrays["vectors"], np.cumsum(n_vectors))[:-1]]
    return Progress(learners, vectors, intercept, float(arrays["log_scale"][0]), losses, log_scales, edges)


def _check(*laws: Any) -> None:
    if not all(laws):
        raise ValueError(laws)


def _check_seen(state: Arrays, n_rounds: int, n_scores: int, whole: bool) -> None:
    """Raise `ValueError` where it is no state of a monitor after so many rounds: of all, or of later ones."""
    if "known" in state:
        known = state["known"]
        numbers = np.arange(1, n_rounds + 1)
        _check(
            known.shape == numbers.shape,
            ((known == numbers) | (known == 0)).all(),
            known[-1:].all(),
            state["stages"].shape == (known.sum(), n_scores),
            np.isfinite(state["stages"]).all(),
        )
        return
    risks = state["risks"]
    least = n_rounds + 1 if whole or "beats" in state else 1
    _check(risks.dtype == np.float64, risks.ndim == 1, least <= len(risks) <= n_rounds + 1, np.isfinite(risks).all())


def _similarities(arrays: Arrays, n_features: int) -> list[Any]:
    """Return learners whose anchors are there."""
    packed = PackedSimilarities(**_under(arrays, "s "))
    m, d = packed.anchors.shape
    numbers = np.concatenate([packed.near, packed.far])
    floats = [packed.anchors, packed.span, packed.gain, packed.center, packed.scale, packed.fill]
    _check(
        d == n_features,
        len(packed.anchor_row) == m,
        numbers.min(initial=0) >= -1,
        numbers.max(initial=-1) < m,
        all(one.shape == packed.near.shape for one in (packed.far, packed.span, packed.real, packed.gain)),
        all(one.shape == (d,) for one in (packed.center, packed.scale, packed.fill)),
        all(one.dtype == np.float64 and np.isfinite(one).all() for one in floats),
        np.all(packed.span > 0.0),
    )
    return [packed.tree(t) for t in range(len(packed))]


def _trees(arrays: Arrays, n_features: int) -> list[Any]:
    """Return trees, each of whose nodes but the root is the child of one node before it."""
    sizes, linear = arrays["nodes"], arrays["linear"]
    nodes, lines = _under(arrays, "t "), _under(arrays, "l ")
    n, of_lines = int(sizes.sum()), int(sizes[linear].sum())
    _check(
        sizes.min(initial=1) > 0,
        linear.shape == sizes.shape,
        linear.dtype == np.bool_,
        all(nodes[name].shape == (n,) and nodes[name].dtype == dtype for name, dtype in NODES.items()),
        all(lines[name].shape == (of_lines,) and np.isfinite(lines[name]).all() for name in ("slope", "origin")),
    )
    feature, left, vector = (nodes[name] for name in ("feature", "left", "vector"))
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = np.arange(n) - first
    inner = left != own
    children = (first + left)[inner]
    _check(
        feature.min(initial=0) >= 0,
        feature.max(initial=-1) < n_features,
        vector.min(initial=0) >= 0,
        np.all(left[inner] > own[inner]),
        np.all(left[inner] + 1 < np.repeat(sizes, sizes)[inner]),
        np.array_equal(np.sort(np.concatenate([children, children + 1])), np.flatnonzero(own)),
        not inner.any() or (nodes["bin"][inner].min() >= 0 and nodes["bin"][inner].max() < LEAF_BIN),
        np.all(nodes["bin"][~inner] == LEAF_BIN),
        not np.isnan(nodes["threshold"]).any(),
        np.isfinite(nodes["value"]).all(),
        np.isfinite(nodes["gain"]).all(),
    )
    depth = np.maximum.reduceat(_depths(first + left, inner), np.cumsum(sizes) - sizes) if n else sizes
    columns = sizes, np.cumsum(sizes), np.cumsum(sizes * linear), linear, depth
    trees = []
    for size, end, line, is_linear, steps in zip(*(column.tolist() for column in columns), strict=True):
        part, lines_of = slice(end - size, end), slice(line - size, line)
        made = Tree(**{name: nodes[name][part].copy() for name in NODES}, depth=steps)
        if is_linear:
            made = made._replace(slope=lines["slope"][lines_of].copy(), origin=lines["origin"][lines_of].copy())
        trees.append(made)
    return trees


def _depths(left: IntArray, inner: np.ndarray) -> Int32Array:
    """Count the steps that lead to each node, level by level; kernels have room for so many levels only."""
    depth, at = np.zeros(len(left), dtype=np.int32), np.flatnonzero(inner)
    for _ in range(MAX_DEPTH + 1):
        before = depth[left[at]]
        depth[left[at]] = depth[left[at] + 1] = depth[at] + 1
        at = at[depth[left[at]] > before]
        if not len(at):
            return depth
    raise ValueError(MAX_DEPTH)
