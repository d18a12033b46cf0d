#!/usr/bin/env python3
"""web/dist, which rondod embeds, is what web/src makes: types are checked, and a new build has the same bytes.

Usage: dist_test.py WEB CACHE. Exit status 77, with a message, without node or npm, or if the packages cannot be installed.
"""
import filecmp
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "executors"))
from npm_kit import install  # noqa: E402

PATIENCE = 300


def main():
    web, cache = sys.argv[1:]
    install(os.path.join(web, "package.json"), cache, "the build of the console was")
    for name in os.listdir(cache):
        if name not in ("node_modules", "installed.json"):
            path = os.path.join(cache, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for name in ("src", "build.mjs", "tsconfig.json", "package.json"):
        path = os.path.join(web, name)
        (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(cache, name))
    subprocess.run([os.path.join("node_modules", ".bin", "tsc"), "--noEmit"], cwd=cache, check=True, timeout=PATIENCE)
    subprocess.run(["node", "build.mjs"], cwd=cache, check=True, timeout=PATIENCE)
    ours, theirs = os.path.join(web, "dist"), os.path.join(cache, "dist")
    assert sorted(os.listdir(ours)) == sorted(os.listdir(theirs)), (os.listdir(ours), os.listdir(theirs))
    same, different, failed = filecmp.cmpfiles(ours, theirs, os.listdir(theirs), shallow=False)
    assert not different and not failed and same, f"{different + failed}: run `npm run build` in web/, and commit web/dist"


main()
