// The fields of W3C Trace Context: what the standard accepts, and what a call gets.
#include "rondo/base/trace_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rondo {
namespace {

using testing::EndsWith;
using testing::StartsWith;

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00-" + kTrace + "-00f067aa0ba902b7-01";

std::string read(const std::string& parent) {
  const auto context = TraceContext::parse(parent, {});
  return context ? context->parent() : "invalid";
}

std::string state_of(const std::string& state) { return TraceContext::parse(kParent, state).value().state(); }

TEST(TraceContext, ReadsWhatTheStandardShows) {
  EXPECT_EQ(read(kParent), kParent);
  EXPECT_EQ(TraceContext::parse(kParent, {})->trace_id(), kTrace);
  EXPECT_EQ(read("00-" + kTrace + "-00f067aa0ba902b7-00"), "00-" + kTrace + "-00f067aa0ba902b7-00");
}

TEST(TraceContext, SendsTheFlagsThatItKnows) {
  EXPECT_EQ(read("00-" + kTrace + "-00f067aa0ba902b7-ff"), "00-" + kTrace + "-00f067aa0ba902b7-03");
  EXPECT_EQ(read("00-" + kTrace + "-00f067aa0ba902b7-fc"), "00-" + kTrace + "-00f067aa0ba902b7-00");
}

TEST(TraceContext, ReadsLaterVersionsAsItsOwn) {
  EXPECT_EQ(read("01" + kParent.substr(2)), kParent);
  EXPECT_EQ(read("cc" + kParent.substr(2) + "-what-the-future-will-be-like"), kParent);
  EXPECT_EQ(read("01" + kParent.substr(2) + ".what"), "invalid");
}

TEST(TraceContext, RefusesWhatTheStandardCallsInvalid) {
  const std::string none(32, '0');
  for (const std::string& wrong : std::initializer_list<std::string>{std::string{},
                                                                     std::string{"00"},
                                                                     kParent.substr(1),
                                                                     kParent.substr(0, 54),
                                                                     kParent + "-",
                                                                     kParent + "-00",
                                                                     "ff" + kParent.substr(2),
                                                                     "0g" + kParent.substr(2),
                                                                     "00_" + kParent.substr(3),
                                                                     "00-" + none + "-00f067aa0ba902b7-01",
                                                                     "00-" + kTrace + "-0000000000000000-01",
                                                                     "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                                                     "00-" + kTrace + "-00F067aa0ba902b7-01",
                                                                     "00-" + kTrace + "-00f067aa0ba902b7-0x",
                                                                     "00-" + kTrace + "_00f067aa0ba902b7-01",
                                                                     "00-" + kTrace + "-00f067aa0ba902b7.01",
                                                                     " " + kParent,
                                                                     kParent + " ",
                                                                     std::string(55, '\0'),
                                                                     std::string(100'000, '0')}) {
    EXPECT_EQ(read(wrong), "invalid") << wrong.substr(0, 80);
  }
}

TEST(TraceContext, PassesAStateOnWithinItsLimits) {
  std::string members;
  for (std::size_t i = 0; i < TraceContext::kStateMembers; ++i) members += (i == 0 ? "k" : ",k") + std::to_string(i) + "=v";
  const std::string longest = "k=" + std::string(TraceContext::kStateBytes - 2, 'v');
  for (const std::string& good :
       {std::string{"congo=t61rcWkgMzE"}, std::string{"a=1, b=2 ,,c@d=3"}, std::string{"a=b=c"}, members, longest}) {
    EXPECT_EQ(state_of(good), good);
  }
  for (const std::string& bad : {std::string{}, std::string{" "}, std::string{","}, std::string{"a"}, std::string{"=b"},
                                 std::string{"a=1,b"}, std::string{"a=\x80"}, std::string{"a=\n"}, members + ",k=v", longest + "v"}) {
    EXPECT_EQ(state_of(bad), "") << bad;
  }
}

TEST(TraceContext, EachCallHasAParentIdOfItsOwn) {
  const TraceContext context = TraceContext::parse(kParent, {}).value();
  std::set<std::string> parents{kParent};
  for (std::uint64_t call = 0; call < 1000; ++call) {
    const std::string parent = context.parent_of(call);
    EXPECT_THAT(parent, StartsWith("00-" + kTrace + "-"));
    EXPECT_THAT(parent, EndsWith("-01"));
    EXPECT_EQ(read(parent), parent);
    EXPECT_TRUE(parents.insert(parent).second) << parent;
    EXPECT_EQ(context.parent_of(call), parent);
  }
  const TraceContext other = TraceContext::parse("00-" + kTrace + "-00f067aa0ba902b8-01", {}).value();
  EXPECT_TRUE(parents.insert(other.parent_of(0)).second) << "another caller of the trace";
}

}  // namespace
}  // namespace rondo
