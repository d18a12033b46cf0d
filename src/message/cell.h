// Cell: the runtime's data of one agent: handlers, limits, figures, and its stage of life. It outlives the agent as long as an address of
// it exists or one of its messages waits. One thread builds it; then the tables are fixed. The lane's lock guards 'accepting', the lock of
// Life guards 'wanted' and its link, and all else belongs to the agent's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "message/figures.h"
#include "message/node.h"
#include "message/type_limit.h"
#include "rondo/message/agent.h"
#include "rondo/sched/timer.h"

namespace rondo::message {

class Lane;
class ParkedMessage;
struct GroupState;

class Cell {
 public:
  enum class Stage : std::uint8_t { Made, Running, Gone };
  /// Bits of a request to Life.
  enum : std::uint8_t { kStart = 1, kRemoveAfterQueue = 2, kRemoveAtOnce = 4 };

  Cell(Agent& agent, std::string name, Priority priority, std::shared_ptr<Lane> lane, Figures& figures);
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  // --- While it is built.
  void add_handler(Handler handler);
  void add_limit(const MessageType& type, Limit limit, KeyOf key);
  TypeLimit* limit_of(const MessageType& type) noexcept;
  /// Stores a handler that is found by its subscription instead of its type. Also called later, on the agent's thread.
  const Handler& keep(Handler handler);

  // --- Any thread.
  const Handler* find(const MessageType& type) const noexcept;
  void acquire() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  /// Returns an address that holds a reference.
  Address address() noexcept;
  static Cell* of(const Address& address) noexcept { return address.cell_; }
  static Cell* of(const Agent& agent) noexcept { return agent.cell_; }
  /// On the agent's thread, while the agent exists.
  void start() const { agent->on_start(); }
  void finish() const { agent->on_finish(); }
  Reaction react(const MessageFault& fault) const noexcept { return agent->on_exception(fault); }
  const AgentOptions& agent_options() const noexcept { return agent->options_; }

  const std::string name;
  const Priority priority;
  const std::shared_ptr<Lane> lane;
  Figures& figures;
  std::atomic<bool> accepting{false};

  // --- The agent's thread.
  bool has_nothing_left() const noexcept { return read(figures.gone) == figures.posted() && parked == nullptr; }
  Agent* agent;
  Stage stage = Stage::Made;
  // Written by any thread: the agent is being removed immediately, so none of its handlers begins from now on. Beside 'stage', which is
  // read with it.
  std::atomic<bool> stops{false};
  bool draining = false;
  bool forgotten = false;
  NodeList early;                   // Messages whose turn came before the agent had started.
  ParkedMessage* parked = nullptr;  // Messages that wait for a retry.
  std::shared_ptr<GroupState> group;

  class DrainTimer final : public TimerNode {
   public:
    explicit DrainTimer(Cell& cell) : cell_(cell) {}

   private:
    void on_due() override;
    Cell& cell_;
  } drain_timer{*this};

  // --- Guarded by the lock of Life.
  Cell* life_next = nullptr;
  std::uint8_t wanted = 0;
  bool listed = false;

 private:
  ~Cell();
  std::size_t slot(const MessageType& type) const noexcept;

  std::atomic<std::uint32_t> references_{1};
  std::deque<Handler> handlers_;
  std::vector<const Handler*> table_;  // By type: open addressing, a power of two, at most half full.
  std::size_t found_by_type_ = 0;
  std::vector<std::unique_ptr<TypeLimit>> limits_;
};

}  // namespace rondo::message
