"""The embedded server as its users see it: acquire an address, release it; the last one out stops the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tree_builder.errors import ConfigError
from tree_builder.store.embedded.cluster import DATABASE, SUPERUSER
from tree_builder.store.embedded.guard import start_guard
from tree_builder.store.embedded.lifecycle import TURN_TIMEOUT_S, ensure_running, stop_unused
from tree_builder.store.embedded.locks import FileLock, held


def default_data_dir() -> Path:
    """Give the folder used when the settings name none: the user's data folder.

    Raises:
        ConfigError: the user has no home folder.
    """
    import platformdirs

    folder = Path(platformdirs.user_data_dir("tree-builder", appauthor=False))
    if not folder.is_absolute():  # neither HOME nor the list of users tells, and `~` stays as it is
        raise ConfigError("this user has no home folder: set data_dir to a folder of your own, or use --database")
    return folder


class Server:
    """A use of the server in one data folder. Many may exist, in one process or in many; each is acquired and released once."""

    def __init__(self, data_dir: Path | None = None, *, options: Mapping[str, str] | None = None) -> None:
        """Name the folder; nothing is touched yet. options: server settings of the one who starts it, for tests."""
        self.data_dir = Path(os.path.abspath(data_dir or default_data_dir()))  # noqa: PTH100 -- resolve() needs rights on the way
        self._options = dict(options or {})
        self._use: FileLock | None = None

    def acquire(self) -> str:
        """Start the server, or join the one which runs, and give its address.

        Raises:
            ConfigError: it cannot run here; the message says what to do.
            StoreUnavailable: it did not start.
        """
        if sys.platform == "win32":
            raise ConfigError("the embedded server does not run on Windows; use --database postgresql://USER@HOST/NAME")
        if self._use is not None:
            raise ConfigError("this server was acquired already")
        self._make_folder()
        with held(self.data_dir / "start.lock", TURN_TIMEOUT_S):
            use = FileLock(self.data_dir / "users.lock")
            try:
                use.wait(TURN_TIMEOUT_S, shared=True)
                postmaster, started = ensure_running(self.data_dir, self._options)
                if started:
                    start_guard(self.data_dir)
            except BaseException:
                use.close()
                raise
        self._use = use
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(postmaster.socket_dir), safe='')}"

    def release(self) -> None:
        """Give the server up; stop it when no other process or object uses it."""
        use, self._use = self._use, None
        if use is None:
            return
        with held(self.data_dir / "start.lock", TURN_TIMEOUT_S):
            use.close()
            stop_unused(self.data_dir)

    def _make_folder(self) -> None:
        try:
            with suppress(FileExistsError):
                self.data_dir.parent.mkdir(parents=True, exist_ok=True)
                # For root, the account which runs the server passes through; its own folder inside is closed to others.
                self.data_dir.mkdir(mode=0o700)
                self.data_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
            FileLock(self.data_dir / "start.lock").close()
        except OSError as error:
            raise ConfigError(
                f"the data folder {self.data_dir} cannot be used: {error}; set data_dir to a folder of your own"
            ) from error


@contextmanager
def serve(data_dir: Path | None = None, *, options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run the server for the block and give its address; errors as `Server.acquire`."""
    server = Server(data_dir, options=options)
    url = server.acquire()
    try:
        yield url
    finally:
        server.release()
