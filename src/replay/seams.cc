#include "replay/seams.h"

#include <algorithm>
#include <utility>

#include "rondo/sched/source.h"

namespace rondo::replay {

using journal::JournalRecord;
using journal::Kind;

class ReplayStore::ReplaySubscription final : public Subscription {
 public:
  ReplaySubscription(ReplayStore& store, std::string table) : store_(store), table_(std::move(table)) {
    store_.subscriptions_[table_].push_back(this);
  }
  ~ReplaySubscription() override { std::erase(store_.subscriptions_[table_], this); }

  bool is_ready() const noexcept { return ready_; }
  void become_ready() {
    ready_ = true;
    if (wake_) wake_();
  }

  void on_ready(std::function<void()> wake) override {
    wake_ = std::move(wake);
    if (is_next(Kind::Ready)) become_ready();
  }

  std::size_t take(std::size_t, std::vector<Change>& out) override {
    if (!is_next(Kind::Took)) {
      ready_ = false;  // Nothing was taken: there was only a gap, or the replay is over.
      return 0;
    }
    const JournalRecord took = store_.seams_.record(0);
    std::size_t taken = 0;
    for (std::size_t ahead = 1; taken < took.count; ++ahead) {
      const Kind kind = store_.seams_.kind(ahead);
      Change change;
      const bool is_whole = kind != Kind::Changed || store_.seams_.change(ahead, change);
      if (kind == Kind::Lost || !is_whole) {
        if (is_whole) {
          store_.seams_.end();
        } else {
          store_.seams_.refuse(ahead);
        }
        out.resize(out.size() - taken);
        ready_ = false;
        return 0;
      }
      if (kind == Kind::TurnEnds) break;  // A genuine journal does not contain this.
      if (kind != Kind::Changed) continue;
      change.record().prefetch();
      out.push_back(std::move(change));
      ++taken;
    }
    ready_ = !took.flag;
    return taken;
  }
  bool empty() const override { return !ready_ && !has_rows_at_once(); }
  void requeue(std::string_view) override { store_.seams_.take_effect(table_); }
  /// For a consumer that handles no row before it has all: true if the record shows after a take that it does more than to end its turn.
  bool caught_up() const override { return store_.seams_.kind() != Kind::TurnEnds && store_.seams_.kind() != Kind::Took; }
  std::size_t depth() const override { return ready_ ? 1 : 0; }
  bool take_gap() override { return is_next(Kind::Gap); }

 private:
  bool is_next(Kind kind) const { return store_.seams_.kind() == kind && store_.seams_.table_of(store_.seams_.record(0)) == table_; }

  /// The table had rows when its consumer was added: the scheduler wakes the consumer before the table reports them.
  bool has_rows_at_once() const {
    return !wake_ && store_.seams_.kind() == Kind::Woken && store_.seams_.kind(1) == Kind::Ready &&
           store_.seams_.table_of(store_.seams_.record(1)) == table_;
  }

  ReplayStore& store_;
  const std::string table_;
  std::function<void()> wake_;
  bool ready_ = false;
};

bool ReplayStore::become_ready(const std::string& table) {
  const std::vector<ReplaySubscription*>& all = subscriptions_[table];
  if (all.empty()) return false;
  const auto idle = std::ranges::find_if_not(all, &ReplaySubscription::is_ready);
  (idle != all.end() ? *idle : all.front())->become_ready();
  return true;
}

Status ReplayStore::write(std::string_view table, Change, WriteDone done) {
  const std::uint64_t number = done ? ++writes_ : 0;
  if (seams_.is_write_refused()) return seams_.record(0).why;
  seams_.take_effect(table);
  if (done) unended_.emplace(number, std::move(done));
  return {};
}

bool ReplayStore::end_write(std::uint64_t number, const Status& end) {
  const auto found = unended_.extract(number);
  if (found.empty()) return false;
  found.mapped()(end);
  return true;
}

Status ReplayStore::declare(const TableSpec& spec) {
  specs_.emplace(spec.name, spec);
  return {};
}

std::vector<TableSpec> ReplayStore::tables() const {
  std::vector<TableSpec> all;
  for (const auto& [name, spec] : specs_) all.push_back(spec);
  return all;
}

Result<std::unique_ptr<Subscription>> ReplayStore::subscribe(std::string_view table, const SubscribeOptions&) {
  if (seams_.kind() == Kind::TableRefused) {
    if (!grants_tables_) return failure(seams_.record(0).why);
    seams_.refuse(0);
  }
  if (!specs_.contains(table)) return failure(StatusCode::NotFound, "no table " + quoted(table));
  return std::make_unique<ReplaySubscription>(*this, std::string{table});
}

bool ReplayPlane::pass_on(LinkEvent event) {
  if (!handler_) return false;
  handler_(event);
  return true;
}

bool ReplayPlane::pass_on_drift(const JournalRecord& record) {
  if (!on_drift_) return false;
  on_drift_(record.drift, record.orders);
  return true;
}

Result<std::unique_ptr<Source>> ReplayPlane::monitor(Scheduler&, Priority priority, std::function<void(const LinkEvent&)> handler) {
  handler_ = std::move(handler);
  // The recorded monitor has a stand-in; this source is never added and never runs.
  class Nothing final : public Source {
   public:
    explicit Nothing(Priority its) : Source("recorded links", its) {}
    Turn run(const Budget&) override { return {}; }
  };
  return std::unique_ptr<Source>{std::make_unique<Nothing>(priority)};
}

}  // namespace rondo::replay
