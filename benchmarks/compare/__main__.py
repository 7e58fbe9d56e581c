"""Risk beside other learners, on public data and six kinds of cost; see `data` and `methods`.

python -m benchmarks.compare                     # what is missing, then the report
python -m benchmarks.compare --tuned             # 20-trial random search, the same for all
python -m benchmarks.compare --others            # defaults, on other sets: see `others`
python -m benchmarks.compare --report            # only the report
python -m benchmarks.compare --again minrisk     # forget the lines of a method, and make them again
"""

from __future__ import annotations

import argparse
import time
import traceback
import warnings

from benchmarks.common import parser
from benchmarks.compare import others, report, run, tune
from benchmarks.compare.data import SETS, TUNED
from benchmarks.compare.methods import METHODS


def options() -> argparse.Namespace:
    made = parser(__doc__, "one split of the three smallest sets, methods that are installed")
    made.add_argument("--sets", type=lambda text: text.split(","), help="comma-separated; default: all")
    made.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS), help="default: all")
    made.add_argument("--splits", type=int, help="default: 5, tuned 2")
    mode = made.add_mutually_exclusive_group()
    mode.add_argument(
        "--tuned",
        action="store_const",
        dest="mode",
        const="tuned",
        default="default",
        help="random search on the training rows first",
    )
    mode.add_argument("--others", action="store_const", dest="mode", const="others", help="defaults, on other sets")
    made.add_argument("--again", action="append", default=[], metavar="METHOD", help="forget its lines first")
    made.add_argument("--time-limit", type=float, default=float("inf"), metavar="S", help="no new fit after S seconds")
    made.add_argument("--report", action="store_true", help="only make the report")
    made.add_argument("--ours", default="minrisk", metavar="METHOD", help="the method that the report is about")
    arguments = made.parse_args()
    of_mode = {"default": SETS, "tuned": TUNED, "others": others.SETS}[arguments.mode]
    arguments.sets = arguments.sets or list(of_mode)
    arguments.splits = arguments.splits or (2 if arguments.mode == "tuned" else 5)
    if arguments.quick:
        arguments.sets, arguments.splits = arguments.sets[:3], 1
    unknown = [name for name in (*arguments.methods, *arguments.again) if name not in METHODS]
    unknown += [name for name in arguments.sets if name not in of_mode]
    if unknown:
        made.error(f"unknown: {', '.join(unknown)}")
    return arguments


def work(arguments: argparse.Namespace) -> None:
    """Every fit that is not in the cache."""
    mode = arguments.mode
    for name in arguments.again:
        run.forget(run.name_of(name, mode), arguments.sets, arguments.splits)
        if mode == "tuned":
            run.forget(tune.name_of(name), arguments.sets, arguments.splits)
    methods = [METHODS[name] for name in arguments.methods]
    done = {
        name: {(row["set"], row["split"], row["cost"], row["rule"]) for row in run.rows_of(name, mode)}
        for name in arguments.methods
    }
    absent: set[str] = set()
    run.deadline = time.monotonic() + arguments.time_limit
    for seed, name, method in run.tasks(arguments.sets, methods, arguments.splits):
        if method.name in absent:
            continue
        try:
            if mode == "tuned":
                tune.tuned(method, name, seed, arguments.jobs, done[method.name])
            else:
                run.default(method, name, seed, arguments.jobs, done[method.name], mode)
        except run.TimeUp:
            print("Time is up; the same command goes on from here.")
            return
        except ImportError as problem:
            absent.add(method.name)
            print(f"{method.name} is left out: {problem}", flush=True)
        except Exception:  # one that fails must not keep the others
            print(f"{method.name} failed on {name}, split {seed}:\n{traceback.format_exc()}", flush=True)


def main() -> None:
    arguments = options()
    warnings.filterwarnings("ignore")
    if not arguments.report:
        work(arguments)
    report.make(arguments.ours, arguments.mode)


if __name__ == "__main__":
    main()
