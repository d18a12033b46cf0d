// executors_impl.h: what executors say about the ends of runs.
#include <algorithm>

#include "jobs/executors/executors_impl.h"
#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::executors {

namespace {

constexpr std::string_view kRepeat = "the result is not stored yet: send it again";

std::string note_of(const CallbackItem& item) { return shorten(item.message, limits::kRunNote - std::string_view{"..."}.size()); }

Status status_of(const CallbackItem& item, const std::string& address) {
  if (item.code == kCodeDone) return {};
  const std::string text = item.message.empty() ? "the code " + std::to_string(item.code) : note_of(item);
  return {item.code == kCodeTimedOut ? StatusCode::DeadlineExceeded : StatusCode::FailedPrecondition, address + ": " + text};
}

}  // namespace

void Executors::Impl::called_back(const CalledBack& results, const DoorAnswer& answer) {
  std::set<std::int64_t> waits;
  bool is_dropped = false;
  for (const CallbackItem& item : results.items) {
    const Taken taken = take(results.groups, item);
    if (taken == Taken::Waits) waits.insert(LogId::parse(item.log_id).run);
    is_dropped = is_dropped || taken == Taken::Dropped;
  }
  if (is_dropped || (!waits.empty() && held.size() >= limits::kExecutorHeld)) return answer(kCodeFailure, kRepeat);
  if (waits.empty()) return answer(kCodeDone, {});
  // The results are kept for a takeover. An executor that knows several schedulers calls the next one immediately.
  if (remote.is_standby()) return answer(kCodeFailure, kAtStandby);
  const std::int64_t number = ++last_callback;
  for (const std::int64_t run : waits) held_for.emplace(run, number);
  held.emplace(number, HeldCallback{.answer = answer, .runs = std::move(waits), .until = runtime.scheduler().now() + settings.stored_wait});
}

bool Executors::Impl::may_be_of(const std::set<std::string>& of_groups, std::int64_t run) const {
  const std::shared_ptr<const Job> job = remote.job_of(run);
  return job == nullptr ||
         std::ranges::any_of(of_groups, [&](const std::string& group) { return job->handler.starts_with(handlers_of(group)); });
}

bool Executors::Impl::keep_early(const std::set<std::string>& of_groups, const CallbackItem& item) {
  if (early_results >= limits::kExecutorEarly) return false;
  CallbackItem kept = item;
  kept.message = note_of(item);
  early[LogId::parse(item.log_id).run].push_back({of_groups, std::move(kept)});
  ++early_results;
  return true;
}

bool Executors::Impl::waits_for_store(std::int64_t run, std::uint32_t attempt) {
  return jobs.when_stored(run, attempt, [weak = std::weak_ptr<Impl*>(self), run, attempt](const Status& why) {
    const auto parts = weak.lock();
    if (parts == nullptr) return;
    // Jobs tries again to store an end that it could not store.
    if (why.ok() || !(*parts)->waits_for_store(run, attempt)) (*parts)->stored(run);
  });
}

Executors::Impl::Taken Executors::Impl::take(const std::set<std::string>& of_groups, const CallbackItem& item) {
  const LogId id = LogId::parse(item.log_id);
  const auto found = runs.find(id.run);
  if (found == runs.end() && may_be_of(of_groups, id.run)) {
    // The attempt may have ended here, and its end may not be stored. Then the row has the number of the next one.
    const JobRun* const row = remote.find(id.run);
    const bool is_last = row != nullptr && row->attempt > 0 && id.is_of(row->attempt - 1);
    if (is_last && waits_for_store(id.run, row->attempt - 1)) {
      forget_unresolved(of_groups, item);
      ++stats.late;
      return Taken::Waits;
    }
    // Which runs an earlier process left is known after the recovery only.
    if (!remote.is_recovered() || has_begun(id.run)) return keep_early(of_groups, item) ? Taken::Waits : Taken::Dropped;
  }
  const bool is_its = found != runs.end() && of_groups.contains(found->second.group) && id.is_of(found->second.open.attempt()) &&
                      id.shard < found->second.shards.size();
  Shard* const shard = is_its ? &found->second.shards[id.shard] : nullptr;
  forget_unresolved(of_groups, item);
  if (shard == nullptr || shard->stage < Shard::Stage::Sent || shard->stage == Shard::Stage::Ended) {
    ++stats.late;
    return Taken::Done;
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
  return waits_for_store(id.run, attempt) ? Taken::Waits : Taken::Done;
}

void Executors::Impl::forget_unresolved(const std::set<std::string>& of_groups, const CallbackItem& item) {
  // Executors in JavaScript and Go report a stopped run as a success, also while its handler goes on.
  if (item.code == kCodeDone) return;
  std::erase_if(unresolved, [&](const auto& one) { return one.second.log_id == item.log_id && of_groups.contains(one.second.group); });
}

void Executors::Impl::stored(std::int64_t run) {
  std::vector<DoorAnswer> answers;
  auto at = held_for.lower_bound({run, 0});
  while (at != held_for.end() && at->first == run) {
    const auto callback = held.find(at->second);
    at = held_for.erase(at);
    callback->second.runs.erase(run);
    if (!callback->second.runs.empty()) continue;
    answers.push_back(std::move(callback->second.answer));
    held.erase(callback);
  }
  for (const DoorAnswer& answer : answers) answer(kCodeDone, {});
}

void Executors::Impl::answer_late(Instant now) {
  std::vector<DoorAnswer> late;
  std::erase_if(held, [&](const auto& one) {
    const auto& [number, callback] = one;
    if (now < callback.until) return false;
    for (const std::int64_t run : callback.runs) held_for.erase({run, number});
    late.push_back(callback.answer);
    return true;
  });
  // The store fails or hangs. If this program ends before it works again, the repeated results end the runs in the next process.
  for (const DoorAnswer& answer : late) answer(kCodeFailure, kRepeat);
}

void Executors::Impl::drop_early() {
  std::vector<std::int64_t> dropped;
  std::erase_if(early, [&](const auto& one) {
    const bool is_dropped = !has_begun(one.first);
    if (is_dropped) {
      stats.late += one.second.size();
      early_results -= one.second.size();
      dropped.push_back(one.first);
    }
    return is_dropped;
  });
  for (const std::int64_t run : dropped) stored(run);
}

}  // namespace rondo::jobs::executors
