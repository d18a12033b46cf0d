// The allocator that the programs link: it is the chosen one, memory exhaustion throws an exception and does not end the process, and
// reserved memory is used. A case that changes the process's memory runs in a child process.
#include "heap/heap.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

namespace rondo::heap {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // The sanitizers' allocators keep memory by their own rules.

/// The file that contains 'function'.
std::string home_of(const char* function) {
  Dl_info info{};
  void* const address = ::dlsym(RTLD_DEFAULT, function);
  return address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

TEST(Heap, MallocIsOfTheAllocatorThatIsNamed) {
  const char* const home = name() == "tcmalloc" ? "libtcmalloc" : "libc.";
  for (const char* const function : {"malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign"}) {
    EXPECT_THAT(home_of(function), testing::HasSubstr(home)) << function;
  }
}

/// Exits with 0 if memory exhaustion is reported as it should be.
[[noreturn]] void use_all_memory() {
  const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  std::vector<std::unique_ptr<char[]>> blocks;
  blocks.reserve(1 << 16);
  bool thrown = false;
  try {
    for (;;) blocks.push_back(std::make_unique<char[]>(100'000));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  const bool null = new (std::nothrow) char[std::size_t{1} << 30] == nullptr&& std::malloc(std::size_t{1} << 30) ==
                    nullptr&& operator new (std::size_t{1} << 30, std::align_val_t{128}, std::nothrow) == nullptr;
  blocks.clear();
  const auto again = std::make_unique<char[]>(100'000);  // Memory is available again.
  std::_Exit(thrown && null && again != nullptr ? 0 : 1);
}

TEST(Heap, MemoryThatEndsIsAnException) { EXPECT_EXIT(use_all_memory(), testing::ExitedWithCode(0), ""); }

int handler_calls = 0;

TEST(Heap, ANewHandlerIsAsked) {
  std::set_new_handler([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  [[maybe_unused]] void* volatile made = nullptr;  // The compiler may omit an unused allocation.
  EXPECT_THROW(made = operator new (std::size_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(handler_calls, 3);
}

TEST(Heap, EveryFormOfNewAndDelete) {
  struct alignas(256) Wide {
    char bytes[256];
  };
  for (int i = 0; i < 100; ++i) {
    const auto one = std::make_unique<Wide>();
    const auto many = std::make_unique<Wide[]>(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.get()) % 256, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(many.get()) % 256, 0U);
    const std::unique_ptr<int> quiet{new (std::nothrow) int{i}};
    ASSERT_NE(quiet, nullptr);
    EXPECT_EQ(*quiet, i);
    std::unique_ptr<char, decltype(&std::free)> text{::strdup("of the C library"), &std::free};
    EXPECT_STREQ(text.get(), "of the C library");
  }
}

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

/// Allocates small blocks and blocks that would otherwise be mapped one by one, up to 48 MiB.
void use_blocks() {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (const std::size_t size : {std::size_t{16} << 20, std::size_t{1} << 20, std::size_t{2000}}) {
    for (std::size_t used = 0; used < (std::size_t{16} << 20); used += size) blocks.push_back(std::make_unique<char[]>(size));
  }
}

TEST(Heap, WhatWasReservedIsUsedWithoutFaults) {
  constexpr std::size_t kReserved = 128 << 20;
  const std::size_t at_first = resident_pages();
  ASSERT_TRUE(reserve(kReserved).ok());
  EXPECT_GE(resident_pages() - at_first, kReserved / 4096 * 9 / 10);
  for (int i = 0; i < 3; ++i) {
    const long before = faults();
    use_blocks();
    EXPECT_LT(faults() - before, 200) << i;
  }
}
#endif

TEST(Heap, MoreThanTheMachineHasIsRefused) {
  const Status refused = reserve(std::size_t{1} << 60);
  EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(refused.to_string(), testing::HasSubstr("the machine has"));
}

}  // namespace
}  // namespace rondo::heap
