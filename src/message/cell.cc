#include "message/cell.h"

#include <algorithm>
#include <utility>

#include "message/lane.h"
#include "rondo/base/assert.h"

namespace rondo::message {

Cell::Cell(Agent& owner, std::string called, Priority level, std::shared_ptr<Lane> where, Figures& counted)
    : name(std::move(called)), priority(level), lane(std::move(where)), figures(counted), agent(&owner) {}

Cell::~Cell() { RONDO_ASSERT(!drain_timer.armed()); }

void Cell::add_limit(const MessageType& type, Limit limit, KeyOf key) {
  const auto said = [&] { return "agent '" + name + "': limit() or coalesce() of " + name_of(type); };
  RONDO_EXPECT(stage == Stage::Made && group == nullptr, said() + " after its constructor");
  RONDO_EXPECT(limit_of(type) == nullptr, said() + ", which has a limit");
  RONDO_EXPECT(std::ranges::none_of(handlers_, [&](const Handler& handler) { return handler.type == &type; }),
               said() + " after receive() of it");
  limits_.push_back(std::make_unique<TypeLimit>(type, limit, key));
}

TypeLimit* Cell::limit_of(const MessageType& type) noexcept {
  const auto found = std::ranges::find_if(limits_, [&](const auto& one) { return &one->type() == &type; });
  return found != limits_.end() ? found->get() : nullptr;
}

const Handler& Cell::keep(Handler handler) {
  const auto known = std::ranges::find_if(
      handlers_, [&](const Handler& one) { return one.type == handler.type && one.call == handler.call && one.object == handler.object; });
  if (known != handlers_.end()) return *known;  // Subscribed before; repeated subscriptions add no handlers.
  handler.limit = limit_of(*handler.type);
  return handlers_.emplace_back(handler);
}

void Cell::add_handler(Handler handler) {
  RONDO_EXPECT(group == nullptr, "agent '" + name + "': receive() of " + name_of(*handler.type) + " after its constructor");
  RONDO_EXPECT(find(*handler.type) == nullptr, "agent '" + name + "': a second handler of " + name_of(*handler.type));
  const Handler& kept = keep(handler);
  if (2 * ++found_by_type_ > table_.size()) {
    std::vector<const Handler*> before(std::max<std::size_t>(4, 2 * table_.size()));
    table_.swap(before);
    for (const Handler* one : before) {
      if (one != nullptr) table_[slot(*one->type)] = one;
    }
  }
  table_[slot(*kept.type)] = &kept;
}

/// Returns the slot of the handler of 'type', or the slot where it would be.
std::size_t Cell::slot(const MessageType& type) const noexcept {
  const std::size_t mask = table_.size() - 1;
  // Constants of one kind are at multiples of their size; after the multiplication the upper half distinguishes them (Fibonacci hashing).
  std::size_t at = (reinterpret_cast<std::uintptr_t>(&type) * 0x9E3779B97F4A7C15ULL >> 32) & mask;
  while (table_[at] != nullptr && table_[at]->type != &type) at = (at + 1) & mask;
  return at;
}

const Handler* Cell::find(const MessageType& type) const noexcept { return table_.empty() ? nullptr : table_[slot(type)]; }

void Cell::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

Address Cell::address() noexcept {
  acquire();
  return Address{this};
}

void Cell::DrainTimer::on_due() { cell_.lane->home().life.request(cell_, Cell::kRemoveAtOnce); }

}  // namespace rondo::message
