// BridgeStore: a store on a worker's thread whose tables are those of the home store, on the home thread. A subscription's changes arrive
// through a bounded ring, and writes are sent back in order. A caller that writes, reads or subscribes sees only a longer delay.
// docs/adr/0010-workers.md gives the reasons.
//
// It differs from the home store's promises in these points:
// - A change in a ring was popped from its table and no longer merges with newer changes there. A ring holds at most limits::kWorkerRing
//   changes; those of a Watched table merge on this side.
// - requeue() does not see changes in a ring, so a row may be delivered twice.
// - A refusal that depends on the table's state (full) is reported by WriteDone; a write without WriteDone is counted
//   (HomeBridge::refused_writes).
// - declare(), subscribe(), size() and tables() wait for a turn of the home thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "rondo/store/store.h"
#include "store/bridge/home_bridge.h"
#include "store/bridge/worker_subscription.h"
#include "store/completions.h"

namespace rondo::store::bridge {

class BridgeStore final : public Store {
 public:
  /// Joins the worker's scheduler. Both arguments must outlive the store. The store closes 'home' when it is destroyed, on the home thread.
  BridgeStore(Scheduler& worker, HomeBridge& home);
  ~BridgeStore() override;

  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override {
    return subscribe(table, options, Priority::p7);
  }
  /// The forwarder on the home thread has the consumer's priority, so urgent changes are moved urgently.
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options, Priority priority);
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;

  /// The worker's name.
  const std::string& name() const noexcept { return home_.options().name; }
  /// The number of changes that arrived here and that no consumer took.
  std::size_t untaken() const;

 private:
  class Inlet;
  using Waiting = std::variant<WriteDone, GetDone, ScanDone>;

  const TableSpec* find(std::string_view table) const;
  Status ask(Request&& request, Waiting done);
  void ask_for_page(Request::Kind kind, std::string_view table, std::string_view cursor, std::size_t max, ScanDone done);
  void deliver(Answer&& answer);
  void forget(WorkerSubscription& end);
  bool request_home(Request&& request);
  void ask_for_room();

  HomeBridge& home_;
  Completions completions_;
  std::unique_ptr<Inlet> inlet_;
  mutable std::map<std::string, TableSpec, std::less<>> specs_;  // The tables that were looked up; pointers to the specs stay valid.
  std::map<std::string, std::shared_ptr<WorkerSubscription>, std::less<>> popped_;
  std::vector<WorkerSubscription*> open_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // By the request's id.
  std::uint64_t last_id_ = 0;
  bool room_asked_for_ = false;
};

}  // namespace rondo::store::bridge
