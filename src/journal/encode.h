// The encoding of what several kinds of record contain: changes, facts, statuses and policies, each with a bound of its bytes. record.cc
// decodes them. docs/journal-format.md describes them in prose.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "journal/format.h"
#include "rondo/base/limits.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/fact.h"
#include "rondo/sched/policy.h"
#include "rondo/store/change.h"

namespace rondo::journal {

/// Bytes of a table and a row.
inline constexpr std::size_t kPlaceBytes = 10;

inline constexpr std::size_t text_bound(std::string_view text) { return kVarintBytes + text.size(); }

inline std::size_t bound_of(const Change& change) {
  // The allocation of a record holds key, verb and fields, 24 bytes of its own and 8 for each field; a length takes at most 5 bytes.
  return change.record().bytes() + 16 + 2 * change.fields().size();
}

inline void encode(Encoder& to, const Change& change) {
  to.byte(static_cast<std::uint8_t>(change.op()));
  if (change.op() == ChangeOp::Event) to.text(change.verb());
  to.text(change.key());
  const Fields fields = change.fields();
  to.number(fields.size());
  for (const Field field : fields) {
    to.text(field.name);
    to.text(field.value);
  }
}

inline std::size_t bound_of(std::span<const Fact> facts) {
  std::size_t bound = kVarintBytes;
  for (const Fact& fact : facts) bound += kVarintBytes + text_bound(fact.key);
  return bound;
}

inline std::size_t bound_of(const Status& status) { return 2 * kVarintBytes + text_bound(status.message()); }

inline void encode(Encoder& to, const Status& status) {
  to.byte(static_cast<std::uint8_t>(status.code()));
  to.number(static_cast<std::uint32_t>(status.origin_errno()));
  to.text(status.message());
}

inline void encode(Encoder& to, Kind kind, std::uint32_t table, std::uint32_t row) {
  to.byte(static_cast<std::uint8_t>(kind));
  to.number(table);
  to.number(row);
}

inline std::uint64_t count_of(Duration duration) { return static_cast<std::uint64_t>(std::max(duration, Duration{0}).count()); }

inline constexpr std::size_t kPolicyBytes = 3 + (2 + limits::kPriorities) * kVarintBytes;

inline void encode(Encoder& to, const PolicySettings& settings) {
  to.byte(static_cast<std::uint8_t>(settings.name));
  to.byte(static_cast<std::uint8_t>((settings.in_items ? 1 : 0) | (settings.one_way ? 2 : 0) | (settings.item_by_item ? 4 : 0)));
  to.byte(static_cast<std::uint8_t>(settings.tie));
  to.number(settings.batch);
  to.number(count_of(settings.turn));
  for (const std::int64_t budget : settings.budgets) {
    to.number(budget == PolicySettings::kInfinite ? 0 : static_cast<std::uint64_t>(budget));
  }
}

}  // namespace rondo::journal
