#!/usr/bin/env python3
"""Fails when a file includes what its layer may not see, or a library's header outside the one place that wraps it."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A folder sees itself and what is named here (a prefix of the included path).
SEES = [
    ("common/base", ["common/base"]),
    ("common/io", ["common/base", "common/io"]),
    ("proto", ["common/base", "proto"]),
    ("slave", ["common", "proto", "slave"]),
    ("master", ["common", "proto", "master", "web/assets.h"]),
    ("client", ["common", "client"]),
    ("web", ["web"]),
    ("tests", ["common", "proto", "slave", "master", "client", "web", "tests"]),
]
EXCEPTIONS = {
    # The one file of proto that knows the loop.
    ("proto/link.c", "common/io"),
    ("proto/link.h", "common/io"),
}
# A library's header: where it may stand.
WRAPPED = {
    "msgpack.h": ["proto/codec"],
    "sqlite3.h": ["master/store/"],
    "curl/curl.h": ["common/io/httpc"],
    "microhttpd.h": ["master/http/server"],
    "yaml.h": ["common/base/yamltree"],
    "jansson.h": ["common/base/json_in.c"],
    "pcre2.h": ["common/base/glob.c"],
    "openssl/": ["common/base/crypt.c"],
    "uv.h": ["common/io/"],
    "popt.h": ["master/main.c", "slave/main.c", "client/args", "tests/"],
    "zlib.h": ["slave/blocks", "master/logs", "proto/journal", "tests/"],
}


def allowed(path, included):
    for exception, prefix in EXCEPTIONS:
        if path == exception and included.startswith(prefix):
            return True
    for folder, prefixes in SEES:
        if path.startswith(folder + "/"):
            return any(included.startswith(p) for p in prefixes)
    return True


def main():
    bad = []
    files = [
        f for f in ROOT.rglob("*.[ch]")
        # The demo's project is not ours to layer.
        if not str(f.relative_to(ROOT)).startswith(("build", "web/node_modules", "examples"))
    ]
    for file in sorted(files):
        path = str(file.relative_to(ROOT))
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            own = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            other = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
            if own:
                if "/" not in own.group(1):
                    bad.append(f'{path}:{number}: "{own.group(1)}": paths are written from the root')
                elif not allowed(path, own.group(1)):
                    bad.append(f'{path}:{number}: this folder may not see "{own.group(1)}"')
            if other:
                for header, places in WRAPPED.items():
                    name = other.group(1)
                    if (name == header or (header.endswith("/") and name.startswith(header))) and not any(
                        path.startswith(p) for p in places
                    ):
                        bad.append(f"{path}:{number}: <{name}> belongs behind {', '.join(places)}")
    print("\n".join(bad) if bad else f"{len(files)} files keep to their layers")
    return 1 if bad else 0


sys.exit(main())
