// BridgeStore: a store that lives on a worker's thread and whose tables are those of the home store, on the home thread. A subscription's
// changes come through a bounded lane, writes go back in order, and whoever writes, asks or subscribes notices nothing but the time
// between. docs/adr/0010-workers.md says why it is so.
//
// What differs from the home store's own promises: what is in a lane was popped from its table and no longer merges with newer changes
// there (at most limits::kWorkerLane changes; a Watched table's merge on this side), and requeue() does not see it: its row may be given
// twice. A refusal that depends on the table's state (full) comes with WriteDone; without one it is counted (HomeEnd::refused_writes).
// declare(), subscribe(), size() and tables() wait for a turn of the home thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "rondo/store/store.h"
#include "store/bridge/home_end.h"
#include "store/bridge/near_end.h"
#include "store/completions.h"

namespace rondo::store::bridge {

class BridgeStore final : public Store {
 public:
  /// On the worker's scheduler. Both must outlive the store, which closes 'home' when it is destroyed, on the home thread.
  BridgeStore(Scheduler& worker, HomeEnd& home);
  ~BridgeStore() override;

  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    return subscribe(table, options, Priority::p7);
  }
  /// The pump at home has the consumer's priority: carrying urgent changes is urgent.
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options, Priority priority);
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;

  /// Changes that came here and that no consumer took.
  std::size_t untaken() const;

 private:
  class Inlet;
  using Waiting = std::variant<WriteDone, GetDone, ScanDone>;

  const TableSpec* find(std::string_view table) const;
  Status ask(Request&& request, Waiting done);
  void ask_for_page(Request::Kind kind, std::string_view table, std::string_view cursor, std::size_t max, ScanDone done);
  void finish(Answer&& answer);
  void forget(NearEnd& end);
  bool tell_home(Request&& request);
  void ask_for_room();

  HomeEnd& home_;
  Completions completions_;
  std::unique_ptr<Inlet> inlet_;
  mutable std::map<std::string, TableSpec, std::less<>> specs_;  // Those asked about; nodes stay.
  std::map<std::string, std::shared_ptr<NearEnd>, std::less<>> popped_;
  std::vector<NearEnd*> open_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // By the request's id.
  std::uint64_t last_id_ = 0;
  bool room_asked_for_ = false;
};

}  // namespace rondo::store::bridge
