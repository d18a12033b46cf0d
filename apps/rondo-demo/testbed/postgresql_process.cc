#include "rondo-demo/testbed/postgresql_process.h"

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

constexpr const char* kUser = "postgres";

/// The newest folder with the programs of a server; empty if there is none.
std::string folder_of_programs() {
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

}  // namespace

Result<pid_t> PostgresqlProcess::spawn(const std::string& program, std::vector<std::string> words) const {
  words.insert(words.begin(), programs_ + "/" + program);
  if (::geteuid() == 0) {
    const std::string user = kUser;
    const std::vector<std::string> as_user{"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"};
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

Status PostgresqlProcess::make() {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string{base != nullptr ? base : "/tmp"} + "/rondo-postgresql-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return status_from_errno(errno, "making a directory " + pattern);
  directory_ = pattern;
  if (::geteuid() == 0) {
    const passwd* const user = ::getpwnam(kUser);
    if (user == nullptr) return {StatusCode::NotFound, "there is no user postgres: PostgreSQL does not run as root"};
    if (::chown(directory_.c_str(), user->pw_uid, user->pw_gid) != 0) return status_from_errno(errno, "giving " + directory_ + " away");
  }
  const auto made =
      spawn("initdb", {"--no-sync", "--auth=trust", "--username=rondo", "--encoding=UTF8", "--locale=C", "-D", directory_ + "/data"});
  if (!made) return made.error();
  const int code = wait_for(*made);
  return code == 0 ? Status{} : Status{StatusCode::Unavailable, "initdb ended with exit code " + std::to_string(code)};
}

Result<std::unique_ptr<PostgresqlProcess>> PostgresqlProcess::start() {
  std::unique_ptr<PostgresqlProcess> server{new PostgresqlProcess};
  server->programs_ = folder_of_programs();
  if (server->programs_.empty()) return failure(StatusCode::NotFound, "no PostgreSQL here; install Debian's package postgresql-15");
  if (Status made = server->make(); !made.ok()) return failure(std::move(made));
  const auto spawned = server->spawn("postgres", {"-D", server->directory_ + "/data", "-k", server->directory_, "-c", "listen_addresses="});
  if (!spawned) return failure(spawned.error());
  server->pid_ = *spawned;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto asked = server->spawn("pg_isready", {"-q", "-h", server->directory_});
    if (!asked) return failure(asked.error());
    if (wait_for(*asked) == 0) return server;
    if (::waitpid(server->pid_, nullptr, WNOHANG) != 0) {
      server->pid_ = -1;
      return failure(StatusCode::Unavailable, "postgres ended at once");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return failure(StatusCode::DeadlineExceeded, "postgres does not answer");
}

PostgresqlProcess::~PostgresqlProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGINT);
    wait_for(pid_);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace rondo::demo
