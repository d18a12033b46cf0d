// Two files may each have an agent and a message of the same names: 'Doer' and 'Job' have the names of those in removal_test.cc, but other
// members.
#include <gtest/gtest.h>

#include <cstdint>

#include "rondo/message/agents.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

struct Job {
  std::uint64_t number = 0;
  std::uint64_t other = 0;
};

class Doer final : public Agent {
 public:
  explicit Doer(AgentGroup& group) : Agent(group, "doer", Priority::p3) { receive<&Doer::job>(); }
  std::uint64_t sum = 0;

 private:
  void job(const Job& job) { sum += job.number - job.other; }
};

TEST(SameNames, EachFileHasItsOwnHandlers) {
  sim::AgentKit kit;
  Doer* doer = nullptr;
  ASSERT_TRUE(kit.agents()
                  .add([&](AgentGroup& group) {
                    doer = &group.make<Doer>();
                    return Status{};
                  })
                  .has_value());
  ASSERT_TRUE(doer->address().post(Job{.number = 0x1'0000'0005, .other = 2}).ok());
  kit.run_until_idle();
  EXPECT_EQ(doer->sum, 0x1'0000'0003U);
}

}  // namespace
}  // namespace rondo
