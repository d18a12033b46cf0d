// RowTap: reports what happens to the rows of one table at its consumer: taken, parked, resolved, retried, ordered, done or rejected. It
// serves `rondo watch` and `rondo trace`. A table without a tap pays one branch for each event.
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

/// The views and pointers are valid during the listener's call only.
struct RowEvent {
  enum class What : std::uint8_t {
    Taken,     // The consumer has taken a change of the row from the table.
    Parked,    // It waits until all 'facts' hold.
    GaveWay,   // A Delete that would wait for 'facts' is dropped in favour of a later Set (ConsumeOptions::set_replaces_delete).
    Delayed,   // It waits for 'delay', because of 'why'.
    Resolved,  // 'provider' announced the only one of 'facts', and rows of this or another table waited for it. It has no key.
    Retried,   // Its wait ended, and its handler is called again.
    Redone,    // It was done; a fact that it depended on ended, and its handler is called again.
    Ordered,   // The handler ordered operations for it and waits for their answers.
    Done,      // Applied; done for as long as all 'facts' hold, if there are any (Outcome::done_while).
    Rejected,  // The reason is 'why'.
  };
  What what = What::Taken;
  Instant at = {};
  std::string_view table = {};
  std::string_view key = {};
  Op op = Op::Set;
  const Change* change = nullptr;  // Only with Taken.
  std::span<const Constraint> facts = {};
  std::string_view provider = {};
  Duration delay{0};
  const Status* why = nullptr;
};

/// "taken", "parked", ...
std::string_view to_string(RowEvent::What what) noexcept;

/// Reports events until it is destroyed or its consumer is. Scheduler's thread. The listener is called inside turns of the consumer: it
/// must be short, must not throw, and must not make or destroy a tap.
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
