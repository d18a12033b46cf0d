// TableView as a source: it reads the table page by page, compares and writes within its budget, and waits when enough is outstanding.
#include "rondo/store/table_view.h"

#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"
#include "store/field_views.h"
#include "store/keyed_rows.h"
#include "store/table_rules.h"
#include "store/watched_view.h"

namespace rondo {

namespace {

constexpr std::size_t kPageRows = 256;

/// True if a retry later may succeed.
bool may_pass(const Status& why) {
  return why.code() == StatusCode::Unavailable || why.code() == StatusCode::DeadlineExceeded || why.code() == StatusCode::ResourceExhausted;
}

}  // namespace

class TableView::Impl final : public Source, public std::enable_shared_from_this<Impl> {
 public:
  Impl(Scheduler& scheduler, Store& store, std::string table, Priority priority, Duration retry)
      : Source("view:" + table, priority),
        scheduler_(scheduler),
        store_(store),
        table_(std::move(table)),
        pause_(retry),
        retry_(std::string{name()} + ":retry", priority, [this] { wake(); }) {
    scheduler.add(*this);
    scheduler.add(retry_);
  }

  Status set(const Record& record);
  Status remove(std::string_view key);
  std::size_t size() const noexcept { return size_; }
  Status apply(ViewDone done);
  bool is_applying() const noexcept { return phase_ != Phase::Gathering; }

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !waits(); }

 private:
  enum class Phase : std::uint8_t {
    Gathering,   // No apply() is running.
    Reading,     // A page of the table is to be requested, or was.
    Comparing,   // The page is compared with the view.
    Adding,      // The whole table was compared; missing rows are added.
    Confirming,  // Everything is written; answers are outstanding.
  };
  struct Row {
    Record record;  // With 'gone': only the key.
    std::uint32_t next = store::KeyedRows<Row>::kNone;
    std::uint32_t pass = 0;  // The last comparison that handled this row, and wrote it if necessary.
    bool gone = false;       // Not in the view; the table has it or may have had it.
    std::string_view key() const noexcept { return record.key(); }
  };
  using Rows = store::KeyedRows<Row>;

  bool waits() const;
  void step();
  void begin_pass();
  void ask_for_page();
  void page_came(const Result<RowPage>& page);
  bool settle(const Record& now);
  bool settle_known(Row& row, const Record& now);
  bool add(std::uint32_t id);
  bool is_table_compared() const noexcept { return phase_ == Phase::Adding || phase_ == Phase::Confirming; }
  bool notify_store(Change change);
  Status write(Change change);
  void answered(const Status& end);
  void pause() { retry_.arm_at(scheduler_.now() + pause_); }
  void confirm();
  void fail(const Status& why);
  void finish();

  Scheduler& scheduler_;
  Store& store_;
  const std::string table_;
  const Duration pause_;  // Before the next attempt.
  TimerSource retry_;
  std::unique_ptr<Rows> rows_ = std::make_unique<Rows>();
  std::unique_ptr<Rows> applied_;  // The rows of the view before; freed in pieces.
  std::size_t size_ = 0;
  Phase phase_ = Phase::Gathering;
  std::uint32_t pass_ = 0;
  ViewDone done_;
  ViewTotals totals_;
  RowPage page_;
  std::size_t page_at_ = 0;
  std::uint32_t add_at_ = 0;
  std::uint64_t accepted_ = 0;  // Accepted writes.
  std::uint64_t answered_ = 0;
  std::uint64_t due_ = 0;  // The number of answers for which Confirming waits; set() may be called meanwhile.
  unsigned tries_ = 0;     // Attempts in which the store had no room although no write of this view was outstanding.
  bool asked_ = false;     // A page was requested.
  bool is_spent_ = false;  // Applied, and neither set() nor remove() was called since.
  bool again_ = false;     // The result of a write is unknown: compare once more.
  Status failed_;
};

// --- the view

