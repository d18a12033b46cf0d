#include "frr/router.h"

#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

namespace rondo::frr {

namespace {

const std::string kPrograms = "/usr/lib/frr/";
constexpr auto kPatience = std::chrono::seconds{20};
constexpr auto kEndPatience = std::chrono::seconds{5};
constexpr std::size_t kLogEnd = 2000;  // Characters of the log in an error.

Status write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? Status{} : status_from_errno(errno != 0 ? errno : EIO, "writing " + path);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_ended(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; }

/// Sends 'signal' and waits. zebra 8.4.4 sometimes does not end on SIGTERM; then it is killed.
void end_process(pid_t& pid, int signal) {
  if (pid <= 0) return;
  ::kill(pid, signal);
  const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
  while (!has_ended(pid)) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid = -1;
}

}  // namespace

Status check_installed() {
  for (const std::string& path : {kPrograms + "zebra", kPrograms + "bgpd", std::string{"/usr/bin/vtysh"}}) {
    if (!std::filesystem::exists(path)) return {StatusCode::NotFound, path + " is missing; install Debian's package frr"};
  }
  return {};
}

Result<std::unique_ptr<Router>> Router::start(const RouterOptions& options) {
  std::unique_ptr<Router> router{new Router(options)};
  if (Status status = router->prepare(); !status.ok()) return failure(std::move(status));
  if (Status status = router->begin(); !status.ok()) return failure(std::move(status));
  return router;
}

/// FRR's programs change to the user frr, who must be able to write the directory.
Status Router::prepare() {
  if (Status installed = check_installed(); !installed.ok()) return installed;
  const passwd* const user = ::getpwnam("frr");
  if (user == nullptr) return {StatusCode::NotFound, "there is no user frr; install Debian's package frr"};
  const char* const base = std::getenv("TMPDIR");
  std::string pattern = std::string{base != nullptr ? base : "/tmp"} + "/rondo-frr-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return status_from_errno(errno, "making a directory " + pattern);
  directory_ = pattern;
  if (Status status = write_file(file("zebra.conf"), options_.fpm ? "fpm address 127.0.0.1\n" : ""); !status.ok()) return status;
  if (Status status = write_file(file("bgpd.conf"), options_.bgpd); !status.ok()) return status;
  if (::chown(directory_.c_str(), user->pw_uid, user->pw_gid) != 0) return status_from_errno(errno, "giving " + directory_ + " to frr");
  return {};
}

Router::~Router() {
  end(SIGKILL);
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void Router::end(int signal) {
  end_process(zebra_, signal);
  end_process(bgpd_, SIGKILL);
}

Result<pid_t> Router::spawn(std::vector<std::string> words) const {
  words.insert(words.begin(), {"nsenter", "--net=" + options_.network_namespace});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;  // A caller that blocks signals does not block them in FRR.
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), ::environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return failure(status_from_errno(error, "starting " + words[2]));
  return pid;
}

Status Router::begin() {
  std::error_code ignored;
  std::filesystem::remove(file("zserv.api"), ignored);  // A killed zebra leaves it.
  const auto words = [this](const std::string& program) {
    return std::vector<std::string>{kPrograms + program,
                                    "-f",
                                    file(program + ".conf"),
                                    "-i",
                                    file(program + ".pid"),
                                    "-z",
                                    file("zserv.api"),
                                    "-P",
                                    "0",
                                    "-u",
                                    "frr",
                                    "-g",
                                    "frr",
                                    "--log",
                                    "stdout",
                                    "--vty_socket",
                                    directory_};
  };
  std::vector<std::string> zebra = words("zebra");
  if (options_.fpm) zebra.insert(zebra.end(), {"-M", "dplane_fpm_nl"});
  auto started = spawn(std::move(zebra));
  if (!started) return started.error();
  zebra_ = *started;
  if (Status status = wait_for_zebra(); !status.ok()) return status;
  started = spawn(words("bgpd"));
  if (!started) return started.error();
  bgpd_ = *started;
  return {};
}

/// bgpd, which starts next, waits 10 s before it tries a second time to connect.
Status Router::wait_for_zebra() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!std::filesystem::exists(file("zserv.api"))) {
    if (has_ended(zebra_)) {
      zebra_ = -1;
      return {StatusCode::Unavailable, "zebra ended at once: " + log()};
    }
    if (std::chrono::steady_clock::now() > deadline) return {StatusCode::DeadlineExceeded, "zebra does not answer: " + log()};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

Status Router::command(const std::vector<std::string>& lines) const {
  std::vector<std::string> words{"vtysh", "--vty_socket", directory_, "-d", "bgpd"};
  for (const std::string& line : lines) words.insert(words.end(), {"-c", line});
  auto started = spawn(std::move(words));
  if (!started) return started.error();
  int result = 0;
  while (::waitpid(*started, &result, 0) < 0 && errno == EINTR) {
  }
  return result == 0 ? Status{} : Status{StatusCode::Unavailable, "vtysh failed: " + log()};
}

std::string Router::log() const {
  const std::string text = read_file(file("log"));
  return text.substr(text.size() > kLogEnd ? text.size() - kLogEnd : 0);
}

}  // namespace rondo::frr
