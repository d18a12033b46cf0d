#include "orch/bound_rows.h"

#include <boost/container/small_vector.hpp>
#include <utility>

#include "orch/fact_index.h"
#include "rondo/base/assert.h"

namespace rondo {

// --- Nodes

std::uint32_t BoundRows::Nodes::take() {
  if (first_free_ != kNone) {
    const std::uint32_t node = first_free_;
    first_free_ = link(node).next;
    link(node) = Link{};
    return node;
  }
  if (used_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
  return used_++;
}

void BoundRows::Nodes::give_back(std::uint32_t node) {
  record(node) = Record{};
  link(node) = Link{.next = std::exchange(first_free_, node), .previous = kNone, .list = kNone};
}

// --- Lists

std::uint32_t BoundRows::make_list(std::uint32_t slot) {
  const std::uint32_t list = lists_.take();
  lists_[list] = List{};
  lists_[list].slot = slot;
  return list;
}

void BoundRows::drop_list(std::uint32_t list) {
  lists_[list].slot = kNone;
  lists_.give_back(list);
}

void BoundRows::append(std::uint32_t list, std::uint32_t node) {
  List& l = lists_[list];
  nodes_.link(node) = Link{.next = kNone, .previous = l.tail, .list = list};
  (l.tail == kNone ? l.head : nodes_.link(l.tail).next) = node;
  l.tail = node;
  ++l.count;
}

/// A list whose fact holds is removed with its last row. A list whose fact has ended is removed when its turn comes.
void BoundRows::unlink(Ledger& ledger, std::uint32_t node, FactIndex& index) {
  if (is_held(node)) return;
  Link& link = nodes_.link(node);
  const std::uint32_t list = link.list;
  List& l = lists_[list];
  RONDO_ASSERT(l.count > 0);
  (link.previous == kNone ? l.head : nodes_.link(link.previous).next) = link.next;
  (link.next == kNone ? l.tail : nodes_.link(link.next).previous) = link.previous;
  link = Link{};
  --l.count;
  if (l.slot == kNone) {
    --ended_nodes_;
  } else if (l.count == 0) {
    index.forget_bound(ledger, list);
  }
}

// --- Rows

std::uint32_t BoundRows::find(std::string_view key, std::uint64_t key_hash) const {
  if (empty()) return kNone;
  return by_key_.find(key_hash, [&](std::uint32_t row) { return nodes_.record(row).key() == key; });
}

std::uint32_t BoundRows::row_of(std::uint32_t node) const {
  if (more_.empty()) return node;
  const Record& record = nodes_.record(node);
  return find(record.key(), record.key_hash());
}

std::size_t BoundRows::bytes() const noexcept { return by_key_.bytes() + nodes_.bytes() + lists_.bytes(); }

void BoundRows::bind(Ledger& ledger, const Record& record, std::span<const Fact> facts, FactIndex& index) {
  RONDO_ASSERT(!facts.empty());
  using Numbers = boost::container::small_vector<std::uint32_t, 4>;
  Numbers lists;
  Numbers fresh;
  std::uint32_t row = find(record.key(), record.key_hash());
  const bool is_new = row == kNone;
  // All allocations come first. If one fails, what was made here is removed and the row stays bound as before.
  try {
    lists.reserve(facts.size());
    for (const Fact& fact : facts) lists.push_back(index.bound_list_for(ledger, fact));
    fresh.reserve(facts.size());
    while (fresh.size() + (is_new ? 0 : 1) < facts.size()) fresh.push_back(nodes_.take());
    if (is_new) row = fresh.front();
    if (facts.size() > 1) more_[row].reserve(facts.size() - 1);
    if (is_new) by_key_.insert(record.key_hash(), row);
  } catch (...) {
    if (is_new && row != kNone) more_.erase(row);
    for (const std::uint32_t node : fresh) nodes_.give_back(node);
    for (const std::uint32_t list : lists) {
      if (lists_[list].count == 0 && lists_[list].slot != kNone) index.forget_bound(ledger, list);
    }
    throw;
  }
  if (!is_new) {
    // A list that both bindings share stays, also if this row is the only one in it.
    for (const std::uint32_t list : lists) ++lists_[list].count;
    leave_lists(ledger, row, index);
    for (const std::uint32_t list : lists) --lists_[list].count;
  }
  nodes_.record(row) = record;
  append(lists.front(), row);
  for (std::size_t i = 1; i < facts.size(); ++i) {
    const std::uint32_t node = fresh[is_new ? i : i - 1];
    nodes_.record(node) = record;
    append(lists[i], node);
    more_[row].push_back(node);
  }
  if (!is_new && facts.size() == 1) more_.erase(row);
}

void BoundRows::leave_lists(Ledger& ledger, std::uint32_t row, FactIndex& index) {
  unlink(ledger, row, index);
  if (more_.empty()) return;
  const auto more = more_.find(row);
  if (more == more_.end()) return;
  for (const std::uint32_t node : more->second) {
    unlink(ledger, node, index);
    nodes_.give_back(node);
  }
  more->second.clear();
}

Record BoundRows::remove(Ledger& ledger, std::uint32_t row, FactIndex& index) {
  leave_lists(ledger, row, index);
  more_.erase(row);
  Record record = std::move(nodes_.record(row));
  by_key_.erase(record.key_hash(), row);
  nodes_.give_back(row);
  return record;
}

// --- Facts that ended

std::size_t BoundRows::release(std::uint32_t list) {
  List& l = lists_[list];
  RONDO_ASSERT(l.slot != kNone && l.count > 0);
  ended_.push_back(list);
  l.slot = kNone;
  ended_nodes_ += l.count;
  return l.count;
}

std::uint32_t BoundRows::front_ended() {
  while (!ended_.empty() && lists_[ended_.front()].count == 0) {
    if (ended_.front() == released_) released_ = kNone;
    drop_list(ended_.front());
    ended_.pop_front();
  }
  return ended_.empty() ? kNone : row_of(lists_[ended_.front()].head);
}

void BoundRows::hold(Ledger& ledger, std::uint32_t row, bool in_flight, FactIndex& index) {
  leave_lists(ledger, row, index);
  more_.erase(row);
  nodes_.link(row).list = in_flight ? kHeldInFlight : kHeld;
}

void BoundRows::release_held(std::uint32_t row) {
  RONDO_ASSERT(is_held(row));
  if (ended_.empty() || ended_.back() != released_) {
    released_ = make_list(kNone);
    ended_.push_back(released_);
  }
  append(released_, row);
  ++ended_nodes_;
}

}  // namespace rondo
