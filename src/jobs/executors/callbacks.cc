// executors_impl.h: what executors say about the ends of runs.
#include <algorithm>

#include "jobs/executors/executors_impl.h"
#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::executors {

namespace {

std::string note_of(const CallbackItem& item) { return shorten(item.message, limits::kRunNote - std::string_view{"..."}.size()); }

Status status_of(const CallbackItem& item, const std::string& address) {
  if (item.code == kCodeDone) return {};
  const std::string text = item.message.empty() ? "the code " + std::to_string(item.code) : note_of(item);
  return {item.code == kCodeTimedOut ? StatusCode::DeadlineExceeded : StatusCode::FailedPrecondition, address + ": " + text};
}

}  // namespace

void Executors::Impl::called_back(const CalledBack& results, const DoorAnswer& answer) {
  const std::int64_t number = ++last_callback;
  std::set<std::int64_t> waits;
  for (const CallbackItem& item : results.items) {
    if (take(number, results.groups, item)) waits.insert(LogId::parse(item.log_id).run);
  }
  if (waits.empty() || held.size() >= limits::kExecutorHeld) return answer(kCodeDone, {});
  held.emplace(number, HeldCallback{.answer = answer, .runs = std::move(waits), .until = runtime.scheduler().now() + settings.stored_wait});
}

bool Executors::Impl::keep_early(std::int64_t callback, const std::set<std::string>& of_groups, const CallbackItem& item) {
  const std::int64_t run = LogId::parse(item.log_id).run;
  const std::shared_ptr<const Job> job = remote.job_of(run);
  const auto is_of = [&](const std::string& group) { return job == nullptr || job->handler.starts_with(handlers_of(group)); };
  if (early_results >= limits::kExecutorEarly || std::ranges::none_of(of_groups, is_of)) return false;
  CallbackItem kept = item;
  kept.message = note_of(item);
  early[run].push_back({callback, of_groups, std::move(kept)});
  ++early_results;
  return true;
}

bool Executors::Impl::take(std::int64_t callback, const std::set<std::string>& of_groups, const CallbackItem& item) {
  const LogId id = LogId::parse(item.log_id);
  const auto found = runs.find(id.run);
  // Which runs an earlier process left is known after the recovery only.
  if (found == runs.end() && (!remote.is_recovered() || has_begun(id.run)) && keep_early(callback, of_groups, item)) return true;
  const bool is_its = found != runs.end() && of_groups.contains(found->second.group) && id.is_of(found->second.open.attempt()) &&
                      id.shard < found->second.shards.size();
  Shard* const shard = is_its ? &found->second.shards[id.shard] : nullptr;
  // Executors in JavaScript and Go report a stopped run as a success, also while its handler goes on.
  if (item.code != kCodeDone) {
    std::erase_if(unresolved, [&](const auto& one) { return one.second.log_id == item.log_id && of_groups.contains(one.second.group); });
  }
  if (shard == nullptr || shard->stage < Shard::Stage::Sent || shard->stage == Shard::Stage::Ended) {
    ++stats.late;
    return false;
  }
  ++stats.callbacks;
  std::string note = item.code == kCodeDone ? note_of(item) : std::string{};
  Status status = status_of(item, shard->address);
  // Executors in JavaScript and Go report a run that they have stopped as a success.
  if (status.ok() && found->second.stop_by)
    status = {StatusCode::FailedPrecondition, shard->address + " was told to stop it, and reported a success: " + std::exchange(note, {})};
  const std::uint32_t attempt = found->second.open.attempt();
  end_shard(found->second, id.shard, std::move(status), std::move(note));
  finish_if_ended(id.run);
  return jobs.when_stored(id.run, attempt, [weak = std::weak_ptr<Impl*>(self), callback, run = id.run](const Status&) {
    if (const auto parts = weak.lock()) (*parts)->stored(callback, run);
  });
}

void Executors::Impl::stored(std::int64_t callback, std::int64_t run) {
  const auto found = held.find(callback);
  if (found == held.end()) return;
  found->second.runs.erase(run);
  if (!found->second.runs.empty()) return;
  const DoorAnswer answer = found->second.answer;
  held.erase(found);
  answer(kCodeDone, {});
}

void Executors::Impl::answer_late(Instant now) {
  std::vector<DoorAnswer> late;
  std::erase_if(held, [&](const auto& one) {
    if (now >= one.second.until) late.push_back(one.second.answer);
    return now >= one.second.until;
  });
  // The store hangs. If this program ends before it works again, the runs have no stored end, and are carried out again.
  for (const DoorAnswer& answer : late) answer(kCodeDone, {});
}

void Executors::Impl::drop_early() {
  std::vector<std::pair<std::int64_t, std::int64_t>> dropped;
  std::erase_if(early, [&](const auto& one) {
    const bool is_dropped = !has_begun(one.first);
    if (is_dropped) {
      stats.late += one.second.size();
      early_results -= one.second.size();
    }
    for (const EarlyResult& result : one.second) {
      if (is_dropped) dropped.emplace_back(result.callback, one.first);
    }
    return is_dropped;
  });
  for (const auto& [callback, run] : dropped) stored(callback, run);
}

}  // namespace rondo::jobs::executors
