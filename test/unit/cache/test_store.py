"""The files of the compilation cache: whole or not there, whatever happens to them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hlo.driver.cache.store import Store, digest_of

LIMIT = 1_000_000


def test_what_was_written_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path, LIMIT)
    assert store.read("programs", "a") is None
    assert store.write("programs", "a", [b"one ", b"", memoryview(b"two")])
    assert bytes(store.read("programs", "a") or b"") == b"one two"
    assert store.read("constants", "a") is None
    assert store.write("programs", "a", [b"three"])
    assert bytes(store.read("programs", "a") or b"") == b"three"
    assert (store.usage().files, store.usage().bytes) == (1, 8 + 32 + 5)  # magic, digest, contents


def test_the_folder_is_its_owners(tmp_path: Path) -> None:
    Store(tmp_path / "cache", LIMIT).write("programs", "a", [b"x"])
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "cache" / "programs").stat().st_mode & 0o777 == 0o700


def test_any_flipped_bit_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path, LIMIT)
    path = tmp_path / "programs" / "a"
    store.write("programs", "a", [bytes(range(256))])
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), 5):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with caplog.at_level(logging.WARNING, "hlo.cache"):
            caplog.clear()
            assert store.read("programs", "a") is None
        assert "checksum" in caplog.text
        assert not path.exists()


@pytest.mark.parametrize("length", [0, 1, 7, 8, 39, 40, 41, 100])
def test_a_short_file_is_noticed(tmp_path: Path, length: int) -> None:
    store = Store(tmp_path, LIMIT)
    store.write("programs", "a", [bytes(100)])
    path = tmp_path / "programs" / "a"
    path.write_bytes(path.read_bytes()[:length])
    assert store.read("programs", "a") is None


def test_a_longer_file_is_noticed(tmp_path: Path) -> None:
    store = Store(tmp_path, LIMIT)
    store.write("programs", "a", [bytes(100)])
    with (tmp_path / "programs" / "a").open("ab") as file:
        file.write(b"x")
    assert store.read("programs", "a") is None


def test_a_file_under_anothers_name_is_noticed(tmp_path: Path) -> None:
    store = Store(tmp_path, LIMIT)
    for name in ("a", "b"):
        store.write("programs", name, [name.encode()])
    (tmp_path / "programs" / "a").replace(tmp_path / "programs" / "b")
    assert store.read("programs", "b") is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_neither_waited_for_nor_read_for_ever(
    tmp_path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path, LIMIT)
    (tmp_path / "programs").mkdir()
    make(tmp_path / "programs" / "a")
    assert store.read("programs", "a") is None
    assert "cannot read the compilation cache" in caplog.text
    assert str(tmp_path / "programs" / "a") in caplog.text.partition("[Errno")[2]


def test_a_file_beyond_the_limit_is_not_read_whole(tmp_path: Path) -> None:
    """Here a terabyte that is not on the disk."""
    store = Store(tmp_path, LIMIT)
    store.write("programs", "a", [b"x"])
    os.truncate(tmp_path / "programs" / "a", 2**40)
    assert store.read("programs", "a") is None


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path, LIMIT)
    for i in range(10):
        store.write("programs", f"p{i}", [bytes(60)])  # 100 bytes with the header
        os.utime(tmp_path / "programs" / f"p{i}", (i, i))
    assert store.read("programs", "p0")  # used now
    small = Store(tmp_path, 500)
    # 500 bytes are allowed, and 0.8 of that is kept: 4 files.
    assert small.evict() == 6
    assert sorted(p.name for p in (tmp_path / "programs").iterdir()) == ["p0", "p7", "p8", "p9"]
    assert small.evict() == 0


def test_writing_keeps_within_the_limit(tmp_path: Path) -> None:
    store = Store(tmp_path, 16_000)
    for i in range(200):
        store.write("programs", f"p{i}", [bytes(960)])  # 1000 bytes with the header
        # It is looked at after every sixteenth of the limit: two files here.
        assert store.usage().bytes <= 16_000 + 2000


def test_what_exceeds_the_limit_is_not_written(tmp_path: Path) -> None:
    store = Store(tmp_path, 100)
    assert not store.write("programs", "a", [bytes(61)])
    assert store.write("programs", "a", [bytes(60)])


def test_half_written_files_are_removed_when_abandoned(tmp_path: Path) -> None:
    store = Store(tmp_path, LIMIT)
    store.write("programs", "a", [b"x"])
    fresh, old = tmp_path / "programs" / ".b.1.1", tmp_path / "programs" / ".c.1.1"
    fresh.write_bytes(b"x")
    old.write_bytes(b"x")
    os.utime(old, (0, 0))
    store.evict()
    assert fresh.exists() and not old.exists()


def test_clear_removes_only_its_own_files(tmp_path: Path) -> None:
    store = Store(tmp_path, LIMIT)
    store.write("programs", "a", [b"x"])
    store.write("constants", "b", [b"x"])
    (tmp_path / "notes.txt").write_text("mine")
    assert store.clear() == 2
    assert (tmp_path / "notes.txt").exists()


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A file where the folder should be: for the superuser too.
    (tmp_path / "cache").write_text("")
    store = Store(tmp_path / "cache", LIMIT)
    with caplog.at_level(logging.WARNING, "hlo.cache"):
        assert not store.write("programs", "a", [b"x"])
        assert not store.write("programs", "a", [b"x"])
        assert store.read("programs", "a") is None
    assert [record.message[:12] for record in caplog.records] == ["cannot write"]
    assert store.usage().files == 0
    assert store.clear() == store.evict() == 0


def test_a_read_only_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path, LIMIT)
    store.write("programs", "a", [b"x"])

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # The superuser may write to any folder, so refusal is simulated.
    for name in ("open", "mkdir", "replace"):
        monkeypatch.setattr(Path, name, refused)
    monkeypatch.setattr(os, "utime", refused)
    monkeypatch.setattr(Path, "read_bytes", lambda path: os.pread(os.open(path, 0), 1000, 0))
    assert bytes(store.read("programs", "a") or b"") == b"x"
    assert store.touch("programs", "a")
    assert not store.write("programs", "b", [b"x"])


def test_readers_see_whole_files_while_writers_replace_them(tmp_path: Path) -> None:
    contents = [bytes([k]) * (1000 + 100 * k) for k in range(4)]
    stop = threading.Event()
    seen: set[bytes] = set()

    def write(data: bytes) -> None:
        store = Store(tmp_path, 10 * LIMIT)
        while not stop.is_set():
            store.write("programs", "a", [data])

    writers = [threading.Thread(target=write, args=(data,)) for data in contents]
    for writer in writers:
        writer.start()
    reader = Store(tmp_path, 10 * LIMIT)
    try:
        for _ in range(300):
            found = reader.read("programs", "a")
            if found is not None:
                seen.add(bytes(found))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert seen <= set(contents)
    assert bytes(reader.read("programs", "a") or b"") in contents
    assert not [p for p in (tmp_path / "programs").iterdir() if p.name.startswith(".")]


_WRITER = """
import os, subprocess, sys
from pathlib import Path
os.getpid = lambda: 1
from hlo.driver.cache.store import Store
replace = Path.replace
def meanwhile(self, target):
    if "first" in sys.argv:
        subprocess.run([sys.executable, *sys.argv[:2]], check=True)
    return replace(self, target)
Path.replace = meanwhile
assert Store(Path(sys.argv[1]), 1000).write("programs", "a", [b"contents"])
"""


def test_processes_of_one_number_write_files_of_their_own(tmp_path: Path) -> None:
    """As in containers that share a folder: a write never meets another's half-written file."""
    (tmp_path / "writer.py").write_text(_WRITER)
    words = [sys.executable, tmp_path / "writer.py", tmp_path / "cache", "first"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_digest_is_of_the_parts_joined() -> None:
    assert digest_of(b"ab", memoryview(b"c")) == digest_of(b"abc")
