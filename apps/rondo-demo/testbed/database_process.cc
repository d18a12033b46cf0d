#include "rondo-demo/testbed/database_process.h"

#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

namespace rondo::demo {

namespace {

/// The newest folder with the programs of PostgreSQL; empty if there is none.
std::string postgresql_programs() {
  std::string found;
  std::error_code none;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    if (std::filesystem::exists(version.path() / "bin" / "initdb", none)) found = std::max(found, (version.path() / "bin").string());
  }
  return found;
}

/// The exit code of a child; -1 if it was killed.
int wait_for(pid_t pid) {
  int result = 0;
  while (::waitpid(pid, &result, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

const char* user_of(DatabaseKind kind) { return kind == DatabaseKind::Postgresql ? "postgres" : "mysql"; }
const char* package_of(DatabaseKind kind) { return kind == DatabaseKind::Postgresql ? "postgresql-15" : "mariadb-server"; }

}  // namespace

const char* DatabaseProcess::name() const noexcept { return kind_ == DatabaseKind::Postgresql ? "PostgreSQL" : "MariaDB"; }

std::string DatabaseProcess::url() const {
  if (kind_ == DatabaseKind::Postgresql) return "postgresql://rondo@/postgres?host=" + directory_;
  return "mariadb://root@/jobs?socket=" + directory_ + "/socket";
}

DatabaseProcess::Words DatabaseProcess::making() const {
  const std::string data = directory_ + "/data";
  if (kind_ == DatabaseKind::Postgresql) {
    return {
        postgresql_programs() + "/initdb", "--no-sync", "--auth=trust", "--username=rondo", "--encoding=UTF8", "--locale=C", "-D", data};
  }
  return {"/usr/bin/mariadb-install-db",
          "--no-defaults",
          "--datadir=" + data,
          "--tmpdir=" + directory_,
          "--auth-root-authentication-method=normal",
          "--skip-test-db"};
}

DatabaseProcess::Words DatabaseProcess::serving() const {
  const std::string data = directory_ + "/data";
  if (kind_ == DatabaseKind::Postgresql) {
    return {postgresql_programs() + "/postgres", "-D", data, "-k", directory_, "-c", "listen_addresses="};
  }
  // A server that starts removes the temporary tables of all others in its folder for them.
  return {"/usr/sbin/mariadbd",
          "--no-defaults",
          "--datadir=" + data,
          "--tmpdir=" + directory_,
          "--socket=" + directory_ + "/socket",
          "--pid-file=" + directory_ + "/pid",
          "--skip-networking"};
}

DatabaseProcess::Words DatabaseProcess::asking() const {
  if (kind_ == DatabaseKind::Postgresql) return {postgresql_programs() + "/pg_isready", "-q", "-h", directory_};
  return {
      "/usr/bin/mariadb", "--no-defaults", "--socket=" + directory_ + "/socket", "--user=root", "-e", "CREATE DATABASE IF NOT EXISTS jobs"};
}

Result<pid_t> DatabaseProcess::spawn(Words words) const {
  if (::geteuid() == 0) {
    const std::string user = user_of(kind_);
    const Words as_user{"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"};
    words.insert(words.begin(), as_user.begin(), as_user.end());
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string log = directory_ + "/log";
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments[0], &files, nullptr, arguments.data(), ::environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return failure(status_from_errno(error, "starting " + words.front()));
  return pid;
}

Status DatabaseProcess::make() {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string{base != nullptr ? base : "/tmp"} + "/rondo-database-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return status_from_errno(errno, "making a directory " + pattern);
  directory_ = pattern;
  if (::geteuid() == 0) {
    const passwd* const user = ::getpwnam(user_of(kind_));
    if (user == nullptr) {
      return {StatusCode::NotFound,
              std::string{"there is no user "} + user_of(kind_) + ": " + name() + " is to run as that user, not as root"};
    }
    if (::chown(directory_.c_str(), user->pw_uid, user->pw_gid) != 0) return status_from_errno(errno, "giving " + directory_ + " away");
  }
  const auto made = spawn(making());
  if (!made) return made.error();
  const int code = wait_for(*made);
  if (code == 0) return {};
  return {StatusCode::Unavailable, making().front() + " ended with exit code " + std::to_string(code)};
}

Result<std::unique_ptr<DatabaseProcess>> DatabaseProcess::start(DatabaseKind kind) {
  std::unique_ptr<DatabaseProcess> server{new DatabaseProcess(kind)};
  std::error_code none;
  if (!std::filesystem::exists(server->serving().front(), none)) {
    return failure(StatusCode::NotFound, std::string{"no "} + server->name() + " here; install Debian's package " + package_of(kind));
  }
  if (Status made = server->make(); !made.ok()) return failure(std::move(made));
  const auto spawned = server->spawn(server->serving());
  if (!spawned) return failure(spawned.error());
  server->pid_ = *spawned;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto asked = server->spawn(server->asking());
    if (!asked) return failure(asked.error());
    if (wait_for(*asked) == 0) return server;
    if (::waitpid(server->pid_, nullptr, WNOHANG) != 0) {
      server->pid_ = -1;
      return failure(StatusCode::Unavailable, server->serving().front() + " ended at once");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return failure(StatusCode::DeadlineExceeded, std::string{server->name()} + " does not answer");
}

DatabaseProcess::~DatabaseProcess() {
  if (pid_ > 0) {
    ::kill(pid_, kind_ == DatabaseKind::Postgresql ? SIGINT : SIGKILL);
    wait_for(pid_);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace rondo::demo
