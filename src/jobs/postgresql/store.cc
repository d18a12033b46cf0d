// make_postgresql_job_store(): the statements of PostgreSQL.
#include "jobs/server/store.h"
#include "jobs/postgresql/database.h"
#include "rondo/jobs/postgresql.h"

namespace rondo::jobs {

namespace postgresql {
namespace {

constexpr server::Statements kStatements{
    // An INSERT that meets a row would use up a number of the sequence.
    .put_job =
        "WITH changed AS (UPDATE rondo.jobs SET spec = $2, handler = $3, next = $4 WHERE name = $1 RETURNING id) "
        "INSERT INTO rondo.jobs (name, spec, handler, running, next) SELECT $1, $2, $3, 0, $4 WHERE NOT EXISTS (SELECT 1 FROM changed) "
        "ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, handler = excluded.handler, next = excluded.next",
    .put_parents =
        "WITH gone AS (DELETE FROM rondo.parents USING rondo.jobs WHERE jobs.name = $1 AND parents.child = jobs.id "
        "AND parents.parent <> ALL ($2)) "
        "INSERT INTO rondo.parents SELECT DISTINCT list.parent, jobs.id FROM unnest($2) AS list (parent), rondo.jobs WHERE jobs.name = $1 "
        "ON CONFLICT DO NOTHING",
    .move_jobs =
        "UPDATE rondo.jobs SET next = list.next FROM unnest($1, $2) AS list (id, next) WHERE jobs.id = list.id AND jobs.running = 1",
    .draw_run_ids = "SELECT nextval('rondo.runs_id_seq') AS id FROM generate_series(1, $1) ORDER BY id",
    .add_runs =
        "INSERT INTO rondo.runs (id, job, scheduled, due, band, state, missed, ended, note, parents, parameters, address, rerun_of) "
        "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
        "ON CONFLICT (job, scheduled) WHERE band <> 3 AND rerun_of = 0 DO NOTHING RETURNING id",
    .end_runs =
        "WITH changed AS ("
        "  UPDATE rondo.runs SET state = list.state, due = list.due, attempt = list.attempt, begun = list.begun, ended = list.ended, "
        "  note = list.note, worker = CASE list.state WHEN 0 THEN '' ELSE runs.worker END "
        "  FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) WITH ORDINALITY AS list (id, state, due, attempt, begun, ended, note, next, place) "
        "  WHERE runs.id = list.id AND runs.state = 0 RETURNING runs.job, list.next, list.place), "
        "delayed AS (SELECT DISTINCT ON (job) job, next FROM changed WHERE next IS NOT NULL ORDER BY job, place DESC) "
        "UPDATE rondo.jobs SET next = delayed.next FROM delayed WHERE jobs.id = delayed.job AND jobs.running = 1",
    .withdraw_runs =
        "WITH gone AS ("
        "  DELETE FROM rondo.runs USING unnest($1, $2) AS list (id, next) WHERE runs.id = list.id AND runs.state = 0 "
        "  RETURNING runs.job, list.next), "
        "due AS (SELECT job, min(next) AS next FROM gone WHERE next IS NOT NULL GROUP BY job) "
        "UPDATE rondo.jobs SET next = due.next FROM due WHERE jobs.id = due.job AND jobs.running = 1 "
        "AND (jobs.next IS NULL OR jobs.next > due.next)",
    .note_workers =
        "UPDATE rondo.runs SET worker = list.worker FROM unnest($1, $2) AS list (id, worker) WHERE runs.id = list.id AND runs.state = 0",
    .remove_runs =
        "WITH gone AS (DELETE FROM rondo.runs WHERE id = ANY ($1)) INSERT INTO rondo.removed_instants "
        "SELECT span.job, span.first, span.last FROM unnest($2, $3, $4) AS span (job, first, last) JOIN rondo.jobs ON jobs.id = span.job "
        "ON CONFLICT (job) DO UPDATE SET first = least(removed_instants.first, excluded.first), "
        "last = greatest(removed_instants.last, excluded.last)",
    .remember = "INSERT INTO rondo.remembered (key, text) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET text = excluded.text",
    .other_owner =
        "SELECT name, (extract(epoch FROM until) * 1000000)::bigint FROM rondo.shards "
        "WHERE owner <> $1 AND until > clock_timestamp() ORDER BY until DESC LIMIT 1",
    .owners =
        "SELECT name, count(*), (extract(epoch FROM min(since)) * 1000000)::bigint, (extract(epoch FROM max(until)) * 1000000)::bigint, "
        "(max(until) <= clock_timestamp())::int, (owner = $1)::int FROM rondo.shards WHERE owner IS NOT NULL GROUP BY owner, name "
        "ORDER BY min(shard)",
    .take =
        "WITH taken AS (UPDATE rondo.shards SET owner = $1, name = convert_from($2, 'UTF8'), "
        "epoch = (SELECT max(epoch) + 1 FROM rondo.shards), since = clock_timestamp(), until = clock_timestamp() + $3 * interval '1 "
        "millisecond' RETURNING epoch) "
        "SELECT count(*), max(epoch), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT version FROM rondo.changes) FROM "
        "taken",
    .renew =
        "WITH own AS (SELECT shard FROM rondo.shards WHERE owner = $1 AND epoch = $2 ORDER BY shard FOR UPDATE), "
        "renewed AS (UPDATE rondo.shards SET until = clock_timestamp() + $3 * interval '1 millisecond', written = $4 FROM own "
        "WHERE shards.shard = own.shard RETURNING 1) SELECT count(*), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM "
        "renewed",
    .give_up = "UPDATE rondo.shards SET until = clock_timestamp() WHERE owner = $1 AND epoch = $2"};

}  // namespace

Result<std::shared_ptr<JobStore>> make_store(const std::string& url, const server::StoreOptions& options) {
  auto database = PostgresqlDatabase::open(url, options);
  if (!database) return failure(std::move(database.error()));
  return server::make_server_store(std::move(*database), kStatements, options, migrate);
}

}  // namespace postgresql

Result<std::shared_ptr<JobStore>> make_postgresql_job_store(const std::string& url, const std::string& reached_at) {
  return postgresql::make_store(url, {.reached_at = reached_at});
}

}  // namespace rondo::jobs
