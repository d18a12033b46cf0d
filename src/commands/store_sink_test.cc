// StoreSink: the answer of a full table or queue to rows of the admin socket, and the counter that shows it, at the limit of a queue and at
// a smaller one of a table's spec. Method: a session without a socket on a runtime's own store.
#include "commands/store_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "admin/bulk_codec.h"
#include "admin/frame.h"
#include "admin/session.h"
#include "rondo/admin/limits.h"
#include "rondo/base/limits.h"
#include "rondo/orch/runtime.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

class FullTables : public testing::Test {
 protected:
  /// Writes rows with these keys and returns the answer.
  json::object write(std::string_view table, const std::vector<std::string>& keys) {
    EXPECT_TRUE(encoder_.start(table).ok());
    for (const std::string& key : keys) EXPECT_TRUE(encoder_.add(BulkOp::Set, key, {}, limits::kAdminFrameBytes).ok());
    session_.input().append(encoder_.finish());
    while (session_.has_step()) session_.step();
    const std::string answer{session_.output().view()};
    session_.output().clear();
    const auto frame = next_frame(answer);
    if (!frame || !*frame) return {};
    return json::parse((**frame).payload).at("result").as_object();
  }

  Runtime runtime_{RuntimeOptions{}};
  AdminServerStats figures_;

 private:
  std::unique_ptr<StoreSink> make_sink() {
    return std::make_unique<StoreSink>(
        runtime_, failures_, watchers_, StoreSink::CanonicalKeyOf{},
        [](std::string_view, std::string_view key) { return key == "mine" ? RowClaim{.owner = "it is mine", .note = {}} : RowClaim{}; });
  }
  WriteFailures failures_{runtime_.store()};
  Watchers watchers_{runtime_, Priority{}};
  CommandRegistry commands_;
  AdminServerSetup options_;
  AdminSession session_{commands_, make_sink(), options_, figures_, [] {}};
  BulkEncoder encoder_;
};

TEST_F(FullTables, RowsThatAnotherPartOwnsAreRefused) {
  ASSERT_TRUE(runtime_.store().declare({.name = "T", .kind = TableKind::Staged}).ok());
  const json::object answer = write("T", {"a", "mine", "b"});
  EXPECT_EQ(answer.at("accepted").as_int64(), 2);
  EXPECT_EQ(answer.at("first_error").at("key"), "mine");
  EXPECT_THAT(json::serialize(answer), testing::AllOf(HasSubstr("failed-precondition"), HasSubstr("it is mine")));
}

TEST_F(FullTables, RowsBeyondThoseOfATableAreRefusedAndCounted) {
  ASSERT_TRUE(runtime_.store().declare({.name = "T", .kind = TableKind::Staged, .rows_max = 3}).ok());
  const json::object answer = write("T", {"a", "b", "c", "d", "e", "a"});
  EXPECT_EQ(answer.at("accepted").as_int64(), 4) << "a row that is there can be written again";
  EXPECT_EQ(answer.at("refused").as_int64(), 2);
  EXPECT_EQ(answer.at("first_error").at("key"), "d");
  EXPECT_THAT(json::serialize(answer), HasSubstr("resource-exhausted"));
  EXPECT_EQ(figures_.bulk_rows_refused, 2U);
}

TEST_F(FullTables, AQueueHoldsTheLimitOfEntriesAndNotOneMoreLarge) {
  ASSERT_TRUE(runtime_.store().declare({.name = "Q", .kind = TableKind::Queue}).ok());
  for (std::size_t i = 1; i < limits::kQueuedEvents; ++i) ASSERT_TRUE(runtime_.store().write("Q", Change::set("k", {})).ok()) << i;
  const json::object answer = write("Q", {"last", "beyond", "beyond"});
  EXPECT_EQ(answer.at("accepted").as_int64(), 1);
  EXPECT_EQ(answer.at("refused").as_int64(), 2);
  EXPECT_THAT(json::serialize(answer), HasSubstr("resource-exhausted"));
  EXPECT_EQ(figures_.bulk_rows_refused, 2U);
  auto consumer = runtime_.store().subscribe("Q");
  ASSERT_TRUE(consumer.has_value());
  std::vector<Change> taken;
  (*consumer)->take(1, taken);
  EXPECT_EQ(taken.size(), 1U);
  EXPECT_EQ(write("Q", {"there is room again"}).at("accepted").as_int64(), 1);
}

}  // namespace
}  // namespace rondo::commands
