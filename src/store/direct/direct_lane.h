// DirectTable::Lane: one table of a client on its way out: the frame that is being gathered and, behind it, the staging area for entries
// that found the frame full and libzmq without room. Entries go into the frame as long as nothing is staged, so each key keeps its order.
// Scheduler's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "rondo/store/direct_client.h"
#include "store/direct/direct_frame.h"
#include "store/memory/staged_table.h"

namespace rondo {

struct DirectTable::Lane {
  Lane(std::string_view database, std::string_view table, std::size_t keys_max)
      : frame(database, table),
        staged(std::make_shared<store::StagedTable>(TableSpec{.name = std::string{table}, .kind = TableKind::Staged, .rows_max = keys_max},
                                                    store::StagedTable::Popped::IsForgotten)) {
    waiting = std::move(*staged->subscribe());
  }

  bool takes_more(std::size_t frame_bytes) const noexcept { return frame.empty() || frame.size() < frame_bytes; }
  bool has_room(std::size_t frame_bytes) const { return takes_more(frame_bytes) && waiting->empty(); }
  bool empty() const { return frame.empty() && waiting->empty(); }

  /// Moves staged keys into the frame until it is full. Returns how many entries.
  std::size_t refill(std::size_t frame_bytes) {
    std::size_t moved = 0;
    while (takes_more(frame_bytes) && !waiting->empty()) {
      taken.clear();
      waiting->take(1, taken);
      for (const Change& change : taken) append(change);
      moved += taken.size();
    }
    return moved;
  }

  void append(const Change& change) {
    if (change.op() == Op::Delete) return frame.remove(change.key());
    fields.clear();
    for (const Field field : change.fields()) fields.push_back(field);
    frame.set(change.key(), fields);
  }

  store::FrameWriter frame;
  std::shared_ptr<store::StagedTable> staged;
  std::unique_ptr<Subscription> waiting;  // The staged keys.
  std::vector<Change> taken;
  std::vector<Field> fields;
  bool is_dirty = false;  // In the client's list of tables with something to send.
};

}  // namespace rondo
