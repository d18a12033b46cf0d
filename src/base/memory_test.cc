// The second test needs the allocator of glibc; sanitizers have their own.
#include "base/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <vector>

namespace rondo {
namespace {

TEST(Memory, MoreThanTheMachineHasIsRefused) {
  const Status refused = reserve_memory(std::size_t{1} << 60);
  EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(refused.to_string(), testing::HasSubstr("the machine has"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // Their allocators release and keep memory by their own rules.
long faults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}
std::size_t resident_pages() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

TEST(Memory, WhatWasReservedIsUsedWithoutFaults) {
  constexpr std::size_t kReserved = 64 << 20;
  const std::size_t at_first = resident_pages();
  ASSERT_TRUE(reserve_memory(kReserved).ok());
  EXPECT_GE(resident_pages() - at_first, kReserved / 4096 * 9 / 10);
  const long before = faults();
  // Small blocks, and blocks that malloc would otherwise map separately, up to 48 MiB.
  std::vector<std::unique_ptr<char[]>> blocks;
  for (const std::size_t size : {std::size_t{16} << 20, std::size_t{1} << 20, std::size_t{2000}}) {
    for (std::size_t used = 0; used < (std::size_t{16} << 20); used += size) blocks.push_back(std::make_unique<char[]>(size));
  }
  EXPECT_LT(faults() - before, 100);
}
#endif

}  // namespace
}  // namespace rondo
