// Settings of a thread's CPUs and nice value: they apply to that thread only, and the error contains a wrong CPU's number.
#include "rondo/base/thread_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// On a separate thread: the affinity of other threads stays unchanged.
template <class Body>
void on_a_thread(Body body) {
  std::thread{body}.join();
}

TEST(ThreadSettings, AThreadStaysOnTheCpusItWasGiven) {
  on_a_thread([] {
    const std::vector<unsigned> before = allowed_cpus();
    ASSERT_FALSE(before.empty());
    EXPECT_TRUE(std::ranges::is_sorted(before));
    const std::vector<unsigned> last{before.back()};
    ASSERT_TRUE(pin_thread(::pthread_self(), last).ok());
    EXPECT_THAT(allowed_cpus(), ElementsAre(before.back()));
  });
}

TEST(ThreadSettings, AnEmptyListChangesNothing) {
  on_a_thread([] {
    const std::vector<unsigned> before = allowed_cpus();
    ASSERT_TRUE(pin_thread(::pthread_self(), {}).ok());
    EXPECT_EQ(allowed_cpus(), before);
  });
}

TEST(ThreadSettings, ACpuThatDoesNotExistIsNamedAndNothingChanges) {
  on_a_thread([] {
    const std::vector<unsigned> before = allowed_cpus();
    const std::vector<unsigned> wanted{before.front(), 100000};
    const Status status = pin_thread(::pthread_self(), wanted);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_THAT(std::string{status.message()}, HasSubstr("CPU 100000"));
    EXPECT_EQ(allowed_cpus(), before);
  });
}

// Raising the nice value is always permitted.
TEST(ThreadSettings, TheNiceValueIsOfOneThreadAlone) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  on_a_thread([before] {
    ASSERT_TRUE(set_thread_nice(std::min(19, before + 1)).ok());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), std::min(19, before + 1));
  });
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
}

}  // namespace
}  // namespace rondo
