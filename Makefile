# Front door. Everything here is one line over cmake, ctest, ./run or ./test; `make help` prints the list.
.DEFAULT_GOAL := help
SEED ?= 1
SEEDS ?= 1
TURNS ?= 3000
BOUND_TURNS ?= 10000
KILLS ?= 1000
JOBS ?= $(shell nproc)
.PHONY: help run build test check quick asan tsan coverage fuzz bench bench-peers sim sim-nightly bound-property kills format tidy docs install clean

help:  ## This list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run:  ## The main job: a full routing table into the kernel (./run; options: ./run --help).
	./run

build:  ## The programs, optimised, into build/release.
	tools/install.sh build
	cmake --preset release
	cmake --build build/release

test:  ## All tests once (./test; more steps, such as the sanitizers: ./test --help).
	./test

check:  ## All tests once, without sanitizers.
	./test all

quick:  ## Unit tests and the checks of the text: seconds.
	./test quick

asan:  ## The tests of the layers under the address and undefined-behaviour sanitizers (./test asan-all: all tests).
	./test asan

tsan:  ## The threaded tests under the thread sanitizer.
	./test tsan

coverage:  ## Which lines the tests run: a table, and build/coverage/index.html (20 minutes).
	tools/install.sh build test coverage
	cmake --preset coverage
	cmake --build build/coverage --parallel $(JOBS)
	python3 tools/coverage.py --jobs $(JOBS)

fuzz:  ## Each fuzzer for FUZZ_SECONDS (60), with clang-19.
	./test fuzz

bench:  ## The benchmarks, optimised, into build/bench/bench; run the one you want from there.
	tools/install.sh build test
	cmake --preset bench
	cmake --build build/bench
	@ls build/bench/bench/bench_* 2>/dev/null || true

bench-peers:  ## Our loop beside sd-event, GLib, libevent and Asio, our jobs beside other schedulers: installs, builds, measures (16 minutes).
	tools/install.sh build test peers
	cmake --preset bench
	cmake --build build/bench --target bench_peer_loops bench_jobs
	build/bench/bench/bench_peer_loops
	bench/peers/apscheduler_jobs.py
	bench/peers/job_databases.py

sim:  ## Lives SEEDS=1 simulated lives of TURNS=3000 turns from SEED=1 on, of each program.
	cmake --preset sim
	cmake --build build/sim --target rondo-sim
	build/sim/tests/rondo-sim --seed $(SEED) --seeds $(SEEDS) --turns $(TURNS) --jobs $(JOBS)

sim-nightly:  ## A million simulated lives of each program, from SEED=1 on: hours.
	$(MAKE) sim SEEDS=1000000

bound-property:  ## The bound on waits, BOUND_TURNS=10000 turns in each of a thousand worlds a mode: before a change of a policy.
	cmake --preset sim
	cmake --build build/sim --target sched_test --parallel $(JOBS)
	RONDO_BOUND_TURNS=$(BOUND_TURNS) build/sim/sched_test --gtest_filter='WaitBound*'

kills:  ## A process that writes durable tables is killed KILLS=1000 times, and its file read: before a change of the durable store.
	cmake --preset sim
	cmake --build build/sim --target durable_test --parallel $(JOBS)
	RONDO_KILLS=$(KILLS) build/sim/durable_test --gtest_filter='DurableKill.*'

format:  ## Formats every source file in place (clang-format of Debian 12).
	python3 tools/format.py --fix

tidy:  ## The checks of tools/tidy.py, then clang-tidy-19 over src and apps (minutes).
	python3 tools/tidy.py
	tools/install.sh build test extra
	cmake --preset test
	python3 tools/clang_tidy.py

docs:  ## Checks the documents: paths, links, the glossary, and code cut from examples.
	python3 tools/tidy.py --only docs --only snippets

install:  ## Installs the Debian packages that are missing for build and test.
	tools/install.sh build test

clean:  ## Removes build/.
	rm -rf build
