# Sourced by ./run and ./test, which set 'root': what a build needs from its surroundings. Sets 'jobs'.
# shellcheck shell=bash

# ccache wants a folder it can write to; without one every compilation would fail.
if [ -z "${CCACHE_DIR:-}" ] && ! { [ -n "${HOME:-}" ] && [ -w "$HOME" ]; }; then
  export CCACHE_DIR="${root:?}/build/ccache"
fi

# The sanitizers and -O2 take up to 1 GB a compiler; more jobs than memory for them only swap.
jobs=$(nproc)
memory_gb=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || echo 4)
if [ "${memory_gb:-4}" -lt "$jobs" ]; then jobs=$memory_gb; fi
if [ "$jobs" -lt 1 ]; then jobs=1; fi
