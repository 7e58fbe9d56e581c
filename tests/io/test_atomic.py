"""Files are written as a whole: links stay, devices and FIFOs are written through, a failed write changes nothing."""

import errno
import itertools
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import minrisk
from minrisk._utils import temporary
from minrisk.io import atomic
from minrisk.io.atomic import check_target, descriptor_of, is_through, write_beside

OLD, NEW = b"the old content, which is longer", b"new"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


def write(path, content=NEW):
    with write_beside(path) as beside:
        beside.write_bytes(content)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_new_files_have_the_mode_of_the_umask(tmp_path):
    umask = os.umask(0o027)
    try:
        write(tmp_path / "m")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640 and names(tmp_path) == ["m"]


def test_the_umask_is_never_set(tmp_path, monkeypatch):
    """It is the whole process's: another thread would make a file that everybody may write to."""
    monkeypatch.setattr(os, "umask", lambda mode: pytest.fail("the umask was set"))
    write(tmp_path / "m")
    write(tmp_path / "m")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o666])
def test_an_old_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    path.chmod(mode)
    write(path)
    assert path.read_bytes() == NEW and stat.S_IMODE(path.stat().st_mode) == mode and names(tmp_path) == ["m"]


@pytest.mark.parametrize("private", [True, False])
def test_what_is_private_is_private_while_it_is_written(tmp_path, private):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    path.chmod(0o600 if private else 0o644)
    with write_beside(path) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_bytes(NEW)


def test_the_access_list_that_a_folder_gives_to_new_files_is_not_an_old_files(tmp_path):
    def granted(user):  # rw for the owner and the user, r for the group, nothing for others
        entries = [(1, 6, 2**32 - 1), (2, 6, user), (4, 4, 2**32 - 1), (16, 6, 2**32 - 1), (32, 0, 2**32 - 1)]
        return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)

    path, listed = tmp_path / "m", tmp_path / "listed"
    for old in (path, listed):
        old.write_bytes(OLD)
        old.chmod(0o640)
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", granted(1234))
        os.setxattr(listed, "system.posix_acl_access", granted(2345))
    except (OSError, AttributeError):
        pytest.skip("no access lists here")
    for old in (path, listed, tmp_path / "new"):
        write(old)
    assert "system.posix_acl_access" not in os.listxattr(path)
    assert os.getxattr(listed, "system.posix_acl_access") == granted(2345)
    assert b"\xd2\x04" in os.getxattr(tmp_path / "new", "system.posix_acl_access")  # 1234, as of any new file


@pytest.mark.parametrize("name", ["m" * 255, "ä" * 127, "." + "m" * 247 + ".minrisk"[:7], "名" * 85])
def test_names_may_be_as_long_as_the_file_system_has_them(tmp_path, name):
    for content in (OLD, NEW):
        check_target(tmp_path / name)
        write(tmp_path / name, content)
        assert (tmp_path / name).read_bytes() == content and names(tmp_path) == [name]
    with pytest.raises(OSError, match="its name is too long for the file system; give a shorter one"):
        check_target(tmp_path / (name + "äm"))


@root_only
def test_an_old_file_keeps_its_owner_and_group(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    os.chown(path, 1234, 2345)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345) and path.read_bytes() == NEW


def test_where_the_owner_cannot_be_kept_the_file_is_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    number = path.stat().st_ino
    monkeypatch.setattr(atomic, "_dress_as", lambda beside, real: False)
    write(path)
    assert path.read_bytes() == NEW and path.stat().st_ino == number and names(tmp_path) == ["m"]


