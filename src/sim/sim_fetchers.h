// The near ends of a SimStore's subscriptions: the changes that were fetched and not yet taken, for each kind of table. An end subscribes
// at the server while the connection exists, fetches when the server reports changes, and reports the losses of a broken connection.
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

/// Fetching, equal for all kinds: at most one fetch is under way; its answer moves the server's changes into this end.
class SimFetcher : public std::enable_shared_from_this<SimFetcher> {
 public:
  SimFetcher(SimWire& wire, Store& server, std::string table) : wire_(wire), server_(server), table_(std::move(table)) {}
  virtual ~SimFetcher() = default;
  SimFetcher(const SimFetcher&) = delete;
  SimFetcher& operator=(const SimFetcher&) = delete;

  /// open(): a consumer subscribes. close(): it leaves.
  virtual Status open(const SubscribeOptions& options);
  void close();
  /// lose(): the connection broke. regain(): it is back.
  virtual void lose();
  virtual void regain();

  void on_ready(std::function<void()> wake);
  virtual std::size_t take(std::size_t max, std::vector<Change>& out) = 0;
  virtual bool empty() const = 0;
  virtual std::size_t depth() const = 0;
  virtual bool take_gap() { return false; }
  virtual std::uint64_t dropped() const { return 0; }
  /// Immediate: a lost report has the same effect as a crash during the report.
  void ack(const Change& change) {
    if (far_ != nullptr) far_->ack(change);
  }
  virtual void requeue(std::string_view key) { static_cast<void>(key); }
  virtual bool caught_up() const { return true; }
  bool is_open() const noexcept { return open_; }

 protected:
  /// Moves the changes of the server's side to this end.
  virtual void fetched(Subscription& far) = 0;
  virtual bool wants_more() const { return true; }
  /// The options of the subscription that is made at the server now.
  virtual SubscribeOptions far_options() const { return options_; }
  const SubscribeOptions& options() const noexcept { return options_; }
  virtual bool has_news() const { return !empty(); }
  void fetch();
  void notify() const {
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

/// Staged and Queue. It stays with its table, so that fetched changes remain for the next consumer.
class SimSingleConsumerFetcher final : public SimFetcher {
 public:
  struct Options {
    std::size_t prefetch = 1;
    const double* keys_swapped = nullptr;  // The chance of a swap, which may change; null for a Queue, which has an order.
  };
  SimSingleConsumerFetcher(SimWire& wire, Store& server, std::string table, Options options)
      : SimFetcher(wire, server, std::move(table)), options_(options) {}
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
  std::uint64_t keys_taken_ = 0;     // Keys taken by this consumer.
  std::uint64_t standing_keys_ = 0;  // The value of keys_taken_ that includes the standing rows; unknown until those were fetched.
  std::set<std::string> requeues_;   // Requested while the connection was lost.
};

class SimWatchedFetcher final : public SimFetcher {
 public:
  using SimFetcher::SimFetcher;
  Status open(const SubscribeOptions& options) override;
  void lose() override;
  void requeue(std::string_view key) override;
  bool caught_up() const override { return view_.caught_up(); }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return view_.take(max, out); }
  bool empty() const override { return view_.empty(); }
  std::size_t depth() const override { return view_.depth(); }

 protected:
  void fetched(Subscription& far) override;
  /// The view needs every row for the comparison.
  SubscribeOptions far_options() const override { return {}; }

 private:
  store::WatchedView view_;
  bool read_ = false;  // A read since the connection was made.
};

class SimChannelFetcher final : public SimFetcher {
 public:
  SimChannelFetcher(SimWire& wire, Store& server, std::string table, std::size_t capacity)
      : SimFetcher(wire, server, std::move(table)), events_(capacity) {}
  void lose() override;
  void regain() override;
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return events_.take(max, out); }
  bool empty() const override { return events_.empty(); }
  std::size_t depth() const override { return events_.size() + far_depth(); }
  bool take_gap() override { return events_.take_gap(); }
  std::uint64_t dropped() const override { return events_.dropped() + far_dropped_ + (far() != nullptr ? far()->dropped() : 0); }

 protected:
  void fetched(Subscription& far) override;
  bool has_news() const override { return events_.has_news(); }

 private:
  store::EventBuffer events_;
  std::uint64_t far_dropped_ = 0;  // Dropped by earlier connections.
};

}  // namespace rondo::sim
