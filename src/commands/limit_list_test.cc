// The list of limits has the values of the headers that this layer can include; tools/tidy_test.py has the rest.
#include "commands/limit_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "rondo/admin/limits.h"
#include "rondo/base/limits.h"
#include "rondo/commands/limits.h"
#include "rondo/dataplane/limits.h"
#include "rondo/journal/limits.h"
#include "rondo/store/redis_limits.h"

namespace rondo::commands {
namespace {

std::uint64_t shown(std::string_view name) {
  const auto found = std::ranges::find(kLimitList, name, &ShownLimit::name);
  return found == kLimitList.end() ? 0 : found->value;
}

TEST(LimitList, HasTheValuesOfTheHeaders) {
  EXPECT_EQ(shown("batch_items"), limits::kBatchItems);
  EXPECT_EQ(shown("turn_time_us"), static_cast<std::uint64_t>(limits::kTurnTime / 1us));
  EXPECT_EQ(shown("admin_idle_us"), static_cast<std::uint64_t>(limits::kAdminIdle / 1us));
  EXPECT_EQ(shown("incident_reported_us"), static_cast<std::uint64_t>(limits::kIncidentReported / 1us));
  EXPECT_EQ(shown("record_bytes"), limits::kRecordBytes);
  EXPECT_EQ(shown("admin_output_bytes"), limits::kAdminOutputBytes);
  EXPECT_EQ(shown("programmer_orders"), limits::kProgrammerOps);
  EXPECT_EQ(shown("redis_write_bytes"), limits::kRedisWriteBytes);
  EXPECT_EQ(shown("journal_record_bytes"), limits::kJournalRecordBytes);
}

TEST(LimitList, HasEachNameOnceAndAnUpperBoundForIt) {
  std::set<std::string_view> names;
  for (const ShownLimit& limit : kLimitList) {
    EXPECT_TRUE(names.insert(limit.name).second) << limit.name;
    EXPECT_GT(limit.value, 0U) << limit.name;
  }
  EXPECT_GE(names.size(), 130U);
}

}  // namespace
}  // namespace rondo::commands
