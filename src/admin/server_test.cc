// The admin socket from end to end: a real Unix socket in a temporary directory, the scheduler on this thread, the caller on another.
// Goal: every answer arrives, every abuse ends in a clear error or a counted cut, and no caller delays another.
#include "admin/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admin/admin_socket_kit.h"
#include "admin/bulk_writer.h"
#include "rondo/admin/limits.h"

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(AdminSocket, ACallGetsItsResult) {
  with_caller([this] {
    const auto client = connect();
    for (int i = 0; i < 100; ++i) {
      const Result<json::object> result = client->call("echo", {{"text", std::to_string(i)}});
      ASSERT_TRUE(result.has_value()) << result.error().to_string();
      EXPECT_EQ(view(result->at("text").as_string()), std::to_string(i));
    }
  });
  EXPECT_EQ(server->stats().requests, 100U);
}

TEST_F(AdminSocket, TheDaemonsErrorComesBackAsItsStatus) {
  with_caller([this] {
    const auto client = connect();
    const Result<json::object> result = client->call("ecco", {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), StatusCode::NotFound);
    EXPECT_THAT(std::string{result.error().message()}, HasSubstr("did you mean 'echo'?"));
    EXPECT_TRUE(client->call("version", {}).has_value()) << "the connection is still good";
  });
}

TEST_F(AdminSocket, TheDaemonDescribesItself) {
  with_caller([this] {
    const auto client = connect();
    const Result<json::object> version = client->call("version", {});
    ASSERT_TRUE(version.has_value());
    EXPECT_EQ(view(version->at("name").as_string()), "testd");
    const Result<json::object> listed = client->call("commands", {});
    ASSERT_TRUE(listed.has_value());
    EXPECT_THAT(listed->at("rows").as_array(), SizeIs(4));
  });
}

