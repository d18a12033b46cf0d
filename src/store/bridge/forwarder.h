// Forwarder: moves the changes of one subscription from its home table into the ring to the worker, in turns of the home scheduler. It
// stops when the ring is full; later writes then merge in the table as usual. The worker wakes it when half of the ring is free. A turn
// costs a take() from the table and about 10 ns a change; no handler runs here. Home thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/sched/source.h"
#include "rondo/store/store.h"
#include "store/bridge/link.h"

namespace rondo::store::bridge {

class Forwarder final : public Source {
 public:
  Forwarder(std::string name, Priority priority, std::shared_ptr<ChangeRing> ring, std::unique_ptr<Subscription> far, Link& link);

  /// Call this after the forwarder was added to a scheduler.
  void start();
  /// From now on the forwarder takes nothing; the table keeps its changes.
  void pause() { paused_ = true; }
  ChangeRing* ring() const noexcept { return ring_.get(); }
  void ack(const Change& change) { far_->ack(change); }
  void requeue(std::string_view key) { far_->requeue(key); }

  Result<Backlog> collect() override { return paused_ ? Backlog::Empty : backlog(); }
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  std::uint32_t move_changes(std::uint32_t max);
  std::uint32_t move_events(std::uint32_t max);
  void put_event(Change event);
  bool put_gap();
  void put_changes();
  void note_caught_up() const;
  Backlog backlog();

  std::shared_ptr<ChangeRing> ring_;
  std::unique_ptr<Subscription> far_;
  Link& link_;
  const bool is_channel_;
  /// Channel with a small bound: the number of events that the ring may hold. 0: the table's own bound applies.
  const std::size_t events_max_;
  std::vector<Change> batch_;
  std::uint64_t keys_put_ = 0;
  std::uint64_t dropped_here_ = 0;
  bool owes_gap_ = false;
  bool gap_last_ = false;  // The newest entry is a gap.
  bool paused_ = false;
};

}  // namespace rondo::store::bridge
