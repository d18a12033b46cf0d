// MariadbServer: see database_server.h.
//   RONDO_NEEDS_MARIADB();
//   const std::string url = mariadb_kit::server().url("name");
#pragma once

#include <mysql.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "jobs/mariadb/database.h"
#include "jobs/mariadb/text.h"
#include "jobs/testing/database_server.h"
#include "store/redis/testing/tls.h"

/// The first line of a test that needs a server: without the program the test is skipped, with a message.
#define RONDO_NEEDS_MARIADB() \
  if (!::rondo::mariadb_kit::why_missing().empty()) GTEST_SKIP() << ::rondo::mariadb_kit::why_missing()

namespace rondo::mariadb_kit {

/// A program of the server; empty if there is none.
inline std::string program(const std::string& name) {
  const std::string in_path = redis_kit::find_program(name);
  if (!in_path.empty()) return in_path;
  const std::string here = "/usr/sbin/" + name;
  return std::filesystem::exists(here) ? here : "";
}

/// Why no test can have a server; empty: each can.
inline std::string why_missing() {
  return program("mariadbd").empty() || program("mariadb-install-db").empty()
             ? "SKIPPED: no MariaDB server; install Debian's package mariadb-server"
             : "";
}

class Session final : public server_kit::Session {
 public:
  Session(const std::string& socket, const std::string& database) : connection_(mysql_init(nullptr), mysql_close) {
    if (!connect(socket, database)) redis_kit::give_up(mysql_error(connection_.get()));
    // DatabaseServer::hold_answers() does not hold it up. ANSI: || joins texts.
    execute("SET sql_mode = 'ANSI', sql_log_bin = 0");
  }
  std::string execute(const std::string& statements) override {
    MYSQL* const connection = connection_.get();
    const std::string text = jobs::mariadb::filled(statements, {});
    std::string value;
    int next = mysql_real_query(connection, text.data(), text.size());
    while (next == 0) {
      const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(connection), mysql_free_result);
      const MYSQL_ROW row = result == nullptr ? nullptr : mysql_fetch_row(result.get());
      value = row == nullptr || row[0] == nullptr ? "" : row[0];
      next = mysql_next_result(connection);
    }
    if (next > 0) redis_kit::give_up(mysql_error(connection));
    return value;
  }

 private:
  bool connect(const std::string& socket, const std::string& database) {
    return mysql_real_connect(connection_.get(), nullptr, "root", "", database.c_str(), 0, socket.c_str(), CLIENT_MULTI_STATEMENTS) !=
           nullptr;
  }
  std::unique_ptr<MYSQL, decltype(&mysql_close)> connection_;
};

class MariadbServer final : public server_kit::DatabaseServer {
 public:
  /// The server's certificate is for 127.0.0.1 and localhost.
  const redis_kit::TlsFiles tls{folder_.path()};

  MariadbServer() : DatabaseServer({"mysql", "nobody"}, SIGKILL) {
    mysql_library_init(0, nullptr, nullptr);
    // A server that starts removes the temporary tables of all others in its folder for them.
    run_to_the_end({program("mariadb-install-db"), "--no-defaults", "--datadir=" + folder_.file("data"),
                    "--tmpdir=" + folder_.path().string(), "--auth-root-authentication-method=normal", "--skip-test-db"});
    start();
    administer(
        "CREATE USER rondo@localhost; GRANT ALL ON *.* TO rondo@localhost; REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM rondo@localhost; "
        "CREATE USER guarded IDENTIFIED BY 'secret' REQUIRE SSL; GRANT ALL ON *.* TO guarded");
  }
  ~MariadbServer() override { crash(); }

