// executors_impl.h: what executors say about the ends of runs.
#include "base/log.h"
#include "jobs/executors/executors_impl.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::executors {

namespace {

constexpr std::int64_t kDone = 200;
constexpr std::int64_t kTimedOut = 502;

Status status_of(const CallbackItem& item, const std::string& address) {
  if (item.code == kDone) return {};
  std::string text = item.message.empty() ? "the code " + std::to_string(item.code) : item.message;
  if (text.size() > limits::kRunNote) text.resize(limits::kRunNote);
  return {item.code == kTimedOut ? StatusCode::DeadlineExceeded : StatusCode::FailedPrecondition, address + ": " + text};
}

}  // namespace

void Executors::Impl::called_back(const CalledBack& results, const DoorAnswer& answer) {
  HeldCallback callback{.answer = answer, .runs = {}, .until = runtime.scheduler().now() + settings.stored_wait};
  const std::int64_t number = ++last_callback;
  for (const CallbackItem& item : results.items) {
    const auto ended = take(results.groups, item);
    if (!ended) continue;
    const auto& [run, attempt] = *ended;
    const bool waits = jobs.when_stored(run, attempt, [weak = std::weak_ptr<Impl*>(self), number, id = run](const Status&) {
      if (const auto parts = weak.lock()) (*parts)->stored(number, id);
    });
    if (waits) callback.runs.insert(run);
  }
  if (callback.runs.empty() || held.size() >= limits::kExecutorHeld) return answer(kDone, {});
  held.emplace(number, std::move(callback));
}

std::optional<std::pair<std::int64_t, std::uint32_t>> Executors::Impl::take(const std::set<std::string>& of_groups,
                                                                            const CallbackItem& item) {
  const LogId id = LogId::parse(item.log_id);
  const auto found = runs.find(id.run);
  if (found == runs.end()) {
    const bool may_come = has_begun(id.run) && (early.contains(id.run) || early.size() < limits::kExecutorEarly);
    if (may_come && early[id.run].size() < limits::kExecutorNodes) {
      early[id.run].emplace_back(of_groups, item);
    } else {
      ++stats.late;
    }
    return std::nullopt;
  }
  OpenRun& run = found->second;
  const bool is_its = of_groups.contains(run.group) && id.is_of(run.open.attempt()) && id.shard < run.shards.size();
  if (!is_its || run.shards[id.shard].stage == Shard::Stage::Waits || run.shards[id.shard].stage == Shard::Stage::Ended) {
    ++stats.late;
    return std::nullopt;
  }
  ++stats.callbacks;
  Shard& shard = run.shards[id.shard];
  std::string note = item.code == kDone ? item.message : std::string{};
  if (note.size() > limits::kRunNote) note.resize(limits::kRunNote);
  // An executor may report a run that it was told to stop as a success: it has stopped.
  const Status status = status_of(item, shard.address);
  const std::uint32_t attempt = run.open.attempt();
  end_shard(run, shard, status, std::move(note));
  finish_if_ended(id.run);
  return runs.contains(id.run) ? std::nullopt : std::optional{std::pair{id.run, attempt}};
}

void Executors::Impl::stored(std::int64_t callback, std::int64_t run) {
  const auto found = held.find(callback);
  if (found == held.end()) return;
  found->second.runs.erase(run);
  if (!found->second.runs.empty()) return;
  const DoorAnswer answer = found->second.answer;
  held.erase(found);
  answer(kDone, {});
}

}  // namespace rondo::jobs::executors
