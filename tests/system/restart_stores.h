// For the restart matrix: the stores of rondod's tables, in a folder of the test: the location of the rows, and how the store loses them.
// One thread.
#pragma once

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "store/redis/testing/process.h"

namespace rondo::restart {

enum class StoreKind { Embedded, File, Redis };

/// Every folder of src/store is listed here: a new store is tested, or has a reason why not.
struct StoreFolder {
  std::string_view folder;
  std::string_view store;  // A kind of the matrix; empty: see why_not.
  std::string_view why_not = {};
};
inline constexpr std::array<StoreFolder, 5> kStoreFolders{{
    {"memory", "Embedded"},
    {"durable", "File"},
    {"redis", "Redis"},
    {"bridge", "", "a worker's way to a table of one of the others"},
    {"zmq", "", "the rows are those of its producers, which send them again"},
}};

class TestStore {
 public:
  TestStore(StoreKind kind, const std::filesystem::path& folder) : kind_(kind), folder_(folder) {
    if (kind_ == StoreKind::Redis) start_redis();
  }
  StoreKind kind() const noexcept { return kind_; }
  /// True if the rows survive the end of the daemon.
  bool keeps() const noexcept { return kind_ != StoreKind::Embedded; }
  std::string url() const {
    switch (kind_) {
      case StoreKind::Embedded: return "";
      case StoreKind::File: return "file://" + (folder_ / "tables").string() + "?durability=every-batch";
      case StoreKind::Redis: return "unix://" + redis_socket();
    }
    return "";
  }
  /// Replaces the store with an empty one while no daemon has it open.
  void lose_all() {
    if (kind_ == StoreKind::Redis) {
      redis_->kill9();
      start_redis();
    }
    if (kind_ != StoreKind::File) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("tables")) std::filesystem::remove(entry.path());
    }
  }

 private:
  std::string redis_socket() const { return (folder_ / "redis").string(); }
  /// Without persistence.
  void start_redis() {
    redis_ = std::make_unique<redis_kit::ServerProcess>();
    std::filesystem::remove(redis_socket());
    redis_->start("redis-server",
                  {"--port", "0", "--unixsocket", redis_socket(), "--save", "", "--appendonly", "no", "--dir", folder_.string()},
                  (folder_ / "redis.log").string());
    redis_kit::wait_until("redis-server answers", [this] { return redis_answers(); });
  }
  bool redis_answers() const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, redis_socket().c_str(), redis_socket().size());
    const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return connected;
  }

  const StoreKind kind_;
  const std::filesystem::path folder_;
  std::unique_ptr<redis_kit::ServerProcess> redis_;
};

}  // namespace rondo::restart
