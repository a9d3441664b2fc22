"""SQLite alone, for `cargo xtask bench tasks`.

`sqlite_floor.py commit FILE SECONDS` adds one row a transaction to a database of its own, as durably as Countersign
does (WAL, synchronous=FULL), and prints how fast. Of each commit some 15 µs are Python and SQLite, the rest is the disk.
`sqlite_floor.py fill FILE COUNT` puts tasks into a database of Countersign's, the last tenth of them completed.
"""

import json
import sqlite3
import sys
import time

# Any moment; in milliseconds since 1970, as all times in the database.
CREATED_AT = 1_790_000_000_000


def commit(db, seconds):
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE IF NOT EXISTS task (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
    times = []
    start = now = time.perf_counter()
    while now - start < seconds:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO task (title) VALUES (?)", (f"task {len(times)}",))
        db.execute("COMMIT")
        before, now = now, time.perf_counter()
        times.append((now - before) * 1000)
    times.sort()
    at = lambda part: times[len(times) * part // 100]
    print(json.dumps({"per_second": len(times) / (now - start), "p50_ms": at(50), "p99_ms": at(99)}))


def fill(db, count):
    open_until = count - count // 10

    def tasks():
        for number in range(1, count + 1):
            done = number > open_until
            yield f"task {number}", "completed" if done else "pending", CREATED_AT, CREATED_AT if done else None

    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO task (title, status, created_at, completed_at) VALUES (?, ?, ?, ?)", tasks())
    db.execute("COMMIT")
    # Or the first reader would find all of it in the log.
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


if __name__ == "__main__":
    what, file, amount = sys.argv[1:]
    # Transactions begin and end where they are written, not where Python sees fit.
    database = sqlite3.connect(file, isolation_level=None)
    {"commit": commit, "fill": fill}[what](database, int(amount))
    database.close()
