"""The embedded server's configuration: what depends on the machine, and what an owner of the server may rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tree_builder.errors import ConfigError
from tree_builder.store.embedded.server import default_data_dir
from tree_builder.store.embedded.tuning import Machine, files, measure, settings

GB = 1024**3
SOCKET = Path("/tmp/tree-builder-x")


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (Machine(1 * GB, 1, 64 * 2**20), ("64MB", "64MB", "mmap", "0")),
        (Machine(4 * GB, 2, 64 * 2**20), ("256MB", "256MB", "mmap", "1")),
        (Machine(64 * GB, 16, 32 * GB), ("512MB", "512MB", "posix", "2")),
    ],
)
def test_memory_follows_the_machine(machine: Machine, expected: tuple[str, ...]) -> None:
    """A small container gets little; where /dev/shm is too small for a parallel index build, files stand in for it."""
    values = settings(machine, SOCKET, {})
    names = ("shared_buffers", "maintenance_work_mem", "dynamic_shared_memory_type", "max_parallel_maintenance_workers")
    assert tuple(values[name] for name in names) == expected


def test_nothing_is_traded_for_speed_or_opened() -> None:
    """No setting touches fsync, and no address is listened on; options of the one who starts it win."""
    values = settings(measure(), SOCKET, {})
    assert not {"fsync", "full_page_writes", "synchronous_commit"} & set(values)
    assert values["listen_addresses"] == ""
    assert settings(measure(), SOCKET, {"port": "7"})["port"] == "7"


def test_files_quote_what_they_hold() -> None:
    """Quotes in values are doubled; names of accounts which could break out of their quotes are left out."""
    made = files({"a": "it's"}, {"me", 'e"vil', "ne\nw"})
    assert "a = 'it''s'\n" in made["postgresql.conf"]
    assert made["postgresql.conf"].rstrip().endswith("include_if_exists 'local.conf'")
    assert made["pg_ident.conf"] == 'owner "me" all\n'
    assert made["pg_hba.conf"] == "local all all peer map=owner\n"


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder named `~` is made in the working folder."""
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: "~/.local/share/tree-builder")
    with pytest.raises(ConfigError, match="set data_dir"):
        default_data_dir()
