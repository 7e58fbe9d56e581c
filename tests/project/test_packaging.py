"""What is handed out: the source distribution holds every tracked file, the wheel the package alone."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from minrisk._kernels import LEVELS

ROOT = Path(__file__).parents[2]
BUILD = """
import os, sys
sys.path.insert(0, os.getcwd())
import mesonpy
made = sys.argv[1]
mesonpy.build_sdist(made)
mesonpy.build_wheel(made, {"setup-args": ["-Doptimization=0"]})  # what is in it counts, and not how fast it is
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tracked files, and a folder with what was built of nothing else."""
    pytest.importorskip("mesonpy")
    pytest.importorskip("nanobind")
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    for command in ("init --quiet", "add --all", "-c user.name=me -c user.email=me@here commit --quiet -m all"):
        subprocess.run(["git", *command.split()], cwd=source, check=True)  # of which the source distribution is made
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    command = [sys.executable, "-c", BUILD, str(made)]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return names, made


def test_the_source_distribution_holds_every_tracked_file(built):
    names, made = built
    (path,) = made.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert held - {"PKG-INFO"} == {*names}


def test_the_wheel_holds_the_package_and_that_it_is_typed(built):
    names, made = built
    (path,) = made.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    compiled = {name for name in held if name.endswith((".so", ".pyd"))}
    sources = (".cpp", ".hpp", "meson.build")
    assert held - compiled == {name for name in names if name.startswith("minrisk/") and not name.endswith(sources)}
    assert {name.partition(".")[0] for name in compiled} >= {f"minrisk/_kernels/_{level}" for level in LEVELS}
    assert "minrisk/py.typed" in held
