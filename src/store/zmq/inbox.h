// ZmqInbox: the tables of a server, and how frames are applied to them, without a socket. It holds one frame at a time and pauses in the
// middle of it when a table is full. Scheduler's thread. An entry costs a record and one lookup.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/zmq_server.h"
#include "store/memory/staged_table.h"
#include "store/zmq/frame.h"

namespace rondo::store {

class ZmqInbox {
 public:
  /// 'fault' is called for dropped input. 'room' is called when a consumer took keys while an entry was held.
  ZmqInbox(std::function<void(ZmqFault, const Status&)> fault, std::function<void()> room)
      : fault_(std::move(fault)), room_(std::move(room)) {}

  Status declare(const ZmqTableSpec& spec);
  /// See MemoryTable: for the tables that are declared so far.
  void take_time_of(const Scheduler& scheduler);
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view database, std::string_view table, const SubscribeOptions& options);
  Status write(std::string_view database, std::string_view table, Change change);
  Result<std::size_t> staged(std::string_view database, std::string_view table) const;

  /// Starts a frame, or drops it and reports a fault. Call it only when has_frame() is false. 'bytes' must stay valid until has_frame() is
  /// false again.
  void open(std::string_view bytes);
  /// True while a part of the frame must still be checked or applied.
  bool has_frame() const noexcept { return held_.has_value() || is_checking_ || frame_.entries_left() > 0; }
  /// Checks some more of the frame, or applies its next entry. False when the entry's table is full: the inbox holds the entry and calls
  /// 'room' later.
  bool step();
  bool is_paused() const noexcept { return paused_; }

  std::uint64_t entries() const noexcept { return entries_; }
  std::uint64_t frames() const noexcept { return frames_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  class Consumer;
  void check_some();
  bool apply_next();
  std::shared_ptr<StagedTable> find(std::string_view database, std::string_view table) const;

  using Name = std::pair<std::string, std::string>;
  std::function<void(ZmqFault, const Status&)> fault_;
  std::function<void()> room_;
  std::map<Name, std::shared_ptr<StagedTable>> tables_;
  FrameReader frame_;
  std::size_t frame_bytes_ = 0;
  bool is_checking_ = false;  // No entry of the frame is applied yet.
  FrameEntry entry_;
  std::shared_ptr<StagedTable> target_;  // The table of the frame.
  Name target_name_;
  std::optional<Change> held_;  // The entry whose table was full.
  bool paused_ = false;
  std::uint64_t entries_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace rondo::store