TEST_F(AdminSocket, ALongAnswerArrivesWholeAndDoesNotStallOthers) {
  with_caller([this] {
    const auto client = connect();
    const auto other = connect();
    std::int64_t expected = 0;
    int others_answers = 0;
    const Result<json::object> result = client->call("count", {{"rows", 300'000}}, [&](const json::value& row) {
      ASSERT_EQ(row.as_int64(), expected++);
      if (expected % 50'000 == 0 && other->call("echo", {{"text", "x"}})) ++others_answers;
    });
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    EXPECT_EQ(expected, 300'000);
    EXPECT_EQ(others_answers, 6);
  });
}

TEST_F(AdminSocket, BulkRowsArriveAndTheTotalsAddUp) {
  with_caller([this] {
    const auto client = connect();
    std::uint64_t reports = 0;
    BulkWriter writer(*client, {}, [&reports](const BulkTotals&) { ++reports; });
    const std::vector<BulkField> fields{{"nexthop_group", "12"}};
    for (const std::string table : {"ROUTE_TABLE", "OTHER_TABLE"}) {
      ASSERT_TRUE(writer.begin(table).ok());
      for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(writer.row(BulkOp::Set, "10.0.0.0/24", fields).ok());
      ASSERT_TRUE(writer.row(BulkOp::Set, "bad", fields).ok()) << "one bad row does not stop the rest";
      ASSERT_TRUE(writer.end().ok());
    }
    const Result<BulkTotals> totals = writer.finish();
    ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
    EXPECT_EQ(totals->sent, 200'002U);
    EXPECT_EQ(totals->accepted, 200'000U);
    EXPECT_EQ(totals->refused, 2U);
    EXPECT_EQ(totals->first_error.message(), "row 'ROUTE_TABLE:bad': invalid-argument: bad key");
    EXPECT_GT(reports, 50U);
    EXPECT_TRUE(client->call("echo", {{"text", "after"}}).has_value());
  });
  EXPECT_EQ(rows["ROUTE_TABLE"], 100'000U);
  EXPECT_EQ(rows["OTHER_TABLE"], 100'000U);
}

TEST_F(AdminSocket, ARefusedTableIsTheWritersError) {
  with_caller([this] {
    const auto client = connect();
    BulkWriter writer(*client);
    ASSERT_TRUE(writer.begin("closed").ok());
    ASSERT_TRUE(writer.row(BulkOp::Delete, "k", {}).ok());
    const Status ended = writer.end();  // The refusal may have arrived already.
    EXPECT_TRUE(ended.ok() || ended.code() == StatusCode::NotFound) << ended.to_string();
    const Result<BulkTotals> totals = writer.finish();
    ASSERT_FALSE(totals.has_value());
    EXPECT_EQ(totals.error().code(), StatusCode::NotFound);
    EXPECT_EQ(writer.row(BulkOp::Set, "k", {}).code(), StatusCode::NotFound) << "and it stays";
  });
}

TEST_F(AdminSocket, NonsenseIsAnsweredClosedAndCounted) {
  with_caller([this] {
    EXPECT_THAT(talk("GET / HTTP/1.1\r\n\r\n"), HasSubstr("larger than"));
    EXPECT_THAT(talk(std::string("\0\0\0\0", 4), false), HasSubstr("length 0"));
    EXPECT_THAT(talk(std::string("\x09\0\0\0J", 5)), HasSubstr("middle of a frame"));
    EXPECT_THAT(talk(std::string("\x09\0\0\0", 4)), HasSubstr("middle of a frame"));
    EXPECT_THAT(talk(std::string("\x03\0\0\0W\xff\xff", 7), false), HasSubstr("table name"));
    EXPECT_THAT(talk(std::string("\xff\xff\xff\x7f", 4) + std::string(3'000'000, 'x'), false), HasSubstr("larger than"));
    EXPECT_EQ(talk(""), "") << "a caller that says nothing is no error";
    EXPECT_TRUE(connect()->call("echo", {{"text", "fine"}}).has_value());
  });
  EXPECT_EQ(server->stats().malformed_frames, 6U);
}

TEST_F(AdminSocket, TheConnectionOverTheLimitIsToldSo) {
  options.connections = 2;
  options.reserved = 0;
  options.yield = 1h;
  with_caller([this] {
    auto first = connect();
    auto second = connect();
    ASSERT_TRUE(first->call("version", {}).has_value());
    ASSERT_TRUE(second->call("version", {}).has_value());
    const auto third = connect();
    const Result<json::object> result = third->call("version", {});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), StatusCode::ResourceExhausted);
    first.reset();
    // The place is free once the server has seen the end of the first connection.
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    bool admitted = false;
    while (!admitted && std::chrono::steady_clock::now() < deadline) admitted = connect()->call("version", {}).has_value();
    EXPECT_TRUE(admitted);
  });
  EXPECT_GE(server->stats().refused_connections, 1U);
}

TEST_F(AdminSocket, ACallerThatNeverReadsIsCutAndOthersAreServed) {
  options.stall = 200ms;
  with_caller([this] {
    const Result<UniqueFd> fd = connect_unix(options.path);
    ASSERT_TRUE(fd.has_value());
    std::string request;
    const std::size_t start = begin_frame(request, FrameKind::Json);
    request.append(R"({"id":1,"command":"count","rows":50000000})");
    end_frame(request, start);
    ASSERT_EQ(::send(fd->get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    const auto other = connect();
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    char byte = 0;
    // A cut closes the peer's reading side, so sending fails.
    while (::send(fd->get(), &byte, 0, MSG_NOSIGNAL) == 0 && std::chrono::steady_clock::now() < deadline) {
      ASSERT_TRUE(other->call("echo", {{"text", "x"}}).has_value());
    }
    EXPECT_LT(std::chrono::steady_clock::now(), deadline) << "never cut";
  });
  EXPECT_EQ(server->stats().slow_readers_cut, 1U);
}

TEST_F(AdminSocket, ACallerForWhomTooMuchWaitsIsCutAndOneForWhomLessWaitsIsServed) {
  EXPECT_EQ(options.output_bytes, limits::kAdminOutputBytes);
  add("flood", {{.name = "bytes", .kind = ArgumentKind::Integer, .required = true, .help = ""}},
      [](const Arguments& arguments, Reply reply) {  // Sends rows whatever output is waiting, like commands that report events.
        const std::string row(60'000, 'x');
        for (std::int64_t left = arguments.integer("bytes", 0); left > 0; left -= static_cast<std::int64_t>(row.size())) {
          reply.row(json::string(row));
          reply.flush();
        }
        reply.finish();
      });
  const auto flood = [this](std::size_t bytes) {
    std::string request;
    const std::size_t start = begin_frame(request, FrameKind::Json);
    request.append(R"({"id":1,"command":"flood","bytes":)" + std::to_string(bytes) + "}");
    end_frame(request, start);
    return talk(request).size();
  };
  with_caller([&] {
    const std::size_t most = limits::kAdminOutputBytes;
    EXPECT_GT(flood(most - most / 10), most - most / 10);
    EXPECT_LT(flood(most + most / 10), most / 2) << "it got what the first write took, and then the end";
  });
  EXPECT_EQ(server->stats().slow_readers_cut, 1U);
}

TEST_F(AdminSocket, ACallerThatStopsInsideAFrameIsCut) {
  EXPECT_EQ(options.stall, limits::kAdminStall) << "unless somebody says otherwise";
  options.stall = 200ms;
  with_caller([this] { EXPECT_THAT(talk(std::string("\x09\0\0\0J", 5), false), HasSubstr("the rest of a frame did not come")); });
  EXPECT_EQ(server->stats().stalled_writers_cut, 1U);
}

TEST_F(AdminSocket, CallersThatVanishLeaveNothingBehind) {
  options.connections = 1000;
  with_caller([this] {
    for (int i = 0; i < 200; ++i) {
      const Result<UniqueFd> fd = connect_unix(options.path);
      ASSERT_TRUE(fd.has_value());
      std::string request;
      const std::size_t start = begin_frame(request, FrameKind::Json);
      request.append(R"({"id":1,"command":"count","rows":100000})");
      end_frame(request, start);
      const std::size_t sent = static_cast<std::size_t>(i) % request.size();
      ASSERT_GE(::send(fd->get(), request.data(), sent, MSG_NOSIGNAL), 0);
    }
    EXPECT_TRUE(connect()->call("echo", {{"text", "fine"}}).has_value());
  });
  scheduler->run_until_idle();
  EXPECT_EQ(server->stats().connections, 0U);
}

TEST_F(AdminSocket, AnExceptionOfTheSinkFactoryIsTheAnswerToThatConnectionOnly) {
  bool throws = true;
  server = std::move(AdminServer::open(*scheduler, commands, options, [&]() -> std::unique_ptr<BulkSink> {
                       if (std::exchange(throws, false)) throw std::runtime_error("boom");
                       return std::make_unique<CountingSink>(rows);
                     }).value());
  with_caller([this] {
    const Result<json::object> refused = connect()->call("echo", {{"text", "a"}});
    EXPECT_THAT(refused.error().to_string(), HasSubstr("the BulkSinkFactory threw: boom"));
    EXPECT_TRUE(connect()->call("echo", {{"text", "b"}}).has_value());
  });
  EXPECT_EQ(server->stats().connection_errors, 1U);
}

TEST_F(AdminSocket, TheFileHasItsModeAndGoesWithTheServer) {
  open();
  struct stat status {};
  ASSERT_EQ(::stat(options.path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  server.reset();
  EXPECT_NE(::stat(options.path.c_str(), &status), 0);
}

TEST_F(AdminSocket, ASecondServerIsRefusedWhileTheFirstAnswers) {
  open();
  const auto second = AdminServer::open(*scheduler, commands, options);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::AlreadyExists);
  struct stat status {};
  EXPECT_EQ(::stat(options.path.c_str(), &status), 0) << "the first one's file stays";
}

/// The kernel takes memory back before files, so the socket of a killed process accepts connections meanwhile.
TEST_F(AdminSocket, AServerThatWasKilledIsWaitedFor) {
  const sockaddr_un address = unix_address(options.path).value();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 4) != 0) ::_exit(1);
    constexpr std::size_t kBytes = std::size_t{400} << 20;
    void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED || ::write(ready[1], "r", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(AdminServer::check_path(options.path).code(), StatusCode::AlreadyExists);
  ASSERT_EQ(::kill(other, SIGKILL), 0);
  EXPECT_TRUE(AdminServer::check_path(options.path).ok());
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(AdminSocket, AStaleSocketIsReplaced) {
  const sockaddr_un address = unix_address(options.path).value();
  {
    const UniqueFd dead{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  with_caller([this] { EXPECT_TRUE(connect()->call("version", {}).has_value()); });
}

TEST_F(AdminSocket, AFileThatIsNoSocketIsLeftAlone) {
  { std::ofstream(options.path) << "precious"; }
  const auto opened = AdminServer::open(*scheduler, commands, options);
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(std::string{opened.error().message()}, HasSubstr("is not a socket"));
  struct stat status {};
  EXPECT_EQ(::stat(options.path.c_str(), &status), 0);
}

TEST_F(AdminSocket, AnUnusablePathIsNamed) {
  options.path = "/nonexistent-directory/admin.sock";
  EXPECT_THAT(std::string{AdminServer::open(*scheduler, commands, options).error().message()}, HasSubstr("/nonexistent-directory/"));
  options.path = std::string(200, 'x');
  EXPECT_EQ(AdminServer::open(*scheduler, commands, options).error().code(), StatusCode::InvalidArgument);
}

TEST(AdminClient, SaysWhenNobodyIsThere) {
  EXPECT_EQ(AdminClient::connect("/nonexistent-directory/admin.sock").error().code(), StatusCode::NotFound);
}

TEST_F(AdminSocket, AClientGivesUpOnASilentDaemon) {
  add("never", {}, [kept = std::make_shared<std::vector<Reply>>()](const Arguments&, Reply reply) { kept->push_back(std::move(reply)); });
  with_caller([this] {
    const auto client = connect(50ms);
    EXPECT_EQ(client->call("never", {}).error().code(), StatusCode::DeadlineExceeded);
    EXPECT_EQ(client->call("version", {}).error().code(), StatusCode::Unavailable) << "the connection cannot be used after that";
  });
  scheduler->run_until_idle();
  EXPECT_EQ(server->stats().connections, 0U) << "a caller that hung up does not wait for its answer";
}

TEST_F(AdminSocket, ACommandThatWorksOnIsToldWhenItsCallerGoes) {
  int told = 0;
  bool stopped = false;
  std::function<void(Reply)> work = [&](Reply reply) {  // Never ends, and sends no row that could fail.
    if (!reply.wanted()) return;
    reply.next_turn(work);
  };
  add("work", {}, [&](const Arguments&, Reply reply) {
    reply.on_gone([&] { ++told; });
    work(std::move(reply));
  });
  add("elsewhere", {}, [&, kept = std::make_shared<std::vector<Reply>>()](const Arguments&, Reply reply) {
    reply.on_gone([&stopped] { stopped = true; });
    kept->push_back(std::move(reply));
  });
  with_caller([this] {
    EXPECT_TRUE(connect()->ask("work", {}).ok());
    EXPECT_TRUE(connect()->ask("elsewhere", {}).ok());
    // Both callers have hung up. This one is served meanwhile.
    const auto client = connect();
    for (int calls = 0; calls < 100; ++calls) EXPECT_TRUE(client->call("version", {}).has_value());
  });
  scheduler->run_until_idle();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(server->stats().connections, 0U);
}

TEST_F(AdminSocket, AnAnswerThatEndedIsNotToldThatItsCallerGoes) {
  int told = 0;
  add("short", {}, [&](const Arguments&, Reply reply) {
    reply.on_gone([&] { ++told; });
    reply.finish();
  });
  with_caller([this] { EXPECT_TRUE(connect()->call("short", {}).has_value()); });
  scheduler->run_until_idle();
  EXPECT_EQ(told, 0);
}

/// Returns the result of ask(), reading whenever there is something to read.
Result<json::object> answer_in_steps(AdminClient& client) {
  for (;;) {
    pollfd watched{.fd = client.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, 20'000) != 1) return failure(StatusCode::DeadlineExceeded, "nothing came");
    Result<std::optional<json::object>> answer = client.answer();
    if (!answer) return failure(answer.error());
    if (*answer) return std::move(**answer);
  }
}

TEST_F(AdminSocket, AnAnswerInStepsIsThatOfACall) {
  with_caller([this] {
    const auto client = connect();
    for (const int wanted : {0, 3, 100'000}) {
      ASSERT_TRUE(client->ask("count", {{"rows", wanted}}).ok());
      const Result<json::object> answer = answer_in_steps(*client);
      ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
      EXPECT_EQ(*answer, client->call("count", {{"rows", wanted}}).value()) << wanted;
    }
    ASSERT_TRUE(client->ask("nonsense", {}).ok());
    const Result<json::object> refused = answer_in_steps(*client);
    EXPECT_EQ(refused.error().to_string(), client->call("nonsense", {}).error().to_string());
  });
}

TEST_F(AdminSocket, AnAnswerInStepsNeverWaits) {
  open();
  const auto client = connect();
  ASSERT_TRUE(client->ask("version", {}).ok());
  EXPECT_FALSE(client->answer().value().has_value()) << "the scheduler has had no turn";
  server.reset();
  EXPECT_EQ(client->answer().error().code(), StatusCode::Unavailable);
}

TEST_F(AdminSocket, AServerThatGoesAwayIsUnavailable) {
  open();
  const auto client = connect();
  server.reset();
  EXPECT_EQ(client->call("version", {}).error().code(), StatusCode::Unavailable);
}

}  // namespace
}  // namespace rondo
