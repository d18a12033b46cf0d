// A typing error finds its name; a different word finds none.
#include "admin/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace rondo {
namespace {

const std::vector<std::string_view> kNames{"set", "del", "get", "keys", "sources", "parked", "stats"};

TEST(Suggest, OneSlipFindsTheName) {
  EXPECT_EQ(nearest_name("sorces", kNames), "sources");
  EXPECT_EQ(nearest_name("soucres", kNames), "sources");
  EXPECT_EQ(nearest_name("kyes", kNames), "keys");
  EXPECT_EQ(nearest_name("stat", kNames), "stats");
  EXPECT_EQ(nearest_name("park", kNames), "parked");
}

TEST(Suggest, AShortWordIsCompletedAndALongerOneIsCorrected) {
  EXPECT_EQ(nearest_name("st", kNames), "stats") << "an edit would change half of it";
  const std::vector<std::string_view> options{"--help", "--container", "--count"};
  EXPECT_EQ(nearest_name("--cont", options), "--count");
  EXPECT_EQ(nearest_name("--contai", options), "--container");
}

TEST(Suggest, AnotherWordFindsNone) {
  EXPECT_EQ(nearest_name("elephant", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name(std::string(1000, 's'), kNames), "");
  EXPECT_EQ(did_you_mean("elephant", kNames), "");
  EXPECT_EQ(did_you_mean("gett", kNames), "; did you mean 'get'?");
}

}  // namespace
}  // namespace rondo
