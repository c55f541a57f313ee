#!/usr/bin/env python3
"""Fails on calls that are not used here: unbounded strings, shells, global state, and the time outside of clock."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

BANNED = [
    "strcpy", "strcat", "sprintf", "vsprintf", "strncpy", "strncat", "strtok", "atoi", "atol", "atof", "gets", "alloca",
    "system", "popen", "rand", "srand", "random", "mktemp", "tmpnam", "uv_now", "uv_hrtime", "gettimeofday",
]
# time(2) and clock_gettime(2) belong to the clock.
TIMES = ["time", "clock_gettime"]
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED + TIMES) + r")\s*\(")
ALLOWED = {
    "common/base/clock.c": TIMES,
}


def without_comments_and_strings(text):
    """The same text with comments and literals blanked, line breaks kept."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def main():
    bad = []
    count = 0
    for file in sorted(ROOT.rglob("*.[ch]")):
        path = str(file.relative_to(ROOT))
        if path.startswith(("build", "web/node_modules")):
            continue
        count += 1
        tests = path.startswith("tests/")
        for number, line in enumerate(without_comments_and_strings(file.read_text(errors="replace")).splitlines(), 1):
            for match in CALL.finditer(line):
                name = match.group(1)
                if name in ALLOWED.get(path, []) or (tests and name in TIMES + ["uv_hrtime"]):
                    continue
                bad.append(f"{path}:{number}: {name}() is not used here")
    print("\n".join(bad) if bad else f"{count} files are free of banned calls")
    return 1 if bad else 0


sys.exit(main())
