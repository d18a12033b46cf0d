// The clock, store and data plane of a replay: each returns what the record reader has next. Scheduler's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/recorded_restart.h"
#include "journal/record.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/store/store.h"

namespace rondo::replay {

/// The record reader, as the seams use it.
class ReplaySeams {
 public:
  virtual ~ReplaySeams() = default;
  /// The kind of the next record; Lost at the end or after a difference.
  virtual journal::Kind kind() = 0;
  /// The record 'ahead' records behind the next one.
  virtual journal::JournalRecord record(std::size_t ahead) = 0;
  /// kind(): the kind of that record. change(): its change, if it is a whole Changed record. The caller takes each change once and in
  /// order.
  virtual journal::Kind kind(std::size_t ahead) = 0;
  virtual bool change(std::size_t ahead, Change& change) = 0;
  virtual Instant now() = 0;
  virtual WallTime wall() = 0;
  /// True if the next record is the refusal of the write that is made now.
  virtual bool is_write_refused() = 0;
  /// An accepted write and a requeue have no record of their own, but their effects may follow: a wake of the store, 'table' that becomes
  /// ready. Applies them.
  virtual void take_effect(std::string_view table) = 0;
  /// Call it if the record reader ends within a group of records that must be complete.
  virtual void end() = 0;
  /// Call it if the record 'ahead' records behind the next one is malformed.
  virtual void refuse(std::size_t ahead) = 0;
  virtual std::string table_of(const journal::JournalRecord& record) = 0;
};

class ReplayClock final : public Clock {
 public:
  explicit ReplayClock(ReplaySeams& seams) noexcept : seams_(seams) {}
  Instant now() const noexcept override { return seams_.now(); }
  WallTime wall_now() const noexcept override { return seams_.wall(); }

 private:
  ReplaySeams& seams_;
};

/// Returns the recorded changes at the recorded times. Writes have no effect, because their results are on the record reader too.
class ReplayStore final : public Store {
 public:
  /// 'grants_tables': a recorded refusal of a table is a difference, and the table is granted.
  ReplayStore(ReplaySeams& seams, bool grants_tables) noexcept : seams_(seams), grants_tables_(grants_tables) {}

  /// Marks the table's subscription as ready; if it has several, the first with nothing to take, because a store makes a subscription
  /// ready when its first change arrives. Returns false if there is no subscription.
  bool become_ready(const std::string& table);
  /// Ends the write with this number; numbers start at 1 and count the writes whose end was requested. Returns false if there is none.
  bool end_write(std::uint64_t number, const Status& end);

  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view, std::string_view, GetDone) override {}
  void scan(std::string_view, std::string_view, std::size_t, ScanDone) override {}
  void scan_written(std::string_view, std::string_view, std::size_t, ScanDone) override {}
  Result<Size> size(std::string_view) const override { return Size{}; }
  Status health() const override { return {}; }

 private:
  class ReplaySubscription;
  std::uint64_t writes_ = 0;
  std::map<std::uint64_t, WriteDone> unended_;
  ReplaySeams& seams_;
  const bool grants_tables_;
  std::map<std::string, TableSpec, std::less<>> specs_;
  std::map<std::string, std::vector<ReplaySubscription*>, std::less<>> subscriptions_;  // By table, in the order of their making.
};

class ReplayPlane final : public DataPlane {
 public:
  explicit ReplayPlane(ReplaySeams& seams) noexcept : seams_(seams) {}

  /// Returns false if there is no monitor.
  bool pass_on(LinkEvent event);
  /// Passes on a record of the kind Drifted. Returns false if there is no handler.
  bool pass_on_drift(const journal::JournalRecord& record);
  void on_drift(RecordedRestart::OnDrift handler) { on_drift_ = std::move(handler); }

  void apply(std::span<Operation>) override {}
  Result<std::vector<LinkEvent>> links() override { return std::vector<LinkEvent>{}; }
  Result<std::vector<AddressEntry>> addresses() override { return std::vector<AddressEntry>{}; }
  Result<std::vector<NeighborEntry>> neighbors() override { return std::vector<NeighborEntry>{}; }
  Result<std::vector<NexthopEntry>> nexthops() override { return std::vector<NexthopEntry>{}; }
  Status routes(const std::function<void(const RouteEntry&)>&) override { return {}; }
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override;
  std::string describe() const override { return "recorded"; }

 private:
  ReplaySeams& seams_;
  std::function<void(const LinkEvent&)> handler_;
  RecordedRestart::OnDrift on_drift_;
};

}  // namespace rondo::replay
