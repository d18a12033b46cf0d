#include "message/life.h"

#include <mutex>
#include <new>
#include <thread>

#include "message/core.h"

namespace rondo::message {

namespace {
constexpr Priority kBeforeAll{limits::kPriorities - 1};
}

Life::Life(Home& home) : Source("agents: start and finish", kBeforeAll), home_(home) { go_before_all(); }

void Life::request(Cell& cell, std::uint8_t what) noexcept {
  {
    const std::lock_guard guard(lock_);
    if (closed_) return;
    cell.wanted = static_cast<std::uint8_t>(cell.wanted | what);
    if ((what & Cell::kRemoveAtOnce) != 0) cell.stops.store(true, std::memory_order_relaxed);
    if (!cell.listed) {
      cell.listed = true;
      cell.life_next = nullptr;
      (last_ != nullptr ? last_->life_next : first_) = &cell;
      last_ = &cell;
      ++listed_;
      cell.acquire();
    }
    wakers_.fetch_add(1, std::memory_order_relaxed);
  }
  wake_from_any_thread();
  wakers_.fetch_sub(1, std::memory_order_release);
}

void Life::lanes_wait() noexcept {
  {
    const std::lock_guard guard(lock_);
    if (closed_) return;
    lanes_wait_ = true;
    wakers_.fetch_add(1, std::memory_order_relaxed);
  }
  wake_from_any_thread();
  wakers_.fetch_sub(1, std::memory_order_release);
}

bool Life::has_backlog() const {
  const std::lock_guard guard(lock_);
  return first_ != nullptr || lanes_wait_;
}

std::size_t Life::depth() const {
  const std::lock_guard guard(lock_);
  return listed_;
}

Turn Life::run(const Budget& budget) {
  const InTurn in_turn(home_);
  if (lanes_missing_) add_lanes();
  Turn turn;
  bool lanes = false;
  while (turn.items < budget.items && turn.items < limits::kAgentLifePerTurn) {
    Cell* cell = nullptr;
    std::uint8_t wanted = 0;
    {
      const std::lock_guard guard(lock_);
      lanes = std::exchange(lanes_wait_, false);
      cell = first_;
      if (cell != nullptr) {
        first_ = cell->life_next;
        if (first_ == nullptr) last_ = nullptr;
        --listed_;
        cell->listed = false;
        wanted = std::exchange(cell->wanted, std::uint8_t{0});
      }
    }
    if (lanes) add_lanes();
    if (cell == nullptr) break;
    serve(*cell, wanted);
    cell->release();
    ++turn.items;
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

/// Nothing is lost if an allocation fails: messages wait in a lane without a scheduler, and its agents start all the same.
void Life::add_lanes() noexcept {
  try {
    home_.core.add_lanes(home_);
    lanes_missing_ = false;
  } catch (const std::bad_alloc&) {
    lanes_missing_ = true;
    home_.core.queue_retries.fetch_add(1, std::memory_order_relaxed);
    home_.scheduler.timers().insert(again_, home_.scheduler.clock().now() + limits::kAgentQueueRetry);
  }
}

void Life::serve(Cell& cell, std::uint8_t wanted) noexcept {
  if ((wanted & Cell::kRemoveAtOnce) != 0) finish(cell);
  if ((wanted & Cell::kRemoveAfterQueue) != 0 && cell.stage != Cell::Stage::Gone && !cell.draining) {
    cell.draining = true;
    cell.lane->drop_superseded();  // No further ones arrive, because the agent accepts nothing; they must not delay its end.
    scheduler()->timers().insert(cell.drain_timer, scheduler()->clock().now() + home_.core.options.drain);
  }
  if ((wanted & Cell::kStart) != 0) start(cell);
  if (cell.draining && cell.stage == Cell::Stage::Running && cell.has_nothing_left()) finish(cell);
}

void Life::start(Cell& cell) noexcept {
  // An agent that ended before its start was removed with its whole group, so no lower agent of it starts.
  if (cell.stage != Cell::Stage::Made) return;
  GroupState& group = *cell.group;
  try {
    cell.start();
  } catch (...) {
    home_.core.tell_fault(cell, "start", std::current_exception(), Reaction::StopAgent);
    home_.core.stop_group(group);
    return;
  }
  cell.stage = Cell::Stage::Running;
  cell.lane->put_in_order(cell.early);
  const std::size_t number = group.next_start.load(std::memory_order_relaxed) + 1;
  group.next_start.store(number, std::memory_order_relaxed);
  if (number < group.cells.size()) {
    Cell& next = *group.cells[number];
    next.lane->home().life.request(next, Cell::kStart);
  }
}

void Life::finish(Cell& cell) noexcept {
  if (cell.stage == Cell::Stage::Gone) return;
  cell.acquire();
  if (cell.drain_timer.armed()) home_.scheduler.timers().cancel(cell.drain_timer);
  cell.lane->set_accepting(cell, false);
  if (cell.stage == Cell::Stage::Running) {
    try {
      cell.finish();
    } catch (...) {
      home_.core.tell_fault(cell, "finish", std::current_exception(), Reaction::Drop);
    }
  }
  cell.stage = Cell::Stage::Gone;
  delete std::exchange(cell.agent, nullptr);
  cell.lane->discard_parked(cell);
  cell.lane->discard_early(cell);
  home_.core.gone(cell);
  if (!cell.forgotten && cell.has_nothing_left()) home_.core.forget(cell);
  cell.release();
}

void Life::close() noexcept {
  Cell* left = nullptr;
  {
    const std::lock_guard guard(lock_);
    closed_ = true;
    left = std::exchange(first_, nullptr);
    last_ = nullptr;
    listed_ = 0;
  }
  while (wakers_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  if (again_.armed()) home_.scheduler.timers().cancel(again_);
  if (scheduler() != nullptr) scheduler()->remove(*this);
  while (left != nullptr) std::exchange(left, left->life_next)->release();
}

}  // namespace rondo::message
