"""What /proc says of a process and of the machine."""

import os
import pathlib
import platform
import re
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """CPU seconds of all threads so far, children not counted. From the scheduler's nanoseconds where it keeps them."""
    total = 0
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    return total / 1e9


def threads_cpu_s(pid):
    """CPU seconds by thread name."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        found[name] = found.get(name, 0) + int((task / "schedstat").read_text().split()[0]) / 1e9
    return found


def wakeups(pid):
    """How often its threads went to sleep by themselves, which is how often they were woken."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "status").read_text()
        total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M).group(1))
    return total


def memory_kib(pid):
    """KiB: rss, pss (shared pages split among those who share them), private."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        words = line.split()
        if words[0].endswith(":") and len(words) == 3:
            found[words[0][:-1]] = int(words[1])
    return {"rss": found["Rss"], "pss": found["Pss"], "private": found["Private_Clean"] + found["Private_Dirty"]}


def busy_s():
    """CPU seconds that the whole machine has spent on anything."""
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def own_s():
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def machine(folder):
    """The facts that a figure means nothing without."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.M)
    memory = re.search(r"^MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)
    mount = subprocess.run(
        ["df", "--output=fstype,source", str(folder)], stdout=subprocess.PIPE, text=True, check=False
    ).stdout.splitlines()
    release = re.search(r'^PRETTY_NAME="?([^"\n]+)', pathlib.Path("/etc/os-release").read_text(), re.M)
    return {
        "cpu": model.group(1).strip() if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": int(memory.group(1)) // 1024,
        "kernel": platform.release(),
        "system": release.group(1) if release else platform.system(),
        "filesystem": " ".join(mount[-1].split()) if mount else "unknown",
    }
