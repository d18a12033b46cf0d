// The near ends of a SimStore's subscriptions: what has been fetched and not yet taken, for each kind of table. An end subscribes at the
// server while the connection holds, fetches when told that there is something, and says what a broken connection cost.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/store.h"
#include "sim/sim_wire.h"
#include "store/event_buffer.h"
#include "store/watched_view.h"

namespace rondo::sim {

/// Fetching, alike for all kinds: at most one fetch is on its way; its answer empties the server's side into this one.
class SimEnd : public std::enable_shared_from_this<SimEnd> {
 public:
  SimEnd(SimWire& wire, Store& server, std::string table) : wire_(wire), server_(server), table_(std::move(table)) {}
  virtual ~SimEnd() = default;
  SimEnd(const SimEnd&) = delete;
  SimEnd& operator=(const SimEnd&) = delete;

  /// A consumer is there, or goes.
  virtual Status open(const SubscribeOptions& options);
  void close();
  /// The connection broke or is back.
  virtual void lose();
  virtual void regain();

  void on_ready(std::function<void()> wake);
  virtual std::size_t take(std::size_t max, std::vector<Change>& out) = 0;
  virtual bool empty() const = 0;
  virtual std::size_t depth() const = 0;
  virtual Gap take_gap() { return Gap::None; }
  virtual std::uint64_t dropped() const { return 0; }
  /// At once: what a crash makes of a word that was under way, a lost one does, too.
  void dealt_with(const Change& change) {
    if (far_ != nullptr) far_->dealt_with(change);
  }
  virtual void requeue(std::string_view key) { static_cast<void>(key); }
  virtual bool caught_up() const { return true; }
  bool is_open() const noexcept { return open_; }

 protected:
  /// Moves what the server's side has to here.
  virtual void fetched(Subscription& far) = 0;
  virtual bool wants_more() const { return true; }
  /// Of the subscription at the server that is made now.
  virtual SubscribeOptions far_options() const { return options_; }
  const SubscribeOptions& options() const noexcept { return options_; }
  virtual bool has_news() const { return !empty(); }
  void fetch();
  void tell() const {
    if (wake_ && has_news()) wake_();
  }
  Random& random() noexcept { return wire_.random(); }
  void fault(std::string_view what) const { wire_.fault(what); }
  std::size_t far_depth() const { return far_ ? far_->depth() : 0; }
  Subscription* far() const noexcept { return far_.get(); }

 private:
  Status attach();
  void arrive();

  SimWire& wire_;
  Store& server_;
  std::string table_;
  SubscribeOptions options_;
  std::unique_ptr<Subscription> far_;
  std::function<void()> wake_;
  bool open_ = false;
  bool fetching_ = false;
};

/// Staged and Queue. Stays with its table, so that what was fetched is there for the next consumer.
class SimPoppedEnd final : public SimEnd {
 public:
  struct Options {
    std::size_t prefetch = 1;
    const double* keys_swapped = nullptr;  // The chance that may change; none for a Queue, which has an order.
  };
  SimPoppedEnd(SimWire& wire, Store& server, std::string table, Options options)
      : SimEnd(wire, server, std::move(table)), options_(options) {}
  Status open(const SubscribeOptions& options) override;
  void regain() override;
  void requeue(std::string_view key) override;
  bool caught_up() const override { return keys_taken_ >= standing_keys_; }
  std::size_t take(std::size_t max, std::vector<Change>& out) override;
  bool empty() const override { return waiting_.empty(); }
  std::size_t depth() const override { return waiting_keys_ + far_depth(); }
  std::size_t waiting_keys() const noexcept { return waiting_keys_; }

 protected:
  void fetched(Subscription& far) override;
  bool wants_more() const override { return waiting_.size() < options_.prefetch; }

 private:
  struct Waiting {
    Change change;
    bool with_next = false;  // A Delete whose Set was popped with it.
  };
  void swap_keys(std::size_t first);
  bool knows_standing_rows() const noexcept { return standing_keys_ != kUnknown; }
  SubscribeOptions far_options() const override;
  static constexpr std::uint64_t kUnknown = UINT64_MAX;

  const Options options_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_keys_ = 0;
  std::uint64_t keys_taken_ = 0;     // By this consumer.
  std::uint64_t standing_keys_ = 0;  // keys_taken_ once the standing rows are among them; until they were fetched: unknown.
  std::set<std::string> requeues_;   // Asked for while the connection was lost.
};

class SimWatchedEnd final : public SimEnd {
 public:
  using SimEnd::SimEnd;
  Status open(const SubscribeOptions& options) override;
  void lose() override;
  void requeue(std::string_view key) override;
  bool caught_up() const override { return view_.caught_up(); }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return view_.take(max, out); }
  bool empty() const override { return view_.empty(); }
  std::size_t depth() const override { return view_.depth(); }

 protected:
  void fetched(Subscription& far) override;
  /// The view needs every row to compare.
  SubscribeOptions far_options() const override { return {}; }

 private:
  store::WatchedView view_;
  bool read_ = false;  // Since the connection was made.
};

class SimChannelEnd final : public SimEnd {
 public:
  SimChannelEnd(SimWire& wire, Store& server, std::string table, std::size_t capacity)
      : SimEnd(wire, server, std::move(table)), events_(capacity) {}
  void lose() override;
  void regain() override;
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return events_.take(max, out); }
  bool empty() const override { return events_.empty(); }
  std::size_t depth() const override { return events_.size() + far_depth(); }
  Gap take_gap() override { return events_.take_gap(); }
  std::uint64_t dropped() const override { return events_.dropped() + far_dropped_ + (far() != nullptr ? far()->dropped() : 0); }

 protected:
  void fetched(Subscription& far) override;
  bool has_news() const override { return events_.has_news(); }

 private:
  store::EventBuffer events_;
  std::uint64_t far_dropped_ = 0;  // By connections that are gone.
};

}  // namespace rondo::sim
