// TableLife: several Orchs of drawn shapes: rows that need rows of other tables, and handlers for one change or for batches. These apply,
// wait, retry later, pass on and settle later, refuse, or throw. In some lives an Orch listens to a Queue and a Channel. The standard
// checkers check their actions; checkers of this life compare their content and their events with the writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "life.h"
#include "rondo/base/limits.h"
#include "rondo/orch/orch.h"
#include "told_events.h"

namespace rondo::swarm {

class TableOrch;

/// The properties of one table and its Orch.
struct TableShape {
  std::size_t number = 0;
  std::string name;
  Priority priority{0};
  bool in_batches = false;
  bool has_needs = false;  // Its rows may need rows of any table.
  bool binds = false;      // Its rows are done only while the rows that they need exist (Outcome::done_while).
  bool has_locks = false;  // Its Deletes may wait for a lock that is taken and released.
  ConsumeOptions options;
  // Probabilities for each call of the handler.
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
    ToldEvents* told = nullptr;  // Owned by the world, like those below.
  };
  struct Events {
    Priority priority{0};
    EventTable queue;
    EventTable channel;
    ToldQueue* told_queue = nullptr;
    ToldChannel* told_channel = nullptr;
    Duration takes{0};  // Simulated time of each call of the handler, at most.
    double throws = 0;  // The probability that a call throws.
  };
  /// Empty in lives without events.
  const std::optional<Events>& events() const noexcept { return events_; }

 private:
  static sim::WorldOptions drawn_world(Random& random, std::uint64_t seed);
  void draw_shapes();
  void draw_events();
  void write_event(const EventTable& table);
  void write(const TableShape& shape);
  std::string drawn_key();
  std::string drawn_needs();
  /// The current process has the results of its handlers, and nothing of it is locked.
  Status check() const;

  Random random_;
  std::unique_ptr<sim::World> world_;
  std::vector<TableShape> shapes_;
  std::optional<Events> events_;
  std::vector<TableOrch*> orchs_;  // The Orchs of the current process.
  std::uint64_t keys_ = 0;
  std::uint64_t stamp_ = 0;
  bool is_calm_ = false;
  bool is_far_ = false;  // The store is remote.
};

}  // namespace rondo::swarm