def test_a_file_that_is_a_mount_is_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(OLD)

    def busy(*names):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    write(path)
    assert path.read_bytes() == NEW and names(tmp_path) == ["m"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("relative", [True, False])
def test_links_stay_and_lead_to_the_new_content(tmp_path, there, relative):
    (tmp_path / "store").mkdir()
    target, link, second = tmp_path / "store" / "m-1", tmp_path / "m", tmp_path / "latest"
    if there:
        target.write_bytes(OLD)
    link.symlink_to("store/m-1" if relative else target)
    second.symlink_to("m")
    check_target(second)
    write(second)
    assert second.is_symlink() and link.is_symlink() and target.read_bytes() == NEW
    assert names(tmp_path) == ["latest", "m", "store"] and names(tmp_path / "store") == ["m-1"]


@pytest.mark.parametrize("there", [True, False])
def test_the_name_of_a_folder_is_none_of_a_file(there, tmp_path):
    """Though `Path` drops the mark that says so."""
    if there:
        (tmp_path / "models").mkdir()
    model = minrisk.REBELClassifier(n_estimators=1).fit([[0.0], [1.0]], [0, 1])
    for write in (check_target, lambda path: minrisk.save(model, path)):
        with pytest.raises(OSError, match="it is a folder; give the name of a file"):
            write(f"{tmp_path}/models/")
    assert names(tmp_path) == ["models"] * there


def test_links_to_nowhere_are_told(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="lead in a circle"):
        check_target(tmp_path / "a")
    (tmp_path / "c").symlink_to("gone/m")
    with pytest.raises(OSError, match="the folder .*gone does not exist"):
        check_target(tmp_path / "c")


def test_other_names_of_a_file_keep_the_old_one(tmp_path):
    path, other = tmp_path / "m", tmp_path / "other"
    path.write_bytes(OLD)
    other.hardlink_to(path)
    write(path)
    assert path.read_bytes() == NEW and other.read_bytes() == OLD and names(tmp_path) == ["m", "other"]


def test_a_kill_during_a_save_damages_neither_name_of_a_file(tmp_path):
    """A process that ends itself at each call that writes, renames or changes a file, one call later each time."""
    model = minrisk.REBELClassifier(n_estimators=2).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    path, other = tmp_path / "m", tmp_path / "other"
    minrisk.save(model, tmp_path / "new")
    new, done = (tmp_path / "new").read_bytes(), 0
    for killed_at in range(100):
        path.unlink(missing_ok=True)
        path.write_bytes(OLD)
        other.unlink(missing_ok=True)
        other.hardlink_to(path)
        child = os.fork()
        if child == 0:
            killed_in(path, new, killed_at)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert path.read_bytes() in (OLD, new) and other.read_bytes() == OLD
        done += code == 0
        if done:
            break
        assert code == -signal.SIGKILL
    assert done and killed_at > 5 and path.read_bytes() == new


def test_a_kill_while_a_file_is_overwritten_leaves_the_new_one_whole_elsewhere(tmp_path, monkeypatch):
    """A file that cannot be renamed may be damaged, but the folder for temporary files then has what was to be written."""
    path, new, done = tmp_path / "m", b"new" * 999, False
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("minrisk.io.atomic._may_rename", lambda real: False)
    (tmp_path / "elsewhere").mkdir()
    damaged = 0
    for killed_at in range(100):
        path.write_bytes(OLD * 9999)
        child = os.fork()
        if child == 0:
            killed_in(path, new, killed_at)
        done = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if done:
            break
        if path.read_bytes() not in (OLD * 9999, new):
            damaged += 1
            assert new in [file.read_bytes() for file in (tmp_path / "elsewhere").glob(".minrisk-*")]
    assert done and damaged and path.read_bytes() == new


def killed_in(path, content, at):
    """In a child: write, and end by SIGKILL before the system call of this number."""
    calls = itertools.count()

    def dying(function):
        def call(*arguments, **options):
            if next(calls) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in ("open", "write", "replace", "fsync", "ftruncate", "chown", "unlink"):
        setattr(os, name, dying(getattr(os, name)))
    with write_beside(path) as beside, open(beside, "r+b", buffering=0) as file:
        for low in range(0, len(content), 1 + len(content) // 8):
            if next(calls) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            file.write(content[low : low + 1 + len(content) // 8])
    os._exit(0)


def test_a_fifo_is_written_through_and_not_opened_ahead(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    check_target(path)  # would wait for ever if it opened it
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write(path)
    reader.join(20)
    assert got == [NEW] and stat.S_ISFIFO(path.stat().st_mode) and names(tmp_path) == ["pipe"]


@root_only
def test_a_device_node_stays_one(tmp_path):
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.write_bytes(b"x")
    except OSError:
        pytest.skip("device nodes cannot be made here")
    check_target(path)
    write(path)
    assert stat.S_ISCHR(path.stat().st_mode) and names(tmp_path) == ["null"]


def test_open_descriptors_are_written_through(tmp_path):
    (tmp_path / "log").write_bytes(b"before ")
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_APPEND)
    (tmp_path / "link").symlink_to(f"/dev/fd/{descriptor}")
    try:
        for path in (f"/dev/fd/{descriptor}", f"/proc/self/fd/{descriptor}", tmp_path / "link"):
            assert descriptor_of(path) == descriptor and is_through(path)
            check_target(path)
            write(path)
    finally:
        os.close(descriptor)
    assert (tmp_path / "log").read_bytes() == b"before newnewnew" and names(tmp_path) == ["link", "log"]
    assert [descriptor_of(path) for path in ("/dev/stdin", "/dev/stdout", "/dev/stderr", "x", "/dev/null")] == [
        0,
        1,
        2,
        None,
        None,
    ]
    assert descriptor_of(f"/proc/{os.getppid()}/fd/1") is None  # of another process
    with pytest.raises(OSError, match="Bad file descriptor"):
        check_target("/dev/fd/987")


@pytest.mark.parametrize("linked", [False, True])
def test_a_failed_write_changes_nothing(tmp_path, linked):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    if linked:
        (tmp_path / "other").hardlink_to(path)
    before = names(tmp_path)

    def broken():
        with write_beside(path) as beside:
            beside.write_bytes(NEW)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert path.read_bytes() == OLD and names(tmp_path) == before


def test_a_disk_full_midway_leaves_the_old_content_of_a_file_overwritten_in_place(tmp_path, monkeypatch):
    path, real, calls = tmp_path / "m", os.write, []
    path.write_bytes(OLD)
    monkeypatch.setattr(atomic, "_may_rename", lambda path: False)

    def full(descriptor, content):
        calls.append(len(content))
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(descriptor, content[:1] if len(calls) == 1 else content)

    monkeypatch.setattr(atomic.os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        write(path)
    assert path.read_bytes() == OLD and names(tmp_path) == ["m"]


def test_a_full_device_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with pytest.raises(OSError, match="No space left"):
        write("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_an_error_names_the_file_and_says_what_to_do(tmp_path, code):
    path = tmp_path / "m"

    def full(error):
        with write_beside(path):
            raise error

    with pytest.raises(OSError, match="; make room there or give another folder: .*/m'$") as caught:
        full(OSError(code, os.strerror(code)))
    assert caught.value.errno == code and caught.value.filename == str(path)
    with pytest.raises(OSError, match="a writer's own words: .*/m'$"):
        full(OSError("a writer's own words"))
    with pytest.raises(FileNotFoundError, match="another file"):
        full(FileNotFoundError(2, "gone", "another file"))
    with pytest.raises(FileNotFoundError, match="No such file or directory: '.*/gone/m'$"):
        write(tmp_path / "gone" / "m")


# -- what killed processes leave -----------------------------------------------------------------------------------
WRITER = """
import sys, time
from minrisk.io.atomic import write_beside
with write_beside(sys.argv[1]) as beside:
    beside.write_bytes(b"half")
    print(beside.name, flush=True)
    time.sleep(60)
"""
needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="Windows tells by the age only")


def start_writer(path):
    """A process that writes, and the name of its temporary file."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@needs_locks
def test_what_a_killed_process_leaves_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    killed, left = start_writer(path)
    alive, kept = start_writer(path)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert path.read_bytes() == OLD and {left, kept} <= {*names(tmp_path)}
        others = [f".minrisk-{digits}" for digits in ("0" * 15, "0" * 17, "g" * 16)] + [
            ".minrisk",
            f"minrisk-{16 * '0'}",
        ]
        for name in others:
            (tmp_path / name).write_bytes(b"of somebody else")
        folder, link, pipe = (tmp_path / f".minrisk-{digit * 16}" for digit in "123")
        folder.mkdir()
        link.symlink_to(path)
        os.mkfifo(pipe)
        write(path)
        assert names(tmp_path) == sorted([*others, folder.name, link.name, pipe.name, kept, "m"])
    finally:
        alive.kill()
        alive.communicate()


@needs_locks
@root_only
def test_what_other_users_left_stays(tmp_path):
    left = tmp_path / f".minrisk-{16 * '0'}"
    left.write_bytes(b"half")
    os.chown(left, 1234, 1234)
    write(tmp_path / "m")
    assert left.exists()


@needs_locks
def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    def unknown(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(temporary, "try_lock", unknown)
    left = tmp_path / f".minrisk-{16 * '0'}"
    left.write_bytes(b"half")
    write(tmp_path / "m")
    assert names(tmp_path) == [left.name, "m"]


def test_where_files_cannot_be_locked_their_age_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary, "_LOCKS", False)
    old, young = (tmp_path / f".minrisk-{digit * 16}" for digit in "01")
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    write(tmp_path / "m")
    assert names(tmp_path) == [young.name, "m"]


@needs_locks
def test_a_file_that_is_removed_before_it_has_its_lock_is_made_again(tmp_path, monkeypatch):
    real, seen = temporary.try_lock, []

    def slow(descriptor):
        seen.append(descriptor)
        if len(seen) == 1:  # another process looks for abandoned files at this moment
            temporary._remove_abandoned(tmp_path)
        return real(descriptor)

    monkeypatch.setattr(temporary, "try_lock", slow)
    write(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == NEW and names(tmp_path) == ["m"] and len(seen) > 2


def test_many_threads_may_write_in_one_folder(tmp_path):
    contents = [bytes([65 + i]) * 5000 for i in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda i: write(tmp_path / f"m{i % 2}", contents[i % 8]), range(200)))
    finally:
        sys.setswitchinterval(interval)
    assert names(tmp_path) == ["m0", "m1"] and all((tmp_path / name).read_bytes() in contents for name in ("m0", "m1"))
