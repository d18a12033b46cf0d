// make_mariadb_job_store(): the statements of MariaDB. It has no UPDATE that returns rows, and none with a common table expression, so some
// are several statements, which go out together. STRAIGHT_JOIN: the rows of the list are found by their keys, so that no other row is
// locked.
#include "jobs/server/store.h"
#include "jobs/mariadb/database.h"
#include "rondo/jobs/mariadb.h"

namespace rondo::jobs {

namespace mariadb {
namespace {

constexpr server::Statements kStatements{
    // In a race the INSERT meets a row. A job with the same id, when there are no more ids, is an error: 'spec' is not NULL.
    .put_job =
        "UPDATE rondo.jobs SET spec = $2, handler = $3, next = $4 WHERE name = $1; "
        "INSERT INTO rondo.jobs (name, spec, handler, running, next) SELECT $1, $2, $3, 0, $4 FROM DUAL "
        "WHERE NOT EXISTS (SELECT 1 FROM rondo.jobs WHERE name = $1) ON DUPLICATE KEY UPDATE "
        "spec = IF(name = VALUES(name), VALUES(spec), NULL), handler = VALUES(handler), next = VALUES(next)",
    .put_parents =
        "DELETE parents FROM rondo.jobs JOIN rondo.parents ON parents.child = jobs.id WHERE jobs.name = $1 "
        "AND parents.parent NOT IN (SELECT parent FROM unnest($2) AS list (parent)); "
        "INSERT INTO rondo.parents SELECT DISTINCT list.parent, jobs.id FROM unnest($2) AS list (parent) JOIN rondo.jobs ON jobs.name = $1 "
        "ON DUPLICATE KEY UPDATE child = parents.child",
    .move_jobs =
        "UPDATE unnest($1, $2) AS list (id, next) STRAIGHT_JOIN rondo.jobs ON jobs.id = list.id SET jobs.next = list.next "
        "WHERE jobs.running = 1",
    .draw_run_ids =
        "UPDATE rondo.run_ids SET last = last + $1; SELECT last - $1 + seq AS id FROM rondo.run_ids JOIN seq_1_to_$1 ORDER BY id",
    // A run with the same id is an error.
    .add_runs =
        "INSERT INTO rondo.runs (id, job, scheduled, due, band, state, missed, ended, note, parents, parameters, address, rerun_of) "
        "SELECT list.* FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
        "AS list (id, job, scheduled, due, band, state, missed, ended, note, parents, parameters, address, rerun_of) "
        "ON DUPLICATE KEY UPDATE id = IF(runs.id = VALUES(id), NULL, runs.id) RETURNING id",
    .end_runs =
        "SELECT count(*) FROM unnest($1) AS list (id) STRAIGHT_JOIN rondo.runs ON runs.id = list.id WHERE runs.state = 0 FOR UPDATE; "
        "UPDATE (SELECT runs.job, list.next, ROW_NUMBER() OVER (PARTITION BY runs.job ORDER BY list.place DESC) AS number "
        "FROM unnest($1, $8) WITH ORDINALITY AS list (id, next, place) STRAIGHT_JOIN rondo.runs ON runs.id = list.id "
        "WHERE runs.state = 0 AND list.next IS NOT NULL) AS later STRAIGHT_JOIN rondo.jobs ON jobs.id = later.job "
        "SET jobs.next = later.next WHERE later.number = 1 AND jobs.running = 1; "
        "UPDATE unnest($1, $2, $3, $4, $5, $6, $7) AS list (id, state, due, attempt, begun, ended, note) "
        "STRAIGHT_JOIN rondo.runs ON runs.id = list.id SET runs.worker = CASE list.state WHEN 0 THEN '' ELSE runs.worker END, "
        "runs.due = list.due, runs.attempt = list.attempt, runs.begun = list.begun, runs.ended = list.ended, runs.note = list.note, "
        "runs.state = list.state WHERE runs.state = 0",
    .withdraw_runs =
        "SELECT count(*) FROM unnest($1) AS list (id) STRAIGHT_JOIN rondo.runs ON runs.id = list.id WHERE runs.state = 0 FOR UPDATE; "
        "UPDATE (SELECT runs.job, min(list.next) AS next FROM unnest($1, $2) AS list (id, next) STRAIGHT_JOIN rondo.runs "
        "ON runs.id = list.id WHERE runs.state = 0 AND list.next IS NOT NULL GROUP BY runs.job) AS sooner "
        "STRAIGHT_JOIN rondo.jobs ON jobs.id = sooner.job SET jobs.next = sooner.next WHERE jobs.running = 1 "
        "AND (jobs.next IS NULL OR jobs.next > sooner.next); "
        "DELETE gone FROM unnest($1) AS list (id) STRAIGHT_JOIN rondo.runs AS gone ON gone.id = list.id WHERE gone.state = 0",
    .note_workers =
        "UPDATE unnest($1, $2) AS list (id, worker) STRAIGHT_JOIN rondo.runs ON runs.id = list.id SET runs.worker = list.worker "
        "WHERE runs.state = 0",
    .remove_runs =
        "DELETE gone FROM unnest($1) AS list (id) STRAIGHT_JOIN rondo.runs AS gone ON gone.id = list.id; "
        "INSERT INTO rondo.removed_instants SELECT span.job, span.first, span.last "
        "FROM unnest($2, $3, $4) AS span (job, first, last) JOIN rondo.jobs ON jobs.id = span.job ON DUPLICATE KEY UPDATE "
        "first = least(removed_instants.first, VALUES(first)), last = greatest(removed_instants.last, VALUES(last))",
    .remember = "INSERT INTO rondo.remembered (\"key\", text) VALUES ($1, $2) ON DUPLICATE KEY UPDATE text = VALUES(text)",
    .other_owner =
        "SELECT name, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', until) FROM rondo.shards "
        "WHERE owner <> $1 AND until > UTC_TIMESTAMP(6) ORDER BY until DESC LIMIT 1",
    .owners =
        "SELECT name, count(*), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', min(since)), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
        "max(until)), "
        "max(until) <= UTC_TIMESTAMP(6), owner = $1 FROM rondo.shards WHERE owner IS NOT NULL GROUP BY owner, name ORDER BY min(shard)",
    .take =
        "UPDATE (SELECT max(epoch) + 1 AS epoch FROM rondo.shards) AS newest JOIN rondo.shards SET shards.owner = $1, shards.name = $2, "
        "shards.epoch = newest.epoch, shards.since = UTC_TIMESTAMP(6), shards.until = UTC_TIMESTAMP(6) + INTERVAL $3 * 1000 MICROSECOND; "
        "SELECT count(*), max(epoch), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), (SELECT version FROM rondo.changes) "
        "FROM rondo.shards WHERE owner = $1",
    .renew =
        "UPDATE rondo.shards SET until = UTC_TIMESTAMP(6) + INTERVAL $3 * 1000 MICROSECOND, written = $4 WHERE owner = $1 AND epoch = $2 "
        "ORDER BY shard; SELECT count(*), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM rondo.shards "
        "WHERE owner = $1 AND epoch = $2",
    .give_up = "UPDATE rondo.shards SET until = UTC_TIMESTAMP(6) WHERE owner = $1 AND epoch = $2"};

}  // namespace

Result<std::shared_ptr<JobStore>> make_store(const std::string& url, const server::StoreOptions& options) {
  auto database = MariadbDatabase::open(url, options);
  if (!database) return failure(std::move(database.error()));
  return server::make_server_store(std::move(*database), kStatements, options, migrate);
}

}  // namespace mariadb

Result<std::shared_ptr<JobStore>> make_mariadb_job_store(const std::string& url, const std::string& reached_at) {
  return mariadb::make_store(url, {.reached_at = reached_at});
}

}  // namespace rondo::jobs
