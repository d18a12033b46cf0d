// The tables of a database of jobs in MariaDB, and their versions.
#include <array>
#include <span>

#include "jobs/mariadb/database.h"
#include "jobs/server/migration.h"
#include "rondo/jobs/job_run.h"

namespace rondo::jobs::mariadb {

namespace {

// MariaDB commits at each change of a table, so each statement may be executed again, after a migration that was interrupted. Texts are
// bytes, because character sets refuse some, and compare without regard to case. There is no index of some rows only: 'planned' is NULL,
// which is equal to nothing, in a row that does not count for runs_scheduled.
constexpr std::array kTables{
    "CREATE TABLE IF NOT EXISTS rondo_version (version INT NOT NULL) ENGINE = InnoDB",
    "INSERT INTO rondo_version SELECT 0 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM rondo_version)",
    "CREATE TABLE IF NOT EXISTS rondo.jobs ("
    "  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
    "  name VARBINARY(1000) NOT NULL UNIQUE,"
    "  spec LONGBLOB NOT NULL,"
    "  handler LONGBLOB NOT NULL,"  // As in 'spec', for failures().
    "  running SMALLINT NOT NULL,"
    "  next BIGINT,"
    "  INDEX jobs_due (running, next, id)) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS rondo.runs ("
    "  id BIGINT NOT NULL PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),"
    "  job INT NOT NULL, scheduled BIGINT NOT NULL, due BIGINT NOT NULL,"
    "  band SMALLINT NOT NULL CHECK (band BETWEEN 0 AND 4),"
    "  state SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 6),"
    "  attempt BIGINT NOT NULL DEFAULT 0, missed BIGINT NOT NULL, begun BIGINT, ended BIGINT,"
    "  note LONGBLOB NOT NULL, parents LONGBLOB NOT NULL, worker LONGBLOB NOT NULL DEFAULT '',"
    "  killed SMALLINT NOT NULL DEFAULT 0, parameters LONGBLOB, address LONGBLOB NOT NULL, rerun_of BIGINT NOT NULL,"
    "  planned TINYINT AS (IF(band <> 3 AND rerun_of = 0, 1, NULL)) STORED,"  // 3: Band::Manual.
    "  UNIQUE INDEX runs_scheduled (job, scheduled, planned),"
    "  INDEX runs_of_job (job, id), INDEX runs_by_state (state, id), INDEX runs_ended (ended, id), INDEX runs_last_ended (job, ended, id),"
    "  FOREIGN KEY (job) REFERENCES rondo.jobs (id) ON DELETE CASCADE) ENGINE = InnoDB",
    // The last id of a run.
    "CREATE TABLE IF NOT EXISTS rondo.run_ids (last BIGINT NOT NULL CHECK (last BETWEEN 0 AND 9007199254740991)) ENGINE = InnoDB",
    "INSERT INTO rondo.run_ids SELECT 0 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM rondo.run_ids)",
    "CREATE TABLE IF NOT EXISTS rondo.parents ("
    "  parent VARBINARY(1000) NOT NULL, child INT NOT NULL, PRIMARY KEY (parent, child), INDEX parents_of_child (child),"
    "  FOREIGN KEY (child) REFERENCES rondo.jobs (id) ON DELETE CASCADE) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS rondo.remembered (\"key\" VARBINARY(1000) NOT NULL PRIMARY KEY, text LONGBLOB NOT NULL) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS rondo.removed_instants ("
    "  job INT NOT NULL PRIMARY KEY, first BIGINT NOT NULL, last BIGINT NOT NULL,"
    "  FOREIGN KEY (job) REFERENCES rondo.jobs (id) ON DELETE CASCADE) ENGINE = InnoDB",
    // 'owner' is a number that a store draws when it is made; 'name' is for people; 'until' is in UTC; 'written' is the number of the
    // owner's last transaction.
    "CREATE TABLE IF NOT EXISTS rondo.shards ("
    "  shard SMALLINT NOT NULL PRIMARY KEY CHECK (shard BETWEEN 0 AND 63),"
    "  owner VARBINARY(16),"
    "  name VARCHAR(1000) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',"
    "  epoch BIGINT NOT NULL DEFAULT 0,"
    "  since DATETIME(6) NOT NULL DEFAULT '1970-01-01',"
    "  until DATETIME(6) NOT NULL DEFAULT '1970-01-01',"
    "  written BIGINT NOT NULL DEFAULT 0) ENGINE = InnoDB",
    "INSERT INTO rondo.shards (shard) SELECT seq FROM seq_0_to_63 ON DUPLICATE KEY UPDATE shard = shards.shard",
    // Counts the transactions of stores that own nothing, for is_changed_elsewhere().
    "CREATE TABLE IF NOT EXISTS rondo.changes (version BIGINT NOT NULL) ENGINE = InnoDB",
    "INSERT INTO rondo.changes SELECT 0 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM rondo.changes)"};
static_assert(static_cast<int>(Band::Manual) == 3 && static_cast<int>(Band::Backfill) == 4 && static_cast<int>(RunState::Skipped) == 6,
              "the statements above have these numbers");

constexpr std::array<std::span<const char* const>, 1> kSteps{kTables};
constexpr server::Migration kMigration{
    .steps = kSteps,
    .count_tables =
        "SELECT IF(sum(table_name = 'rondo_version') > 0, -1, count(*)) FROM information_schema.tables WHERE table_schema = DATABASE()",
    .read_version = "SELECT version FROM rondo_version",
    .write_version = "UPDATE rondo_version SET version = $1",
    .foreign = "the database has tables of another program"};

}  // namespace

Status migrate(server::Database& database) {
  return kMigration.migrate(database, [&](const auto& take_steps) -> Status {
    // The lock ends with the connection.
    const auto locked = database.number("SELECT GET_LOCK(concat('rondo.', DATABASE()), 8)");
    if (!locked) return locked.error();
    if (*locked != 1) return {StatusCode::Unavailable, "another program has been creating the tables for 8 s"};
    Status done = take_steps();
    static_cast<void>(database.execute("DO RELEASE_LOCK(concat('rondo.', DATABASE()))"));
    return done;
  });
}

}  // namespace rondo::jobs::mariadb
