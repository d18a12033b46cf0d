// A redis-server (or Sentinel) for tests, as a child process in a temporary folder. The child is killed when the test's process dies.
// Process and folder are removed with the object, also after a failed test. A failed start throws, and the test fails with the text. Use
// the thread that lives longest: the kernel kills the child when the thread that started it ends.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::redis_kit {

/// The time limit for every wait. It is long, because it only ends what hangs.
inline constexpr std::chrono::seconds kPatience{60};

[[noreturn]] inline void give_up(const std::string& what) { throw std::runtime_error("redis kit: " + what); }

/// Calls 'holds' repeatedly until it returns true; throws when the patience ends. For states that no event reports, such as the state of a
/// server.
template <class Predicate>
void wait_until(std::string_view what, Predicate holds, std::chrono::milliseconds patience = kPatience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) give_up("waited in vain until " + std::string{what});
    ::poll(nullptr, 0, 5);
  }
}

/// While it exists, writing to a closed connection is an error for this thread and does not end the process. Use it only around the kit's
/// own writes, so that tests detect a missing MSG_NOSIGNAL in the product.
class NoPipeSignal {
 public:
  NoPipeSignal() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    while (::sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

/// The first executable of that name in PATH, or in the usual folders; empty if there is none.
inline std::string find_program(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string{path == nullptr ? "" : path} + ":/usr/bin:/usr/local/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/" + std::string{name};
    if (!folder.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

/// The redis-server of this machine. redis-tools has the same program as redis-check-rdb; the program acts by the name under which it is
/// called.
inline std::string server_program() {
  const std::string program = find_program("redis-server");
  return program.empty() ? find_program("redis-check-rdb") : program;
}

/// A TCP port of 127.0.0.1 that was free a moment ago.
inline std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) give_up("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

/// Runs in a child between fork and exec, where only system calls are allowed. It sets descriptors 0 to 2, closes all others, unblocks all
/// signals, and executes the program.
[[noreturn]] inline void become(const char* program, char* const* argv, int input, int output) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  ::execv(program, argv);
  ::_exit(127);
}

/// A temporary folder that is removed with the object. If the process crashes, a shell removes it: the shell waits until the pipe from this
/// process is closed. The name is short, because a socket's path may have 107 bytes.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rondo-redis-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) give_up("cannot make a folder like '" + name + "'");
    path_ = name;
    start_broom(name);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    ::close(pipe_);
    ::waitpid(broom_, nullptr, 0);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  void start_broom(std::string& folder) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("no pipe");
    char shell[] = "sh";
    char command[] = "-c";
    char script[] = "read nothing; /bin/rm -rf -- \"$1\"";
    char* const argv[] = {shell, command, script, shell, folder.data(), nullptr};
    broom_ = ::fork();
    if (broom_ == 0) {
      ::setsid();  // Signals from the keyboard that end the test must not end this shell.
      become("/bin/sh", argv, ends[0], 2);
    }
    ::close(ends[0]);
    pipe_ = ends[1];
  }

  std::filesystem::path path_;
  int pipe_ = -1;
  pid_t broom_ = -1;
};

/// One child process.
class ServerProcess {
 public:
  ServerProcess() = default;
  ~ServerProcess() { kill9(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Starts the server program under the name 'called'; its output is appended to the file 'log'.
  void start(const std::string& called, const std::vector<std::string>& arguments, const std::string& log) {
    if (pid_ > 0) give_up(called + " runs already");
    const std::string program = server_program();
    if (program.empty()) give_up("no redis-server; install Debian's package redis-tools");
    std::vector<char*> argv{const_cast<char*>(called.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    log_ = log;
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) give_up("fork fails");
    if (pid_ == 0) become_server(program.c_str(), argv.data(), log.c_str(), parent);
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  }

  pid_t pid() const noexcept { return pid_; }
  bool running() { return pid_ > 0 && !reap(WNOHANG); }
  void signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
  }

  /// Sends SIGTERM and waits for the end; a server with persistence saves first.
  void stop() {
    signal(SIGCONT);  // The process may be frozen.
    signal(SIGTERM);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (running()) {
      if (std::chrono::steady_clock::now() > end) give_up("it does not end:\n" + log_tail());
      wait_for_exit(1000);
    }
  }
  void kill9() {
    signal(SIGKILL);
    if (pid_ > 0) reap(0);
  }

  /// Returns when the process has ended, or after that time.
  void wait_for_exit(int milliseconds) const {
    pollfd event{pidfd_, POLLIN, 0};
    ::poll(&event, 1, milliseconds);
  }

  /// The last lines that the process wrote.
  std::string log_tail() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    const std::string all = text.str();
    return all.substr(all.size() - std::min<std::size_t>(all.size(), 2000));
  }

 private:
  [[noreturn]] static void become_server(const char* program, char* const* argv, const char* log, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // The parent died before prctl().
    become(program, argv, ::open("/dev/null", O_RDONLY), ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600));
  }

  /// True when the process has ended.
  bool reap(int options) {
    int status = 0;
    if (::waitpid(pid_, &status, options) == 0) return false;
    pid_ = -1;
    if (pidfd_ >= 0) ::close(pidfd_);
    pidfd_ = -1;
    return true;
  }

  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::string log_;
};

}  // namespace rondo::redis_kit
