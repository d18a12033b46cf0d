// The ledger when allocations fail: whichever allocation of a park fails, the row stays in flight, and ledger and index are consistent.
// The replaced operator new is active in the whole binary but fails only when a test requests it. A sanitizer has its own operator new, so
// the file is empty under one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "orch/ledger_fixture.h"

namespace {
thread_local int allocations_left = -1;  // Allocations until one fails; below 0, none fails.
}

// Not inlined: otherwise the compiler would see a mismatched pair of malloc and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rondo {
namespace {

class LedgerWithoutMemory : public testing::Test {
 protected:
  /// Calls 'park' with one more allowed allocation each time, each in a new ledger, until none fails. Returns true if any failed.
  template <class Park>
  void expect_nothing_changes_where_memory_ends(const Park& park) {
    for (int allocations = 0;; ++allocations) {
      LedgerFixture in;
      in.set("k", {{"a", "1"}});
      const Ledger::Task task = in.take();
      allocations_left = allocations;
      bool failed = false;
      try {
        park(in, task.row);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allocations_left = -1;
      in.check();
      if (!failed) {
        EXPECT_GT(allocations, 0);
        EXPECT_EQ(in.ledger.parked(), 1U);
        return;
      }
      EXPECT_TRUE(in.ledger.is_current(task.row, task.generation)) << "after " << allocations << " allocations";
      EXPECT_EQ(in.index.size(), 0U);
      ASSERT_TRUE(in.park(task.row, {"x", "y"})) << "it can wait when there is memory again";
      in.check();
    }
  }
};

TEST_F(LedgerWithoutMemory, ARowThatCannotWaitForFactsIsStillInFlight) {
  const std::vector<Fact> facts = LedgerFixture::facts({"a fact with a name too long for a string without memory", "another one"});
  expect_nothing_changes_where_memory_ends(
      [&](LedgerFixture& in, std::uint32_t row) { static_cast<void>(in.ledger.park(row, facts, 0, in.now, in.index)); });
}

TEST_F(LedgerWithoutMemory, ARowThatCannotWaitForAnyOfItsFactsIsStillInFlight) {
  const std::vector<Fact> facts = LedgerFixture::facts({"a fact with a name too long for a string without memory", "another", "third"});
  expect_nothing_changes_where_memory_ends(
      [&](LedgerFixture& in, std::uint32_t row) { static_cast<void>(in.ledger.park(row, facts, 0, in.now, in.index, true)); });
}

TEST_F(LedgerWithoutMemory, ARowThatCannotWaitForItsTimeIsStillInFlight) {
  expect_nothing_changes_where_memory_ends(
      [](LedgerFixture& in, std::uint32_t row) { static_cast<void>(in.ledger.park_until(row, in.now + 1s, {}, in.now)); });
}

}  // namespace
}  // namespace rondo

#endif
