#!/usr/bin/env python3
"""Runs at executors that imitate those of Go, PHP, Java and Python (imitated_executors.py), through a real rondod: successes, refusals,
results that come twice, late or from another group, kills, and a rondod that is killed. Usage: imitations_test.py RONDO RONDOD
[CASE ...]."""
import concurrent.futures
import json
import sys

sys.dont_write_bytecode = True
from executor_kit import Scheduler, poll, run_cases  # noqa: E402
from imitated_executors import ALL, Executor, GoExecutor, JavaExecutor, PhpExecutor, PyxxlExecutor  # noqa: E402

OTHER_TOKEN = "another-token-of-32-characters-x"


def begin(scheduler, executor, job):
    """Triggers the job. Returns the number of the run and the order, when the executor has it."""
    known = len(executor.orders)
    executor.register()
    number = scheduler.trigger(job)
    order = executor.next_order(known + 1)
    scheduler.wait_until_running(job, number)
    return number, order


def expect_late(scheduler, least):
    """Results that ended nothing are counted, those of runs whose ends are being stored a moment later."""
    poll("late results are counted", lambda: scheduler.figures()["late"] >= least)


def registers(scheduler, executor):
    executor.register()
    executor.register()  # Beats are repeated registrations.
    assert scheduler.usable(executor.group) == [executor.address], scheduler.executors(executor.group)


def succeeds(scheduler, executor):
    job = f"{executor.name}-works"
    number, order = begin(scheduler, executor, job)
    assert order["executorHandler"] == "works" and order["executorParams"] == 'a "b" \u20ac', order
    assert order["broadcastIndex"] == 0 and order["broadcastTotal"] == 1 and order["glueType"] == "BEAN", order
    assert executor.tokens and set(executor.tokens) == {executor.token}, executor.tokens
    assert executor.end(order, 200, "42 rows") == 200
    run = scheduler.wait_for_end(job, number, "succeeded")
    assert "42 rows" in run["note"], run


def fails(scheduler, executor):
    job = f"{executor.name}-works"
    number, order = begin(scheduler, executor, job)
    assert executor.end(order, 500, "<b>no</b> disk") == 200
    run = scheduler.wait_for_end(job, number, "failed")
    assert "<b>no</b> disk" in run["note"] and executor.address in run["note"], run


def refuses(scheduler, executor):
    executor.register()
    executor.busy = True
    job = f"{executor.name}-works"
    run = scheduler.wait_for_end(job, scheduler.trigger(job), "failed")
    executor.busy = False
    text = {"go": "There are tasks running", "php": "job handler [works] not found.", "java": "block strategy effect\uff1aDiscard Later",
            "pyxxl": "is executing, discard this one"}[executor.name]
    assert "did not accept the run" in run["note"] and text in run["note"], run


def first_result_counts(scheduler, executor):
    job = f"{executor.name}-works"
    late = scheduler.figures()["late"]
    number, order = begin(scheduler, executor, job)
    assert executor.end(order, 200, "first") == 200
    assert executor.call_back((order["logId"], 500, "second")) == 200
    assert executor.call_back((order["logId"], 200, "third")) == 200
    assert "first" in scheduler.wait_for_end(job, number, "succeeded")["note"]
    expect_late(scheduler, late + 2)
    # Both in one request.
    number, order = begin(scheduler, executor, job)
    executor.working[order["jobId"]].remove(order)
    assert executor.call_back((order["logId"], 500, "first"), (order["logId"], 200, "second")) == 200
    run = scheduler.wait_for_end(job, number, "failed")
    assert "first" in run["note"], run


