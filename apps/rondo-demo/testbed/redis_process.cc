#include "rondo-demo/testbed/redis_process.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace rondo::demo {

Status RedisProcess::spawn() {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 "0",
                                 "--unixsocket",
                                 socket_,
                                 "--dir",
                                 directory_,
                                 "--save",
                                 "",
                                 "--databases",
                                 "16",
                                 "--logfile",
                                 directory_ + "/redis.log",
                                 "--daemonize",
                                 "no"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int error = ENOENT;
  // The program behaves according to the name by which it is started.
  for (const char* const program : {"redis-server", "redis-check-rdb"}) {
    error = ::posix_spawnp(&pid_, program, nullptr, nullptr, arguments.data(), ::environ);
    if (error == 0) return {};
    pid_ = -1;
    if (error != ENOENT) break;
  }
  if (error == ENOENT) return {StatusCode::NotFound, "no redis-server here; install Debian's package redis-tools"};
  return status_from_errno(error, "starting redis-server");
}

bool RedisProcess::accepts() const {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.c_str(), socket_.size());
  const bool accepted = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return accepted;
}

Result<std::unique_ptr<RedisProcess>> RedisProcess::start() {
  std::unique_ptr<RedisProcess> redis{new RedisProcess};
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string{base != nullptr ? base : "/tmp"} + "/rondo-redis-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return failure(status_from_errno(errno, "making a directory " + pattern));
  redis->directory_ = pattern;
  redis->socket_ = pattern + "/redis.sock";
  if (redis->socket_.size() >= sizeof(sockaddr_un::sun_path)) {
    return failure(StatusCode::InvalidArgument, "the path of a socket may have 107 bytes: " + redis->socket_);
  }
  if (Status spawned = redis->spawn(); !spawned.ok()) return failure(std::move(spawned));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (redis->accepts()) return redis;
    int result = 0;
    if (::waitpid(redis->pid_, &result, WNOHANG) != 0) {
      redis->pid_ = -1;
      return failure(StatusCode::Unavailable, "redis-server ended at once");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return failure(StatusCode::DeadlineExceeded, "redis-server does not accept connections at " + redis->socket_);
}

RedisProcess::~RedisProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    int result = 0;
    while (::waitpid(pid_, &result, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace rondo::demo
