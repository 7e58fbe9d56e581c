"""What is said on the standard streams, which take any text.

What their encoding lacks is written as ASCII that looks alike, or escaped.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from minrisk._utils.text import printable

HANDLER = "minrisk.plain"
LONGEST_MESSAGE = 2000  # characters of a message
ALIKE = str.maketrans("█▁▂▃▄▅▆▇·–→−─━\u2019\u00a0\u202f", "#_.-~=+*.->---'  ") | {ord("…"): "..."}


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return how codecs are to go on where a text cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(ALIKE)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def prepare() -> None:
    """Make the standard streams of this process take any text, be they closed, and warnings short."""
    for descriptor in (0, 1, 2):  # one that is closed would become the next file that is opened
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=HANDLER)

    def short(message: Warning | str, *rest: Any, **more: Any) -> None:
        note(str(message))

    warnings.showwarning = short


def say(text: str, err: bool = False, end: str = "\n") -> None:
    """Write a text and an end of line on a standard stream; click's echo would change the encoding of some."""
    stream = sys.stderr if err else sys.stdout
    stream.write(text + end)
    stream.flush()


def note(message: str) -> None:
    """Write a remark on stderr that is no error, and can make none."""
    with suppress(OSError, ValueError):
        say("minrisk: note: " + one_line(message), err=True)


def one_line(message: str) -> str:
    """Return a message as it may be shown, without the middle of one that goes on and on."""
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE // 2]}…{line[-LONGEST_MESSAGE // 2 :]}"


def print_json(data: dict[str, Any]) -> None:
    r"""Print one JSON object on stdout; what the stream cannot hold or would obey is written as \u and its number."""
    text = printable(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False, default=str), "\n", json.dumps)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeError:
        text = json.dumps(data, indent=2, allow_nan=False, default=str)
    say(text)


def tell(facts: dict[str, Any], as_json: bool, in_words: Callable[[dict[str, Any]], None]) -> None:
    """Print facts as one JSON object, or in words."""
    (print_json if as_json else in_words)(facts)


def written_on(text: str, stream: Any = None) -> str:
    """Return a text as it will stand on a stream, standard output if none is given, in its encoding."""
    encoding = getattr(sys.stdout if stream is None else stream, "encoding", None) or "utf-8"
    try:
        return text.encode(encoding, HANDLER).decode(encoding)
    except LookupError:  # an encoding that Python does not know
        return text


def flush() -> None:
    """Write out what standard output still holds.

    Raises
    ------
    OSError
        If that cannot be; it is then dropped, or Python would complain at its end.
    """
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        drop()
        raise


def drop() -> None:
    """Let standard output lead nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        sys.stdout.flush()


codecs.register_error(HANDLER, _plain)
