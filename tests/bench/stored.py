"""The bench of a master that has stored many builds: its start, and the pages' calls."""

import http.client
import sqlite3
import time

from benches import NOOP
from farm import Farm, Sim, config
from report import percentile

BUILDERS = 40
BRANCHES = 10
FINISHED, SUCCESS, FAILURE, STEP_FINISHED = 5, 1, 3, 2
ROWS_AT_A_TIME = 20000


def builder(i):
    return f"b{i % BUILDERS:02}"


def branch(i):
    return f"branch-{i // BUILDERS % BRANCHES}"


def build_row(i, begin_ms):
    at = begin_ms + i * 1000
    return {
        "id": i, "set_id": i, "builder": builder(i), "project": "bench", "branch": branch(i), "revision": f"{i:040x}",
        "state": FINISHED, "result": FAILURE if i % 7 == 0 else SUCCESS, "attempt": 1, "slave": f"sim-{i % 8 + 1}",
        "pool": "p", "priority": 1, "reason": "change", "author": "author", "note": None, "queued_ms": at,
        "started_ms": at + 10, "finished_ms": at + 60000, "stands_for_id": None, "rebuild_of_id": None,
    }


def rows(i, begin_ms):
    """What one finished build of two steps leaves in each table."""
    build = build_row(i, begin_ms)
    started, finished, result = build["started_ms"], build["finished_ms"], build["result"]
    yield "sets", {
        "id": i, "reason": "change", "project": "bench", "branch": build["branch"], "revision": build["revision"],
        "created_ms": build["queued_ms"],
    }
    yield "builds", build
    yield "attempts", {
        "build": i, "attempt": 1, "slave": build["slave"], "started_ms": started, "finished_ms": finished,
        "result": result, "lost": 0, "ended": 1, "reason": None, "last": 6, "n_steps": 2,
    }
    for number in (1, 2):
        yield "steps", {
            "build": i, "attempt": 1, "number": number, "name": ("build", "test")[number - 1], "kind": number + 1,
            "state": STEP_FINISHED, "result": result if number == 2 else SUCCESS, "exit_code": 0, "reason": None,
            "started_ms": started, "finished_ms": finished, "user_s": 1.0, "system_s": 0.5, "max_rss_bytes": 1 << 20,
            "log_bytes": 0, "log_lines": 0, "log_stored": 0, "err_bytes": 0, "err_lines": 0, "err_stored": 0,
        }
    yield "changes", {
        "id": i, "set_id": i, "project": "bench", "branch": build["branch"], "revision": build["revision"],
        "author": "author", "comment": "a change", "at_ms": build["queued_ms"], "files": b"src/file.c\0",
    }


def insert(db, table, found):
    columns = list(found[0])
    db.executemany(
        f"INSERT INTO {table}({', '.join(columns)}) VALUES({', '.join('?' * len(columns))})",
        [tuple(row[column] for column in columns) for row in found],
    )


def fill(path, n):
    """Writes n finished builds into the database of a master that is not running."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    begin_ms = int(time.time() * 1000) - n * 1000 - 120000
    waiting = {}
    for i in range(1, n + 1):
        for table, row in rows(i, begin_ms):
            waiting.setdefault(table, []).append(row)
        if i % ROWS_AT_A_TIME == 0 or i == n:
            for table, found in waiting.items():
                insert(db, table, found)
            waiting = {}
    newest = {(builder(i), branch(i)): i for i in range(max(1, n - 2 * BUILDERS * BRANCHES), n + 1)}
    insert(db, "newest", [{"builder": b, "branch": br, "build": i} for (b, br), i in newest.items()])
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def calls(n):
    """The calls that pages make, by what a person looks at."""
    middle = n // 2
    return {
        "status": "/status",
        "builders": "/builders",
        "one builder": "/builders/b00",
        "newest builds": "/builds?limit=50",
        "builds from the middle": f"/builds?limit=50&before={middle}",
        "a builder's builds": "/builds?limit=50&builder=b01",
        "a builder's builds on a branch": "/builds?limit=50&builder=b02&branch=branch-3",
        "a branch's builds": "/builds?limit=50&branch=branch-1",
        "failures": "/builds?limit=50&result=failure",
        "what runs": "/builds?limit=50&state=running",
        "a build": f"/builds/{middle}",
        "a step": f"/builds/{middle}/steps/1",
        "a set": f"/sets/{middle}",
        "changes": "/changes?limit=50",
        "queue": "/queue?limit=50",
        "slaves": "/slaves",
    }


def time_calls(farm, paths, repeats):
    """Milliseconds of each call, over one kept-alive connection, the calls taking turns."""
    connection = http.client.HTTPConnection("127.0.0.1", farm.ports["web"], timeout=60)
    found = {name: [] for name in paths}
    for turn in range(repeats + 2):
        for name, path in paths.items():
            begin = time.monotonic()
            connection.request("GET", "/api/v1" + path)
            reply = connection.getresponse()
            body = reply.read()
            if reply.status != 200:
                raise SystemExit(f"GET {path}: {reply.status} {body[:200]!r}")
            if turn >= 2:
                found[name].append((time.monotonic() - begin) * 1e3)
    connection.close()
    return found


def stored(bench):
    n = bench.size("stored_builds")
    builders = {builder(i): ("p", [NOOP]) for i in range(BUILDERS)}
    text = config(["p"], builders, {"sim-[1-8]": ("p", 1)})
    with Farm(bench.build, bench.folder) as farm:
        farm.start(text)
        farm.master.stop()
        fill(farm.folder / "data" / "tailrace.db", n)
        for _ in range(3):
            bench.add(f"master start with {n} builds stored", farm.start(text), "s", "under 1 s", most=1)
            farm.master.stop()
        farm.start(text)
        paths = calls(n)
        quiet = time_calls(farm, paths, bench.size("api_repeats"))
        sim = Sim(farm, "sim-[1-8]", "--log", bench.size("stream_bytes"))
        sim.event("connected")
        farm.load("b00", 64)
        time.sleep(0.3)
        loud = time_calls(farm, paths, bench.size("api_repeats"))
        streaming = farm.get("/status")["builds_running"]
        if not streaming:
            raise SystemExit("the logs ended before the calls did: stream more")
        report(bench, n, quiet, loud)


def report(bench, n, quiet, loud):
    everything = [ms for found in loud.values() for ms in found]
    bench.add(f"API with {n} builds stored, p99, nothing else", percentile([ms for f in quiet.values() for ms in f], 0.99), "ms")
    bench.add(f"API with {n} builds stored, p50, logs streaming", percentile(everything, 0.5), "ms")
    worst = max(loud, key=lambda name: percentile(loud[name], 0.99))
    bench.add(
        f"API with {n} builds stored, p99 of the slowest call, logs streaming", percentile(loud[worst], 0.99), "ms", "under 10 ms",
        most=10,
    )
    for name, found in loud.items():
        bench.add(f"  {name}, p99", percentile(found, 0.99), "ms")