Status TableView::Impl::set(const Record& given) {
  Status wrong = store::check_names(given.key(), given.fields());
  if (wrong.ok()) wrong = check_record(given);
  if (!wrong.ok()) return wrong.with_context("table " + quoted(table_));
  const Record change = given.with_distinct_names();
  const std::uint64_t hash = change.key_hash();
  const std::uint32_t known = rows_->find(change.key(), hash);
  const bool in_view = known != Rows::kNone && !(*rows_)[known].gone;
  if (!in_view && size_ >= limits::kTableRows)
    return {StatusCode::ResourceExhausted, "view of table " + quoted(table_) + ": too many rows"};
  if (in_view) {
    if (Status bad = store::check_merge(table_, (*rows_)[known].record, change); !bad.ok()) return bad;
  }
  const bool told = known != Rows::kNone && (*rows_)[known].pass == pass_;
  const bool write_now = is_applying() && (told || (!in_view && is_table_compared()));
  if (write_now) {
    if (Status refused = write(Change{ChangeOp::Set, change}); !refused.ok()) return refused;
  }
  Row& row = (*rows_)[rows_->find_or_add(change.key(), hash).id];
  is_spent_ = false;
  row.record = in_view ? Record::merged(row.record, change) : change;
  row.gone = false;
  if (write_now) row.pass = pass_;
  if (!in_view) ++size_;
  return {};
}

Status TableView::Impl::remove(std::string_view key) {
  if (!is_applying()) is_spent_ = false;
  const std::uint64_t hash = hash_key(key);
  const std::uint32_t id = rows_->find(key, hash);
  if (id == Rows::kNone || (*rows_)[id].gone) return {};
  Row& row = (*rows_)[id];
  if (is_applying() && row.pass == pass_) {
    if (Status refused = write(Change::remove(key)); !refused.ok()) return refused;
  }
  --size_;
  if (is_applying()) {
    row.record = Record::make(key, {});
    row.gone = true;
  } else {
    rows_->erase(id, hash);
  }
  return {};
}

Status TableView::Impl::apply(ViewDone done) {
  if (is_applying()) return {StatusCode::FailedPrecondition, "the view of table " + quoted(table_) + " is being applied already"};
  if (is_spent_) {
    return {StatusCode::FailedPrecondition,
            "the view of table " + quoted(table_) + " was applied and is empty: a second apply() would delete all rows"};
  }
  done_ = std::move(done);
  totals_ = {};
  tries_ = 0;
  failed_ = Status{};
  begin_pass();
  wake();
  return {};
}

// --- turns

Turn TableView::Impl::run(const Budget& budget) {
  Turn turn;
  while (turn.items < budget.items && !waits()) {
    step();
    ++turn.items;
    if (turn.items % limits::kItemsPerStep == 0 && time_is_up(budget)) break;
  }
  turn.backlog = waits() ? Backlog::Empty : Backlog::More;
  return turn;
}

/// True if there is nothing to do before the next call.
bool TableView::Impl::waits() const {
  if (phase_ == Phase::Gathering) return applied_ == nullptr;
  if (retry_.is_armed() || asked_) return true;
  return phase_ == Phase::Confirming ? answered_ < due_ : accepted_ - answered_ >= limits::kViewWrites;
}

void TableView::Impl::step() {
  switch (phase_) {
    case Phase::Gathering:
      if (!applied_->free_some()) applied_.reset();
      return;
    case Phase::Reading: return ask_for_page();
    case Phase::Comparing:
      if (page_at_ < page_.rows.size()) {
        if (settle(page_.rows[page_at_])) ++page_at_;
        return;
      }
      phase_ = page_.next.empty() ? Phase::Adding : Phase::Reading;
      return;
    case Phase::Adding:
      if (add_at_ >= rows_->end_id()) return confirm();
      if (add(add_at_)) ++add_at_;
      return;
    case Phase::Confirming: return finish();
  }
}

void TableView::Impl::begin_pass() {
  ++pass_;
  phase_ = Phase::Reading;
  page_ = {};
  page_at_ = 0;
  add_at_ = 0;
  again_ = false;
  totals_.same = 0;
}

void TableView::Impl::ask_for_page() {
  asked_ = true;
  store_.scan_written(table_, page_.next, kPageRows, [self = weak_from_this()](const Result<RowPage>& page) {
    if (const std::shared_ptr<Impl> parts = self.lock()) parts->page_came(page);
  });
}

void TableView::Impl::page_came(const Result<RowPage>& page) {
  asked_ = false;
  if (phase_ == Phase::Confirming) {
    // A write has failed meanwhile: the page is not needed.
  } else if (page) {
    page_ = *page;
    page_at_ = 0;
    phase_ = Phase::Comparing;
  } else if (may_pass(page.error()) || !page_.next.empty()) {  // Or a valid cursor has expired with its connection.
    begin_pass();
    pause();
  } else {
    fail(page.error());
  }
  if (!waits()) wake();
}

// --- comparing