  /// A crash ends only the process, so nothing need be written to the disk.
  void start() override {
    blocker_.reset();
    start_server({program("mariadbd"), "--no-defaults", "--datadir=" + folder_.file("data"), "--tmpdir=" + folder_.path().string(),
                  "--socket=" + socket(), "--pid-file=" + folder_.file("pid"), "--bind-address=127.0.0.1",
                  "--port=" + std::to_string(port_), "--ssl-cert=" + tls.server_cert_file(), "--ssl-key=" + tls.server_key_file(),
                  "--log-bin=" + folder_.file("binlog"), "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=32M",
                  "--innodb-log-file-size=16M", "--general-log-file=" + folder_.file("statements")},
                 [this] {
                   const std::unique_ptr<MYSQL, decltype(&mysql_close)> connection(mysql_init(nullptr), mysql_close);
                   return mysql_real_connect(connection.get(), nullptr, "root", "", nullptr, 0, socket().c_str(), 0) != nullptr;
                 });
  }
  /// The address for a user who must use TLS, by TCP. Options of the URL follow.
  std::string tls_url(const std::string& database) const {
    return "mariadb://guarded@127.0.0.1:" + std::to_string(port_) + "/" + database + "?";
  }
  std::string url(const std::string& database) const override { return "mariadb://rondo@/" + database + "?socket=" + socket(); }
  std::string made(const std::string& database) override {
    administer("CREATE DATABASE IF NOT EXISTS `" + database + "`");
    return url(database);
  }
  std::string made_anew(const std::string& database) override {
    end_connections(database);
    administer("DROP DATABASE IF EXISTS `" + database + "`");
    return made(database);
  }
  std::unique_ptr<server_kit::Session> session(const std::string& database) override {
    return std::make_unique<Session>(socket(), database);
  }
  Result<std::shared_ptr<jobs::JobStore>> make_store(const std::string& url, const jobs::server::StoreOptions& options) override {
    return jobs::mariadb::make_store(url, options);
  }
  /// In the database mysql.
  std::string administer(const std::string& statement) { return Session(socket(), "mysql").execute(statement); }

  bool has_lease_ended(const std::string& database) override {
    return session(database)->execute("SELECT max(until) <= UTC_TIMESTAMP(6) FROM rondo.shards") == "1";
  }
  void end_connections(const std::string& database) override {
    const std::string all = " FROM information_schema.processlist WHERE user = 'rondo' AND ";
    std::istringstream ids(administer("SELECT group_concat(id SEPARATOR ' ')" + all + "db = '" + database + "'"));
    for (std::string id; ids >> id;) {
      try {
        administer("KILL " + id);
      } catch (const std::runtime_error&) {  // It has gone by itself.
      }
      redis_kit::wait_until("the connection is gone", [&] { return administer("SELECT count(*)" + all + "id = " + id) == "0"; });
    }
  }
  void refuse_connections(const std::string&, bool refuses) override {
    administer(std::string{"ALTER USER rondo@localhost ACCOUNT "} + (refuses ? "LOCK" : "UNLOCK"));
  }
  void block_commits(const std::string&, bool blocks) override {
    blocker_.reset();
    if (!blocks) return;
    blocker_ = session("mysql");
    blocker_->execute("BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT");
  }
  /// A commit waits for a replica that does not exist.
  void hold_answers(bool holds) override {
    administer(
        "SET GLOBAL rpl_semi_sync_master_timeout = 600000, GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_COMMIT', "
        "GLOBAL rpl_semi_sync_master_enabled = " +
        std::string{holds ? "1" : "0"});
  }
  bool does_commit_wait(const std::string& database) override {
    return administer("SELECT count(*) FROM information_schema.processlist WHERE db = '" + database +
                      "' AND state IN ('Waiting for semi-sync ACK from slave', 'Waiting for backup lock')") == "1";
  }
  std::string lock_of_runs() const override { return "LOCK TABLE rondo.runs WRITE"; }
  void count_statements(const std::string&) override { administer("SET GLOBAL general_log = 1"); }
  std::size_t statements() const override { return count(text_of("statements"), " Query\t"); }

 private:
  const std::uint16_t port_ = redis_kit::free_port();
  std::string socket() const { return folder_.file("socket"); }
  std::unique_ptr<server_kit::Session> blocker_;
};

/// The server of this test program, which the first call starts.
inline MariadbServer& server() {
  static MariadbServer the_server;
  return the_server;
}

}  // namespace rondo::mariadb_kit