def unknown_and_foreign_results_end_nothing(scheduler, executor):
    job = f"{executor.name}-works"
    number, order = begin(scheduler, executor, job)
    late = scheduler.figures()["late"]
    stranger = [(order["logId"] + step, 200, "unknown") for step in (1, 1000, 10_000, 10_000_000)]
    assert executor.call_back(*stranger) == 200
    expect_late(scheduler, late + 4)
    answer = scheduler.post("/api/callback", [executor.item(order["logId"], 200, "foreign")], OTHER_TOKEN)
    assert answer == (200, {"code": 200, "msg": None, "content": None, "data": None}), answer
    expect_late(scheduler, late + 5)
    answer = scheduler.post("/api/callback", [executor.item(order["logId"], 200, "forged")], "a-token-that-no-group-has")
    assert answer[0] == 200 and answer[1]["code"] == 500 and answer[1]["msg"] == "The access token is wrong.", answer
    assert scheduler.run_of(job, number)["state"] == "running"
    executor.end(order, 200, "mine")
    assert "mine" in scheduler.wait_for_end(job, number, "succeeded")["note"]


def result_after_kill(scheduler, executor):
    """A killed run stays killed, whatever its executor reports then."""
    job = f"{executor.name}-works"
    number, order = begin(scheduler, executor, job)
    scheduler.ask("job", "kill", str(number))
    poll("the kill at the executor", lambda: order["jobId"] in executor.kills)
    assert executor.end(order, 200, "cancelled") == 200
    scheduler.wait_for_end(job, number, "killed")
    assert executor.call_back((order["logId"], 200, "again")) == 200
    assert scheduler.run_of(job, number)["state"] == "killed"


def success_after_timeout(scheduler, executor):
    """rondod tells the executor to stop a run whose time is over. A success that is reported then is that of a stopped run."""
    job = f"{executor.name}-short"
    executor.register()
    known = len(executor.orders)
    number = scheduler.trigger(job)
    order = executor.next_order(known + 1)
    assert order["executorTimeout"] == 1, order
    poll("the kill at the executor", lambda: order["jobId"] in executor.kills)
    assert executor.end(order, 200, "cancelled") == 200
    scheduler.wait_for_end(job, number, "timed-out")


def kill_without_report(scheduler, executor):
    """The executor has lost the run (a Go executor answers then that the kill failed): the kill ends it here after a while."""
    job = f"{executor.name}-works"
    number, order = begin(scheduler, executor, job)
    executor.working[order["jobId"]].remove(order)
    scheduler.ask("job", "kill", str(number))
    scheduler.wait_for_end(job, number, "killed")
    assert executor.call_back((order["logId"], 200, "late")) == 200
    assert scheduler.run_of(job, number)["state"] == "killed"


def success_survives_a_restart(scheduler, executor):
    """rondod is killed while the executor has a run. The result after the restart ends the run, which is not sent again."""
    job = f"{executor.name}-works"
    number, order = begin(scheduler, executor, job)
    orders = len(executor.orders)
    scheduler.kill()
    scheduler.start()
    assert executor.end(order, 200, "over the restart") == 200
    run = scheduler.wait_for_end(job, number, "succeeded")
    assert "over the restart" in run["note"] and run["attempt"] == 1, run
    assert len(executor.orders) == orders and scheduler.figures()["linked"] == 1, scheduler.figures()


COMMON = (registers, succeeds, fails, refuses, first_result_counts, unknown_and_foreign_results_end_nothing, result_after_kill,
          success_after_timeout, kill_without_report, success_survives_a_restart)


def php_answers_401_to_a_wrong_token(scheduler):
    """The scheduler shows the token of its group. An executor that expects another one does not run."""
    with PhpExecutor(scheduler, "php") as executor:
        executor.register()
        executor.token = "something-else-entirely"
        run = scheduler.wait_for_end("php-works", scheduler.trigger("php-works"), "failed")
        assert "401: The access token is wrong." in run["note"] and not executor.orders, run
        scheduler.register("php", executor.address, path="/api/registryRemove")


def java_reports_several_ends_in_one_request(scheduler):
    with JavaExecutor(scheduler, "java") as executor:
        runs = [begin(scheduler, executor, "java-beside") for _ in range(3)]
        assert executor.call_back((runs[0][1]["logId"], 200, "one"), (123, 200, "unknown"), (runs[1][1]["logId"], 502, "job execute timeout "),
                                  (runs[2][1]["logId"], 500, "three")) == 200
        for (number, _), state, note in zip(runs, ("succeeded", "timed-out", "failed"), ("one", "timeout", "three")):
            assert note in scheduler.wait_for_end("java-beside", number, state)["note"]
        executor.leave()


