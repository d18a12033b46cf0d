// PostgresqlServer: see database_server.h.
//   RONDO_NEEDS_POSTGRESQL();
//   const std::string url = postgresql_kit::server().url("name");
#pragma once

#include <libpq-fe.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "jobs/postgresql/database.h"
#include "jobs/testing/database_server.h"

/// The first line of a test that needs a server: without the program the test is skipped, with a message.
#define RONDO_NEEDS_POSTGRESQL() \
  if (!::rondo::postgresql_kit::why_missing().empty()) GTEST_SKIP() << ::rondo::postgresql_kit::why_missing()

namespace rondo::postgresql_kit {

/// The newest folder with the server's programs; empty if there is none.
inline std::string program_folder() {
  const std::string in_path = redis_kit::find_program("initdb");
  if (!in_path.empty()) {
    const auto folder = std::filesystem::canonical(in_path).parent_path();
    if (std::filesystem::exists(folder / "postgres")) return folder.string();
  }
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    if (std::filesystem::exists(version.path() / "bin" / "postgres")) found.push_back((version.path() / "bin").string());
  }
  return found.empty() ? "" : *std::ranges::max_element(found);
}

/// Why no test can have a server; empty: each can.
inline std::string why_missing() {
  return program_folder().empty() ? "SKIPPED: no PostgreSQL server; install Debian's package postgresql-15" : "";
}

class Session final : public server_kit::Session {
 public:
  explicit Session(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) redis_kit::give_up(PQerrorMessage(connection_.get()));
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
    execute("SET synchronous_commit = local");  // DatabaseServer::hold_answers() does not hold it up.
  }
  std::string execute(const std::string& statements) override {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), statements.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) redis_kit::give_up(PQresultErrorMessage(result.get()));
    return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class PostgresqlServer final : public server_kit::DatabaseServer {
 public:
  PostgresqlServer() : DatabaseServer({"postgres", "nobody"}, SIGQUIT) {
    run_to_the_end({program_folder() + "/initdb", "--no-sync", "--auth=trust", "--username=rondo", "--encoding=UTF8", "--locale=C", "-D",
                    folder_.file("data")});
    start();
  }
  ~PostgresqlServer() override { crash(); }

  void start() override {
    start_server({program_folder() + "/postgres", "-D", folder_.file("data"), "-k", folder_.path().string(), "-c",
                  "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"},
                 [this] { return PQping(url("postgres").c_str()) == PQPING_OK; });
  }
  std::string url(const std::string& database) const override {
    return "postgresql://rondo@/" + database + "?host=" + folder_.path().string();
  }
  std::string made(const std::string& database) override {
    if (administer("SELECT 1 FROM pg_database WHERE datname = '" + database + "'").empty())
      administer("CREATE DATABASE \"" + database + "\"");
    return url(database);
  }
  std::string made_anew(const std::string& database) override {
    administer("DROP DATABASE IF EXISTS \"" + database + "\" WITH (FORCE)");
    return made(database);
  }
  std::unique_ptr<server_kit::Session> session(const std::string& database) override { return std::make_unique<Session>(url(database)); }
  Result<std::shared_ptr<jobs::JobStore>> make_store(const std::string& url, const jobs::server::StoreOptions& options) override {
    return jobs::postgresql::make_store(url, options);
  }
  /// In the database postgres.
  std::string administer(const std::string& statement) { return Session(url("postgres")).execute(statement); }

  bool has_lease_ended(const std::string& database) override {
    return session(database)->execute("SELECT max(until) <= clock_timestamp() FROM rondo.shards") == "t";
  }
  void end_connections(const std::string& database) override {
    administer("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '" + database +
               "' AND application_name = 'rondo'");
  }
  void refuse_connections(const std::string& database, bool refuses) override {
    administer("ALTER DATABASE " + database + " ALLOW_CONNECTIONS " + (refuses ? "false" : "true"));
  }
  void block_commits(const std::string& database, bool blocks) override {
    session(database)->execute(
        blocks ? "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;"
                 "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON rondo.runs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
                 "EXECUTE FUNCTION wait()"
               : "DROP TRIGGER waits ON rondo.runs");
  }
  /// A commit waits for a standby that does not exist.
  void hold_answers(bool holds) override {
    const std::string standby = holds ? "none" : "";
    administer("ALTER SYSTEM SET synchronous_standby_names = '" + standby + "'");
    administer("SELECT pg_reload_conf()");
    redis_kit::wait_until("the setting counts", [&] { return administer("SHOW synchronous_standby_names") == standby; });
  }
  bool does_commit_wait(const std::string& database) override {
    return administer("SELECT count(*) FROM pg_stat_activity WHERE datname = '" + database +
                      "' AND wait_event IN ('SyncRep', 'PgSleep')") == "1";
  }
  std::string lock_of_runs() const override { return "BEGIN; LOCK TABLE rondo.runs"; }
  void count_statements(const std::string& database) override { administer("ALTER DATABASE " + database + " SET log_statement = 'all'"); }
  std::size_t statements() const override { return count(text_of("log"), "execute <unnamed>"); }
};

/// The server of this test program, which the first call starts.
inline PostgresqlServer& server() {
  static PostgresqlServer the_server;
  return the_server;
}

}  // namespace rondo::postgresql_kit
