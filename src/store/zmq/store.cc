// See rondo/store/zmq_store.h.
#include "rondo/store/zmq_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "store/completions.h"
#include "store/table_rules.h"
#include "store/zmq/recovery.h"
#include "store/zmq/write_behind.h"

namespace rondo {

using store::WriteBehind;

/// Members are destroyed in reverse order: first the server, then the write-behind, then the store that it writes to.
class ZmqStore::Impl {
 public:
  Impl(Scheduler& scheduler, std::unique_ptr<Store> wrapped, const ZmqStoreOptions& options)
      : wrapped_(std::move(wrapped)),
        completions_(scheduler, "direct-store", options.priority),
        behind_(
            scheduler, *wrapped_,
            {.priority = options.priority, .keys_max = options.keys_behind_max, .retry = options.retry, .on_trouble = options.on_trouble}) {
  }
  ~Impl() { behind_.flush(); }

  Status start(Scheduler& scheduler, const ZmqStoreOptions& options) {
    for (const ZmqTableSpec& spec : options.server.tables) {
      if (!tables_.emplace(spec.table, spec).second) {
        return {StatusCode::InvalidArgument, "two direct tables are called " + quoted(spec.table)};
      }
    }
    ZmqServerOptions waiting = options.server;
    waiting.waits |= options.recover;
    Result<std::unique_ptr<ZmqServer>> server = ZmqServer::open(scheduler, std::move(waiting));
    if (!server) return server.error();
    server_ = std::move(*server);
    for (const auto& [name, spec] : tables_) {
      const Status declared = wrapped_->declare({.name = name, .kind = TableKind::Watched});
      if (!declared.ok()) return declared.with_context("rows of a direct table");
      behind_.add_table(name);
    }
    if (options.recover) recover(scheduler, options);
    return {};
  }

  const ZmqTableSpec* find(std::string_view table) const {
    const auto found = tables_.find(table);
    return found == tables_.end() ? nullptr : &found->second;
  }
  static TableSpec as_staged(const ZmqTableSpec& spec) {
    return {.name = spec.table, .kind = TableKind::Staged, .rows_max = spec.keys_max};
  }

  /// Entries that no consumer took, and taken changes that are not in the wrapped store.
  std::size_t unfinished() const {
    std::size_t count = behind_.waiting() + behind_.under_way();
    for (const auto& [name, spec] : tables_) count += server_->staged(spec.database, name).value();
    return count;
  }

  Store& wrapped() const noexcept { return *wrapped_; }
  store::Completions& completions() noexcept { return completions_; }
  WriteBehind& behind() noexcept { return behind_; }
  ZmqServer& server() const noexcept { return *server_; }
  store::Recovery* recovery() const noexcept { return recovery_.get(); }
  bool is_recovering() const noexcept { return recovery_ != nullptr && !recovery_->is_done(); }

 private:
  void recover(Scheduler& scheduler, const ZmqStoreOptions& options) {
    store::RecoveryOptions rows{.priority = options.priority, .retry = options.retry, .on_trouble = options.on_trouble};
    for (const auto& [name, spec] : tables_) rows.tables.push_back(name);
    rows.stage = [this](std::string_view table, Change row) { return server_->write(find(table)->database, table, std::move(row)); };
    rows.on_done = [this, stays = options.server.waits] {
      if (!stays) server_->begin();
    };
    recovery_ = std::make_unique<store::Recovery>(scheduler, *wrapped_, std::move(rows));
  }

  std::unique_ptr<Store> wrapped_;
  store::Completions completions_;
  WriteBehind behind_;
  std::map<std::string, ZmqTableSpec, std::less<>> tables_;
  std::unique_ptr<ZmqServer> server_;
  std::unique_ptr<store::Recovery> recovery_;
};

namespace {

/// Delivers changes to the orch and writes behind what the orch took. While the write-behind is full, this subscription reports empty.
class CopyingConsumer final : public Subscription {
 public:
  CopyingConsumer(std::unique_ptr<Subscription> inner, WriteBehind& behind, store::Recovery* recovery, std::string table)
      : inner_(std::move(inner)), behind_(behind), recovery_(recovery), table_(std::move(table)) {}
  ~CopyingConsumer() override { behind_.on_room(table_, nullptr); }

