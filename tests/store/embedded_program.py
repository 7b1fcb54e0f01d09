"""A program which uses the embedded server, for tests which kill it. Told what to do on stdin, one word a line.

    python embedded_program.py DATA_DIR

It prints the server's address once it has it, then obeys: `sql STATEMENT`, `release`, `die`.
"""

import os
import signal
import sys
from pathlib import Path

import psycopg

from tree_builder.errors import TreeBuilderError
from tree_builder.store.embedded.server import Server


def main() -> None:
    server = Server(Path(sys.argv[1]), options={"fsync": "off"})
    try:
        url = server.acquire()
    except TreeBuilderError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return
    print(url, flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "sql":
            with psycopg.connect(url, autocommit=True) as connection:
                cursor = connection.execute(rest.encode())
                print(cursor.fetchone()[0] if cursor.description else "done", flush=True)
        elif word == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "release":
            server.release()
            print("released", flush=True)


if __name__ == "__main__":
    main()
