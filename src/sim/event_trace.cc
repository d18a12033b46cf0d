#include "sim/event_trace.h"

#include <algorithm>

#include "rondo/store/record.h"

namespace rondo::sim {

void EventTrace::add(Instant now, std::uint64_t turn, const Event& event) {
  mix(static_cast<std::uint64_t>(event.kind) + 1);
  mix(static_cast<std::uint64_t>(now.nanoseconds()));
  if (!event.table.empty()) mix(hash_key(event.table));
  if (event.change != nullptr) mix(event.change->record().content_hash() + static_cast<std::uint64_t>(event.change->op()));
  for (const Fact& fact : event.facts) mix(hash_key(fact.kind.name()) * 3 + hash_key(fact.key));
  if (event.until != Instant{}) mix(static_cast<std::uint64_t>(event.until.nanoseconds()));
  if (!event.text.empty()) mix(hash_key(event.text));

  Kept& kept = kept_[count_++ % kKept];
  kept.kind = event.kind;
  kept.turn = turn;
  kept.when = now;
  kept.until = event.until;
  kept.table.assign(event.table);
  kept.has_change = event.change != nullptr;
  if (kept.has_change) kept.change = *event.change;
  if (!event.facts.empty() || !kept.facts.empty()) kept.facts.assign(event.facts.begin(), event.facts.end());
  if (!event.text.empty() || !kept.text.empty()) kept.text.assign(event.text);
}

void EventTrace::write(const Kept& event, std::string& out) {
  out += "  turn " + std::to_string(event.turn) + ", " + std::to_string(event.when.nanoseconds() / 1000) + " us: ";
  out += to_string(event.kind);
  if (!event.table.empty()) out += " " + event.table;
  if (event.has_change) {
    out.append(" ").append(event.change.verb()).append(" ").append(quoted(event.change.key()));
    for (const Field field : event.change.fields()) {
      out.append(" ").append(field.name).append("=").append(std::string{field.value.substr(0, 64)});
    }
  }
  for (const Fact& fact : event.facts) out += " {" + fact.to_string() + "}";
  if (event.until != Instant{}) out += " until " + std::to_string(event.until.nanoseconds() / 1000) + " us";
  if (!event.text.empty()) out += " " + event.text;
  out += "\n";
}

std::string EventTrace::last() const {
  std::string out;
  if (count_ > 0) write(kept_[(count_ - 1) % kKept], out);
  return out;
}

std::string EventTrace::text() const {
  std::string out;
  for (std::uint64_t i = count_ - std::min<std::uint64_t>(count_, kKept); i < count_; ++i) write(kept_[i % kKept], out);
  return out;
}

}  // namespace rondo::sim
