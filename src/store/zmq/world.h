// ZmqWorld: the fixture of the direct tables' tests: a scheduler on real time, sockets in a folder of its own, and turns until a condition
// holds. Deadlines are long; they only end a test that hangs. For tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/zmq_client.h"
#include "rondo/store/zmq_server.h"
#include "store/store_contract.h"
#include "store/zmq/socket.h"

namespace rondo::store {

/// A socket of plain libzmq, as a stock peer has it: PUSH connects, PULL binds.
class PlainSocket {
 public:
  PlainSocket(int type, const std::string& endpoint) : socket_(std::move(*ZmqSocket::open(context_, type))) {
    EXPECT_TRUE(socket_.set(ZMQ_LINGER, 0).ok());
    const Status status = type == ZMQ_PULL ? socket_.bind(endpoint) : socket_.connect(endpoint);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  bool send(std::string_view bytes, bool more = false) { return socket_.send(bytes, more); }
  /// The next message, or nothing.
  std::string receive() {
    ZmqMessage message;
    return socket_.receive(message) ? std::string{message.bytes()} : std::string{};
  }
  ZmqSocket& socket() { return socket_; }

 private:
  ZmqContext context_;
  ZmqSocket socket_;
};

/// Parts of a frame, encoded by hand.
inline std::string frame_number(std::uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
inline std::string frame_pair(std::string_view first, std::string_view second) {
  return frame_number(first.size()) + std::string{first} + frame_number(second.size()) + std::string{second};
}

class ZmqWorld : public testing::Test {
 protected:
  ZmqWorld() { endpoint_ = "ipc://" + folder_.file("socket"); }

  /// Runs turns until 'holds' returns true. False after a minute.
  [[nodiscard]] bool until(const std::function<bool()>& holds) {
    const Instant deadline = clock_.now() + 60s;
    while (!holds()) {
      if (clock_.now() > deadline) return false;
      if (!scheduler_.turn()) scheduler_.wait(clock_.now() + 10ms);
    }
    return true;
  }

  std::unique_ptr<ZmqServer> serve(ZmqServerOptions options) {
    options.endpoint = options.endpoint == kZmqEndpoint ? endpoint_ : options.endpoint;
    if (options.tables.empty()) options.tables = {{.database = "DB", .table = "T"}};
    if (!options.on_fault) {
      options.on_fault = [this](ZmqFault fault, const Status& why, std::uint64_t count) {
        faults_.push_back(std::string{to_string(fault)} + ": " + std::to_string(count) + ": " + std::string{why.message()});
      };
    }
    Result<std::unique_ptr<ZmqServer>> server = ZmqServer::open(scheduler_, std::move(options));
    EXPECT_TRUE(server.has_value()) << server.error().to_string();
    return std::move(*server);
  }
  std::unique_ptr<ZmqServer> serve() { return serve(ZmqServerOptions{}); }

  std::unique_ptr<ZmqClient> connect(ZmqClientOptions options) {
    if (options.endpoint == kZmqEndpoint) options.endpoint = endpoint_;
    Result<std::unique_ptr<ZmqClient>> client = ZmqClient::open(scheduler_, std::move(options));
    EXPECT_TRUE(client.has_value()) << client.error().to_string();
    return std::move(*client);
  }
  std::unique_ptr<ZmqClient> connect() { return connect(ZmqClientOptions{}); }

  static std::unique_ptr<Subscription> subscribe(ZmqServer& server, std::string_view table = "T") {
    Result<std::unique_ptr<Subscription>> subscription = server.subscribe("DB", table);
    EXPECT_TRUE(subscription.has_value()) << subscription.error().to_string();
    return std::move(*subscription);
  }

  static ZmqTable table(ZmqClient& client, std::string_view name = "T") { return *client.table("DB", name); }

  static std::vector<std::string> take(Subscription& subscription, std::size_t max = SIZE_MAX) {
    std::vector<Change> changes;
    subscription.take(max, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(line(change));
    return lines;
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = *make_epoll_reactor();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  const TemporaryFolder folder_;
  std::string endpoint_;
  std::vector<std::string> faults_;
};

}  // namespace rondo::store
