// A function of StandardCommandsOptions that throws, also in a turn of the store: that one command is answered with the exception, and the
// store serves the next. Method: the standard commands, through a session without a socket, on a store that answers later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "admin/bulk_codec.h"
#include "admin/frame.h"
#include "admin/session.h"
#include "commands/context.h"
#include "commands/store_sink.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"
#include "sim/sim_store.h"

namespace rondo::commands {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ThrowingFunctions : public testing::Test, public RuntimeFixture {
 protected:
  ThrowingFunctions() : RuntimeFixture({}, [](Scheduler& scheduler) { return std::make_unique<sim::SimStore>(scheduler); }) {
    orch_.consume(
        "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
    StandardCommandsOptions options;
    options.canonical_key = [](std::string_view) -> CanonicalKey {
      return [](std::string_view key) -> std::optional<std::string> { return "c-" + std::string{key}; };
    };
    options.claim_of = [this](std::string_view, std::string_view) { return throw_if("claim_of"), RowClaim{}; };
    options.standby_for = [this] { return throw_if("standby_for"), std::string{}; };
    commands_ = std::move(add_standard_commands(registry_, runtime, options).value());
    session_ = std::make_unique<AdminSession>(registry_, nullptr, options_, figures_, [] {});
  }

  /// 'name' throws when it is called next.
  void throws(std::string_view name) { throws_ = name; }
  void throw_if(std::string_view name) {
    if (throws_ != name) return;
    throws_.clear();
    throw std::runtime_error("boom-" + std::string{name});
  }
  std::string answer(std::string_view request) {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(request);
    end_frame(frame, start);
    session_->input().append(frame);
    while (session_->has_step()) session_->step();
    run_for(1s);
    while (session_->has_step()) session_->step();
    const std::string bytes{session_->output().view()};
    session_->output().clear();
    const auto found = next_frame(bytes);
    return found && *found ? std::string{(**found).payload} : "no answer";
  }
  void expect_error(std::string_view function, std::string_view request) {
    throws(function);
    EXPECT_THAT(answer(request), AllOf(HasSubstr("internal"), HasSubstr("threw: boom-" + std::string{function}))) << request;
    EXPECT_EQ(throws_, "") << "it was not called";
    EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
    EXPECT_THAT(answer(request), HasSubstr(R"("ok":true)")) << request;
  }

 private:
  OpenOrch& orch_ = runtime.add<OpenOrch>();
  std::string throws_;
  AdminServerSetup options_;
  AdminServerStats figures_;
  CommandRegistry registry_{"test", "1"};
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<AdminSession> session_;
};

TEST_F(ThrowingFunctions, AreTheAnswerToAWrite) {
  expect_error("claim_of", R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"]]})");
  expect_error("claim_of", R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"]],"replace":true})");
  expect_error("claim_of", R"({"id":1,"command":"del","table":"T","key":"a"})");
}

TEST_F(ThrowingFunctions, AreTheAnswerToAQuestion) {
  EXPECT_THAT(answer(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"]]})"), HasSubstr(R"("ok":true)"));
  expect_error("standby_for", R"({"id":1,"command":"get","table":"T","key":"a"})");
  expect_error("standby_for", R"({"id":1,"command":"why","table":"T","key":"a"})");
  expect_error("claim_of", R"({"id":1,"command":"why","table":"T","key":"a"})");
}

/// Each frame is settled all the same, and its other rows are written.
class ThrowingRows : public testing::Test, public RuntimeFixture {
 protected:
  ThrowingRows() : RuntimeFixture({}, [](Scheduler& scheduler) { return std::make_unique<sim::SimStore>(scheduler); }) {
    orch_.consume(
        "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  }
  OpenOrch& orch_ = runtime.add<OpenOrch>();
};

TEST_F(ThrowingRows, RefuseOnlyTheirFrameOrRow) {
  bool begin_throws = true;
  WriteFailures failures(runtime.store());
  Watchers watchers(runtime, Priority{});
  const auto claim_of = [](std::string_view, std::string_view key) -> RowClaim {
    if (key == "bad") throw std::runtime_error("boom");
    return {};
  };
  const auto canonical_key_of = [&begin_throws](std::string_view) -> CanonicalKey {
    if (std::exchange(begin_throws, false)) throw std::runtime_error("boom");
    return nullptr;
  };
  StoreSink sink(runtime, failures, watchers, canonical_key_of, claim_of);
  EXPECT_EQ(sink.begin("T").to_string(), "internal: a function of StandardCommandsOptions threw: boom");
  ASSERT_TRUE(sink.begin("T").ok());
  EXPECT_TRUE(sink.row(BulkOp::Set, "a", {}).ok());
  EXPECT_EQ(sink.row(BulkOp::Set, "bad", {}).to_string(), "internal: a function of StandardCommandsOptions threw: boom");
  EXPECT_TRUE(sink.row(BulkOp::Set, "b", {}).ok());
  ASSERT_TRUE(sink.end().ok());
  std::optional<std::uint64_t> unwritten;
  sink.when_settled([&unwritten](const BulkSink::Unwritten& found) { unwritten = found.rows; });
  run_for(1s);
  EXPECT_EQ(unwritten, 0U);
}

}  // namespace
}  // namespace rondo::commands
