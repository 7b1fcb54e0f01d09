"""The functions are made anew beneath readers when the program is newer than the database."""

import asyncio
import threading
import time

import psycopg
from sql_rows import column

from tree_builder.store.migrate import migrate


def test_readers_are_let_pass(reports, database_url):
    """A reader who takes one view after another is not ended for a deadlock with what replaces them, which waits and goes on."""
    reports.execute("update tree_builder.migrations set checksum = 'older' where number = 0")
    done = []
    upgrade = threading.Thread(target=lambda: done.extend(asyncio.run(migrate(database_url))))
    waiting = "select count(*) from pg_locks where not granted and relation = 'tree_builder.placed_node'::regclass"
    with psycopg.connect(database_url) as reader:
        n_nodes = column(reader, "select count(*) from tree_builder.placed_node")
        upgrade.start()
        while upgrade.is_alive() and column(reports, waiting) == [0]:
            time.sleep(0.01)
        # Who has waited for a second has looked for deadlocks, and leaves the next look to the other.
        time.sleep(1.2)
        assert column(reader, "select count(*) from tree_builder.published_node") == n_nodes
    upgrade.join()
    assert done == ["functions"]
