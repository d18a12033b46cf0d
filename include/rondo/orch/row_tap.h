// RowTap: hears what happens to the rows of one table at its consumer: what was taken, parked, resolved, tried again, ordered, done or
// rejected. For people who look on (rondo watch, rondo trace): a table without a tap pays one branch for each of these.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/constraint.h"
#include "rondo/store/change.h"

namespace rondo {

class RowAccount;

/// Borrowed: valid during the call that tells it.
struct RowEvent {
  enum class What : std::uint8_t {
    Taken,     // The consumer has taken a change of the row from the table.
    Parked,    // It waits until all 'facts' hold.
    GaveWay,   // A Delete that would wait for 'facts' is dropped for the Set behind it (ConsumeOptions::set_replaces_delete).
    Delayed,   // It waits for 'delay', because of 'why'.
    Resolved,  // The only one of 'facts' was announced, by 'provider', and rows waited for it, of this table or another. Without a key.
    Retried,   // What it waited for came, and its handler is asked again.
    Redone,    // It was done; a fact that it depended on ended, and its handler is asked again.
    Ordered,   // The handler gave orders for it and waits for their answers.
    Done,      // For as long as all 'facts' hold, if there are any (Outcome::done_while).
    Rejected,  // Because of 'why'.
  };
  What what = What::Taken;
  Instant at = {};
  std::string_view table = {};
  std::string_view key = {};
  Op op = Op::Set;
  const Change* change = nullptr;  // Of Taken.
  std::span<const Constraint> facts = {};
  std::string_view provider = {};
  Duration delay{0};
  const Status* why = nullptr;
};

/// "taken", "parked", ...
std::string_view to_string(RowEvent::What what) noexcept;

/// Hears until it is destroyed, or its consumer is. Scheduler's thread. The listener is called inside turns of the consumer: it must be
/// short, must not throw, and neither makes nor destroys a tap.
class RowTap {
 public:
  using Listener = std::function<void(const RowEvent& event)>;
  ~RowTap();
  RowTap(const RowTap&) = delete;
  RowTap& operator=(const RowTap&) = delete;

 private:
  friend class RowAccount;
  RowTap(RowAccount& account, Listener listener) : account_(&account), listener_(std::move(listener)) {}
  RowAccount* account_;  // Null once its consumer is gone.
  Listener listener_;
};

}  // namespace rondo
