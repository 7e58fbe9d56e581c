"""Where machine code is kept, what is said of it, and that several processes share it."""

import gc
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import minrisk
from minrisk._kernels import _cache
from minrisk._utils.memory import points
from tests.helpers.common import slow_after

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
PACKAGE = Path(minrisk.__file__).parent
KEY, DATA = (("signature",), ("magic",), "code"), [list(range(300)), "data"]
CALL = """
import sys
import numpy as np
from numba.core import event
n = 0
class Compiled(event.Listener):
    def on_start(self, event):
        global n
        n += 1
    def on_end(self, event):
        pass
event.register("numba:compile", Compiled())
from minrisk._kernels._cache import writable_folder
from minrisk._kernels.links import row_dots
out = np.empty(2)
row_dots(np.eye(2), np.array([[3.0, 1.0], [2.0, 4.0]]), out)
assert out.tolist() == [3, 4]
print(n, writable_folder())
"""


class Installed:
    """A copy of the package without machine code, in which folders may be closed to everybody, a superuser too."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "minrisk", ignore=shutil.ignore_patterns("__pycache__"))
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.home.mkdir()
        self.temporary.mkdir()
        self.environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | {
            "PYTHONPATH": str(folder),
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "TMPDIR": str(self.temporary),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def close_package(self):
        (self.folder / "minrisk" / "_kernels" / "__pycache__").touch()  # where a folder would have to be

    def close_home(self):
        shutil.rmtree(self.home)
        self.home.touch()

    def start(self, code=CALL, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, code=CALL, **environment):
        """How many kernels were compiled, where they are kept, and what was said."""
        out, said = (process := self.start(code, **environment)).communicate()
        assert process.returncode == 0, said
        n, folder = out.split(maxsplit=1)
        return int(n), folder.strip(), said

    @property
    def private(self):
        return self.temporary / f"minrisk-{os.getuid()}"


@pytest.fixture
def installed(tmp_path):
    return Installed(tmp_path)


needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes")


@pytest.mark.slow
def test_folders_are_tried_in_their_order(installed):
    given = installed.folder / "given"
    n, folder, said = installed.call(NUMBA_CACHE_DIR=str(given))
    assert n == 1 and folder.startswith(str(given)) and "once, it takes some seconds" in said
    assert installed.call(NUMBA_CACHE_DIR=str(given)) == (0, folder, "")
    n, folder, _ = installed.call()
    assert n == 1 and folder == str(installed.folder / "minrisk" / "_kernels" / "__pycache__")
    assert installed.call(NUMBA_CACHE_DIR=str(given / "empty"))[0] == 0  # read beside the package
    shutil.rmtree(folder)
    installed.close_package()
    n, folder, said = installed.call()
    assert n == 1 and folder.startswith(str(installed.home)) and "once, it takes some seconds" in said
    assert installed.call() == (0, folder, "")


@needs_posix
def test_the_last_resort_is_a_private_folder(installed):
    installed.close_package()
    installed.close_home()
    n, folder, said = installed.call()
    assert n == 1 and folder.startswith(str(installed.private))
    assert stat.S_IMODE(installed.private.stat().st_mode) == 0o700
    assert said.count("\n") == 1 and str(installed.private) in said and "once" not in said
    assert installed.call() == (0, folder, "")


@needs_posix
@pytest.mark.parametrize("kind", slow_after(2, ["link", "open to others", "somebody else's", "file"]))
def test_a_folder_that_others_may_have_made_is_refused(installed, kind):
    installed.close_package()
    installed.close_home()
    elsewhere = installed.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if kind == "link":
        installed.private.symlink_to(elsewhere)
    elif kind == "file":
        installed.private.touch()
    else:
        installed.private.mkdir(mode=0o700)
        if kind == "open to others":
            installed.private.chmod(0o770)
        elif os.getuid() == 0:
            os.chown(installed.private, 12345, 12345)
        else:
            pytest.skip("only a superuser gives folders away")
    for _ in range(2):
        n, folder, said = installed.call()
        assert (n, folder) == (1, "None")
        assert said.count("\n") == 1 and "in every process" in said and "NUMBA_CACHE_DIR" in said
    assert not list(elsewhere.iterdir())


@pytest.mark.slow
def test_a_folder_that_can_only_be_read_is_read(installed):
    """An image in which a superuser compiled, run by somebody else."""
    beside = installed.folder / "minrisk" / "_kernels" / "__pycache__"
    assert installed.call()[:2] == (1, str(beside))
    closed = (
        "from minrisk._kernels import _cache\nwrite = _cache._can_write\n"
        "_cache._can_write = lambda folder: folder.name != '__pycache__' and write(folder)\n"
    )
    n, folder, said = installed.call(closed + CALL)
    assert n == 0 and folder != str(beside) and said == ""


def test_processes_share_the_work(installed):
    processes = [installed.start() for _ in range(4)]
    answers = [process.communicate() for process in processes]
    assert sorted(int(out.split()[0]) for out, _ in answers) == [0, 0, 0, 1]
    assert sum("compiling" in said for _, said in answers) == 1
    assert not list(installed.folder.rglob("*.lock"))


def test_a_process_that_was_killed_holds_nobody_up(installed):
    beside = installed.folder / "minrisk" / "_kernels" / "__pycache__"
    killed = (
        "import os, numba\nfrom minrisk._kernels import _cache\n"
        "_cache.KernelCache.save_overload = lambda *arguments: os._exit(9)\n"
    )
    process = installed.start(killed + CALL)
    process.communicate()
    assert process.returncode == 9 and list(beside.glob("*.lock"))
    assert installed.call()[0] == 1
    assert installed.call()[0] == 0


def damage(path, how):
    content = path.read_bytes()
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "link to nowhere":
        path.symlink_to("nowhere")
    elif how != "gone":
        path.write_bytes(
            {
                "empty": b"",
                "cut": content[: len(content) // 2],
                "longer": content + b"\0",
                "zeros": bytes(len(content)),
                "one bit": content[:50] + bytes([content[50] ^ 1]) + content[51:],
                "text": b"something else\n" * 10,
            }[how]
        )


WAYS = ["empty", "cut", "longer", "zeros", "one bit", "text", "folder", "pipe", "link to nowhere", "gone"]
QUIET = ("link to nowhere", "gone")


def test_damaged_files_are_written_anew(installed):
    """The machine code is right, which `CALL` checks, and what could be mended is."""
    beside = installed.folder / "minrisk" / "_kernels" / "__pycache__"
    assert installed.call()[0] == 1
    for suffix, how in (("nbi", "empty"), ("nbc", "cut"), ("nbc", "one bit"), ("nbc", "gone"), ("nbi", "folder")):
        (path,) = beside.glob(f"*.{suffix}")
        damage(path, how)
        n, _, said = installed.call()
        assert n == 1 and said.count("cannot be used and are compiled again") == (how not in QUIET)
        assert said.count(f"could not be kept in {beside}") == (how == "folder")
    path.rmdir()
    assert installed.call()[0] == 1 and installed.call()[::2] == (0, "")
    assert not list(beside.glob(".*"))


@needs_posix
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", ["name.nbi", "name.1.nbc"])
def test_damaged_files_are_not_read(tmp_path, name, how):
    files = _cache._Files(tmp_path, "name", ("origin",))
    files.save(KEY, DATA)
    damage(tmp_path / name, how)
    with nullcontext() if how in QUIET else pytest.raises(ValueError, match="damaged|something else stands"):
        assert files.load(KEY) is None
    if how != "folder":
        files.save(KEY, DATA)
        assert files.load(KEY) == DATA


@pytest.mark.slow
def test_machine_code_of_another_kernel_or_version_is_not_run(installed):
    beside = installed.folder / "minrisk" / "_kernels" / "__pycache__"
    assert installed.call()[0] == 1
    (index,), (code,) = beside.glob("*.nbi"), beside.glob("*.nbc")
    ours = index.read_bytes(), code.read_bytes()
    other = CALL.replace("0.5, 2.5", "0.5, 2.5, 9.0").replace("dtype=np.uint8", "dtype=np.uint16")
    assert installed.call(other)[0] == 1
    (other_index,), (other_code,) = {*beside.glob("*.nbi")} - {index}, {*beside.glob("*.nbc")} - {code}
    code.write_bytes(other_code.read_bytes())  # of which the index has no checksum
    assert installed.call()[0] == 1 and code.read_bytes() != other_code.read_bytes()
    code.write_bytes(other_code.read_bytes())
    index.write_bytes(other_index.read_bytes())  # a pair that is whole
    assert installed.call()[0] == 1
    version = "import numba\nnumba.__version__ = '0.0'\n"
    assert installed.call(version + CALL)[0] == 1  # beside the others
    assert installed.call()[0] == 0 and installed.call(version + CALL)[0] == 0
    assert len(ours[0]) == len(index.read_bytes())


def test_any_bit_that_is_wrong_is_found(tmp_path):
    files = _cache._Files(tmp_path, "name", ("origin",))
    files.save(KEY, DATA)
    assert files.load(KEY) == DATA and files.checksum(KEY) is not None
    for other in ((("x",), *KEY[1:]), (KEY[0], ("x",), KEY[2]), (*KEY[:2], "x")):
        assert files.load(other) is None
    assert _cache._Files(tmp_path, "name", ("x",)).load(KEY) is None
    for path in (tmp_path / "name.nbi", tmp_path / "name.1.nbc"):
        whole = path.read_bytes()
        for bit in range(0, 8 * len(whole), 7):
            content = bytearray(whole)
            content[bit // 8] ^= 1 << bit % 8
            path.write_bytes(content)
            with pytest.raises(ValueError, match="a file is damaged"):
                files.load(KEY)
        path.write_bytes(whole)
    assert files.load(KEY) == DATA


FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
VANISHED = CALL.replace(
    "from minrisk._kernels.links", "import shutil\nshutil.rmtree(writable_folder())\nfrom minrisk._kernels.links"
)


@needs_posix
@pytest.mark.parametrize(
    ("code", "reason"), slow_after(1, [(FULL + CALL, "File too large"), (VANISHED, "No such file or directory")])
)
def test_kernels_that_cannot_be_kept_are_compiled_in_every_process(installed, code, reason):
    for _ in range(2):
        n, folder, said = installed.call(code, NUMBA_CACHE_DIR=str(installed.folder / "given"))
        assert n == 1 and said.count("\n") == 2 and f"could not be kept in {folder}: {reason}" in said
        assert not list((installed.folder / "given").glob("*/*"))
    assert installed.call()[0] == 1


@pytest.mark.slow
def test_folders_that_cannot_be_reached_are_passed_over(installed):
    n, folder, said = installed.call(NUMBA_CACHE_DIR=str(installed.folder / ("n" * 300)))
    assert n == 1 and folder.endswith("__pycache__") and "File name too long" in said
    assert installed.call(NUMBA_CACHE_DIR=str(installed.folder / ("n" * 300)))[::2] == (0, "")


@needs_posix
@pytest.mark.parametrize("how", slow_after(1, ["somebody else's", "open to others"]))
def test_files_that_another_user_can_have_written_are_not_run(installed, how):
    beside = installed.folder / "minrisk" / "_kernels" / "__pycache__"
    assert installed.call()[0] == 1
    (path,) = beside.glob("*.nbc")
    if how == "open to others":
        path.chmod(0o666)
    elif os.getuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        pytest.skip("only a superuser gives files away")
    n, _, said = installed.call()
    assert n == 1 and "another user can have written a file" in said
    assert installed.call()[::2] == (0, "") and path.stat().st_uid == os.getuid()


def hand_over(path, how):
    if how != "somebody else's":
        path.chmod(path.stat().st_mode | (0o020 if how == "a group's" else 0o002))
    elif os.getuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        pytest.skip("only a superuser gives files away")


@needs_posix
@pytest.mark.parametrize("where", ["above", "given", "below", "files"])
@pytest.mark.parametrize("how", ["somebody else's", "a group's", "everybody's"])
def test_what_another_user_can_have_written_is_not_read(tmp_path, where, how):
    """Up to the root: who can replace a folder above can replace all in it. Nor is anything written there."""
    folder = tmp_path / "above" / "given" / "below"
    assert _cache._can_write(folder)
    files = _cache._Files(folder, "name", ("origin",))
    files.save(KEY, DATA)
    places = {
        "above": [folder.parents[1]],
        "given": [folder.parent],
        "below": [folder],
        "files": list(folder.iterdir()),
    }
    for path in places[where]:
        hand_over(path, how)
    with pytest.raises(ValueError, match="another user can have written a file"):
        files.load(KEY)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(ValueError, match="another user can have written a file"):
        _cache._Files(tmp_path / "link", "name", ("origin",)).load(KEY)
    assert _cache._can_write(folder) == _cache._can_write(folder / "new") == (where == "files")


@needs_posix
@pytest.mark.slow
def test_a_named_folder_of_another_user_is_passed_over(installed):
    given = installed.folder / "given"
    n, folder, _ = installed.call(NUMBA_CACHE_DIR=str(given))
    hand_over(given, "a group's")
    before = {path: path.read_bytes() for path in Path(folder).iterdir()}
    n, again, said = installed.call(NUMBA_CACHE_DIR=str(given))
    assert n == 1 and again != folder and "another user can have written a file" in said
    assert before == {path: path.read_bytes() for path in Path(folder).iterdir()}
    assert installed.call(NUMBA_CACHE_DIR=str(given))[::2] == (0, "")


@needs_posix
@pytest.mark.slow
def test_a_folder_in_one_that_everybody_may_write_to_and_nobody_replace_is_used(installed):
    installed.temporary.chmod(0o1777)
    given = installed.temporary / "given"
    assert installed.call(NUMBA_CACHE_DIR=str(given))[0] == 1
    assert installed.call(NUMBA_CACHE_DIR=str(given))[0] == 0


@needs_posix
def test_what_is_written_is_closed_to_a_group_whatever_the_umask(installed):
    given, open_to_group = installed.folder / "given", "import os\nos.umask(0o002)\n" + CALL
    n, folder, _ = installed.call(open_to_group, NUMBA_CACHE_DIR=str(given))
    assert n == 1 and folder.startswith(str(given))
    assert installed.call(open_to_group, NUMBA_CACHE_DIR=str(given)) == (0, folder, "")


@needs_posix
def test_another_user_runs_only_what_is_certainly_theirs():
    """A second user id, which reads what a superuser, a third one and itself have written."""
    if os.getuid() != 0:
        pytest.skip("only a superuser takes another user's place")
    with tempfile.TemporaryDirectory() as name:  # in a folder that other users can reach
        folder = Path(name)
        folder.chmod(0o755)
        files = _cache._Files(folder, "name", ("origin",))
        files.save(KEY, DATA)
        for owner, answers in ((0, True), (12345, False), (23456, True)):
            for path in (folder, *folder.iterdir()):
                os.chown(path, owner, owner)
            child = os.fork()
            if child == 0:
                os.setgroups([])
                os.setgid(23456)
                os.setuid(23456)
                try:
                    os._exit(0 if files.load(KEY) == DATA else 2)
                except ValueError as error:
                    os._exit(1 if "another user" in str(error) else 3)
                finally:
                    os._exit(4)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if answers else 1), owner


def test_changed_sources_are_compiled_and_copied_ones_are_not(installed):
    source = installed.folder / "minrisk" / "_kernels" / "links.py"
    assert installed.call()[0] == 1
    os.utime(source, (1, 1))
    assert installed.call()[0] == 0
    source.write_text(source.read_text() + "# changed\n")
    assert installed.call()[0] == 1


def test_a_compilation_that_is_interrupted_can_be_begun_again(tmp_path, monkeypatch):
    lock = _cache._Lock(tmp_path / "a.lock")
    assert not lock.acquire()
    monkeypatch.setattr(_cache, "LONGEST_WAIT", 0.1)
    other = _cache._Lock(tmp_path / "a.lock")
    assert other.acquire()  # waited in vain, and goes on
    other.release()
    lock.release()
    assert not _cache._Lock(tmp_path / "a.lock").acquire()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_that_is_forked_while_kernels_are_compiled_collects_garbage():
    from minrisk._kernels import _jit

    class Data:
        data = {"dispatcher": _jit.numba.njit(test_points_are_of_one_type)}

    Data.data["dispatcher"].py_func.__module__, own = "minrisk.made", __name__
    listener = _jit._Compilations()
    listener.said = True
    try:
        listener.on_start(Data)
        assert not gc.isenabled()
        child = os.fork()
        if child == 0:
            os._exit(not (gc.isenabled() and listener.depth == 0))
        assert os.waitpid(child, 0)[1] == 0 and not gc.isenabled()
        listener.on_end(Data)
        assert gc.isenabled()
    finally:
        test_points_are_of_one_type.__module__ = own
        gc.enable()


def test_threads_may_ask_for_a_kernel_at_the_same_time():
    from minrisk._kernels._jit import is_compiled
    from minrisk._kernels.histogram import bin_column

    arguments = [np.arange(4.0)], [np.array([0.5, 2.5])], np.empty(4, dtype=np.uint8)  # of types that nobody has
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda _: is_compiled(bin_column, *arguments), range(100)))
    finally:
        sys.setswitchinterval(interval)
    assert not any(answers)


def test_points_are_of_one_type():
    packed = np.zeros(5, dtype=[("pad", "i1"), ("x", "f8", 3)])
    X = np.arange(15.0).reshape(5, 3)
    packed["x"] = X
    rows = [X, X.astype(np.float32), X.astype(int), np.asfortranarray(X), X.astype(">f8"), packed["x"]]
    for made in map(points, rows):
        np.testing.assert_array_equal(made, X)
        flags = made.flags
        assert type(made) is np.ndarray and made.dtype == np.dtype("=f8") and flags.c_contiguous and flags.aligned
        assert not flags.writeable
    assert np.shares_memory(points(X), X)
    assert X.flags.writeable
