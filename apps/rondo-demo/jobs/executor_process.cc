#include "rondo-demo/jobs/executor_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"

namespace rondo::demo {

namespace {

/// The bytes up to the first end of a line; empty if the writer ends before.
std::string read_line(int fd) {
  std::string line;
  for (char byte = 0; byte != '\n';) {
    const ssize_t got = ::read(fd, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    if (byte != '\n') line.push_back(byte);
  }
  return line;
}

/// Starts this program with these words. Its standard output is 'output'.
Result<pid_t> spawn(std::vector<std::string> words, int output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &files, nullptr, arguments.data(), ::environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return failure(status_from_errno(error, "starting an executor"));
  return pid;
}

}  // namespace

Result<std::unique_ptr<ExecutorProcess>> ExecutorProcess::start(const ExecutorProcessOptions& options) {
  std::unique_ptr<ExecutorProcess> executor{new ExecutorProcess};
  executor->log_path_ = options.log_path;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure(status_from_errno(errno, "making a pipe"));
  const UniqueFd reader{ends[0]};
  UniqueFd writer{ends[1]};
  const auto pid =
      spawn({"rondo-demo", "executor", "--scheduler", options.scheduler, "--group", options.group, "--token", options.token, "--log",
             options.log_path, "--work", std::to_string(options.work / 1ms), "--beat", std::to_string(options.beat / 1ms)},
            writer.get());
  if (!pid) return failure(pid.error());
  executor->pid_ = *pid;
  writer.reset();
  executor->address_ = read_line(reader.get());
  if (executor->address_.empty()) return failure(StatusCode::Unavailable, "an executor ended before it listened");
  return executor;
}

ExecutorProcess::~ExecutorProcess() { stop(); }

void ExecutorProcess::wait_for_end() {
  int result = 0;
  while (::waitpid(pid_, &result, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void ExecutorProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait_for_end();
}

void ExecutorProcess::hang() {
  if (pid_ > 0) ::kill(pid_, SIGSTOP);
}

void ExecutorProcess::go_on() {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

void ExecutorProcess::stop() {
  if (pid_ <= 0) return;
  go_on();
  ::kill(pid_, SIGTERM);
  wait_for_end();
}

std::vector<std::int64_t> ExecutorProcess::orders() const {
  std::ifstream file(log_path_);
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::int64_t> all;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::from_chars(text.data() + at, text.data() + end, all.emplace_back());
  }
  return all;
}

Result<std::uint16_t> free_port() {
  const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), raw, size) != 0 || ::getsockname(socket.get(), raw, &size) != 0)
    return failure(status_from_errno(errno, "finding a free port"));
  return ntohs(address.sin_port);
}

}  // namespace rondo::demo
