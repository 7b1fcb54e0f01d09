"""The embedded server's configuration files, written anew at each start. Plain functions; the machine is looked at by `measure`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Machine:
    """What the configuration depends on. shm_bytes: free space of /dev/shm, 64 MB in a container by default."""

    memory_bytes: int
    cores: int
    shm_bytes: int


def measure() -> Machine:
    """Look at memory, also the container's limit of it, at processors and at shared memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            memory = min(memory, int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    try:
        shm = shutil.disk_usage("/dev/shm").free  # noqa: S108 -- where Linux keeps POSIX shared memory; measured, not written
    except OSError:
        shm = 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(memory, cores, shm)


def settings(machine: Machine, socket_dir: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Give the server's settings. fsync and checksums stay on: the memo is paid for once, and must outlive a power cut."""
    megabytes = machine.memory_bytes // _MB
    work_mb = max(64, min(512, megabytes // 16))
    workers = max(0, min(2, machine.cores - 1))
    # A parallel index build takes maintenance_work_mem from dynamic shared memory at once; POSIX shared memory is
    # /dev/shm, which containers keep small, so that it fails there; mmap uses files instead.
    shared = "posix" if machine.shm_bytes >= 2 * work_mb * _MB else "mmap"
    return {
        "listen_addresses": "",
        "unix_socket_directories": f'"{socket_dir}"',
        "unix_socket_permissions": "0700",
        "port": "5432",
        "max_connections": "60",
        "shared_buffers": f"{max(64, min(512, megabytes // 16))}MB",
        "work_mem": "16MB",
        "maintenance_work_mem": f"{work_mb}MB",
        "effective_cache_size": f"{max(256, megabytes // 2)}MB",
        "dynamic_shared_memory_type": shared,
        "max_parallel_workers": str(max(2, workers)),
        "max_parallel_workers_per_gather": str(workers),
        "max_parallel_maintenance_workers": str(workers),
        "wal_level": "minimal",  # no replica reads it, and tables loaded in the transaction which makes them skip it
        "max_wal_senders": "0",
        "max_wal_size": "1GB",
        "min_wal_size": "80MB",
        "checkpoint_timeout": "10min",
        "random_page_cost": "1.1",
        "jit": "off",
        "log_timezone": "UTC",
        "timezone": "UTC",
        "lc_messages": "C",
        "datestyle": "iso, ymd",
        "default_text_search_config": "pg_catalog.simple",
        **options,
    }


def files(values: Mapping[str, str], users: set[str]) -> dict[str, str]:
    """Give the configuration files by name. users: the accounts of the system which may connect, as any role.

    `local.conf`, which an owner may write beside them, has the last word.
    """
    lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in values.items()]
    names = sorted(user for user in users if '"' not in user and "\n" not in user)
    return {
        "postgresql.conf": "\n".join(
            ["# Written at each start; put changes into local.conf.", *lines, "include_if_exists 'local.conf'", ""]
        ),
        "pg_hba.conf": "local all all peer map=owner\n",
        "pg_ident.conf": "".join(f'owner "{name}" all\n' for name in names),
    }
