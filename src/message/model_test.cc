// Random sends, limits, removals and batches against a plain model, over many seeds: the model says which message is handled next, so that
// none is lost, none comes twice, and none overtakes another; and what every post answers. Messages are posted from outside and by
// handlers.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

constexpr unsigned kSeeds = 400;
constexpr unsigned kSteps = 400;

/// When handled, the agent posts 'forward' more to whom the message says: what a handler does is part of the order.
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
};

class Member final : public Agent {
 public:
  Member(Group& group, int number, const Traits& traits, Directory& directory)
      : Agent(group, std::to_string(number), Priority{traits.priority}), number_(number), directory_(directory) {
    limit<Bounded>(traits.limit);
    coalesce<&Keyed::key, Keyed>(traits.keys, Overflow::DropNewest);
    receive<&Member::plain>();
    receive<&Member::bounded>();
    receive<&Member::keyed>();
  }

 private:
  void plain(const Plain& item) { took(item.id, item.forward_to, item.key); }
  void bounded(const Bounded& item) { took(item.id, item.forward_to, item.key); }
  void keyed(const Keyed& item) { took(item.id, item.forward_to, item.key); }
  /// Forwards as each kind, beginning with one or another.
  void took(int id, int to, int key) {
    directory_.handled.emplace_back(number_, id);
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

/// The rules, as plainly as they can be written.
class Model {
 public:
  struct Waiting {
    int agent, kind, id, forward_to, key;
  };
  void add(int number, const Traits& traits) { agents_[number] = traits; }
  /// From here on the agent accepts nothing.
  void remove(int number, bool at_once) {
    if (at_once) std::erase_if(queues_[agents_.at(number).priority], [&](const Waiting& one) { return one.agent == number; });
    agents_.erase(number);
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
  std::optional<Waiting> next() {
    for (auto level = queues_.rbegin(); level != queues_.rend(); ++level) {
      if (level->second.empty()) continue;
      const Waiting item = level->second.front();
      level->second.pop_front();
      return item;
    }
    return std::nullopt;
  }

 private:
  std::map<int, Traits> agents_;
  std::map<unsigned, std::deque<Waiting>> queues_;
};

class Life {
 public:
  explicit Life(std::uint64_t seed)
      : random_(seed), kit_({.seed = seed, .policy = StrictPriority{.batch = static_cast<std::uint32_t>(1 + random_.below(40))}}) {}

  void live() {
    for (unsigned step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      const std::uint64_t what = random_.below(20);
      if (what == 0 || members_.empty()) {
        add();
      } else if (what == 1) {
        remove();
      } else if (what < 13) {
        post();
      } else {
        kit_.step();
        follow();
      }
    }
    kit_.run_until_idle();
    follow();
    EXPECT_FALSE(model_.next().has_value()) << "the model has more";
    for (const MessageFigures& queue : kit_.agents().figures_of_queues()) EXPECT_EQ(queue.queued, 0U);
  }

 private:
  void add() {
    const int number = ++last_agent_;
    const Overflow answers[] = {Overflow::Reject, Overflow::DropNewest, Overflow::DropOldest};
    const Traits traits{.priority = static_cast<unsigned>(random_.below(3)),
                        .limit = {.most = 1 + random_.below(4), .overflow = answers[random_.below(3)]},
                        .keys = 1 + random_.below(3)};
    const Result<GroupId> group = kit_.agents().add([&](Group& made) {
      directory_.addresses[number] = made.make<Member>(number, traits, directory_).address();
      return Status{};
    });
    ASSERT_TRUE(group.has_value());
    members_.emplace_back(number, *group);
    model_.add(number, traits);
    settle();
  }
  void remove() {
    const std::size_t at = random_.below(members_.size());
    const bool at_once = random_.below(2) == 0;
    ASSERT_TRUE(kit_.agents().remove(members_[at].second, at_once ? Removal::AtOnce : Removal::AfterQueues).ok());
    model_.remove(members_[at].first, at_once);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(at));
    settle();
  }
  /// Starts and ends go before all messages: one turn does them.
  void settle() {
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
  /// The model handles as many as were handled, and must have handled the same.
  void follow() {
    while (followed_ < directory_.handled.size() && !testing::Test::HasFailure()) {
      const std::optional<Model::Waiting> item = model_.next();
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

  Random random_;
  Directory directory_;
  sim::AgentKit kit_;
  Model model_;
  std::vector<std::pair<int, GroupId>> members_;
  int last_agent_ = 0;
  int last_id_ = 0;
  std::size_t followed_ = 0;
  std::size_t forwards_followed_ = 0;
};

TEST(AgentsModel, NoMessageIsLostNoneComesTwiceNoneOvertakes) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life(seed).live();
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace rondo
