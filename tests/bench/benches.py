"""The benches. Each takes a Bench (the build, a folder of its own, the sizes, the report) and adds figures to it."""

import datetime
import hashlib
import json
import os
import pathlib
import resource
import subprocess
import time

import procfs
from farm import Farm, Sim, config, wait_for
from report import percentile

NOOP = "build: [/bin/true]"


def trace_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def latency(bench):
    """From POST /force to the START that a simulated slave reads, and answers with the first step's start at once."""
    text = config(["p"], {"noop": ("p", [NOOP])}, {"sim-1": ("p", 1)})
    n = bench.size("latency_builds")
    with Farm(bench.build, bench.folder) as farm:
        farm.start(text)
        sim = Sim(farm, "sim-1", "--trace", farm.folder / "sim.trace")
        sim.event("connected")
        farm.load("noop", 10, "--every", 5)
        farm.load("noop", n, "--every", 20, "--trace", farm.folder / "load.trace")
        time.sleep(0.1)
        sim.stop()
        started = {line["build"]: line["start_ms"] for line in trace_lines(farm.folder / "sim.trace")}
        asked = trace_lines(farm.folder / "load.trace")
    waits = [started[line["build"]] - line["sent_ms"] for line in asked]
    answers = [line["answered_ms"] - line["sent_ms"] for line in asked]
    bench.add("submit to step start, p50", percentile(waits, 0.5), "ms", "under 2 ms", most=2)
    bench.add("submit to step start, p99", percentile(waits, 0.99), "ms")
    bench.add("submit to answer, p50", percentile(answers, 0.5), "ms")
    bench.add("submit to answer, p99", percentile(answers, 0.99), "ms")


def noop_sim(bench):
    """Builds that do nothing: forced and run at once, then a queue of them drained."""
    slaves, slots = 20, 10
    text = config(["p"], {"noop": ("p", [NOOP])}, {f"sim-[01-{slaves}]": ("p", slots)})
    n = bench.size("noop_builds")
    with Farm(bench.build, bench.folder) as farm:
        farm.start(text)
        sim = Sim(farm, f"sim-[01-{slaves}]", "--slots", slots, "--builds", n)
        sim.event("connected")
        before, threads = farm.master.cpu_s(), procfs.threads_cpu_s(farm.master.pid)
        load = farm.load("noop", n, "--connections", 128, "--depth", 2)
        wall_s = (sim.event("end")["t_ms"] - load["begin_ms"]) / 1e3
        after = procfs.threads_cpu_s(farm.master.pid)
        bench.add("no-op builds forced and run, simulated slaves", n / wall_s, "/s", "over 5,000/s durable", least=5000)
        bench.add("of them asked for (POST /force answered)", load["per_s"], "/s")
        bench.add("master CPU for such a build", (farm.master.cpu_s() - before) / n * 1e6, "us")
        for name in sorted(after):
            used = after[name] - threads.get(name, 0)
            if used / wall_s > 0.02:
                bench.add(f"  thread {name} busy", used / wall_s * 100, "%")
        sim.stop()
    with Farm(bench.build, bench.folder / "queue") as farm:
        farm.start(text)
        farm.post("/pools/p/pause")
        farm.load("noop", n, "--connections", 128, "--depth", 2)
        sim = Sim(farm, f"sim-[01-{slaves}]", "--slots", slots, "--builds", n)
        sim.event("connected")
        before, begin = farm.master.cpu_s(), time.monotonic()
        farm.post("/pools/p/resume")
        wall_s = sim.event("end")["t_ms"] / 1e3 - begin
        bench.add("no-op builds from a full queue, simulated slaves", n / wall_s, "/s", "over 5,000/s durable", least=5000)
        bench.add("master CPU for such a build, asking not counted", (farm.master.cpu_s() - before) / n * 1e6, "us")


