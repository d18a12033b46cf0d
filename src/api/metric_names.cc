// The metrics of rondod (metrics.h), by area. The last area repeats some figures under the names that dashboards for controllers of
// Kubernetes read.
#include "api/metrics.h"

namespace rondo::api {

namespace {

using enum MetricName::Type;

constexpr double kMs = 1e3;
constexpr double kUs = 1e6;
/// Connections of the admin socket come and go: their names would be new series without end.
constexpr std::string_view kLasting = "name!^admin:caller-";

constexpr MetricName kNames[] = {
    // --- the process
    {"process", "", "cpu_s", "", "", "process_cpu_seconds_total", Counter, 1, "CPU time of the process, in user and system mode."},
    {"stats", "memory", "rss_bytes", "", "", "process_resident_memory_bytes", Gauge, 1, "Resident memory of the process."},
    {"process", "", "open_fds", "", "", "process_open_fds", Gauge, 1, "Open descriptors of the process."},
    {"process", "", "start_s", "", "", "process_start_time_seconds", Gauge, 1, "When the process began, since 1970."},
    {"process", "", "", "", "version", "rondo_build_info", Gauge, 1, "1, with the version of rondod."},

    // --- the scheduler
    {"stats", "scheduler", "turns", "", "", "rondo_turns_total", Counter, 1, "Turns of all sources."},
    {"stats", "scheduler", "turn_histogram", "", "", "rondo_turn_seconds", Histogram, kUs, "Turns of all sources."},
    {"stats", "scheduler", "long_turns", "", "", "rondo_long_turns_total", Counter, 1, "Turns that took longer than a turn should."},
    {"stats", "scheduler", "longest_turn_us", "", "", "rondo_longest_turn_seconds", Gauge, kUs, "The longest turn since the start."},
    {"stats", "scheduler", "stalls", "", "", "rondo_stalls_total", Counter, 1, "Turns that took longer than [scheduler] stall_ms."},
    {"stats", "scheduler", "quarantined", "", "", "rondo_sources_quarantined", Gauge, 1,
     "Sources that get no more turns, because one threw."},
    {"sources", "rows", "state=ready", kLasting, "source:name,priority", "rondo_source_ready", Gauge, 1,
     "1: the source waits for its turn."},
    {"sources", "rows", "turns", kLasting, "source:name", "rondo_source_turns_total", Counter, 1, "Turns of the source."},
    {"sources", "rows", "ran_us", kLasting, "source:name", "rondo_source_run_seconds_total", Counter, kUs,
     "Time of the turns of the source."},
    {"sources", "rows", "wait_histogram", kLasting, "source:name", "rondo_source_wait_seconds", Histogram, kUs,
     "From ready to the start of the turn."},
    {"sources", "rows", "wait_bound_us", kLasting, "source:name", "rondo_source_wait_bound_seconds", Gauge, kUs,
     "The longest possible wait of the source."},

    // --- tables
    {"tables", "rows", "installed", "", "table,state=installed", "rondo_rows", Gauge, 1,
     "Rows by state; installed and pending may overlap."},
    {"tables", "rows", "waiting", "", "table,state=parked", "rondo_rows", Gauge, 1, ""},
    {"tables", "rows", "pending", "", "table,state=pending", "rondo_rows", Gauge, 1, ""},
    {"tables", "rows", "rejected", "", "table,state=rejected", "rondo_rows", Gauge, 1, ""},
    {"tables", "rows", "withdrawn", "", "table,state=withdrawn", "rondo_rows", Gauge, 1, ""},
    {"tables", "rows", "lost", "", "table,state=lost", "rondo_rows", Gauge, 1, ""},
    {"stats", "consumers", "taken_sets", "", "table,op=set", "rondo_row_changes_total", Counter, 1,
     "Changes of rows that the consumer has taken."},
    {"stats", "consumers", "taken_deletes", "", "table,op=delete", "rondo_row_changes_total", Counter, 1, ""},
    {"stats", "consumers", "done", "", "table,outcome=done", "rondo_row_outcomes_total", Counter, 1, "Changes by their end."},
    {"stats", "consumers", "rejected", "", "table,outcome=rejected", "rondo_row_outcomes_total", Counter, 1, ""},
    {"stats", "consumers", "latency_histogram", "", "table", "rondo_row_latency_seconds", Histogram, kUs,
     "From the write of a change to its end, for the data plane the kernel's answer."},
    {"stats", "facts", "awaited", "", "", "rondo_facts_awaited", Gauge, 1, "Facts that rows wait for."},
    {"parked", "rows", "rows", "", "constraint:kind", "rondo_parked_rows", Gauge, 1,
     "Rows that wait, by the kind of the first fact that they lack."},
    {"parked", "rows", "oldest_ms", "", "constraint:kind", "rondo_parked_oldest_seconds", Greatest, kMs,
     "How long the oldest of these rows has waited."},

    // --- the data plane
    {"stats", "agent.families", "routes", "", "vrf,afi", "rondo_routes", Gauge, 1,
     "Routes in the data plane or on the way to it; rondo_rows has their states."},
    {"stats", "dataplane", "applied_sets", "", "op=set,result=applied", "rondo_orders_total", Counter, 1,
     "Orders to the data plane by its answer; a delete of what is gone is applied."},
    {"stats", "dataplane", "refused_sets", "", "op=set,result=refused", "rondo_orders_total", Counter, 1, ""},
    {"stats", "dataplane", "applied_deletes", "", "op=delete,result=applied", "rondo_orders_total", Counter, 1, ""},
    {"stats", "dataplane", "refused_deletes", "", "op=delete,result=refused", "rondo_orders_total", Counter, 1, ""},
    {"stats", "dataplane", "latency_histogram", "", "", "rondo_order_seconds", Histogram, kUs,
     "From an order to the answer of the data plane."},
    {"stats", "dataplane", "in_flight", "", "", "rondo_orders_in_flight", Gauge, 1, "Orders without an answer."},
    {"stats", "audit.*", "missing", "", "object:*,drift=missing", "rondo_drift_found_total", Counter, 1,
     "Differences that audits of the data plane found."},
    {"stats", "audit.*", "changed", "", "object:*,drift=changed", "rondo_drift_found_total", Counter, 1, ""},
    {"stats", "audit.*", "unwanted", "", "object:*,drift=unwanted", "rondo_drift_found_total", Counter, 1, ""},
    {"stats", "audit.*", "repaired", "", "object:*", "rondo_drift_repaired_total", Counter, 1, "Differences that were repaired."},
    {"stats", "audit.*", "standing", "", "object:*", "rondo_drift_standing", Gauge, 1, "Differences that the last audit left."},
    {"stats", "audit", "held", "", "", "rondo_withdrawals_held", Gauge, 1, "Objects whose deletion the safety stop holds."},
    {"ports", "rows", "admin_up=true&carrier=true", "configured=true", "port:name", "rondo_port_up", Gauge, 1,
     "1: the port with a row is up and has a carrier."},
    {"stats", "fpm", "session_s!=null", "", "", "rondo_fpm_session_up", Gauge, 1, "1: zebra is connected."},
    {"stats", "fpm", "frames", "", "", "rondo_fpm_messages_total", Counter, 1, "Messages of zebra."},

    // --- stores
    {"stats", "store", "health=ok", "", "store=tables", "rondo_store_up", Gauge, 1, "1: the store can be used."},
    {"stats", "jobs", "store_ok", "", "store=jobs", "rondo_store_up", Gauge, 1, ""},
    {"stats", "store", "failed_writes", "", "store=tables", "rondo_store_errors_total", Counter, 1, "Failed writes."},
    {"stats", "store.files", "failed_commits", "", "store=files", "rondo_store_errors_total", Counter, 1, ""},
    {"stats", "store.files", "commit_histogram", "", "store=files", "rondo_store_commit_seconds", Histogram, kUs,
     "How long it took to write a group of changes (files), or ends of runs or an edit (jobs)."},
    {"stats", "jobs", "commit_histogram", "", "store=jobs", "rondo_store_commit_seconds", Histogram, kUs, ""},
    {"stats", "store.redis", "fenced", "", "", "rondo_redis_fenced_total", Counter, 1,
     "Batches that Redis refused, because another process has the lease."},
    {"stats", "journal", "dropped", "", "", "rondo_journal_lost_total", Counter, 1, "Records that the journal lost."},
    {"stats", "journal", "write_errors", "", "", "rondo_journal_errors_total", Counter, 1, "Failed writes of the journal."},

    // --- jobs
    {"stats", "jobs", "started", "", "state=started", "rondo_jobs", Gauge, 1, "Jobs, as of the last reading."},
    {"stats", "jobs", "stopped", "", "state=stopped", "rondo_jobs", Gauge, 1, ""},
    {"stats", "jobs", "shards", "", "", "rondo_shards_owned", Gauge, 1,
     "64: this scheduler runs the jobs; 0: it stands by, or may have lost its claim."},
    {"stats", "jobs", "takeovers", "", "", "rondo_shard_takeovers_total", Counter, 1,
     "Times that it took the jobs over from another scheduler."},
    {"stats", "jobs.bands.*", "succeeded", "", "result=succeeded,band:*", "rondo_job_runs_total", Counter, 1, "Runs by their end."},
    {"stats", "jobs.bands.*", "failed", "", "result=failed,band:*", "rondo_job_runs_total", Counter, 1, ""},
    {"stats", "jobs.bands.*", "killed", "", "result=killed,band:*", "rondo_job_runs_total", Counter, 1, ""},
    {"stats", "jobs.bands.*", "not_run", "", "result=not_run,band:*", "rondo_job_runs_total", Counter, 1, ""},
    {"stats", "jobs", "waiting", "", "state=waiting", "rondo_job_runs_open", Gauge, 1, "Runs that have no end yet; a planned run waits."},
    {"stats", "jobs", "running", "", "state=running", "rondo_job_runs_open", Gauge, 1, ""},
    {"stats", "jobs", "oldest_due_ms", "", "", "rondo_job_oldest_due_seconds", Gauge, kMs,
     "How long the earliest due run that has not begun has been due; 0: there is none."},
    {"stats", "jobs", "late_histogram", "", "", "rondo_job_schedule_skew_seconds", Histogram, kUs,
     "From the due time of a run to its first attempt."},
    {"stats", "jobs", "run_histogram", "", "", "rondo_job_run_seconds", Histogram, kUs, "Last attempts of runs, from begin to end."},
    {"stats", "jobs", "misfired", "", "decision=fired", "rondo_job_misfires_total", Counter, 1,
     "Missed instants by what the misfire rule of their job decided: a late run, or none."},
    {"stats", "jobs", "misfire_skipped", "", "decision=skipped", "rondo_job_misfires_total", Counter, 1, ""},
    {"stats", "jobs", "retried", "", "", "rondo_job_retries_total", Counter, 1, "Retries."},
    {"stats", "notify", "sent", "", "result=sent", "rondo_notifications_total", Counter, 1, "Notifications by their end."},
    {"stats", "notify", "given_up", "", "result=given_up", "rondo_notifications_total", Counter, 1, ""},
    {"stats", "notify", "dropped", "", "result=dropped", "rondo_notifications_total", Counter, 1, ""},

    {"stats", "jobs", "clock_offset_ms", "", "", "rondo_clock_offset_seconds", Gauge, kMs,
     "The clock of the database of jobs less that of this machine, as of the last renewal of the lease."},

    // --- workers, executors and HTTP
    {"workers", "rows", "connected=true", "", "state=connected", "rondo_workers", Gauge, 1, "Workers by state."},
    {"workers", "rows", "connected=false", "", "state=away", "rondo_workers", Gauge, 1, ""},
    {"workers", "rows", "places", "connected=true", "", "rondo_worker_places", Gauge, 1, "Places for runs of connected workers."},
    {"workers", "rows", "free", "connected=true", "", "rondo_worker_places_free", Gauge, 1, "Places without a run."},
    {"stats", "executors.groups.*", "up", "", "group:*,state=up", "rondo_executors", Gauge, 1,
     "Executors of each group by state; at a standby none."},
    {"stats", "executors.groups.*", "draining", "", "group:*,state=draining", "rondo_executors", Gauge, 1, ""},
    {"stats", "executors.groups.*", "broken", "", "group:*,state=broken", "rondo_executors", Gauge, 1, ""},
    {"stats", "executors", "accepted_histogram", "", "result=accepted", "rondo_dispatch_seconds", Histogram, kUs,
     "From an order to an executor to its answer; unanswered: the executor may have the run."},
    {"stats", "executors", "refused_histogram", "", "result=refused", "rondo_dispatch_seconds", Histogram, kUs, ""},
    {"stats", "executors", "unsent_histogram", "", "result=unsent", "rondo_dispatch_seconds", Histogram, kUs, ""},
    {"stats", "executors", "unanswered_histogram", "", "result=unanswered", "rondo_dispatch_seconds", Histogram, kUs, ""},
    {"stats", "executors", "callbacks", "", "result=first", "rondo_callbacks_total", Counter, 1,
     "Results that executors reported; late: of a run that has ended, is elsewhere or unknown."},
    {"stats", "executors", "late", "", "result=late", "rondo_callbacks_total", Counter, 1, ""},
    {"stats", "executors", "lost", "", "", "rondo_executor_runs_lost_total", Counter, 1, "Runs that ended without a result."},
    {"process", "http_answers", "count", "", "route,code", "rondo_http_requests_total", Counter, 1,
     "Requests over HTTP by the part of the program and the status of the answer; no route: malformed or too large."},
    {"process", "", "http_connections", "", "", "rondo_http_connections", Gauge, 1, "Connections of the HTTP server."},
    {"process", "", "http_gave_way", "", "result=replaced", "rondo_http_connections_displaced_total", Counter, 1,
     "Connections closed because all places were taken; replaced: idle or unfinished ones, by new ones."},
    {"process", "", "http_connections_refused", "", "result=refused", "rondo_http_connections_displaced_total", Counter, 1, ""},
    {"process", "", "http_streams", "", "", "rondo_http_streams", Gauge, 1, "Connections among them that are streams of events or frames."},
    {"process", "", "dropped_series", "", "", "rondo_metrics_series_dropped_total", Counter, 1,
     "Label sets that scrapes left out, because their metric had too many."},

    // --- the names of Kubernetes' controllers
    {"stats", "consumers", "queued", "", "name:table", "workqueue_depth", Gauge, 1, "Changes that wait for a turn."},
    {"stats", "consumers", "taken", "", "name:table", "workqueue_adds_total", Counter, 1, "Changes that were taken."},
    {"sources", "rows", "wait_histogram", kLasting, "name", "workqueue_queue_duration_seconds", Histogram, kUs,
     "From ready to the start of the turn."},
    {"sources", "rows", "ran_us/turns", kLasting, "name", "workqueue_work_duration_seconds", Summary, kUs, "Turns."},
    {"stats", "consumers", "unanswered_us", "", "name:table", "workqueue_unfinished_work_seconds", Gauge, kUs,
     "How long no order under way was answered."},
    {"stats", "consumers", "unanswered_us", "", "name:table", "workqueue_longest_running_processor_seconds", Gauge, kUs,
     "How long no order under way was answered."},
    {"stats", "consumers", "retried", "", "name:table", "workqueue_retries_total", Counter, 1, "Later attempts."},
    {"stats", "consumers", "done", "", "controller:table,result=success", "controller_runtime_reconcile_total", Counter, 1,
     "Outcomes of handlers."},
    {"stats", "consumers", "rejected", "", "controller:table,result=error", "controller_runtime_reconcile_total", Counter, 1, ""},
    {"stats", "consumers", "parked_ever", "", "controller:table,result=requeue", "controller_runtime_reconcile_total", Counter, 1, ""},
    {"stats", "consumers", "rejected", "", "controller:table", "controller_runtime_reconcile_errors_total", Counter, 1,
     "Changes that were rejected."},
    {"stats", "consumers", "latency_histogram", "", "controller:table", "controller_runtime_reconcile_time_seconds", Histogram, kUs,
     "From the write of a change to its end."},
};

/// "job" is the label that Prometheus gives its own scrapes.
constexpr std::string_view kJob = "job_name:name";

constexpr MetricName kNamesOfJobs[] = {
    {"jobs", "rows", "last_success", "", kJob, "rondo_job_last_success_timestamp_seconds", Gauge, 1,
     "When the newest run that succeeded ended, since 1970."},
    {"jobs", "rows", "next", "", kJob, "rondo_job_next_timestamp_seconds", Gauge, 1, "When the job fires next, since 1970."},
    {"jobs", "rows", "running=false", "", kJob, "rondo_job_suspended", Gauge, 1, "1: the job is stopped."},
    {"jobs", "rows", "last_state=failed", "", kJob, "rondo_job_failing", Gauge, 1, "1: the newest run that ended has failed or timed out."},
    {"jobs", "rows", "last_state=timed-out", "", kJob, "rondo_job_failing", Gauge, 1, ""},
};

}  // namespace

std::span<const MetricName> metric_names() noexcept { return kNames; }
std::span<const MetricName> job_metric_names() noexcept { return kNamesOfJobs; }

}  // namespace rondo::api