/// True when the row is done; otherwise settle() must be called again for it.
bool TableView::Impl::settle(const Record& now) {
  const std::uint32_t known = rows_->find(now.key(), now.key_hash());
  if (known != Rows::kNone) return settle_known((*rows_)[known], now);
  if (!notify_store(Change::remove(now.key()))) return false;
  Row& row = (*rows_)[rows_->find_or_add(now.key(), now.key_hash()).id];
  row.record = Record::make(now.key(), {});
  row.gone = true;
  row.pass = pass_;
  ++totals_.removed;
  return true;
}

bool TableView::Impl::settle_known(Row& row, const Record& now) {
  if (row.pass == pass_) return true;  // The scan returned the row twice.
  if (row.gone) {
    if (!notify_store(Change::remove(row.key()))) return false;
    ++totals_.removed;
  } else if (store::same_fields(now.fields(), row.record.fields())) {
    ++totals_.same;
  } else if (Record::merged(now, row.record).fields().size() == row.record.fields().size()) {
    if (!notify_store(Change{ChangeOp::Set, row.record})) return false;
    ++totals_.set;
  } else {
    if (!notify_store(Change::remove(row.key())) || !notify_store(Change{ChangeOp::Set, row.record})) return false;
    ++totals_.replaced;
  }
  row.pass = pass_;
  return true;
}

bool TableView::Impl::add(std::uint32_t id) {
  Row& row = (*rows_)[id];
  if (!row.record || row.gone || row.pass == pass_) return true;
  if (!notify_store(Change{ChangeOp::Set, row.record})) return false;
  row.pass = pass_;
  ++totals_.set;
  return true;
}

// --- writing

Status TableView::Impl::write(Change change) {
  Status refused = store_.write(table_, std::move(change), [self = weak_from_this()](const Status& end) {
    if (const std::shared_ptr<Impl> parts = self.lock()) parts->answered(end);
  });
  if (refused.ok() && ++accepted_ - answered_ == limits::kViewWrites) ++totals_.full_windows;
  return refused;
}

/// False when the change must be retried, or everything has failed.
bool TableView::Impl::notify_store(Change change) {
  const Status refused = write(std::move(change));
  if (refused.ok()) {
    tries_ = 0;
    return true;
  }
  const bool full = refused.code() == StatusCode::ResourceExhausted;
  if (full && accepted_ == answered_) ++tries_;
  if (may_pass(refused) && tries_ < limits::kFullStoreTries) {
    pause();
  } else {
    fail(refused);
  }
  return false;
}

void TableView::Impl::answered(const Status& end) {
  ++answered_;
  if (!end.ok()) {
    const bool unknown = end.code() == StatusCode::Unavailable || end.code() == StatusCode::DeadlineExceeded;
    if (unknown) {
      again_ = true;
    } else {
      fail(end);
    }
  }
  if (!waits()) wake();
}

void TableView::Impl::confirm() {
  phase_ = Phase::Confirming;
  due_ = accepted_;
}

void TableView::Impl::fail(const Status& why) {
  if (!is_applying()) return;
  if (failed_.ok()) failed_ = why;
  confirm();
}

void TableView::Impl::finish() {
  if (failed_.ok() && again_) {
    begin_pass();
    return pause();
  }
  if (applied_ != nullptr) {  // The view before this one.
    if (!applied_->free_some()) applied_.reset();
    return;
  }
  phase_ = Phase::Gathering;
  page_ = {};
  if (failed_.ok()) {
    applied_ = std::exchange(rows_, std::make_unique<Rows>());
    size_ = 0;
    is_spent_ = true;
  }
  const ViewDone done = std::exchange(done_, nullptr);
  if (done) done(failed_.ok() ? Result<ViewTotals>{totals_} : failure(failed_));
}

// --- TableView

TableView::TableView(Scheduler& scheduler, Store& store, std::string table, Priority priority, Duration retry)
    : impl_(std::make_shared<Impl>(scheduler, store, std::move(table), priority, retry)) {}
TableView::~TableView() = default;

Status TableView::set(Record row) { return impl_->set(row); }
Status TableView::set(std::string_view key, FieldList fields) { return set(key, FieldViews{fields}.all()); }

Status TableView::set(std::string_view key, std::span<const Field> fields) {
  if (Status bad = check_record(key, fields); !bad.ok()) return bad;
  return impl_->set(Record::make(key, fields));
}
Status TableView::remove(std::string_view key) { return impl_->remove(key); }
std::size_t TableView::size() const noexcept { return impl_->size(); }
Status TableView::apply(ViewDone done) { return impl_->apply(std::move(done)); }
bool TableView::is_applying() const noexcept { return impl_->is_applying(); }

}  // namespace rondo