def noop_real(bench):
    """Builds of /bin/true on one real slave, beside what this machine's fork and exec can do."""
    slots = bench.size("real_slots")
    n = bench.size("real_builds")
    rates = []
    for jobs in (1, 2, 4, 8):
        line = subprocess.run(
            [str(pathlib.Path(bench.build) / "bench" / "forkrate"), str(n), str(jobs)], stdout=subprocess.PIPE, check=True
        ).stdout
        rates.append(json.loads(line)["per_s"])
    with Farm(bench.build, bench.folder) as farm:
        farm.start(config(["p"], {"noop": ("p", [NOOP])}, {"real": ("p", slots)}))
        slave = farm.slave("real", slots)
        farm.load("noop", slots * 4, "--connections", 4, "--depth", 4)
        farm.wait_quiet()
        before = farm.master.cpu_s(), slave.cpu_s()
        begin = time.monotonic()
        farm.load("noop", n, "--connections", 8, "--depth", 8)
        farm.wait_quiet()
        wall_s = time.monotonic() - begin
        if farm.get("/builds?limit=1&result=failure")["builds"] or farm.get("/builds?limit=1&result=exception")["builds"]:
            raise SystemExit("not every build was a success")
        bench.add("fork and exec of /bin/true, 1 at a time", rates[0], "/s")
        bench.add("fork and exec of /bin/true, best of 1 to 8 at a time", max(rates), "/s")
        bench.add("no-op builds, one real slave", n / wall_s, "/s")
        bench.add("of the fork and exec rate, 1 at a time", n / wall_s / rates[0] * 100, "%")
        bench.add("of the best fork and exec rate", n / wall_s / max(rates) * 100, "%", "over 80 %", least=80)
        bench.add("master CPU for such a build, real slave", (farm.master.cpu_s() - before[0]) / n * 1e6, "us")
        bench.add("slave CPU for such a build", (slave.cpu_s() - before[1]) / n * 1e6, "us")


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def sha256(read):
    digest = hashlib.sha256()
    while piece := read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def gzip_cpu_s(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(path, "rb") as log:
        subprocess.run(["gzip", "-1"], stdin=log, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def log_real(bench):
    """One real slave's step writes build-log text; costs are given for 1 GB."""
    size = bench.size("log_bytes")
    path = bench.shared / f"log-{size}"
    if not path.exists():
        with open(path, "wb") as out:
            subprocess.run([str(pathlib.Path(bench.build) / "bench" / "genlog"), str(size)], stdout=out, check=True)
    gzip_s = gzip_cpu_s(path)
    gb = size / 1e9
    step = f"build: [cat, {path}]\n        log_limit: 4GB"
    with Farm(bench.build, bench.folder) as farm:
        farm.start(config(["p"], {"noop": ("p", [NOOP]), "log": ("p", [step])}, {"real": ("p", 1)}))
        slave = farm.slave("real", 1)
        farm.wait_finished(farm.force("noop"))
        before = farm.master.cpu_s(), slave.cpu_s()
        number = farm.force("log")
        build = farm.wait_finished(number, every=0.25)
        wall_s = (instant(build["finished_at"]) - instant(build["queued_at"])).total_seconds()
        master_s, slave_s = farm.master.cpu_s() - before[0], slave.cpu_s() - before[1]
        check_log(farm, number, path)
        bench.add("master CPU for 1 GB of log", master_s / gb, "s", "under 1 s", most=1)
        bench.add("slave CPU for 1 GB of log", slave_s / gb, "s")
        bench.add("gzip -1 CPU for the same bytes", gzip_s / gb, "s")
        bench.add("slave CPU over gzip -1", slave_s / gzip_s, "x", "at most 1.3", most=1.3)
        bench.add("one slave's log, end to end", size / 1e6 / wall_s, "MB/s", "over 110 MB/s", least=110)
        bench.add("master's peak memory after it", peak_mib(farm.master.pid), "MiB")
        bench.add("slave's peak memory after it", peak_mib(slave.pid), "MiB")


def peak_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc has no VmHWM")


def check_log(farm, number, path):
    """The bytes stored are the bytes written."""
    connection = farm.connect()
    connection.request("GET", f"/api/v1/builds/{number}/steps/1/log")
    stored = sha256(connection.getresponse().read)
    connection.close()
    with open(path, "rb") as log:
        written = sha256(log.read)
    if stored != written:
        raise SystemExit(f"build {number}: the log stored is not the log written")


def log_sim(bench):
    """Eight simulated slaves send logs that were compressed beforehand: what the master alone can take."""
    slaves = 8
    size = bench.size("log_bytes") // slaves
    with Farm(bench.build, bench.folder) as farm:
        farm.start(config(["p"], {"noop": ("p", [NOOP])}, {f"sim-[1-{slaves}]": ("p", 1)}))
        sim = Sim(farm, f"sim-[1-{slaves}]", "--log", size, "--builds", slaves)
        sim.event("connected")
        before = farm.master.cpu_s()
        load = farm.load("noop", slaves)
        wall_s = (sim.event("end")["t_ms"] - load["begin_ms"]) / 1e3
        bench.add("logs of 8 simulated slaves at once", size * slaves / 1e6 / wall_s, "MB/s")
        bench.add("master CPU for 1 GB of such logs", (farm.master.cpu_s() - before) / (size * slaves / 1e9), "s", "under 1 s", most=1)


def idle(bench):
    """A master and a real slave that have nothing to do."""
    seconds = bench.size("idle_s")
    with Farm(bench.build, bench.folder) as farm:
        bench.add("master start to healthy, empty", farm.start(config(["p"], {"noop": ("p", [NOOP])}, {"real": ("p", 1)})), "s")
        slave = farm.slave("real", 1)
        farm.wait_finished(farm.force("noop"))
        time.sleep(1)
        both = (farm.master, slave)
        before = [(child.cpu_s(), procfs.wakeups(child.pid)) for child in both]
        time.sleep(seconds)
        for name, child, (cpu, woken) in zip(("master", "slave"), both, before):
            memory = procfs.memory_kib(child.pid)
            budget = {"budget": "under 4 MB", "most": 4e6 / 1024} if name == "slave" else {}
            bench.add(f"{name} idle, private memory", memory["private"], "KiB", **budget)
            bench.add(f"{name} idle, PSS", memory["pss"], "KiB")
            bench.add(f"{name} idle, CPU", (child.cpu_s() - cpu) / seconds * 100, "%")
            bench.add(f"{name} idle, wake-ups", (procfs.wakeups(child.pid) - woken) / seconds, "/s")


def dial(bench):
    """500 slaves dial at the same moment."""
    n = bench.size("dial_slaves")
    pattern = f"sim-[0001-{n:04}]"
    with Farm(bench.build, bench.folder) as farm:
        farm.start(config(["p"], {"noop": ("p", [NOOP])}, {pattern: ("p", 1)}))
        sim = Sim(farm, pattern)
        event = sim.event("connected")
        wait_for("the master to show all of them", lambda: n == sum(s["state"] != "offline" for s in all_slaves(farm)))
        bench.add(f"{n} slaves dialling at once, all in", event["took_ms"] / 1e3, "s", "within 1 s", most=1)
        bench.add("dials it took", event["dials"], "")


def all_slaves(farm):
    found, cursor = [], ""
    while cursor is not None:
        page = farm.get("/slaves?limit=1000" + (f"&before={cursor}" if cursor else ""))
        found += page["slaves"]
        cursor = page["next"]
    return found


def slaves(bench):
    """Many connected slaves: what each costs the master, and what all cost while nothing happens."""
    n = bench.size("many_slaves")
    seconds = bench.size("idle_s")
    pattern = f"sim-[00001-{n:05}]"
    with Farm(bench.build, bench.folder) as farm:
        farm.start(config(["p"], {"noop": ("p", [NOOP])}, {pattern: ("p", 1)}))
        time.sleep(0.5)
        alone = procfs.memory_kib(farm.master.pid)["private"]
        sim = Sim(farm, pattern)
        sim.event("connected")
        time.sleep(2)
        before = farm.master.cpu_s()
        time.sleep(seconds)
        used = farm.master.cpu_s() - before
        memory = procfs.memory_kib(farm.master.pid)["private"]
        bench.add(f"{n} slaves connected, master memory for each", (memory - alone) / n, "KiB", "under 8 KiB", most=8)
        bench.add(f"{n} slaves connected, master idle CPU", used / seconds * 100, "%", "under 1 %", most=1)
        sim.stop()


ALL = {
    "latency": latency,
    "noop-sim": noop_sim,
    "noop-real": noop_real,
    "log-real": log_real,
    "log-sim": log_sim,
    "idle": idle,
    "dial": dial,
    "slaves": slaves,
}