def java_repeats_what_was_not_answered(scheduler):
    """The run ends while rondod is down. The executor repeats its report after the restart, and once more."""
    with JavaExecutor(scheduler, "java") as executor:
        number, order = begin(scheduler, executor, "java-works")
        scheduler.kill()
        assert executor.end(order, 200, "kept") is None and len(executor.kept) == 1
        scheduler.start()
        executor.repeat()
        assert not executor.kept and executor.answers == [200], executor.answers
        run = scheduler.wait_for_end("java-works", number, "succeeded")
        assert "kept" in run["note"] and len(executor.orders) == 1, run
        assert executor.call_back((order["logId"], 200, "kept")) == 200
        executor.leave()


def java_takes_leave(scheduler):
    """An executor that has left gets no run. A run waits for the next registration."""
    with JavaExecutor(scheduler, "java") as executor:
        executor.register()
        executor.leave()
        assert executor.address not in scheduler.usable("java")
        number = scheduler.trigger("java-works")
        poll("why it waits", lambda: "has taken leave" in json.dumps(scheduler.ask("why", "JOB_RUN_8", f"java-works#{number}")))
        assert not executor.orders
        executor.register()
        executor.end(executor.next_order(), 200, "back")
        scheduler.wait_for_end("java-works", number, "succeeded")
        executor.leave()


def pyxxl_is_answered_so_that_it_reports_no_failure(scheduler):
    """It would turn a success into a failure after any other answer than 200."""
    with PyxxlExecutor(scheduler, "pyxxl") as executor:
        number, order = begin(scheduler, executor, "pyxxl-works")
        executor.end(order, 200, "well")
        executor.call_back((order["logId"], 200, "well"))
        executor.call_back((order["logId"] + 10_000_000, 200, "unknown"))
        assert executor.answers == [200, 200, 200], executor.answers
        scheduler.wait_for_end("pyxxl-works", number, "succeeded")
        scheduler.register("pyxxl", executor.address, path="/api/registryRemove")


def a_kill_leaves_other_runs_alone(scheduler):
    """An order to stop would end all runs of the job at the executor, so none is sent. The run that was killed ends, and its work goes on."""
    with PyxxlExecutor(scheduler, "pyxxl") as executor:
        first, _ = begin(scheduler, executor, "pyxxl-beside")
        second, other = begin(scheduler, executor, "pyxxl-beside")
        scheduler.ask("job", "kill", str(first))
        scheduler.wait_for_end("pyxxl-beside", first, "killed")
        assert not executor.kills
        executor.end(other, 200, "")
        scheduler.wait_for_end("pyxxl-beside", second, "succeeded")


def runs_that_a_kill_drops_without_a_report_end(scheduler):
    """When all runs of the job there are killed, the order to stop is sent. The executor drops a run that waited in it and reports nothing of it."""
    with PyxxlExecutor(scheduler, "pyxxl") as executor:
        first, order = begin(scheduler, executor, "pyxxl-beside")
        second, _ = begin(scheduler, executor, "pyxxl-beside")
        scheduler.ask("job", "kill", str(first))
        assert not executor.kills
        scheduler.ask("job", "kill", str(second))
        poll("the kill at the executor", lambda: executor.kills)
        assert executor.end(order, 500, "job running, killed") == 200
        for number in (first, second):
            scheduler.wait_for_end("pyxxl-beside", number, "killed")
        scheduler.register("pyxxl", executor.address, path="/api/registryRemove")


