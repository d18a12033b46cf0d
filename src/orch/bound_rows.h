// BoundRows: the rows of one ledger that are done only while facts hold (Outcome::done_while). Each is kept as a reference to its record
// and listed under every fact that it depends on. When a fact ends, its whole list becomes ready in one step; the consumer then takes the
// rows one by one in its turns. Owned by the ledger. Scheduler's thread. Every call is O(facts of the row) expected; release() is O(1).
//
// Memory: 20 bytes a row and fact, 10 to 20 more a row for the index by key. The record itself is shared with the embedded store's table;
// with a remote store it is a copy.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/row_index.h"
#include "base/slab.h"
#include "rondo/orch/fact.h"
#include "rondo/store/record.h"

namespace rondo {

class FactIndex;
class Ledger;

class BoundRows {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  bool empty() const noexcept { return by_key_.size() == 0; }
  std::size_t size() const noexcept { return by_key_.size(); }
  /// Returns the row of 'key', or kNone.
  std::uint32_t find(std::string_view key, std::uint64_t key_hash) const;
  const Record& record(std::uint32_t row) const noexcept { return nodes_.record(row); }
  std::size_t bytes() const noexcept;

  /// Binds the row to 'facts' (at least one). This replaces its earlier facts. 'ledger' owns this object. Changes nothing if an allocation
  /// fails.
  void bind(Ledger& ledger, const Record& record, std::span<const Fact> facts, FactIndex& index);
  /// Forgets the row and returns its record.
  Record remove(Ledger& ledger, std::uint32_t row, FactIndex& index);

  /// Makes all rows of a list ready, oldest first, and returns their number. O(1). Called by the FactIndex.
  std::size_t release(std::uint32_t list);
  bool has_ended() const noexcept { return ended_nodes_ > 0; }
  /// The number of rows whose fact has ended and that wait for their turn.
  std::size_t ended() const noexcept { return ended_nodes_; }
  /// The oldest of the ended rows.
  std::uint32_t front_ended();
  /// Takes the row out of all lists and keeps it until it is bound, removed or released, because a newer change of the row decides.
  /// 'in_flight': the handler received that change before the fact ended.
  void hold(Ledger& ledger, std::uint32_t row, bool in_flight, FactIndex& index);
  bool is_held(std::uint32_t row) const noexcept { return nodes_.link(row).list == kHeld || is_held_in_flight(row); }
  bool is_held_in_flight(std::uint32_t row) const noexcept { return nodes_.link(row).list == kHeldInFlight; }
  /// A held row becomes ready again.
  void release_held(std::uint32_t row);

  // For the FactIndex.

  std::uint32_t make_list(std::uint32_t slot);
  void drop_list(std::uint32_t list);
  std::uint32_t count(std::uint32_t list) const noexcept { return lists_[list].count; }
  std::uint32_t slot(std::uint32_t list) const noexcept { return lists_[list].slot; }
  /// Visits the slot of each fact that rows are bound to. O(lists).
  template <class Visit>
  void for_each_slot(const Visit& visit) const {
    for (std::uint32_t list = 0; list < lists_.limit(); ++list) {
      if (lists_[list].slot != kNone) visit(lists_[list].slot);
    }
  }

 private:
  friend class Inspection;
  static constexpr std::uint32_t kHeld = kNone - 1;
  static constexpr std::uint32_t kHeldInFlight = kNone - 2;
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t count = 0;
    std::uint32_t slot = kNone;  // Slot in the FactIndex; kNone when the fact has ended, and in a free list.
  };
  struct Link {
    std::uint32_t next = kNone;  // Also links free nodes.
    std::uint32_t previous = kNone;
    std::uint32_t list = kNone;
  };

  /// Numbered nodes; each is one row under one fact. Records and links are in separate arrays, so that a node takes 20 bytes instead of
  /// 24.
  class Nodes {
   public:
    std::uint32_t take();
    void give_back(std::uint32_t node);
    Record& record(std::uint32_t node) noexcept { return chunks_[node / kChunk]->records[node % kChunk]; }
    const Record& record(std::uint32_t node) const noexcept { return chunks_[node / kChunk]->records[node % kChunk]; }
    Link& link(std::uint32_t node) noexcept { return chunks_[node / kChunk]->links[node % kChunk]; }
    const Link& link(std::uint32_t node) const noexcept { return chunks_[node / kChunk]->links[node % kChunk]; }
    std::size_t bytes() const noexcept { return chunks_.size() * sizeof(Chunk); }

   private:
    static constexpr std::uint32_t kChunk = 1024;
    struct Chunk {
      Record records[kChunk];
      Link links[kChunk];
    };
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::uint32_t first_free_ = kNone;
    std::uint32_t used_ = 0;
  };

  std::uint32_t row_of(std::uint32_t node) const;
  void append(std::uint32_t list, std::uint32_t node);
  void unlink(Ledger& ledger, std::uint32_t node, FactIndex& index);
  /// Takes the row out of the lists of all its facts; its key stays in the index.
  void leave_lists(Ledger& ledger, std::uint32_t row, FactIndex& index);

  RowIndex by_key_;  // Leads from a key to the first node of its row.
  Nodes nodes_;
  Slab<List> lists_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> more_;  // The further nodes of rows that depend on several facts.
  std::deque<std::uint32_t> ended_;                                     // Lists of facts that have ended, oldest first.
  std::uint32_t released_ = kNone;                                      // The newest list in ended_ that release_held() made.
  std::size_t ended_nodes_ = 0;
};

}  // namespace rondo
