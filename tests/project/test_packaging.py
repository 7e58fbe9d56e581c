"""What is handed out: the source distribution holds every tracked file, the wheel the package alone."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from setuptools import build_meta
made = sys.argv[1]  # which setuptools changes
build_meta.build_sdist(made)
build_meta.build_wheel(made)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tracked files, and a folder with what was built of nothing else."""
    setuptools = pytest.importorskip("setuptools")
    if int(setuptools.__version__.split(".")[0]) < 77:
        pytest.skip("setuptools is too old for pyproject.toml: pip install -e '.[test]'")
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    done = subprocess.run([sys.executable, "-c", BUILD, str(made)], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return names, made


def test_the_source_distribution_holds_every_tracked_file(built):
    names, made = built
    (path,) = made.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    generated = {"PKG-INFO", "setup.cfg"} | {name for name in held if ".egg-info/" in name}
    assert held - generated == {*names}


def test_the_wheel_holds_the_package_and_that_it_is_typed(built):
    names, made = built
    (path,) = made.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {name for name in names if name.startswith("minrisk/")} and "minrisk/py.typed" in held