def work_that_may_go_on_is_avoided(scheduler):
    """A Go executor reports a run that was killed, or had no more time, as a success, and its task may still work. The next runs go to another
    executor, and to the first one only if there is no other."""
    for job in ("go-works", "go-short"):
        with GoExecutor(scheduler, "go") as one, GoExecutor(scheduler, "go") as two:
            one.register()
            two.register()
            number = scheduler.trigger(job)
            there = poll("the order", lambda: one.orders and one or two.orders and two)  # noqa: B023
            other = two if there is one else one
            if job == "go-works":
                scheduler.wait_until_running(job, number)
                scheduler.ask("job", "kill", str(number))
            poll("the kill at the executor", lambda: there.kills)  # noqa: B023
            assert there.end(there.orders[0], 200, "cancelled") == 200
            scheduler.wait_for_end(job, number, "killed" if job == "go-works" else "timed-out")
            scheduler.ask("job", "edit", job, "--attempt-timeout", "1h")  # The next runs end in time on any machine.
            for i in range(3):
                number = scheduler.trigger(job)
                assert other.end(other.next_order(i + 1), 200, "") == 200
                scheduler.wait_for_end(job, number, "succeeded")
            assert len(there.orders) == 1
            scheduler.register("go", other.address, path="/api/registryRemove")
            number = scheduler.trigger(job)
            assert there.end(there.next_order(2), 200, "") == 200
            scheduler.wait_for_end(job, number, "succeeded")
            scheduler.register("go", there.address, path="/api/registryRemove")


class ManyAddresses(Executor):
    """One server for many addresses, which differ in their paths."""
    name = "java"

    def answer(self, path, headers, body):
        return super().answer("/" + path.rsplit("/", 1)[1], headers, body)


def a_broadcast_survives_a_restart(scheduler):
    """rondod is killed while 64 executors have a shard each. It links all of them, and sends none again."""
    with ManyAddresses(scheduler, "java") as executor:
        addresses = [f"{executor.address}/a-path-that-makes-the-address-longer/{i}" for i in range(64)]
        for address in addresses:
            assert scheduler.register("java", address)[1]["code"] == 200
        number = scheduler.trigger("java-broadcast")
        executor.next_order(64)
        poll("all have accepted", lambda: scheduler.wait_until_running("java-broadcast", number) and sum(
            row["accepted"] for row in scheduler.executors("java") if row["address"] in addresses) == 64)
        scheduler.kill()
        scheduler.start()
        assert sorted(order["broadcastIndex"] for order in executor.orders) == list(range(64))
        assert executor.call_back(*[(order["logId"], 200, "") for order in executor.orders]) == 200
        run = scheduler.wait_for_end("java-broadcast", number, "succeeded")
        assert "64 shards succeeded" in run["note"] and len(executor.orders) == 64, run
        assert scheduler.figures()["linked"] == 1, scheduler.figures()


OWN = (php_answers_401_to_a_wrong_token, java_reports_several_ends_in_one_request, java_repeats_what_was_not_answered, java_takes_leave,
       pyxxl_is_answered_so_that_it_reports_no_failure, work_that_may_go_on_is_avoided, a_broadcast_survives_a_restart)
SLOW = (a_kill_leaves_other_runs_alone, runs_that_a_kill_drops_without_a_report_end)  # rondod gives an executor ten seconds to report the end.


def scheduler_of(rondo, rondod):
    groups = {kind.name: "" for kind in ALL}
    scheduler = Scheduler(rondo, rondod, {**groups, "other": ""}, tokens={"other": OTHER_TOKEN})
    for name in groups:
        scheduler.add_job(f"{name}-works", f"executor/{name}/works", "--parameters", 'a "b" \u20ac')
        scheduler.add_job(f"{name}-beside", f"executor/{name}/works", "--overlap", "concurrent", "--concurrency", "8")
        scheduler.add_job(f"{name}-short", f"executor/{name}/works", "--attempt-timeout", "1s")
    scheduler.add_job("java-broadcast", "executor/java/works", "--route", "sharding-broadcast")
    return scheduler


def run_common(rondo, rondod, kind, only):
    with scheduler_of(rondo, rondod) as scheduler, kind(scheduler, kind.name) as executor:
        run_cases(COMMON, scheduler, executor, only=only, of=kind.name)


def run_own(rondo, rondod, cases, only):
    with scheduler_of(rondo, rondod) as scheduler:
        run_cases(cases, scheduler, only=only)


def main(rondo, rondod, *only):
    """Most of the time is waiting, so the parts run beside each other, each with a rondod of its own."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        parts = [pool.submit(run_own, rondo, rondod, cases, only) for cases in (SLOW, OWN)]
        parts += [pool.submit(run_common, rondo, rondod, kind, only) for kind in ALL]
        for part in parts:
            part.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
