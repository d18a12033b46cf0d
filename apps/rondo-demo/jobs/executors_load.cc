#include "rondo-demo/jobs/executors_load.h"

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "jobs/executors/wire.h"

namespace rondo::demo {

namespace {

/// So long that the executors that are killed and stopped have runs.
constexpr Duration kWork = 20ms;

/// What became of the orders of one executor.
ExecutorOrders fate_of(const std::vector<std::int64_t>& orders, const std::map<std::int64_t, std::uint32_t>& attempts) {
  ExecutorOrders fate{.all = orders.size()};
  for (const std::int64_t log_id : orders) {
    const auto id = jobs::executors::LogId::parse(log_id);
    const auto run = attempts.find(id.run);
    if (run == attempts.end()) continue;
    // The number has the last two digits of the attempt, and these jobs have fewer attempts.
    ++(run->second > id.attempt + 1 ? fate.retried : fate.ended_there);
  }
  return fate;
}

}  // namespace

Result<std::unique_ptr<ExecutorsLoad>> ExecutorsLoad::start(std::size_t count, const DaemonProcess& daemon, AdminClient& rondod,
                                                            const std::vector<std::unique_ptr<DaemonProcess>>& standbys) {
  std::unique_ptr<ExecutorsLoad> load{new ExecutorsLoad};
  std::string schedulers = "http://127.0.0.1:" + std::to_string(daemon.http_port());
  for (const auto& standby : standbys) schedulers += ",http://127.0.0.1:" + std::to_string(standby->http_port());
  for (std::size_t i = 0; i < count; ++i) {
    auto executor = ExecutorProcess::start({.scheduler = schedulers,
                                            .group = "demo",
                                            .token = daemon.executor_token(),
                                            .log_path = daemon.directory() + "/executor-" + std::to_string(i),
                                            .work = kWork});
    if (!executor) return failure(executor.error());
    load->executors_.push_back(*std::move(executor));
  }
  if (Status waited = load->wait_for_registration(rondod); !waited.ok()) return failure(std::move(waited));
  return load;
}

Status ExecutorsLoad::wait_for_registration(AdminClient& rondod) const {
  const auto deadline = std::chrono::steady_clock::now() + 100s;  // Only ends what hangs.
  while (std::chrono::steady_clock::now() < deadline) {
    std::size_t usable = 0;
    const auto listed =
        rondod.call("executors", {}, [&](const boost::json::value& row) { usable += row.at("usable").as_bool() ? 1U : 0U; });
    if (!listed) return listed.error();
    if (usable == executors_.size()) return {};
    std::this_thread::sleep_for(20ms);
  }
  return {StatusCode::DeadlineExceeded, "the executors have not registered after 100 s"};
}

Status ExecutorsLoad::drain_one(AdminClient& rondod) {
  const auto drained_now = rondod.call("executor-drain", {{"group", "demo"}, {"address", drained().address()}});
  orders_before_drain_ = drained().orders().size();
  return drained_now ? Status{} : drained_now.error();
}

Status ExecutorsLoad::resume_one(AdminClient& rondod) {
  orders_while_drained_ = drained().orders().size() - orders_before_drain_;
  const auto resumed = rondod.call("executor-drain", {{"group", "demo"}, {"address", drained().address()}, {"resume", "yes"}});
  return resumed ? Status{} : resumed.error();
}

Status ExecutorsLoad::count_callbacks(AdminClient& rondod) {
  const auto stats = rondod.call("stats", {});
  if (!stats) return stats.error();
  callbacks_ += stats->at("executors").at("callbacks").to_number<std::uint64_t>();
  return {};
}

void ExecutorsLoad::stop() {
  for (const auto& executor : executors_) executor->stop();
}

ExecutorsReport ExecutorsLoad::report(const std::map<std::int64_t, std::uint32_t>& attempts) const {
  ExecutorsReport report{.executors = executors_.size(), .callbacks = callbacks_, .while_drained = orders_while_drained_};
  std::map<std::int64_t, std::uint32_t> arrived;
  for (const auto& executor : executors_) {
    for (const std::int64_t log_id : executor->orders()) {
      ++report.dispatched;
      if (++arrived[log_id] == 2) ++report.dispatched_twice;
    }
  }
  for (const auto& [log_id, count] : arrived) {
    const auto id = jobs::executors::LogId::parse(log_id);
    const auto run = attempts.find(id.run);
    if (run == attempts.end() || id.attempt >= run->second) ++report.without_row;
  }
  for (const auto& [run, count] : attempts) {
    report.attempts += count;
    if (count > 0 && !arrived.contains(jobs::executors::log_id_of(run, count - 1, 0))) ++report.without_order;
  }
  report.killed = fate_of(executors_[0]->orders(), attempts);
  report.hanging = fate_of(executors_[1]->orders(), attempts);
  return report;
}

}  // namespace rondo::demo
