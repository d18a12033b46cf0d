// A real database server for tests, on a Unix socket in a temporary folder: one for the whole test program, with a database for each test.
// PostgresqlServer and MariadbServer are the two. They refuse to run as root, so a test of root runs them as another user. A server ends
// when the test's process ends, also by a crash. Tests only; use the thread that lives longest, see store/redis/testing/process.h.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "jobs/job_store.h"
#include "jobs/server/database.h"
#include "store/redis/testing/process.h"

namespace rondo::server_kit {

/// A connection of a test.
class Session {
 public:
  virtual ~Session() = default;
  /// Executes statements, and returns the first value of the last one's first row; empty: there is none. A table is rondo.jobs.
  virtual std::string execute(const std::string& statements) = 0;
};

class DatabaseServer {
 public:
  virtual ~DatabaseServer() = default;
  DatabaseServer(const DatabaseServer&) = delete;
  DatabaseServer& operator=(const DatabaseServer&) = delete;

  /// Starts again after crash(), and returns when the server answers.
  virtual void start() = 0;
  /// Ends the server as a crash does: nothing is saved, and the next start recovers from the log.
  void crash() {
    if (pid_ <= 0) return;
    ::kill(pid_, crash_signal_);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// The address of a database.
  virtual std::string url(const std::string& database) const = 0;
  /// The address of a database of this name, which is made if it is missing.
  virtual std::string made(const std::string& database) = 0;
  /// The address of a new database; one of this name is removed.
  virtual std::string made_anew(const std::string& database) = 0;
  /// A session in a database of a user with all rights.
  virtual std::unique_ptr<Session> session(const std::string& database) = 0;
  virtual Result<std::shared_ptr<jobs::JobStore>> make_store(const std::string& url, const jobs::server::StoreOptions& options) = 0;

  /// True if the leases in a database have ended by the server's clock.
  virtual bool has_lease_ended(const std::string& database) = 0;
  /// Ends the connections of stores to a database, and returns when they are gone.
  virtual void end_connections(const std::string& database) = 0;
  /// Refuses new connections of stores to a database.
  virtual void refuse_connections(const std::string& database, bool refuses) = 0;
  /// While it is true, commits of stores that plan runs wait before anything is stored.
  virtual void block_commits(const std::string& database, bool blocks) = 0;
  /// While it is true, commits wait when all is stored, and there is no answer.
  virtual void hold_answers(bool holds) = 0;
  /// True if a commit waits for one of both.
  virtual bool does_commit_wait(const std::string& database) = 0;
  /// Locks the table of runs until the session ends.
  virtual std::string lock_of_runs() const = 0;
  /// From now on, the statements of stores in a database are counted.
  virtual void count_statements(const std::string& database) = 0;
  virtual std::size_t statements() const = 0;

 protected:
  /// 'users': the first one that exists is the server's, if the test's is root.
  DatabaseServer(const std::vector<const char*>& users, int crash_signal) : crash_signal_(crash_signal) {
    if (::getuid() != 0) return;
    for (const char* const name : users) {
      if (user_ == nullptr) user_ = ::getpwnam(name);
    }
    if (user_ == nullptr) redis_kit::give_up("there is no user for a database server");
    if (::chown(folder_.path().c_str(), user_->pw_uid, user_->pw_gid) != 0) redis_kit::give_up("chown fails");
  }

  /// What the server has written to 'file' of its folder.
  std::string text_of(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(folder_.file(file)).rdbuf();
    return text.str();
  }
  void run_to_the_end(const std::vector<std::string>& command) {
    start_program(command);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    if (status != 0) redis_kit::give_up(command.front() + " fails:\n" + text_of("log"));
  }
  void start_server(const std::vector<std::string>& command, const std::function<bool()>& answers) {
    start_program(command);
    redis_kit::wait_until("the server answers", [&] {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        redis_kit::give_up(command.front() + " does not start:\n" + text_of("log"));
      }
      return answers();
    });
  }
  static std::size_t count(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (std::size_t found = text.find(word); found != std::string::npos; found = text.find(word, found + 1)) ++count;
    return count;
  }

  redis_kit::TempFolder folder_;

 private:
  void start_program(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const std::string log = folder_.file("log");
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) redis_kit::give_up("fork fails");
    if (pid_ > 0) return;
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const bool is_allowed =
        user_ == nullptr || (::setgroups(0, nullptr) == 0 && ::setgid(user_->pw_gid) == 0 && ::setuid(user_->pw_uid) == 0);
    ::prctl(PR_SET_PDEATHSIG, crash_signal_);  // A change of the user clears it.
    if (!is_allowed || ::getppid() != parent || ::chdir("/") != 0) ::_exit(127);
    redis_kit::become(command.front().c_str(), argv.data(), ::open("/dev/null", O_RDONLY), output);
  }

  const int crash_signal_;
  const passwd* user_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace rondo::server_kit
