// The same work under four policies. Four agents of priorities 7, 5, 3 and 0 get six messages each, in turn; each takes 0.1 ms. With its
// third message the one of priority 3 sends two more to the one of priority 7. What is printed is the order in which messages are handled,
// a digit each. In simulated time, so it is always the same.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "rondo/message/agents.h"
#include "rondo/sched/policy.h"
#include "rondo/sim/agent_kit.h"

using namespace rondo;

namespace {

struct Work {};

class Worker final : public Agent {
 public:
  Worker(Group& group, Priority priority, sim::SimClock& clock, std::string& order)
      : Agent(group, "worker", priority), clock_(clock), order_(order) {
    receive<&Worker::handle>();
  }
  Address urgent;  // Whom the third message sends more work to, if anybody.
  bool ok = true;

 private:
  void handle(const Work&) {
    clock_.advance(100us);
    order_ += std::to_string(priority().level());
    if (++handled_ != 3 || urgent == Address{}) return;
    for (int i = 0; i < 2; ++i) ok = urgent.post(Work{}).ok() && ok;
  }
  sim::SimClock& clock_;
  std::string& order_;
  int handled_ = 0;
};

std::string order_under(const PolicyOptions& policy) {
  sim::AgentKit kit({.policy = policy});
  std::string order;
  std::vector<Worker*> workers;
  const auto made = kit.agents().add([&](Group& group) {
    for (const Priority priority : {Priority::p7, Priority::p5, Priority::p3, Priority::p0}) {
      workers.push_back(&group.make<Worker>(priority, kit.world().clock(), order));
    }
    return Status{};
  });
  if (!made) return made.error().to_string();
  workers[2]->urgent = workers[0]->address();
  kit.run_until_idle();
  for (int round = 0; round < 6; ++round) {
    for (const Worker* worker : workers) {
      if (!worker->address().post(Work{}).ok()) return "a message was refused";
    }
  }
  kit.run_until_idle();
  return workers[2]->ok ? order : "a message was refused";
}

bool show(const char* name, const PolicyOptions& policy, const std::string& expected) {
  const std::string order = order_under(policy);
  std::printf("%-32s %s\n", name, order.c_str());
  return order == expected;
}

}  // namespace

int main() {
  // region: policies
  // What is urgent is always next; whoever is not waits as long as it takes.
  const StrictlyOrdered ordered{};
  // Each priority in turn, from the highest down, up to its quota. The urgent message waits for its turn, too.
  const QuotedRoundRobin quoted = QuotedRoundRobin{.quota = 2}.set(Priority::p7, 4);
  // Strict while a priority has budget left in the frame; so priority 0 has a turn in each. (Budgets of milliseconds are usual.)
  const BudgetedFrames frames =
      BudgetedFrames{.batch = 1}.set(Priority::p7, 300us).set(Priority::p5, 200us).set(Priority::p3, 200us).set(Priority::p0, 100us);
  // endregion
  bool as_said = show("strictly ordered", ordered, "77777755555533377333000000");
  as_said = show("SONiC's Select, strict", StrictPriority{}, "77777755555533377333000000") && as_said;
  as_said = show("quoted round robin, 4 and 2", quoted, "77775533007755330077553300") && as_said;
  as_said = show("budgeted frames, 3, 2, 2 and 1", frames, "77755330777553307755330000") && as_said;
  return as_said ? 0 : 1;
}
