// The text form of a durable store's address: what it means, and the error for each mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/store/durable_store.h"

namespace rondo {
namespace {

using testing::HasSubstr;

TEST(DurableAddress, SaysWhereAndHow) {
  const auto plain = parse_durable_address("file:///var/lib/rondo/tables");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->path, "/var/lib/rondo/tables");
  EXPECT_EQ(plain->durability, Durability::Interval);
  const auto whole = parse_durable_address("file:///a%20b/c?durability=every-batch&interval_ms=250");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->path, "/a b/c");
  EXPECT_EQ(whole->durability, Durability::EveryBatch);
  EXPECT_EQ(whole->interval, 250ms);
  EXPECT_EQ(parse_durable_address("file:///c?durability=none")->durability, Durability::None);
}

TEST(DurableAddress, NamesWhatIsWrong) {
  const auto why = [](std::string_view url) {
    const auto parsed = parse_durable_address(url);
    EXPECT_EQ(parsed ? StatusCode::Ok : parsed.error().code(), StatusCode::InvalidArgument) << url;
    return parsed ? std::string{} : std::string{parsed.error().message()};
  };
  EXPECT_THAT(why("redis://host"), HasSubstr("file://"));
  EXPECT_THAT(why("file://relative/path"), HasSubstr("whole path"));
  EXPECT_THAT(why("file://"), HasSubstr("whole path"));
  EXPECT_THAT(why("file:///folder/"), HasSubstr("whole path"));
  EXPECT_THAT(why("file:///a%2"), HasSubstr("'%'"));
  EXPECT_THAT(why("file:///a%00b"), HasSubstr("'%'"));
  EXPECT_THAT(why("file:///a?durability=always"), HasSubstr("'always'"));
  EXPECT_THAT(why("file:///a?interval_ms=0"), HasSubstr("1 to 60000"));
  EXPECT_THAT(why("file:///a?interval_ms=60001"), HasSubstr("1 to 60000, not '60001'"));
  EXPECT_THAT(why("file:///a?interval_ms=5x"), HasSubstr("'5x'"));
  EXPECT_THAT(why("file:///a?level=1"), HasSubstr("'level'"));
  EXPECT_TRUE(parse_durable_address("file:///a?").has_value());
}

}  // namespace
}  // namespace rondo
