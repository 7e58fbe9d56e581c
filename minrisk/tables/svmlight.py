"""Files of svmlight and libsvm: a line for each row, its label and the values that are not 0, as "2 4:0.5 17:1".

scikit-learn reads them, into a sparse matrix. What cannot be used is a `TableError`, which names the line.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minrisk._utils.text import short
from minrisk.data.frames import EXACT_BELOW
from minrisk.tables.source import TableError, read_all, read_bytes, shown

if TYPE_CHECKING:
    from minrisk._typing import Labels

ENDINGS = tuple(name + packed for name in (".svm", ".svmlight", ".libsvm") for packed in ("", ".gz", ".bz2"))


class SvmlightRows(NamedTuple):
    """What such a file holds.

    Attributes
    ----------
    X : csr_matrix of shape (n, d)
    labels : ndarray of shape (n,)
        The numbers that stand first in each line.
    first_feature : int
        The number of the first feature: 1 as in libsvm, or 0 as in a file that has a feature 0.
    """

    X: Any
    labels: np.ndarray
    first_feature: int

    def classes(self, path: str | Path) -> Labels:
        """Return the labels as whole numbers, (n,).

        Raises
        ------
        TableError
            If one is no whole number.
        """
        values = self.labels
        wrong = np.flatnonzero(~(np.abs(values) < EXACT_BELOW) | (values != np.rint(values)))
        if len(wrong):
            raise TableError(
                f"the labels of {shown(path)} must be whole numbers to be classes, but row {wrong[0] + 1} has "
                f"{values[wrong[0]]:g}: divide the numbers into classes."
            )
        return np.asarray(values.astype(np.int64))


def is_svmlight(path: str | Path) -> bool:
    """Tell whether a file is one of these, by its name.

    Examples
    --------
    >>> is_svmlight("news20.svm.bz2"), is_svmlight("news20.csv")
    (True, False)
    """
    return Path(path).name.lower().endswith(ENDINGS)


def read_svmlight(path: str | Path, n_features: int | None = None, first_feature: int | None = None) -> SvmlightRows:
    r"""Read such a file, also one packed by gzip or bzip2.

    Parameters
    ----------
    path : str or Path
    n_features : int, optional
        Of a model: a file with fewer lacks the last ones, which are 0. Default: those of the file.
    first_feature : {0, 1}, optional
        The number of the model's first feature. Default: 0 where the file has a feature 0, else 1.

    Raises
    ------
    TableError
        If the file is missing, damaged or empty, or has more features than the model.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.svm")
    >>> _ = path.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> rows = read_svmlight(path)
    >>> rows.X.toarray(), rows.classes(path), rows.first_feature
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1, -1]), 1)
    """
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file

    path = Path(path)
    text = _text(path)
    try:
        matrix, labels = load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, OverflowError, MemoryError, IndexError) as error:
        raise TableError(_complaint(path, text, error)) from None
    if len(labels) == 0:
        raise TableError(f"{shown(path)} is empty: give a file with rows.")
    used = matrix.indices
    if len(used) == 0 and n_features is None:
        raise TableError(f"{shown(path)} holds labels but no features, so there is nothing to learn from.")
    least, last = (int(used.min()), int(used.max())) if len(used) else (1, 0)
    first = min(least, 1) if first_feature is None else first_feature
    if least < first:
        raise TableError(
            f"{shown(path)} has a feature 0, but the model was trained on a file whose features are numbered from 1: "
            "number them alike."
        )
    found = last + 1 - first
    if n_features is not None and found > n_features:
        raise TableError(
            f"{shown(path)} has features up to number {last}, but the model was trained on {n_features} features, up "
            f"to number {n_features - 1 + first}: leave out the others, or give the rows as in the training."
        )
    shape = len(labels), found if n_features is None else n_features
    return SvmlightRows(csr_matrix((matrix.data, used - first, matrix.indptr), shape=shape), labels, first)


def _text(path: Path) -> bytes:
    """Return what the file holds, unpacked."""
    if path.is_dir():
        raise TableError(f"{path} must be a file, but is a folder: give a file of svmlight's format.")
    if not path.exists():
        raise TableError(f"there is no file {path}: correct the path.")
    try:
        data = read_bytes(path)
        return read_all(path, bz2.BZ2File(io.BytesIO(data))) if path.name.lower().endswith(".bz2") else data
    except PermissionError:
        raise TableError(f"{shown(path)} cannot be read: you have no permission to.") from None
    except (gzip.BadGzipFile, zlib.error, EOFError, OSError):
        packer = "bzip2" if path.name.lower().endswith(".bz2") else "gzip"
        raise TableError(f"{shown(path)} is damaged, cut short or not packed by {packer}: take a fresh copy.") from None


def _complaint(path: Path, text: bytes, error: Exception) -> str:
    """Say what is wrong with the first line that cannot be read."""
    for number, line in enumerate(text.splitlines(), 1):
        wrong = _wrong(line.partition(b"#")[0].split())
        if wrong is not None:
            return f"{shown(path)} is not in svmlight's format, 'label number:value ...': line {number} {wrong}."
    return f"{shown(path)} cannot be read ({short(' '.join(str(error).split()), 160)}): correct the file."


def _wrong(cells: list[bytes]) -> str | None:
    """Say what is wrong with the cells of a line."""
    if cells and not _is_number(cells[0]):
        return f"begins with {_quoted(cells[0])}, which is no label that is a number"
    before = -1
    for cell in cells[1:]:
        name, mark, value = cell.partition(b":")
        if name == b"qid":
            continue
        if not (mark and name.isdigit() and _is_number(value)):
            return f"holds {_quoted(cell)}"
        if int(name[:20]) >= 1 << 31:
            return f"holds the feature {_quoted(name)}, whose number is too large"
        if int(name) <= before:
            return f"holds the feature {int(name)} after the feature {before}, and they must ascend"
        before = int(name)
    return None


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(text: bytes) -> str:
    return repr(short(text.decode("utf-8", "replace"), 40))
