#include "commands/incidents.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include "admin/secrets.h"
#include "commands/answers.h"
#include "commands/write_failures.h"
#include "rondo/commands/limits.h"
#include "rondo/orch/runtime.h"

namespace rondo::commands {

std::string span_text(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  if (seconds < 2 * 60) return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + " min";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / (24 * 3600)) + " days";
}

void Incident::check(std::uint64_t count, std::string_view newest, const Clock& clock) {
  if (count == count_) return;
  count_ = count;
  newest_ = newest;
  last_ = clock.now();
  last_wall_ = clock.wall_now();
}

std::string Incident::words(Instant now) const {
  std::string words = std::string{what_} + ": " + std::to_string(count_) + " since the start, the last " + span_text(now - last_) +
                      " ago (" + second_text(last_wall_) + ")";
  if (!newest_.empty()) words += ": " + hide_secrets(newest_);
  return words;
}

std::uint64_t Incident::recent(Instant now) const { return now - last_ < limits::kIncidentReported ? count_ : 0; }

void Incident::report(Instant now, boost::json::array& troubles, boost::json::array& notes) const {
  const Duration ago = now - last_;
  if (ago >= limits::kIncidentReported) return note(now, notes);
  if (count_ == 0) return;
  troubles.push_back(sentence(words(now) + "; without another it is a note in " + span_text(limits::kIncidentReported - ago)));
}

void Incident::note(Instant now, boost::json::array& notes) const {
  if (count_ != 0) notes.push_back(sentence(words(now)));
}

void Incidents::check(Runtime& runtime, const WriteFailures& writes) {
  const Clock& clock = runtime.clock();
  const ForgottenFacts& facts = runtime.forgotten_facts();
  refused_writes_.check(writes.refused().count, writes.refused().last.message(), clock);
  writes_.check(writes.later().count, writes.later().last.message(), clock);
  facts_.check(facts.announcements + facts.withdrawals, facts.newest, clock);
  wakes_.check(runtime.scheduler().stats().sweep_rescues, "a fault of the program, please report it", clock);
  for (const StoreReport::Incident& one : runtime.store().report().incidents) {
    auto known = std::ranges::find(of_store_, one.what, &Incident::what);
    if (known == of_store_.end()) known = of_store_.insert(known, Incident{one.what});
    known->check(one.count, one.newest, clock);
  }
}

void Incidents::report(Instant now, boost::json::array& troubles, boost::json::array& notes) const {
  for (const Incident* const one : {&wakes_, &refused_writes_, &writes_, &facts_}) one->report(now, troubles, notes);
  for (const Incident& one : of_store_) one.report(now, troubles, notes);
}

}  // namespace rondo::commands
