"""Files are written as a whole: links stay, devices and FIFOs are written through, a failed write changes nothing."""

import os
import stat
import threading

import pytest

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


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o666])
def test_an_old_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "m"
    path.write_bytes(OLD)
    path.chmod(mode)
    write(path)
    assert path.read_bytes() == NEW and stat.S_IMODE(path.stat().st_mode) == mode and names(tmp_path) == ["m"]


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


def test_links_to_nowhere_are_told(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="lead in a circle"):
        check_target(tmp_path / "a")
    (tmp_path / "c").symlink_to("gone/m")
    with pytest.raises(OSError, match="the folder .*gone does not exist"):
        check_target(tmp_path / "c")


def test_other_names_of_a_file_have_the_new_content(tmp_path):
    path, other = tmp_path / "m", tmp_path / "other"
    path.write_bytes(OLD)
    other.hardlink_to(path)
    write(path)
    assert other.read_bytes() == NEW and other.samefile(path) and names(tmp_path) == ["m", "other"]


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
        0, 1, 2, None, None]
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
    (tmp_path / "other").hardlink_to(path)

    def full(descriptor, content):
        calls.append(len(content))
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(descriptor, content[:1] if len(calls) == 1 else content)

    monkeypatch.setattr(atomic.os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        write(path)
    assert path.read_bytes() == OLD and names(tmp_path) == ["m", "other"]


def test_a_full_device_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with pytest.raises(OSError, match="No space left"):
        write("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
