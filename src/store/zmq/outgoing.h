// ZmqTable::Outgoing: the outgoing data of one client table: the frame being gathered and, behind it, a staging area. The staging area
// takes entries when the frame is full and libzmq has no room. New entries go into the frame only while nothing is staged, so each key
// keeps its order.
//
// No frame grows beyond limits::kZmqFrameBytes, because a reader would drop it whole. A merged entry that is too large for one frame is
// sent as several Sets of its key, in order. Scheduler's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/zmq_client.h"
#include "rondo/store/zmq_limits.h"
#include "store/memory/staged_table.h"
#include "store/zmq/frame.h"

namespace rondo {

struct ZmqTable::Outgoing {
  Outgoing(std::string_view database, std::string_view table, std::size_t keys_max)
      : frame(database, table),
        staged(std::make_shared<store::StagedTable>(TableSpec{.name = std::string{table}, .kind = TableKind::Staged, .rows_max = keys_max},
                                                    store::StagedTable::Popped::IsForgotten)) {
    waiting = std::move(*staged->subscribe());
  }

  /// True if no entry waits behind the frame.
  bool is_clear() const { return in_hand() == nullptr && waiting->empty(); }
  bool empty() const { return frame.empty() && is_clear(); }
  /// True if an entry of this size may be added to the frame. An empty frame takes any entry that fits a frame at all.
  bool takes(std::size_t bytes, std::size_t frame_bytes) const noexcept {
    return frame.empty() || (frame.size() < frame_bytes && frame.size() + bytes <= limits::kZmqFrameBytes);
  }

  /// Moves staged keys into the frame until it is full. Returns the number of entries moved.
  std::size_t refill(std::size_t frame_bytes) {
    for (std::size_t moved = 0;; ++moved) {
      // Keep the changes of one key together, as far as a frame can hold them.
      const std::size_t until = is_begun() ? limits::kZmqFrameBytes : frame_bytes;
      if (!takes(0, until) || !take_in_hand() || !append(until)) return moved;
    }
  }

  store::FrameWriter frame;
  std::shared_ptr<store::StagedTable> staged;
  std::unique_ptr<Subscription> waiting;  // The staged keys.
  bool is_dirty = false;                  // This is in the client's list of tables with something to send.

 private:
  const Change* in_hand() const noexcept { return next_ < taken_.size() ? &taken_[next_] : nullptr; }

  /// A part of the current key is already in a frame.
  bool is_begun() const noexcept { return in_hand() != nullptr && (next_ > 0 || fields_sent_ > 0); }

  /// Takes the next key from the staging area unless a change is still left from the last frame.
  bool take_in_hand() {
    if (in_hand() != nullptr) return true;
    if (waiting->empty()) return false;
    taken_.clear();
    next_ = 0;
    waiting->take(1, taken_);
    return true;
  }

  /// Adds the current change to the frame, or as many of its fields as an empty frame takes. False when the frame must be sent first.
  bool append(std::size_t frame_bytes) {
    const Change& change = *in_hand();
    fields_.clear();
    for (const Field field : change.fields()) fields_.push_back(field);
    std::span<const Field> rest{fields_};
    rest = rest.subspan(fields_sent_);
    const std::size_t bytes = store::FrameWriter::bytes_of(change.key(), rest);
    if (!takes(bytes, frame_bytes)) return false;
    if (change.op() == ChangeOp::Delete) {
      frame.remove(change.key());
    } else {
      const std::size_t room = limits::kZmqFrameBytes - frame.head_size();
      if (bytes > room) rest = rest.first(store::FrameWriter::fields_that_fit(change.key(), rest, room));
      frame.set(change.key(), rest);
      fields_sent_ += rest.size();
    }
    if (fields_sent_ < fields_.size()) return true;
    fields_sent_ = 0;
    ++next_;
    return true;
  }

  std::vector<Change> taken_;  // Changes of one key from the staging area; those before next_ are in a frame.
  std::size_t next_ = 0;
  std::size_t fields_sent_ = 0;  // Fields of the current change that are in a frame.
  std::vector<Field> fields_;
};

}  // namespace rondo
