#include "rondo-demo/testbed/daemon_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <thread>

#include "rondo-demo/jobs/executor_process.h"

namespace rondo::demo {

namespace {

std::string list_of(std::span<const unsigned> numbers) {
  std::string text;
  for (const unsigned number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

std::string toml_string(std::string_view text) {
  std::string literal = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') literal.push_back('\\');
    literal.push_back(letter);
  }
  return literal + "\"";
}

/// Becomes the program of its arguments, which takes descriptor 3 as a socket of the service manager with the name "http".
constexpr const char* kPassSocket = "export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http; exec \"$@\"";
constexpr int kPassedSocket = 3;

/// Beside the socket.
std::string token_file(const std::string& socket) { return socket.substr(0, socket.rfind('/')) + "/token"; }

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? Status{} : status_from_errno(errno, "writing " + path);
}

std::string configuration(const std::string& socket, const DaemonOptions& options, std::uint16_t http_port) {
  const std::string folder = socket.substr(0, socket.rfind('/'));
  const std::string console =
      options.console < 0 ? "" : "[http]\nenabled = true\napi = true\ntokens = " + toml_string(folder + "/tokens") + "\n";
  const std::string file = folder + "/jobs.db";
  std::string jobs = "[jobs]\nenabled = true\nstore = " + toml_string(options.job_store.empty() ? file : options.job_store) + "\n";
  if (http_port != 0)
    jobs += "[http]\nenabled = true\nport = " + std::to_string(http_port) +
            "\n[[executors.group]]\nname = \"demo\"\ntoken_file = " + toml_string(token_file(socket)) + "\n";
  if (options.only_jobs)
    return "[admin]\nsocket = \"" + socket + "\"\n[log]\nlevel = \"warn\"\n[dataplane]\nkind = \"none\"\n" + jobs + console;
  if (!options.frr_namespace.empty()) {
    return "[scheduler]\nreserve_mib = " + std::to_string(options.reserve_mib) + "\n[admin]\nsocket = \"" + socket +
           "\"\n[log]\nlevel = \"warn\"\n[store]\nurl = \"file://" + folder + "/tables\"\n[dataplane]\nnetwork_namespace = \"" +
           options.frr_namespace + "\"\ntable = 100\n[fpm]\nenabled = true\n" + console;
  }
  std::string text = "[scheduler]\ncpus = " + list_of(options.cpus.scheduler) + "\nreserve_mib = " + std::to_string(options.reserve_mib) +
                     "\n[admin]\nsocket = \"" + socket + "\"\n[store]\nurl = \"" + options.store_url + "\"\n[dataplane]\nkind = \"" +
                     (options.simulated ? "simulated" : "linux") + "\"\n";
  text += "cpus = " + list_of(options.cpus.others) + "\n";
  if (options.simulated) {
    text += "simulated_ports = [";
    for (const std::string& port : options.ports) text += "\"" + port + "\", ";
    text += "]\n";
  }
  if (options.jobs) text += jobs;
  text += console;
  // One file, so that the whole run can be replayed.
  if (!options.journal.empty()) text += "[journal]\nfile = " + toml_string(options.journal) + "\nfile_mib = 0\n";
  return text;
}

int exit_code_of(int result) { return WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result); }

}  // namespace

Result<std::unique_ptr<DaemonProcess>> DaemonProcess::start(const DaemonOptions& options) {
  std::unique_ptr<DaemonProcess> daemon{new DaemonProcess};
  daemon->program_ = options.program;
  daemon->frr_namespace_ = options.frr_namespace;
  daemon->console_ = options.console;
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string{base != nullptr ? base : "/tmp"} + "/rondo-demo-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return failure(status_from_errno(errno, "making a directory " + pattern));
  daemon->directory_ = pattern;
  daemon->socket_ = pattern + "/rondod.sock";
  const std::string path = pattern + "/rondod.toml";
  if (options.executors) {
    const Result<std::uint16_t> port = free_port();
    if (!port) return failure(port.error());
    daemon->http_port_ = *port;
    std::random_device random;
    daemon->executor_token_ = options.executor_token;
    if (options.executor_token.empty()) {
      for (int i = 0; i < 4; ++i) daemon->executor_token_ += std::to_string(random());
    }
    if (Status written = write_file(token_file(daemon->socket_), daemon->executor_token_ + "\n"); !written.ok())
      return failure(std::move(written));
  }
  if (Status written = write_file(path, configuration(daemon->socket_, options, daemon->http_port_)); !written.ok())
    return failure(std::move(written));
  if (Status launched = daemon->launch(); !launched.ok()) return failure(std::move(launched));
  return daemon;
}

Status DaemonProcess::launch() {
  // The shell that passes the socket would be started, and tell less.
  if (::access(program_.c_str(), X_OK) != 0) return status_from_errno(errno, "starting " + program_);
  std::vector<std::string> words{program_, "--config", directory_ + "/rondod.toml"};
  if (!frr_namespace_.empty()) words.insert(words.begin(), {"nsenter", "--net=" + frr_namespace_});
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (console_ >= 0) {
    words.insert(words.begin(), {"sh", "-c", kPassSocket, "sh"});  // Only the new process knows its id.
    posix_spawn_file_actions_adddup2(&files, console_, kPassedSocket);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;  // A caller that blocks signals does not block them in rondod.
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = ::posix_spawnp(&pid_, arguments[0], &files, &attributes, arguments.data(), ::environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    pid_ = -1;
    return status_from_errno(error, "starting " + program_);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (connect()) return {};
    if (!running()) return {StatusCode::Unavailable, "rondod ended at once with exit code " + std::to_string(exit_code_)};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {StatusCode::DeadlineExceeded, "rondod does not answer on " + socket_};
}

void DaemonProcess::kill() {
  ::kill(pid_, SIGKILL);
  int result = 0;
  while (::waitpid(pid_, &result, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = exit_code_of(result);
  pid_ = -1;
}

void DaemonProcess::hang() const {
  if (pid_ > 0) ::kill(pid_, SIGSTOP);
}

void DaemonProcess::go_on() const {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

DaemonProcess::~DaemonProcess() {
  stop();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

bool DaemonProcess::running() {
  if (pid_ <= 0) return false;
  int result = 0;
  if (::waitpid(pid_, &result, WNOHANG) == 0) return true;
  exit_code_ = exit_code_of(result);
  pid_ = -1;
  return false;
}

int DaemonProcess::stop() {
  if (pid_ <= 0) return exit_code_;
  go_on();
  ::kill(pid_, SIGTERM);
  int result = 0;
  while (::waitpid(pid_, &result, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  exit_code_ = exit_code_of(result);
  return exit_code_;
}

}  // namespace rondo::demo
