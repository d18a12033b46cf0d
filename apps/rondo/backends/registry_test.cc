// The kinds of stores by the text of --store.
#include "backends/registry.h"

#include <gtest/gtest.h>

#include <string_view>

namespace rondo::cli {
namespace {

TEST(StoreRegistryCli, ASchemeNamesItsKind) {
  for (const std::string_view file : {"file:///var/lib/rondo/tables", "file:/t", "file:"}) {
    ASSERT_NE(find_store_kind(file), nullptr) << file;
    EXPECT_EQ(find_store_kind(file)->answerer, manual::File) << file;
  }
  for (const std::string_view redis : {"redis://h", "rediss://h", "unix:///s", "redis+sentinel://h/m", "redis+sentinal://h/m", "APPL_DB"}) {
    ASSERT_NE(find_store_kind(redis), nullptr) << redis;
    EXPECT_EQ(find_store_kind(redis)->answerer, manual::Redis) << redis;
  }
  for (const std::string_view none : {"files:///t", "http://t", "://"}) EXPECT_EQ(find_store_kind(none), nullptr) << none;
}

TEST(StoreRegistryCli, AnUnknownSchemeAndAKindThatTheBuildLacksAreErrors) {
  Options options;
  options.store.where = "http://t";
  EXPECT_EQ(open_store(options).error().code(), StatusCode::InvalidArgument);
  for (const char* const where : {"file:///dev/null/absent", "unix:///dev/null/absent"}) {
    options.store.where = where;
    const StoreKind& kind = *find_store_kind(where);
    const auto opened = open_store(options);
    if (kind.open != nullptr) continue;
    ASSERT_FALSE(opened.has_value()) << where;
    EXPECT_EQ(opened.error().code(), StatusCode::Unimplemented) << where;
    EXPECT_NE(opened.error().message().find(kind.packages), std::string_view::npos) << opened.error().message();
  }
}

}  // namespace
}  // namespace rondo::cli
