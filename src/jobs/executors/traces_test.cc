// Runs that an HTTP call with a trace has asked for: what their executors get.
#include "jobs/executors/testing/executors_testbed.h"
#include "rondo/base/trace_context.h"

namespace rondo::jobs::executors {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00-" + kTrace + "-00f067aa0ba902b7-01";

class TracedRuns : public ExecutorsTest {
 protected:
  void trigger_traced(const std::string& job, const std::string& state = {}) {
    const auto trace = std::make_shared<const TraceContext>(TraceContext::parse(kParent, state).value());
    jobs->trigger(job, [this, trace](const Result<JobRun>& run) { RemoteRuns(*jobs).set_trace(run.value().id, trace); });
  }
  /// A field of an order; "none" if it is absent.
  std::string field(std::size_t order, std::string_view name) const {
    const std::string* const found = peers[0]->requests.at(order).field(name);
    return found == nullptr ? "none" : *found;
  }
};

TEST_F(TracedRuns, EachAttemptHasTheTraceOfTheCallAndAParentOfItsOwn) {
  define_job("a", {.retries = 1, .backoff = 1ms});
  add_registered(1);
  trigger_traced("a", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
  ASSERT_TRUE(gets_orders(1));
  report(log_id(orders()[0]), 500, "no");
  ASSERT_TRUE(gets_orders(2));
  std::set<std::string> parents{kParent};
  for (const std::size_t order : {0U, 1U}) {
    EXPECT_THAT(field(order, "traceparent"), testing::StartsWith("00-" + kTrace + "-"));
    EXPECT_THAT(field(order, "traceparent"), testing::EndsWith("-01"));
    EXPECT_TRUE(parents.insert(field(order, "traceparent")).second);
    EXPECT_EQ(field(order, "tracestate"), "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
  }
  report(log_id(orders()[1]), 200, "yes");
  ASSERT_TRUE(all_ended());
  EXPECT_EQ(RemoteRuns(*jobs).trace(1), nullptr);
  trigger("a");
  ASSERT_TRUE(gets_orders(3));
  EXPECT_EQ(field(2, "traceparent"), "none");
  EXPECT_EQ(field(2, "tracestate"), "none");
}

TEST_F(TracedRuns, TheRunsOfTheJobsBelowBelongToTheTrace) {
  define_job("a");
  define_job("b", {.parents = {"a"}});
  add_registered(1);
  trigger_traced("a");
  ASSERT_TRUE(gets_orders(1));
  report(log_id(orders()[0]), 200, "yes");
  ASSERT_TRUE(gets_orders(2));
  EXPECT_THAT(field(1, "traceparent"), testing::StartsWith("00-" + kTrace + "-"));
  EXPECT_NE(field(1, "traceparent"), field(0, "traceparent"));
  EXPECT_EQ(field(1, "tracestate"), "none");
}

}  // namespace
}  // namespace rondo::jobs::executors
