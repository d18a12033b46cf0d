// For end-to-end tests of the admin socket: a real Unix socket in a temporary directory, the scheduler on this thread, the caller on
// another.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admin/frame.h"
#include "admin/server.h"
#include "admin/unix_socket.h"
#include "base/json.h"
#include "base/testing/temporary_folder.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

/// Counts rows of each table; refuses the table "closed".
class CountingSink final : public BulkSink {
 public:
  explicit CountingSink(std::map<std::string, std::uint64_t>& rows) : rows_(rows) {}
  Status begin(std::string_view table) override {
    if (table == "closed") return Status{StatusCode::NotFound, "no table 'closed'"};
    current_ = &rows_[std::string{table}];
    return {};
  }
  Status row(BulkOp, std::string_view key, std::span<const BulkField>) override {
    if (key == "bad") return Status{StatusCode::InvalidArgument, "bad key"};
    ++*current_;
    return {};
  }
  Status end() override { return {}; }

 private:
  std::map<std::string, std::uint64_t>& rows_;
  std::uint64_t* current_ = nullptr;
};

class AdminSocket : public testing::Test {
 protected:
  AdminSocket() {
    options.path = directory.file("admin.sock");
    options.on_notice = [this](const AdminNotice& notice) { notices.push_back(notice.kind); };
    reactor = make_epoll_reactor().value();
    scheduler = std::make_unique<Scheduler>(clock, *reactor, make_policy(StrictPriority{}).value());
    add("echo", {{.name = "text", .kind = ArgumentKind::Text, .required = true, .help = "any"}},
        [](const Arguments& arguments, Reply reply) {
          reply.finish(json::object{{"text", arguments.text("text")}});
        });
    add("count", {{.name = "rows", .kind = ArgumentKind::Integer, .required = true, .help = ""}},
        [](const Arguments& arguments, Reply reply) {
          reply.stream([at = std::int64_t{0}, rows = arguments.integer("rows", 0)](Reply& page) mutable {
            while (at < rows && !page.page_full()) page.row(at++);
            return at < rows;
          });
        });
  }
  ~AdminSocket() override {
    server.reset();
    scheduler.reset();
    ::unlink(options.path.c_str());
  }

  void add(std::string name, std::vector<ArgumentSpec> arguments, CommandHandler handler) {
    ASSERT_TRUE(
        commands.add({.name = std::move(name), .help = "for the test", .arguments = std::move(arguments)}, std::move(handler)).ok());
  }
  void open() {
    Result<std::unique_ptr<AdminServer>> opened =
        AdminServer::open(*scheduler, commands, options, [this] { return std::make_unique<CountingSink>(rows); });
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    server = std::move(*opened);
  }
  /// Runs 'caller' on a separate thread and the scheduler here, until the caller has finished.
  void with_caller(const std::function<void()>& caller) {
    if (server == nullptr) open();
    std::thread thread([&] {
      caller();
      scheduler->stop();
    });
    scheduler->run();
    thread.join();
    EXPECT_EQ(scheduler->stats().sweep_rescues, 0U);
    EXPECT_EQ(scheduler->stats().quarantined, 0U);
  }
  std::unique_ptr<AdminClient> connect(Duration patience = 20s) {
    Result<std::unique_ptr<AdminClient>> client = AdminClient::connect(options.path, patience);
    EXPECT_TRUE(client.has_value()) << client.error().to_string();
    return client ? std::move(*client) : nullptr;
  }
  /// Returns a frame with a request, as bytes.
  static std::string request_of(std::string_view json_text) {
    std::string request;
    const std::size_t start = begin_frame(request, FrameKind::Json);
    request.append(json_text);
    end_frame(request, start);
    return request;
  }
  /// Sends bytes that AdminClient never sends, and reads until the server closes.
  std::string talk(std::string_view bytes, bool end_stream = true) const {
    const Result<UniqueFd> fd = connect_unix(options.path);
    if (!fd) return "no connection";
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    if (end_stream) ::shutdown(fd->get(), SHUT_WR);
    std::string heard;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(fd->get(), buffer, sizeof buffer, 0)) > 0;) heard.append(buffer, static_cast<std::size_t>(got));
    return heard;
  }

  SystemClock clock;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Scheduler> scheduler;
  CommandRegistry commands{"testd"};
  AdminServerSetup options;
  std::map<std::string, std::uint64_t> rows;
  TemporaryFolder directory;
  std::unique_ptr<AdminServer> server;
  std::vector<AdminNotice::Kind> notices;  // All notices so far.
};

}  // namespace rondo
