// A real PostgreSQL server for tests, on a Unix socket in a temporary folder: one for the whole test program, with a database for each
// test.
//   RONDO_NEEDS_POSTGRESQL();
//   const std::string url = postgresql_kit::server().url("name");
// PostgreSQL refuses to run as root, so a test of root runs it as postgres or nobody. The server ends when the test's process ends, also by
// a crash. Tests only; use the thread that lives longest, see store/redis/testing/process.h.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "store/redis/testing/process.h"

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

/// A connection of a test.
class Session {
 public:
  explicit Session(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) redis_kit::give_up(PQerrorMessage(connection_.get()));
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }
  /// Executes statements, and returns the first value of the last one's first row; empty: there is none.
  std::string execute(const std::string& statements) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), statements.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) redis_kit::give_up(PQresultErrorMessage(result.get()));
    return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class Server {
 public:
  Server() {
    if (::getuid() == 0) user_ = unprivileged();
    if (user_ != nullptr && ::chown(folder_.path().c_str(), user_->pw_uid, user_->pw_gid) != 0) redis_kit::give_up("chown fails");
    start_program({"initdb", "--no-sync", "--auth=trust", "--username=rondo", "--encoding=UTF8", "--locale=C", "-D", folder_.file("data")});
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    if (status != 0) redis_kit::give_up("initdb fails:\n" + log());
    start();
  }
  ~Server() { crash(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Starts again after crash(), and returns when the server answers.
  void start() {
    start_program({"postgres", "-D", folder_.file("data"), "-k", folder_.path().string(), "-c", "listen_addresses=", "-c", "fsync=off",
                   "-c", "shared_buffers=16MB"});
    redis_kit::wait_until("the server answers", [this] {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        redis_kit::give_up("postgres does not start:\n" + log());
      }
      return PQping(url("postgres").c_str()) == PQPING_OK;
    });
  }
  /// Ends the server as a crash does: nothing is saved, and the next start recovers from the log.
  void crash() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGQUIT);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  /// The address of a database.
  std::string url(const std::string& database) const { return "postgresql://rondo@/" + database + "?host=" + folder_.path().string(); }
  /// The address of a database of this name, which is made if it is missing.
  std::string made(const std::string& database) {
    Session session(url("postgres"));
    if (session.execute("SELECT 1 FROM pg_database WHERE datname = '" + database + "'").empty())
      session.execute("CREATE DATABASE \"" + database + "\"");
    return url(database);
  }
  /// The address of a new database; one of this name is removed.
  std::string made_anew(const std::string& database) {
    Session(url("postgres")).execute("DROP DATABASE IF EXISTS \"" + database + "\" WITH (FORCE)");
    return made(database);
  }
  /// What the server has written.
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder_.file("log")).rdbuf();
    return text.str();
  }

 private:
  static const passwd* unprivileged() {
    for (const char* const name : {"postgres", "nobody"}) {
      if (const passwd* const user = ::getpwnam(name)) return user;
    }
    redis_kit::give_up("neither the user postgres nor nobody exists");
  }

  void start_program(const std::vector<std::string>& arguments) {
    const std::string program = program_folder() + "/" + arguments.front();
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const std::string log = folder_.file("log");
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) redis_kit::give_up("fork fails");
    if (pid_ > 0) return;
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const bool is_allowed =
        user_ == nullptr || (::setgroups(0, nullptr) == 0 && ::setgid(user_->pw_gid) == 0 && ::setuid(user_->pw_uid) == 0);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // A change of the user clears it.
    if (!is_allowed || ::getppid() != parent || ::chdir("/") != 0) ::_exit(127);
    redis_kit::become(program.c_str(), argv.data(), ::open("/dev/null", O_RDONLY), output);
  }

  const passwd* user_ = nullptr;
  redis_kit::TempFolder folder_;
  pid_t pid_ = -1;
};

/// The server of this test program, which the first call starts.
inline Server& server() {
  static Server the_server;
  return the_server;
}

}  // namespace rondo::postgresql_kit
