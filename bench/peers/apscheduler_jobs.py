#!/usr/bin/python3
"""The loads of `bench_jobs loads` on Debian's python3-apscheduler with its jobs in SQLite (python3-sqlalchemy), beside ours in the same run.

The database has the settings of ours: WAL, synchronous NORMAL. APScheduler keeps the next time of a job there; it has no rows of runs. Each
missed instant runs (coalesce=False, no misfire bound, no bound on instances), in the default pool of ten threads.
bench/peers/apscheduler_jobs.py [SECONDS] [--bench PROGRAM]     default: 10 s of each load, build/bench/bench/bench_jobs
"""

import argparse
import datetime
import logging
import os
import subprocess
import tempfile
import threading
import time

try:
    import sqlalchemy
    from apscheduler.events import EVENT_JOB_EXECUTED
    from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
    from apscheduler.schedulers.background import BackgroundScheduler
    from apscheduler.triggers.date import DateTrigger
    from apscheduler.triggers.interval import IntervalTrigger
except ImportError as missing:
    raise SystemExit(f"{missing}: python3-apscheduler and python3-sqlalchemy are not installed (tools/install.sh peers)") from missing


def nothing():
    pass


def at(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


def every(period):
    return lambda job, begin: IntervalTrigger(seconds=period, start_date=at(begin), timezone=datetime.timezone.utc)


def loads(seconds):
    """What, how many jobs, the trigger of a job, how long, how many runs are due."""
    return [
        ("100 jobs each 100 ms: 1,000 a second", 100, every(0.1), seconds, 1000 * seconds),
        ("10 jobs each 10 ms: 1,000 a second", 10, every(0.01), seconds, 1000 * seconds),
        ("1,000 jobs each second, in one millisecond", 1000, every(1), seconds, 1000 * seconds),
        ("1,000 jobs each 100 ms: 10,000 a second", 1000, every(0.1), seconds, 10000 * seconds),
        ("10,000 jobs, due in one second", 10000, lambda job, begin: DateTrigger(at(begin + job % 1000 / 1000)), 1, 10000),
        ("10,000 jobs, due in one millisecond", 10000, lambda job, begin: DateTrigger(at(begin)), 1, 10000),
    ]


def store(database):
    # By default each transaction opens the database and closes it again, which copies SQLite's log each time.
    engine = sqlalchemy.create_engine(f"sqlite:///{database}", poolclass=sqlalchemy.pool.QueuePool, connect_args={"check_same_thread": False})

    @sqlalchemy.event.listens_for(engine, "connect")
    def settings(connection, _):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    return SQLAlchemyJobStore(engine=engine)


def run(load):
    what, jobs, trigger, seconds, due = load
    with tempfile.TemporaryDirectory(prefix="rondo-bench-") as folder:
        scheduler = BackgroundScheduler(jobstores={"default": store(folder + "/jobs.db")}, timezone=datetime.timezone.utc,
                                        job_defaults={"coalesce": False, "misfire_grace_time": None, "max_instances": 1_000_000})
        late, last = [], [0.0]
        lock = threading.Lock()

        def ran(event):
            now = time.time()
            scheduled = event.scheduled_run_time.timestamp()
            with lock:
                if begin <= scheduled < begin + seconds and now < begin + seconds + 3:
                    late.append(now - scheduled)
                    last[0] = max(last[0], now)

        scheduler.add_listener(ran, EVENT_JOB_EXECUTED)
        scheduler.start(paused=True)
        begin = float(int(time.time() + jobs * 0.004 + 3))
        for job in range(jobs):
            scheduler.add_job(nothing, trigger(job, begin), id=f"job-{job}")
        if time.time() > begin - 1:
            print("  (the jobs were stored too late: the first runs are late)")
        scheduler.resume()
        time.sleep(max(0, begin - time.time()))
        before = time.process_time()
        time.sleep(max(0, begin + seconds - time.time()))
        cpu = 100 * (time.process_time() - before) / seconds
        time.sleep(3)
        with lock:
            late.sort()
            rank = [1000 * late[int(share * (len(late) - 1))] for share in (0.5, 0.99, 1)] if late else [0, 0, 0]
            rate = len(late) / max(last[0] - begin, seconds)
            print(f"{what:47} {due:9} {len(late):9} {rate:9.0f} | {rank[0]:8.2f} {rank[1]:8.2f} {rank[2]:8.2f} | {'':26} | {cpu:4.1f} %", flush=True)
        os._exit(0)  # Runs that are left would go on.


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=int, nargs="?", default=10)
    parser.add_argument("--bench", default="build/bench/bench/bench_jobs")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    # Ours first, for the same time.
    subprocess.run([arguments.bench, "loads", str(arguments.seconds)], check=True)
    print("APScheduler, jobs on SQLite (WAL, synchronous NORMAL), ten threads", flush=True)
    for load in loads(arguments.seconds):
        child = os.fork()
        if child == 0:
            run(load)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
