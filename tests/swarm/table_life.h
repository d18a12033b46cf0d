// TableLife: several Orchs of drawn shapes: rows that need rows of other tables, handlers for one change or for batches, which apply, wait,
// try again later, hand on and settle later, refuse, or throw; and in some lives one that listens to a Queue and a Channel. What they do is
// checked by the standard checkers; whether they hold what was written, and heard what was told, by some of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "life.h"
#include "rondo/orch/orch.h"
#include "told_events.h"

namespace rondo::swarm {

class TableOrch;

/// How one table and its Orch are.
struct TableShape {
  std::size_t number = 0;
  std::string name;
  Priority priority{0};
  bool in_batches = false;
  bool has_needs = false;  // Its rows may need rows of any table.
  bool binds = false;      // Its rows are done only while the rows that they need are there (Outcome::done_while).
  bool has_locks = false;  // Its Deletes may wait for a lock that comes and goes.
  ConsumeOptions options;
  // Chances, of each call of the handler.
  double later = 0;
  double stages = 0;
  double rejects = 0;
  double throws = 0;
};

class TableLife final : public Life {
 public:
  explicit TableLife(std::uint64_t seed);
  ~TableLife() override;
  sim::World& world() override { return *world_; }
  void act() override;
  void calm_down() override;

  struct EventTable {
    std::string name;
    TableKind kind = TableKind::Queue;
    std::size_t room = limits::kQueuedEvents;
    ToldEvents* told = nullptr;  // The world's, as are those below.
  };
  struct Events {
    Priority priority{0};
    EventTable queue;
    EventTable channel;
    ToldQueue* told_queue = nullptr;
    ToldChannel* told_channel = nullptr;
    Duration takes{0};  // Of simulated time, each call of the handler at most;
    double throws = 0;  // and the chance that it does.
  };
  /// Nothing in lives without.
  const std::optional<Events>& events() const noexcept { return events_; }

 private:
  static sim::WorldOptions drawn_world(Random& random, std::uint64_t seed);
  void draw_shapes();
  void draw_events();
  void write_event(const EventTable& table);
  void write(const TableShape& shape);
  std::string drawn_key();
  std::string drawn_needs();
  /// The process that lives has what its handlers did, and nothing of it is locked.
  Status check() const;

  Random random_;
  std::unique_ptr<sim::World> world_;
  std::vector<TableShape> shapes_;
  std::optional<Events> events_;
  std::vector<TableOrch*> orchs_;  // Of the process that lives.
  std::uint64_t keys_ = 0;
  std::uint64_t stamp_ = 0;
  bool is_calm_ = false;
  bool is_far_ = false;  // The store.
};

}  // namespace rondo::swarm
