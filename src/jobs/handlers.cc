#include "jobs/handlers.h"

#include <algorithm>

#include "rondo/base/assert.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

Handlers::Handlers(Core& core, LiveRuns& runs, const HooksOf& hooks) : core_(core), runs_(runs) {
  core_.runtime.explain(kJobHandler, [this, weak = std::weak_ptr(hooks)](std::string_view handler) {
    const auto owner = weak.lock();
    return FactOrigin{{}, {}, owner && *owner != nullptr ? why_absent(handler) : std::string{}};
  });
}

void Handlers::set(std::string name, HandlerEntry entry) {
  RONDO_EXPECT(!name.empty(), "Jobs was given a handler with an empty name");
  const bool is_function = entry.async != nullptr ? static_cast<bool>(entry.async->basic.begin) : static_cast<bool>(*entry.handler);
  RONDO_EXPECT(is_function || core_.calls.is_replayed(), "Jobs was given the handler '" + name + "' with an empty function");
  handlers_[name] = std::move(entry);
  const auto is_served = [&name](const auto& one) { return one.first == name || (name.ends_with('/') && one.first.starts_with(name)); };
  reads_again_ = std::erase_if(handlerless_, is_served) != 0 || reads_again_;  // Other handlers may not have been noted.
  runs_.turns.handler_came(name);
  if (!name.ends_with('/')) return;
  for (auto at = awaited_.lower_bound(name); at != awaited_.end() && at->first.starts_with(name); ++at) {
    runs_.turns.handler_came(*announced_.insert(at->first).first);
  }
}

bool Handlers::remove(std::string_view name) {
  const auto found = handlers_.find(name);
  if (found == handlers_.end()) return false;
  handlers_.erase(found);
  if (lacks(name)) reads_again_ = true;
  runs_.turns.handler_went(name);
  if (!name.ends_with('/')) return true;
  for (auto at = announced_.lower_bound(name); at != announced_.end() && at->starts_with(name); at = announced_.erase(at)) {
    runs_.turns.handler_went(*at);
  }
  return true;
}

const HandlerEntry* Handlers::find(std::string_view name) const {
  const auto found = serving(handlers_, name);
  return found == handlers_.end() ? nullptr : &found->second;
}

std::string Handlers::line_of(std::string_view name) const {
  const auto found = serving(handlers_, name);
  return found == handlers_.end() ? std::string{name} : found->first;
}

std::set<std::string, std::less<>> Handlers::names() const {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, handler] : handlers_) names.insert(name);
  return names;
}

void Handlers::await(std::string prefix, std::function<std::string(std::string_view handler)> reason) {
  awaited_handlers_.emplace_back(std::move(prefix), std::move(reason));
}

void Handlers::read(const std::vector<StoredJob>& unhandled, bool is_last) {
  for (const StoredJob& job : unhandled) {
    if (found_handlerless_.size() < limits::kTroublesNamed) found_handlerless_.try_emplace(job.job.handler, job);
  }
  if (is_last) handlerless_ = std::exchange(found_handlerless_, {});
}

void Handlers::check(const StoredJob& stored) {
  if (!stored.is_running || !lacks(stored.job.handler)) return forget_handlerless(stored.id);
  for (auto* const to : {&handlerless_, &found_handlerless_}) {
    if (to->size() < limits::kTroublesNamed) to->try_emplace(stored.job.handler, stored);
  }
}

void Handlers::forget_handlerless(std::int64_t job_id) {
  if (std::erase_if(handlerless_, [job_id](const auto& one) { return one.second.id == job_id; }) != 0) reads_again_ = true;
}

const StoredJob* Handlers::handlerless_job() const {
  const auto found = std::ranges::find_if(handlerless_, [this](const auto& one) { return lacks(one.first); });
  return found == handlerless_.end() ? nullptr : &found->second;
}

bool Handlers::waits_for(std::string_view name) const {
  return std::ranges::any_of(awaited_handlers_, [name](const auto& prefix) { return name.starts_with(prefix.first); });
}

std::string Handlers::why_absent(std::string_view name) const {
  for (const auto& [prefix, reason] : awaited_handlers_) {
    if (!name.starts_with(prefix)) continue;
    std::string text;
    if (core_.call_out([&] { text = reason(name); }).ok()) return text;  // Otherwise of no use to the reader of `rondo why`.
  }
  const std::string text = "this program has no handler '" + std::string{name} + "'";
  if (awaited_handlers_.empty() || name.find('/') != std::string_view::npos) return text;
  const std::string& prefix = awaited_handlers_.front().first;
  return text + "; the command '" + std::string{name} + "' of a worker is the handler '" + prefix + std::string{name} + "'";
}

Outcome Handlers::wait_for(LiveRun& live) {
  const std::string& name = live.job->job->handler;
  stop_awaiting(live);
  live.awaits = &*awaited_.try_emplace(name, AwaitedRuns{.since = live.run.due, .waits = core_.now()}).first;
  AwaitedRuns& of = live.awaits->second;
  ++of.runs;
  of.since = std::min(of.since, live.run.due);
  return Outcome::wait_for({kJobHandler, name});
}

void Handlers::stop_awaiting(LiveRun& live) {
  auto* const of = std::exchange(live.awaits, nullptr);
  if (of != nullptr && --of->second.runs == 0) awaited_.erase(of->first);
}

}  // namespace rondo::jobs