  void on_ready(std::function<void()> wake) override {
    behind_.on_room(table_, [this, wake] {
      if (!inner_->empty()) wake();
    });
    inner_->on_ready([this, wake] {
      if (behind_.room(table_) != 0) wake();
    });
  }
  std::size_t take(std::size_t max, std::vector<Change>& out) override {
    const std::size_t before = out.size();
    const std::size_t taken = inner_->take(std::min(max, behind_.room(table_)), out);
    if (!recovered_taken_) note_taken(std::span{out}.subspan(before));
    // Until the recovery is done only recovered rows are staged, and the wrapped store already has these.
    if (recovery_ != nullptr && !recovery_->is_done()) {
      recovery_->room();
      return taken;
    }
    for (std::size_t i = before; i < out.size(); ++i) behind_.add(table_, out[i]);
    return taken;
  }
  bool empty() const override { return inner_->empty() || behind_.room(table_) == 0; }
  std::size_t depth() const override { return inner_->depth(); }
  bool take_gap() override { return inner_->take_gap(); }
  void next_arrivals(std::size_t max, std::vector<Arrival>& out) const override { inner_->next_arrivals(max, out); }
  void requeue(std::string_view key) override { inner_->requeue(key); }
  bool caught_up() const override {
    if (recovery_ != nullptr && recovery_->is_done() && (recovery_->rows() == 0 || inner_->empty())) recovered_taken_ = true;
    return recovered_taken_ && inner_->caught_up();
  }

 private:
  void note_taken(std::span<const Change> taken) {
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const bool with_next = i + 1 < taken.size() && taken[i].op() == ChangeOp::Delete && taken[i].key() == taken[i + 1].key();
      if (!with_next) ++keys_taken_;
    }
    if (!recovery_->is_done()) return;
    if (!recovered_) recovered_ = keys_taken_ + inner_->depth();
    recovered_taken_ = keys_taken_ >= *recovered_;
  }

  std::unique_ptr<Subscription> inner_;
  WriteBehind& behind_;
  store::Recovery* const recovery_;  // Null if there is nothing to recover.
  mutable bool recovered_taken_ = recovery_ == nullptr;
  std::uint64_t keys_taken_ = 0;            // Keys taken until all recovered rows were taken.
  std::optional<std::uint64_t> recovered_;  // The value of keys_taken_ at which all recovered rows have been taken.
  std::string table_;
};

}  // namespace

Result<std::unique_ptr<ZmqStore>> ZmqStore::open(Scheduler& scheduler, std::unique_ptr<Store> wrapped, ZmqStoreOptions options) {
  if (options.keys_behind_max == 0 || options.keys_behind_max > limits::kTableRows) {
    return failure(StatusCode::InvalidArgument, "keys_behind_max is not from 1 to " + std::to_string(limits::kTableRows));
  }
  auto parts = std::make_unique<Impl>(scheduler, std::move(wrapped), options);
  if (Status failed = parts->start(scheduler, options); !failed.ok()) return failure(std::move(failed));
  return std::unique_ptr<ZmqStore>{new ZmqStore(std::move(parts))};
}

