// The same work under all policies. Four agents of priorities 7, 5, 3 and 0 get six messages each, in turn; each message takes 0.1 ms. With
// its third message the agent of priority 3 sends two more to that of priority 7. The program prints the order in which messages are
// handled, as one digit each. It runs in simulated time, so the order is always the same. The last case has a thread for each priority, so
// only the order within a priority is fixed: it numbers the messages of each.
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rondo/message/agent_threads.h"
#include "rondo/message/agents.h"
#include "rondo/sched/policy.h"
#include "rondo/sim/agent_kit.h"

using namespace rondo;

namespace {

struct Work {};

class Worker final : public Agent {
 public:
  Worker(AgentGroup& group, Priority priority, SimClock& clock, std::string& order)
      : Agent(group, "worker", priority), clock_(clock), order_(order) {
    receive<&Worker::handle>();
  }
  Address urgent;  // Receiver of the additional messages that the third message causes; may be empty.
  bool ok = true;

 private:
  void handle(const Work&) {
    clock_.advance(100us);
    order_ += std::to_string(priority().level());
    if (++handled_ != 3 || urgent == Address{}) return;
    for (int i = 0; i < 2; ++i) ok = urgent.post(Work{}).ok() && ok;
  }
  SimClock& clock_;
  std::string& order_;
  int handled_ = 0;
};

std::string order_under(const PolicyOptions& policy) {
  sim::AgentKit kit({.policy = policy});
  std::string order;
  std::vector<Worker*> workers;
  const auto made = kit.agents().add([&](AgentGroup& group) {
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

struct Numbered {
  int number = 0;
};

/// Runs on the thread of its priority. The agent that handles the last message stops the threads.
class Alone final : public Agent {
 public:
  Alone(AgentGroup& group, Priority priority, AgentThreads& threads, std::atomic<int>& left, std::string& order)
      : Agent(group, "alone", priority), threads_(threads), left_(left), order_(order) {
    receive<&Alone::handle>();
  }
  Address urgent;

 private:
  void handle(const Numbered& message) {
    order_ += std::to_string(message.number);
    if (message.number == 3 && urgent != Address{}) {
      for (int number = 7; number <= 8; ++number) {
        if (!urgent.post(Numbered{number}).ok()) threads_.stop();
      }
    }
    if (left_.fetch_sub(1) == 1) threads_.stop();
  }
  AgentThreads& threads_;
  std::atomic<int>& left_;
  std::string& order_;
};

std::string orders_on_threads() {
  std::map<unsigned, std::string, std::greater<>> orders;
  std::atomic<int> left{26};
  AgentThreads threads;
  std::vector<Alone*> agents;
  const auto made = threads.agents().add([&](AgentGroup& group) {
    for (const Priority priority : {Priority::p7, Priority::p5, Priority::p3, Priority::p0}) {
      agents.push_back(&group.make<Alone>(priority, threads, left, orders[priority.level()]));
    }
    agents[2]->urgent = agents[0]->address();
    return Status{};
  });
  if (!made) return made.error().to_string();
  for (int number = 1; number <= 6; ++number) {
    for (const Alone* agent : agents) {
      if (!agent->address().post(Numbered{number}).ok()) return "a message was refused";
    }
  }
  threads.wait();
  if (left != 0) return "a message was refused";
  std::string all;
  for (const auto& [priority, order] : orders) all += (all.empty() ? "p" : ", p") + std::to_string(priority) + ' ' + order;
  return all;
}

bool show(const char* name, const std::string& order, const std::string& expected) {
  std::printf("%-32s %s\n", name, order.c_str());
  return order == expected;
}

}  // namespace

int main() {
  // region: policies
  // The most urgent message is always next; the others wait however long that takes.
  const StrictlyOrdered ordered{};
  // Each priority in turn, from the highest down, up to its quota. An urgent message waits for its turn, too.
  const QuotedRoundRobin quoted = QuotedRoundRobin{.quota = 2}.set(Priority::p7, 4);
  // Strict while a priority has budget left in the frame, so priority 0 has a turn in each frame. (Budgets of milliseconds are usual.)
  const BudgetedFrames frames =
      BudgetedFrames{.batch = 1}.set(Priority::p7, 300us).set(Priority::p5, 200us).set(Priority::p3, 200us).set(Priority::p0, 100us);
  // endregion
  bool as_said = show("strictly ordered", order_under(ordered), "77777755555533377333000000");
  as_said = show("SONiC's Select, strict", order_under(StrictPriority{}), "77777755555533377333000000") && as_said;
  as_said = show("quoted round robin, 4 and 2", order_under(quoted), "77775533007755330077553300") && as_said;
  as_said = show("budgeted frames, 3, 2, 2 and 1", order_under(frames), "77755330777553307755330000") && as_said;
  // The messages from p3 to p7 may arrive before message 6 of p7, because another thread posts that one.
  const std::string on_threads = orders_on_threads();
  std::printf("%-32s %s\n", "a thread for each priority", on_threads.c_str());
  as_said = on_threads.ends_with(", p5 123456, p3 123456, p0 123456") && as_said;
  return as_said ? 0 : 1;
}
