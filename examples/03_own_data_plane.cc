// A data plane that is not a switch: a load balancer with a slow API. An Executor calls it on a thread of its own, so that no turn waits
// for it. The Orch submits calls in bulk, settles each change when its answer arrives, and pauses while too many are in flight.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rondo/orch/batch.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/executor.h"

using namespace rondo;

/// Stands for the client library of the service: each call would be a network request. Only the executor's thread uses it.
class Balancer {
 public:
  static constexpr std::size_t kRoom = 900;

  Status add(const std::string& backend, const std::string& address) {
    if (backends_.size() >= kRoom && !backends_.contains(backend)) return {StatusCode::ResourceExhausted, "the balancer is full"};
    backends_[backend] = address;
    return {};
  }
  Status remove(const std::string& backend) {
    return backends_.erase(backend) > 0 ? Status{} : Status{StatusCode::NotFound, "the balancer has no such backend"};
  }
  std::size_t size() const { return backends_.size(); }

 private:
  std::map<std::string, std::string> backends_;
};

// region: operation
/// A request to the balancer, and in 'status' its result.
struct Call {
  std::string backend;
  std::optional<std::string> address;  // Empty: remove it.
  Status status = {};
};

/// May block, because it runs on the executor's thread.
void apply(Balancer& balancer, std::span<Call> calls) {
  for (Call& call : calls) call.status = call.address ? balancer.add(call.backend, *call.address) : balancer.remove(call.backend);
}

/// Encodes calls for a journal, so that a recorded day can be replayed without the balancer.
OperationCodec<Call> codec() {
  return {.encode_order = [](const Call& call, std::string& to) { to += call.backend + " " + call.address.value_or("-"); },
          .encode_answer = [](const Call&, std::string&) {},  // There is no result but the status.
          .decode_answer = [](std::string_view, Call&) { return true; }};
}
// endregion

// region: orch
/// The lanes: a removal overtakes additions between two batches.
enum Lane : std::size_t { kRemovals, kAdditions };

class Backends final : public Orch {
 public:
  Backends(Runtime& runtime, Executor<Call>& balancer) : Orch(runtime, "backends", Priority::p1), balancer_(balancer) {
    table_ = consume_batches("BACKEND", [this](Batch& batch) { call(batch); });
    balancer_.on_room([this] { release(table_); });
  }

 private:
  struct Calls {
    std::vector<Call> calls;
    std::vector<Ticket> tickets;
  };

  void call(Batch& batch) {
    Calls lanes[2];
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::optional<std::string> address;
      if (batch[i].op() == ChangeOp::Set) {
        const Result<std::string> text = batch[i].fields().text("address");
        if (!text) {
          batch.answer(i, Outcome::reject(text.error()));
          continue;
        }
        address = *text;
      }
      Calls& lane = lanes[address ? kAdditions : kRemovals];
      lane.calls.push_back({.backend = std::string{batch[i].key()}, .address = std::move(address)});
      lane.tickets.push_back(batch.stage(i));  // The answer arrives later.
    }
    for (const Lane lane : {kRemovals, kAdditions}) submit(lane, std::move(lanes[lane]));
    if (!balancer_.has_room()) hold(table_);  // Changes that are not taken merge in the table.
  }

  void submit(Lane lane, Calls of) {
    balancer_.submit(lane, std::move(of.calls),
                     [this, tickets = std::move(of.tickets), next = std::size_t{0}](std::span<Call> answered) mutable {
                       for (const Call& call : answered) settle(tickets[next++], outcome(call.status));
                     });
  }

  static Outcome outcome(const Status& status) {
    if (status.ok() || status.code() == StatusCode::NotFound) return Outcome::done();  // A missing backend counts as removed.
    if (status.code() == StatusCode::InvalidArgument) return Outcome::reject(status);
    return Outcome::retry_after(1ms, status);  // Full, unreachable, or unknown: both calls can be repeated.
  }

  Executor<Call>& balancer_;
  ConsumerHandle table_;
};
// endregion

int main() {
  Balancer service;
  Runtime runtime;
  // region: executor
  Executor<Call> balancer(
      runtime.scheduler(), [&service](std::span<Call> calls) { apply(service, calls); },
      {.name = "balancer", .target = "the balancer", .lanes = {1, 1}, .operations_max = 256, .batch_max = 32}, codec());
  runtime.add<Backends>(balancer);
  // endregion

  Table table = runtime.table("BACKEND");
  const auto name = [](int i) { return "web" + std::to_string(i); };
  bool accepted = table.set("nonsense", {}).ok();
  for (int i = 0; i < 1000; ++i) accepted = accepted && table.set(name(i), {{"address", "10.0.0." + std::to_string(i)}}).ok();

  // The balancer has room for 900; the others wait and are retried. Removing a hundred makes room for them.
  const auto at_rest = [&runtime](std::size_t parked) {
    const ConsumerStats now = runtime.consumers().front();
    return now.queued == 0 && now.in_flight == 0 && now.parked == parked;
  };
  const auto run_until = [&runtime](const auto& done) {
    const Instant end = runtime.clock().now() + 10s;
    while (!done() && runtime.clock().now() < end) {
      runtime.run_until_idle();
      runtime.scheduler().wait(runtime.clock().now() + 1ms);
    }
    return done();
  };
  const bool full = run_until([&] { return at_rest(1000 - Balancer::kRoom); });
  for (int i = 0; i < 100; ++i) accepted = accepted && table.remove(name(i)).ok();
  const bool done = run_until([&] { return at_rest(0); });

  const std::uint64_t rejected = runtime.consumers().front().rejected;
  const std::uint64_t pauses = balancer.stats().full;
  std::printf("%zu backends, %d rejected, paused %s\n", service.size(), static_cast<int>(rejected), pauses > 0 ? "for room" : "never");
  return accepted && full && done && service.size() == Balancer::kRoom && rejected == 1 && pauses > 0 ? 0 : 1;
}
