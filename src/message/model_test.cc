// Random sends, limits, removals and batches against a plain model, over many seeds and under every policy. The model determines which
// message of a priority is handled next, and what every post returns. So no message is lost, duplicated or reordered. For the messages of
// one sender to one agent this holds under every policy, and when the policy changes during the run. Under strict policies the model also
// determines the order over all priorities. Messages are posted from outside and by handlers, which take time.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

constexpr unsigned kSeeds = 400;
constexpr unsigned kSteps = 400;

/// When it is handled, the agent posts 'forward' more messages to the agent that it names: the handlers' posts are part of the order.
template <int Kind>
struct Item {
  int id = 0;
  int forward_to = -1;
  int key = 0;
};
using Plain = Item<0>;    // Without a limit.
using Bounded = Item<1>;  // With the agent's limit.
using Keyed = Item<2>;    // Merges by key.

Status send(const Address& to, int kind, int id, int forward_to, int key) {
  if (kind == 0) return to.post(Plain{id, forward_to, key});
  if (kind == 1) return to.post(Bounded{id, forward_to, key});
  return to.post(Keyed{id, forward_to, key});
}

struct Traits {
  unsigned priority = 0;
  Limit limit;
  std::size_t keys = 1;
};

struct Directory {
  std::map<int, Address> addresses;
  std::vector<std::pair<int, int>> handled;  // Agent and message.
  std::vector<std::pair<int, bool>> forwarded;
  std::set<int> started;
  std::function<void()> on_handled;
};

class Member final : public Agent {
 public:
  Member(AgentGroup& group, int number, const Traits& traits, Directory& directory)
      : Agent(group, std::to_string(number), Priority{traits.priority}), number_(number), directory_(directory) {
    limit<Bounded>(traits.limit);
    coalesce<&Keyed::key, Keyed>(traits.keys, Overflow::DropNewest);
    receive<&Member::plain>();
    receive<&Member::bounded>();
    receive<&Member::keyed>();
  }

 private:
  void on_start() override { directory_.started.insert(number_); }
  void plain(const Plain& item) { took(item.id, item.forward_to, item.key); }
  void bounded(const Bounded& item) { took(item.id, item.forward_to, item.key); }
  void keyed(const Keyed& item) { took(item.id, item.forward_to, item.key); }
  /// Forwards one message of each kind, beginning with a kind that depends on the message.
  void took(int id, int to, int key) {
    directory_.handled.emplace_back(number_, id);
    directory_.on_handled();
    if (to < 0) return;
    const Address& address = directory_.addresses.at(to);
    for (int i = 0; i < 3; ++i) {
      const int kind = (key + i) % 3;
      const int next = id * 10 + 1 + kind;
      directory_.forwarded.emplace_back(next, send(address, kind, next, -1, key).ok());
    }
  }
  int number_;
  Directory& directory_;
};

/// The rules in their simplest form.
class Model {
 public:
  struct Waiting {
    int agent, kind, id, forward_to, key;
  };
  void add(int number, const Traits& traits) {
    agents_[number] = traits;
    priorities_[number] = traits.priority;
  }
  /// From now on the agent accepts nothing.
  void remove(int number) { agents_.erase(number); }
  /// The agent ends immediately: its waiting messages are dropped.
  void drop(int number) {
    std::erase_if(queues_[priorities_.at(number)], [&](const Waiting& one) { return one.agent == number; });
  }
  bool post(const Waiting& item) {
    const auto found = agents_.find(item.agent);
    if (found == agents_.end()) return false;
    const Traits& traits = found->second;
    std::deque<Waiting>& queue = queues_[traits.priority];
    const auto same = [&](const Waiting& one) { return one.agent == item.agent && one.kind == item.kind; };
    const auto waiting = static_cast<std::size_t>(std::ranges::count_if(queue, same));
    if (item.kind == 2) {
      for (Waiting& one : queue) {
        if (!same(one) || one.key != item.key) continue;
        one = item;
        return true;
      }
      if (waiting >= traits.keys) return true;  // Dropped.
    }
    if (item.kind == 1 && waiting >= traits.limit.most) {
      if (traits.limit.overflow == Overflow::Reject) return false;
      if (traits.limit.overflow == Overflow::DropNewest) return true;
      queue.erase(std::ranges::find_if(queue, same));
    }
    queue.push_back(item);
    return true;
  }
  /// Returns the message that precedes all others.
  std::optional<Waiting> next() {
    for (auto level = queues_.rbegin(); level != queues_.rend(); ++level) {
      if (!level->second.empty()) return pop(level->second);
    }
    return std::nullopt;
  }
  /// True if a message of a higher priority than that of 'agent' waits.
  bool passes_over(int agent) const {
    const auto above = queues_.upper_bound(priorities_.at(agent));
    return std::any_of(above, queues_.end(), [](const auto& level) { return !level.second.empty(); });
  }
  /// Returns the message that precedes all others of the priority of 'agent'.
  std::optional<Waiting> next_beside(int agent) {
    std::deque<Waiting>& queue = queues_[priorities_.at(agent)];
    if (queue.empty()) return std::nullopt;
    return pop(queue);
  }

