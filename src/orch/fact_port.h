// FactPort: where the news of a FactBoard reach a runtime, in turns of the port's own. Announcements queue parked rows, the provider's
// state answers questions, and observers receive beginnings and ends. Runtime's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orch/fact_board.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"

namespace rondo {

class FactPort final : public Source {
 public:
  using News = FactBoard::News;
  using Handler = std::function<void(const News&)>;
  /// On one thread an announcement takes effect immediately; this priority keeps the delay between threads short.
  static constexpr Priority kUrgent{limits::kPriorities - 2};
  /// Joins 'board' and 'scheduler', and leaves both when destroyed.
  FactPort(Scheduler& scheduler, std::shared_ptr<FactBoard> board, Handler handler)
      : Source("facts of other threads", kUrgent), board_(std::move(board)), member_(board_->join(*this)), handler_(std::move(handler)) {
    try {
      scheduler.add(*this);
    } catch (...) {
      board_->leave(member_);
      throw;
    }
  }
  ~FactPort() override { board_->leave(member_); }

  FactBoard& board() noexcept { return *board_; }
  const std::shared_ptr<FactBoard>& shared_board() const noexcept { return board_; }
  FactBoard::Member member() const noexcept { return member_; }

  Result<Backlog> collect() override { return has_backlog() ? Backlog::More : Backlog::Empty; }
  bool has_backlog() const override { return board_->has_news(member_); }
  Turn run(const Budget& budget) override {
    Turn turn;
    news_.clear();
    turn.backlog = board_->take(member_, budget.items, news_) ? Backlog::More : Backlog::Empty;
    for (const News& news : news_) handler_(news);
    turn.items = static_cast<std::uint32_t>(news_.size());
    return turn;
  }

 private:
  std::shared_ptr<FactBoard> board_;
  FactBoard::Member member_;
  Handler handler_;
  std::vector<News> news_;
};

}  // namespace rondo
