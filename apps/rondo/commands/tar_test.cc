// The tar file of `rondo dump` as tar reads it.
#include "commands/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace rondo::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Tar, IsReadByTar) {
  const std::string path = "/tmp/rondo-tar-" + std::to_string(::getpid()) + ".tar";
  Tar tar(1'700'000'000);
  tar.add("bundle/a.json", "{}\n");
  tar.add("bundle/large.json", std::string(100'000, 'x'));
  { std::ofstream(path, std::ios::binary) << tar.finish(); }
  FILE* const pipe = ::popen(("tar -tvf " + path + " 2>&1 && tar -xOf " + path + " bundle/a.json").c_str(), "r");
  char buffer[4096];
  const std::string out{buffer, std::fread(buffer, 1, sizeof buffer, pipe)};
  EXPECT_EQ(::pclose(pipe), 0);
  ::unlink(path.c_str());
  EXPECT_THAT(out, StartsWith("-rw-------"));
  EXPECT_THAT(out, HasSubstr(" 3 2023-11-14"));
  EXPECT_THAT(out, HasSubstr(" 100000 "));
  EXPECT_THAT(out, testing::EndsWith("bundle/large.json\n{}\n"));
}

}  // namespace
}  // namespace rondo::cli
