"""Packages from npm that tests run, at the versions of a package.json, and the exit status of a test that cannot run."""
import json
import os
import shutil
import subprocess
import sys

INSTALL_PATIENCE = 600


def skip(why, left_out):
    print(f"SKIPPED: {why}, so {left_out} NOT run", file=sys.stderr)
    sys.exit(77)


def install(package, cache, left_out):
    """Installs what the file 'package' names into the folder 'cache', once, or skips the test."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip("node or npm is not installed", left_out)
    with open(package, encoding="utf-8") as file:
        wanted = file.read()
    stamp = os.path.join(cache, "installed.json")  # Written last, so an install that was interrupted is repeated.
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return
    shutil.rmtree(cache, ignore_errors=True)
    os.makedirs(cache)
    shutil.copy(package, cache)
    lock = os.path.join(os.path.dirname(package), "package-lock.json")
    if os.path.exists(lock):
        shutil.copy(lock, cache)
    try:
        done = subprocess.run(["npm", "ci" if os.path.exists(lock) else "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1",
                               "--loglevel=error"], cwd=cache, capture_output=True, text=True, timeout=INSTALL_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        skip("npm did not end", left_out)
    if done.returncode != 0:
        skip("npm failed (" + (done.stderr.strip().splitlines() or ["without a message"])[0] + ")", left_out)
    described = json.loads(wanted)
    for name, version in {**described.get("dependencies", {}), **described.get("devDependencies", {})}.items():
        with open(os.path.join(cache, "node_modules", name, "package.json"), encoding="utf-8") as file:
            assert json.load(file)["version"] == version, name
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)