 private:
  static Waiting pop(std::deque<Waiting>& queue) {
    const Waiting item = queue.front();
    queue.pop_front();
    return item;
  }
  std::map<int, Traits> agents_;
  std::map<int, unsigned> priorities_;  // Including agents that have gone.
  std::map<unsigned, std::deque<Waiting>> queues_;
};

/// A policy for the agents, drawn anew for each seed; and whether it changes between turns.
struct Rule {
  const char* name;
  PolicyOptions (*draw)(Random&);
  bool is_strict = false;
  bool changes = false;
};
std::ostream& operator<<(std::ostream& out, const Rule& rule) { return out << rule.name; }

std::uint32_t batch(Random& random) { return static_cast<std::uint32_t>(1 + random.below(40)); }

// A handler takes up to 3 us, so budgets and quotas are often used up and overdrawn.
const Rule kRules[] = {
    {.name = "StrictPriority", .draw = [](Random& r) -> PolicyOptions { return StrictPriority{.batch = batch(r)}; }, .is_strict = true},
    {.name = "StrictByConsumedTime",
     .draw = [](Random& r) -> PolicyOptions { return StrictPriority{.tie = Tie::ConsumedTime, .batch = batch(r)}; },
     .is_strict = true},
    {.name = "StrictlyOrdered", .draw = [](Random& r) -> PolicyOptions { return StrictlyOrdered{.batch = batch(r)}; }, .is_strict = true},
    {.name = "QuotedRoundRobin",
     .draw = [](Random& r) -> PolicyOptions {
       return QuotedRoundRobin{.quota = static_cast<std::uint32_t>(1 + r.below(5)), .batch = batch(r)};
     }},
    {.name = "QuotedByTime",
     .draw = [](Random& r) -> PolicyOptions {
       return QuotedRoundRobin{.quota = static_cast<std::uint32_t>(1 + r.below(5)), .unit = QuotaUnit::Microseconds, .batch = batch(r)};
     }},
    {.name = "BudgetedFrames",
     .draw = [](Random& r) -> PolicyOptions { return BudgetedFrames{.lowest = 1us, .highest = 200us, .batch = batch(r)}; }},
    {.name = "FramesByArrival",
     .draw = [](Random& r) -> PolicyOptions {
       return BudgetedFrames{.lowest = 1us, .highest = 10us, .tie = Tie::Arrival, .batch = batch(r)};
     }},
    {.name = "FramesByConsumedTime",
     .draw = [](Random& r) -> PolicyOptions {
       return BudgetedFrames{.lowest = 1us, .highest = 50us, .tie = Tie::ConsumedTime, .batch = batch(r)};
     }},
};

const Rule kAnyRule{
    .name = "Changing", .draw = [](Random& random) { return kRules[random.below(std::size(kRules))].draw(random); }, .changes = true};

class Life {
 public:
  Life(const Rule& rule, std::uint64_t seed) : rule_(rule), random_(seed), kit_({.seed = seed, .policy = rule.draw(random_)}) {
    directory_.on_handled = [this] { kit_.world().clock().advance(Duration{static_cast<std::int64_t>(random_.below(3000))}); };
  }

  /// Returns how often a message was handled while one of a higher priority waited.
  std::size_t live() {
    for (unsigned step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      const std::uint64_t what = random_.below(20);
      if (what == 0 || members_.empty()) {
        add();
      } else if (what == 1) {
        remove();
      } else if (what < 13) {
        post();
      } else {
        take_turn();
      }
    }
    kit_.run_until_idle();
    follow();
    EXPECT_FALSE(model_.next().has_value()) << "the model has more";
    for (const MessageFigures& queue : kit_.agents().figures_of_queues()) EXPECT_EQ(queue.queued, 0U);
    return passed_over_;
  }

