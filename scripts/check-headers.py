#!/usr/bin/env python3
"""Compiles every header alone, so that each includes what it needs. Usage: check-headers.py BUILD-FOLDER (with compile_commands.json)."""

import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def flags_from(build):
    """The -I, -D and -std flags that appear in the build, all together."""
    flags = []
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        for i, word in enumerate(words):
            if word.startswith(("-I", "-D", "-std")) and word not in flags:
                flags.append(word)
            if word == "-isystem" and words[i + 1] not in flags:
                flags += [word, words[i + 1]]
    return flags


def main():
    flags = flags_from(sys.argv[1])
    bad = 0
    headers = [
        h for folder in ("common", "proto", "slave", "master", "client", "web", "tests") for h in (ROOT / folder).rglob("*.h")
        if "node_modules" not in str(h)
    ]
    for header in sorted(headers):
        command = ["cc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-x", "c"] + flags
        source = f'#include "{header.relative_to(ROOT)}"\n'
        done = subprocess.run(command + ["-"], input=source, text=True, capture_output=True, cwd=ROOT)
        if done.returncode:
            bad += 1
            print(f"{header.relative_to(ROOT)} does not compile alone:\n{done.stderr}")
    print(f"{len(headers)} headers, {bad} that do not compile alone")
    return 1 if bad else 0


sys.exit(main())
