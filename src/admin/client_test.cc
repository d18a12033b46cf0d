// The client against a daemon whose frames are well-formed and wrong. Method: a thread that answers the first request with what the test
// gives it, over a real socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "admin/frame.h"
#include "base/json.h"
#include "base/testing/temporary_folder.h"
#include "base/unique_fd.h"
#include "rondo/admin/client.h"

namespace rondo {
namespace {

using testing::HasSubstr;

class LyingDaemon : public testing::Test {
 protected:
  LyingDaemon() {
    path = folder_ / "socket";
    listener_ = UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
  }
  ~LyingDaemon() override { thread_.join(); }
  /// Sends what 'answer' returns, again and again until that is empty or the client is gone.
  void answer_with(std::function<std::string()> answer) {
    thread_ = std::thread([this, answer = std::move(answer)] {
      const UniqueFd caller{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      char buffer[1024];
      if (::recv(caller.get(), buffer, sizeof buffer, 0) <= 0) return;
      for (std::string next = answer(); !next.empty(); next = answer()) {
        if (::send(caller.get(), next.data(), next.size(), MSG_NOSIGNAL) < 0) return;
      }
      while (::recv(caller.get(), buffer, sizeof buffer, 0) > 0) continue;
    });
  }
  static std::string frame_of(FrameKind kind, std::string_view payload) {
    std::string frame;
    const std::size_t start = begin_frame(frame, kind);
    frame.append(payload);
    end_frame(frame, start);
    return frame;
  }
  Result<json::object> result_of(std::string first) {
    answer_with([first = std::move(first)]() mutable { return std::exchange(first, {}); });
    return AdminClient::connect(path).value()->call("tables", {});
  }

  std::string path;

 private:
  TemporaryFolder folder_;
  UniqueFd listener_;
  std::thread thread_;
};

TEST_F(LyingDaemon, AnAnswerWithTheIdOfTheRequestIsTaken) {
  EXPECT_TRUE(result_of(frame_of(FrameKind::Json, R"({"id":1,"ok":true,"result":{"rows":[]}})")).has_value());
}

TEST_F(LyingDaemon, AnAnswerWithAnotherIdIsRefused) {
  const auto result = result_of(frame_of(FrameKind::Json, R"({"id":2,"ok":true,"result":{"rows":[]}})"));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), StatusCode::DataLoss);
  EXPECT_THAT(result.error().to_string(), HasSubstr("it has the id 2, and that of the request is 1"));
}

TEST_F(LyingDaemon, APageWithAnotherIdIsRefused) {
  EXPECT_EQ(result_of(frame_of(FrameKind::More, R"({"id":0,"rows":[1]})")).error().code(), StatusCode::DataLoss);
}

TEST_F(LyingDaemon, AnAnswerWithoutAnIdIsRefused) {
  EXPECT_THAT(result_of(frame_of(FrameKind::Json, R"({"ok":true,"result":{}})")).error().to_string(), HasSubstr("no integer \"id\""));
}

TEST_F(LyingDaemon, AnErrorOfTheConnectionIsTakenWithTheIdZero) {
  const auto result = result_of(frame_of(FrameKind::Json, R"({"id":0,"ok":false,"error":{"code":"permission-denied","message":"no"}})"));
  EXPECT_EQ(result.error().code(), StatusCode::PermissionDenied);
}

TEST_F(LyingDaemon, AnAnswerWithoutEndIsCutAtItsLimit) {
  const std::string page = frame_of(FrameKind::More, R"({"id":1,"rows":["0123456789"]})");
  answer_with([page] { return page; });
  std::size_t rows = 0;
  const auto client = AdminClient::connect(path).value();
  const auto result = client->call(
      "tables", {}, [&rows](const json::value&) { ++rows; }, 100 * page.size());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(rows, 100U);
  EXPECT_EQ(client->call("tables", {}).error().code(), StatusCode::Unavailable) << "the rest of the answer is still on its way";
}

}  // namespace
}  // namespace rondo