 private:
  void add() {
    const int number = ++last_agent_;
    const Overflow answers[] = {Overflow::Reject, Overflow::DropNewest, Overflow::DropOldest};
    const Traits traits{.priority = static_cast<unsigned>(random_.below(3)),
                        .limit = {.most = 1 + random_.below(4), .overflow = answers[random_.below(3)]},
                        .keys = 1 + random_.below(3)};
    const Result<GroupId> group = kit_.agents().add([&](AgentGroup& made) {
      directory_.addresses[number] = made.make<Member>(number, traits, directory_).address();
      return Status{};
    });
    ASSERT_TRUE(group.has_value());
    members_.emplace_back(number, *group);
    model_.add(number, traits);
    settle([&] { return directory_.started.contains(number); });
  }
  void remove() {
    const std::size_t at = random_.below(members_.size());
    const bool at_once = random_.below(2) == 0;
    bool gone = false;
    const auto done = [&gone] { gone = true; };
    const auto [number, group] = members_[at];
    ASSERT_TRUE(
        kit_.agents().remove(group, at_once ? Removal::AtOnce : Removal::AfterQueues, at_once ? done : std::function<void()>{}).ok());
    model_.remove(number);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(at));
    if (!at_once) return;
    model_.drop(number);  // Dropped even before the agent's end.
    settle([&] { return gone; });
  }
  /// Starts and ends precede all messages under every policy, except for one turn after another start or end.
  void settle(const std::function<bool()>& done) {
    for (int turns = 0; !done(); ++turns) {
      ASSERT_LT(turns, 2) << "messages went before a start or an end";
      ASSERT_TRUE(kit_.step());
      follow();
    }
  }
  void take_turn() {
    if (rule_.changes && random_.chance(0.1)) kit_.scheduler().set_policy(std::move(make_policy(rule_.draw(random_)).value()));
    kit_.step();
    follow();
  }
  void post() {
    const int to = 1 + static_cast<int>(random_.below(static_cast<std::uint64_t>(last_agent_)));
    const bool forwards = random_.below(4) == 0;
    const Model::Waiting item{.agent = to,
                              .kind = static_cast<int>(random_.below(3)),
                              .id = 1000 * ++last_id_,
                              .forward_to = forwards ? 1 + static_cast<int>(random_.below(static_cast<std::uint64_t>(last_agent_))) : -1,
                              .key = static_cast<int>(random_.below(4))};
    const Status sent = send(directory_.addresses.at(to), item.kind, item.id, item.forward_to, item.key);
    EXPECT_EQ(sent.ok(), model_.post(item)) << "message " << item.id;
  }
  /// Handles as many messages in the model as were handled, and checks that they are the same.
  void follow() {
    while (followed_ < directory_.handled.size() && !testing::Test::HasFailure()) {
      if (model_.passes_over(directory_.handled[followed_].first)) ++passed_over_;
      const std::optional<Model::Waiting> item = rule_.is_strict ? model_.next() : model_.next_beside(directory_.handled[followed_].first);
      ASSERT_TRUE(item.has_value()) << "message " << directory_.handled[followed_].second << " was handled and nothing waits";
      ASSERT_EQ(std::pair(item->agent, item->id), directory_.handled[followed_]) << "at place " << followed_;
      ++followed_;
      if (item->forward_to < 0) continue;
      for (int i = 0; i < 3; ++i) {
        const int kind = (item->key + i) % 3;
        const int id = item->id * 10 + 1 + kind;
        const bool accepted = model_.post({.agent = item->forward_to, .kind = kind, .id = id, .forward_to = -1, .key = item->key});
        ASSERT_EQ(std::pair(id, accepted), directory_.forwarded.at(forwards_followed_)) << "at forward " << forwards_followed_;
        ++forwards_followed_;
      }
    }
  }

  const Rule& rule_;
  Random random_;
  Directory directory_;
  sim::AgentKit kit_;
  Model model_;
  std::vector<std::pair<int, GroupId>> members_;
  int last_agent_ = 0;
  int last_id_ = 0;
  std::size_t followed_ = 0;
  std::size_t forwards_followed_ = 0;
  std::size_t passed_over_ = 0;
};

class AgentsModel : public testing::TestWithParam<Rule> {};

TEST_P(AgentsModel, NoMessageIsLostNoneComesTwiceNoneOvertakes) {
  std::size_t passed_over = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    passed_over += Life(GetParam(), seed).live();
    ASSERT_FALSE(HasFailure());
  }
  // Otherwise the run did not test the policy.
  EXPECT_EQ(passed_over == 0, GetParam().is_strict) << passed_over;
}

const auto kNameOf = [](const testing::TestParamInfo<Rule>& info) { return std::string{info.param.name}; };
INSTANTIATE_TEST_SUITE_P(Policy, AgentsModel, testing::ValuesIn(kRules), kNameOf);
INSTANTIATE_TEST_SUITE_P(AnyPolicy, AgentsModel, testing::Values(kAnyRule), kNameOf);

}  // namespace
}  // namespace rondo