ZmqStore::ZmqStore(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
ZmqStore::~ZmqStore() = default;

ZmqServer& ZmqStore::server() noexcept { return impl_->server(); }
Store& ZmqStore::wrapped() noexcept { return impl_->wrapped(); }
ZmqStoreStats ZmqStore::stats() const {
  const WriteBehind& behind = impl_->behind();
  return {.written = behind.written(),
          .retries = behind.retries(),
          .left_out = behind.left_out(),
          .behind = behind.waiting(),
          .under_way = behind.under_way(),
          .recovered = impl_->recovery() == nullptr ? 0 : impl_->recovery()->rows()};
}

bool ZmqStore::is_recovered() const noexcept { return !impl_->is_recovering(); }

Status ZmqStore::declare(const TableSpec& spec) {
  const ZmqTableSpec* const direct = impl_->find(spec.name);
  return direct == nullptr ? impl_->wrapped().declare(spec) : store::check_same(Impl::as_staged(*direct), spec);
}

std::vector<TableSpec> ZmqStore::tables() const {
  std::vector<TableSpec> specs = impl_->wrapped().tables();
  for (TableSpec& spec : specs) {
    if (const ZmqTableSpec* const direct = impl_->find(spec.name)) spec = Impl::as_staged(*direct);
  }
  return specs;
}

Status ZmqStore::write(std::string_view table, Change change, WriteDone done) {
  const ZmqTableSpec* const direct = impl_->find(table);
  if (direct == nullptr) return impl_->wrapped().write(table, std::move(change), std::move(done));
  if (impl_->is_recovering()) {
    return {StatusCode::Unavailable, "the rows of direct table " + quoted(table) + " are not back yet; its store: " + health().to_string()};
  }
  if (Status refused = impl_->server().write(direct->database, table, std::move(change)); !refused.ok()) return refused;
  impl_->completions().post(std::move(done), {});
  return {};
}

Result<std::unique_ptr<Subscription>> ZmqStore::subscribe(std::string_view table, const SubscribeOptions& options) {
  const ZmqTableSpec* const direct = impl_->find(table);
  if (direct == nullptr) return impl_->wrapped().subscribe(table, options);
  Result<std::unique_ptr<Subscription>> inner = impl_->server().subscribe(direct->database, table, options);
  if (!inner) return inner;
  return std::make_unique<CopyingConsumer>(std::move(*inner), impl_->behind(), impl_->recovery(), direct->table);
}

void ZmqStore::get(std::string_view table, std::string_view key, GetDone done) { impl_->wrapped().get(table, key, std::move(done)); }

void ZmqStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  impl_->wrapped().scan(table, cursor, max, std::move(done));
}

void ZmqStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  if (impl_->find(table) == nullptr) return impl_->wrapped().scan_written(table, cursor, max, std::move(done));
  const Status never{StatusCode::Unimplemented,
                     "direct table " + quoted(table) + ": what waits lies in its server and the rows in the store"};
  impl_->completions().post(std::move(done), failure(never));
}

Result<Store::Size> ZmqStore::size(std::string_view table) const {
  Result<Size> size = impl_->wrapped().size(table);
  const ZmqTableSpec* const direct = impl_->find(table);
  if (size && direct != nullptr) size->staged = *impl_->server().staged(direct->database, table);
  return size;
}

Status ZmqStore::health() const { return impl_->wrapped().health(); }

WriteAnswer ZmqStore::write_answer(std::string_view table) const {
  return impl_->find(table) != nullptr ? WriteAnswer::Accepted : impl_->wrapped().write_answer(table);
}

bool ZmqStore::outlives_process(std::string_view table) const { return impl_->wrapped().outlives_process(table); }
StoreReport ZmqStore::report() const { return impl_->wrapped().report(); }
void ZmqStore::poll() { impl_->wrapped().poll(); }

void ZmqStore::begin_end() {
  impl_->server().hold();
  impl_->wrapped().begin_end();
}

std::size_t ZmqStore::unfinished() const { return impl_->unfinished() + impl_->wrapped().unfinished(); }
bool ZmqStore::release() { return impl_->wrapped().release(); }

Status ZmqStore::finish() {
  const std::size_t changes = impl_->unfinished();
  const Status rest = impl_->wrapped().finish();
  if (changes == 0) return rest;
  const std::string what = std::to_string(changes) + " changes of direct tables";
  return {StatusCode::DataLoss, rest.ok() ? what : what + ", " + std::string{rest.message()}};
}

}  // namespace rondo
