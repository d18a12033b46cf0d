// Life: the source that starts and ends agents, and adds new lanes to their scheduler. It has the highest priority of all, and nothing
// waits in it but the agents themselves, linked through their cells: no message can starve a start or an end (SObjectizer's could), and
// neither needs memory when its time comes.
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
  /// Any thread: there are new lanes to add.
  void lanes_wait() noexcept;
  /// Ends the agent of 'cell' now. Its own thread, not in one of its handlers.
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
  bool lanes_missing_ = false;  // There was no memory to add one to the scheduler.
  mutable std::mutex lock_;
  Cell* first_ = nullptr;  // Guarded by lock_, as are the next four.
  Cell* last_ = nullptr;
  std::size_t listed_ = 0;
  bool lanes_wait_ = false;
  bool closed_ = false;
  std::atomic<std::uint32_t> wakers_{0};
};

}  // namespace rondo::message
