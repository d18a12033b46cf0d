// A bulk handler over a slow device. The handler hands changes on in batches, and the device answers each one later, in any order. While
// the device is full, changes wait in the table, where they merge, and the process does not grow.
#include <cstdio>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "rondo/message/messaging_orch.h"
#include "rondo/orch/runtime.h"

using namespace rondo;

inline constexpr FactKind kPort{"port"};

/// A device that executes 50 operations a millisecond, has two ports at the start, and has room for 1,000 rules.
class Device {
 public:
  struct Operation {
    Change change;
    Ticket ticket;
  };
  enum class Answer { Done, NoSuchPort, Full, Nonsense };

  bool has_room() const { return queue_.size() < 256; }
  void submit(Operation operation) { queue_.push_back(std::move(operation)); }
  bool knows_port(std::string_view port) const { return ports_.contains(port); }
  void plug_in(std::string_view port) { ports_.emplace(port); }
  std::size_t rules() const { return rules_.size(); }

  /// A millisecond of work; calls 'answer' for each completed operation.
  template <class Callback>
  void work(const Callback& answer) {
    for (int i = 0; i < 50 && !queue_.empty(); ++i) {
      const Operation operation = std::move(queue_.front());
      queue_.pop_front();
      answer(operation, apply(operation.change));
    }
  }

 private:
  Answer apply(const Change& change) {
    if (change.op() == ChangeOp::Delete) {
      rules_.erase(std::string{change.key()});
      return Answer::Done;
    }
    const std::optional<std::string_view> port = change.fields().find("port");
    if (!port) return Answer::Nonsense;
    if (!ports_.contains(*port)) return Answer::NoSuchPort;
    if (rules_.size() >= 1000) return Answer::Full;
    rules_[std::string{change.key()}] = *port;
    return Answer::Done;
  }

  std::deque<Operation> queue_;
  std::set<std::string, std::less<>> ports_{"Ethernet0", "Ethernet4"};
  std::map<std::string, std::string> rules_;
};

// region: message
/// A port was plugged in: an event, not a row of a table.
struct PluggedIn {
  std::string port;
};
// endregion

// region: rules
class Rules final : public MessagingOrch {
 public:
  Rules(Runtime& runtime, Device& device)
      : MessagingOrch(runtime, "rules", Priority::p1),
        device_(device),
        rules_(consume_batches("RULE", [this](Batch& batch) { apply(batch); })) {
    provide(kPort, [this](std::string_view port) { return device_.knows_port(port); });
    receive<&Rules::plug_in>();
    every(1ms, [this] { collect_answers(); });
  }

 private:
  void plug_in(const PluggedIn& message) {
    device_.plug_in(message.port);
    announce({kPort, message.port});  // Queues the rules that waited for it.
  }

  void apply(Batch& batch) {
    for (const Batch::Item item : batch) {
      device_.submit({item.change(), item.stage()});  // Staged: the answer arrives later. No other change of this key is handled meanwhile.
    }
    if (!device_.has_room()) hold(rules_);  // Back-pressure: changes that are not taken merge in the table, at no cost.
  }

  void collect_answers() {
    device_.work(
        [this](const Device::Operation& operation, Device::Answer answer) { settle(operation.ticket, outcome(operation, answer)); });
    if (device_.has_room()) release(rules_);
  }

  static Outcome outcome(const Device::Operation& operation, Device::Answer answer) {
    switch (answer) {
      case Device::Answer::Done: return Outcome::done();
      case Device::Answer::NoSuchPort: return Outcome::wait_for({kPort, operation.change.fields().text("port").value_or("")});
      case Device::Answer::Full:
        return Outcome::retry_after(5ms, Status{StatusCode::ResourceExhausted, "the device has no room for more rules"});
      case Device::Answer::Nonsense: break;
    }
    return Outcome::reject(Status{StatusCode::InvalidArgument, "field 'port' is missing"});
  }

  Device& device_;
  ConsumerHandle rules_;
};
// endregion

/// Plays the operator: checks every millisecond, and takes the next step when nothing is in flight any more.
class Operator {
 public:
  Operator(Runtime& runtime, Device& device, Address rules)
      : runtime_(runtime), device_(device), rules_(std::move(rules)), clock_("operator", Priority::p0, [this] { look(); }) {
    runtime.scheduler().add(clock_);
    clock_.arm_every(1ms, runtime.clock().now() + 1ms);
  }
  bool satisfied() const { return satisfied_; }

 private:
  void look() {
    const ConsumerStats now = runtime_.consumers().front();
    if (now.queued > 0 || now.in_flight > 0) return;
    std::printf("%zu rules done, %zu wait, %d rejected\n", device_.rules(), now.parked, static_cast<int>(now.rejected));
    if (now.parked == 0) {
      satisfied_ = first_look_was_right_ && device_.rules() == 1000;
      runtime_.stop();
      return;
    }
    first_look_was_right_ = device_.rules() == 900 && now.parked == 100 && now.rejected == 1;
    // region: post
    // From any thread. An error means that a limit was reached, or that the Orch no longer exists.
    if (const Status sent = rules_.post(PluggedIn{"Ethernet8"}); !sent.ok()) std::printf("refused: %s\n", sent.to_string().c_str());
    // endregion
  }

  Runtime& runtime_;
  Device& device_;
  Address rules_;
  TimerSource clock_;
  bool first_look_was_right_ = false;
  bool satisfied_ = false;
};

int main() {
  Device device;
  Runtime runtime;
  Rules& rules = runtime.add<Rules>(device);
  runtime.on_reject([](std::string_view, const Change&, const Status& why) { std::printf("rejected: %s\n", why.to_string().c_str()); });

  Table table = runtime.table("RULE");
  bool accepted = table.set("nonsense", {{"colour", "blue"}}).ok();
  for (int i = 0; i < 1000; ++i) {
    const char* const port = i % 10 == 0 ? "Ethernet8" : "Ethernet0";  // Ethernet8 is not plugged in yet.
    accepted = accepted && table.set("rule" + std::to_string(i), {{"port", port}}).ok();
  }
  const Operator person(runtime, device, rules.address());
  runtime.run();
  return accepted && person.satisfied() ? 0 : 1;
}
