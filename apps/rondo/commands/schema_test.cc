// The reference of tables, as a page of the guide.
#include "commands/schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace rondo::cli {
namespace {

TEST(Schema, ThePageOfTheGuideIsTheDeclaration) {
  const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  std::ifstream file(root / "docs/guide/tables.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), tables_page()) << "rondo schema --markdown >docs/guide/tables.md";
}

}  // namespace
}  // namespace rondo::cli
