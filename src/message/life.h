// Life: the source that starts and ends agents, and adds new lanes to their scheduler. It has the highest priority, and only agents wait
// in it, linked through their cells. So no message can starve a start or an end (in SObjectizer it could), and neither allocates memory
// when it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "rondo/base/limits.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::message {

class Cell;
struct Home;

class Life final : public Source {
 public:
  explicit Life(Home& home);

  /// Any thread. 'what' is one of Cell's bits.
  void request(Cell& cell, std::uint8_t what) noexcept;
  /// Any thread: new lanes must be added.
  void lanes_wait() noexcept;
  /// Ends the agent of 'cell' immediately. On its own thread, not in one of its handlers.
  void finish(Cell& cell) noexcept;
  /// As Lane::close.
  void close() noexcept;

  Result<Backlog> collect() override { return has_backlog() ? Backlog::More : Backlog::Empty; }
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;
  std::size_t depth() const override;

 private:
  class Again final : public TimerNode {
   public:
    explicit Again(Life& life) : life_(life) {}

   private:
    void on_due() override { life_.wake(); }
    Life& life_;
  };
  void add_lanes() noexcept;
  void serve(Cell& cell, std::uint8_t wanted) noexcept;
  void start(Cell& cell) noexcept;

  Home& home_;
  Again again_{*this};
  bool lanes_missing_ = false;  // An allocation failed while a lane was added to the scheduler; it is retried.
  mutable std::mutex lock_;
  Cell* first_ = nullptr;  // Guarded by lock_, as are the next four.
  Cell* last_ = nullptr;
  std::size_t listed_ = 0;
  bool lanes_wait_ = false;
  bool closed_ = false;
  std::atomic<std::uint32_t> wakers_{0};
};

}  // namespace rondo::message
