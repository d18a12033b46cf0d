#include "store/zmq/recovery.h"

#include <utility>

namespace rondo::store {

namespace {
constexpr std::size_t kPageRows = 256;
}  // namespace

Recovery::Recovery(Scheduler& scheduler, Store& store, RecoveryOptions options)
    : Source("direct:recovery", options.priority),
      store_(store),
      scheduler_(scheduler),
      options_(std::move(options)),
      timer_("direct:recovery-retry", options_.priority, [this] { wake(); }) {
  scheduler.add(*this);
  scheduler.add(timer_);
  wake();
}

void Recovery::room() {
  if (std::exchange(is_full_, false)) wake();
}

Turn Recovery::run(const Budget& budget) {
  Turn turn;
  if (is_done() || asked_ || timer_.is_armed()) return turn;
  for (; turn.items < budget.items && next_ < page_.rows.size(); ++turn.items) {
    if (!stage_next()) return turn;
  }
  if (next_ < page_.rows.size()) {
    turn.backlog = Backlog::More;
    return turn;
  }
  // An empty page_.rows means that the first page of a table was not requested yet.
  if (!page_.rows.empty() && page_.next.empty()) page_done();
  if (!is_done()) ask();
  return turn;
}

/// False when the row has to wait for room.
bool Recovery::stage_next() {
  const Status refused = options_.stage(options_.tables[table_], Change{ChangeOp::Set, page_.rows[next_]});
  if (refused.code() == StatusCode::ResourceExhausted) {
    is_full_ = true;
    return false;
  }
  if (refused.ok()) {
    ++rows_;
  } else {
    notify(refused.with_context("a row that was there does not come back"));
  }
  ++next_;
  return true;
}

void Recovery::ask() {
  asked_ = true;
  // scan_written() returns rows as they are written. Its cursor is invalid after a lost connection: on another server it would skip rows.
  const bool is_connected = store_.health().code() != StatusCode::Unavailable;
  store_.scan_written(options_.tables[table_], page_.next, kPageRows,
                      [this, is_connected](const Result<RowPage>& page) { answered(page, is_connected); });
}

void Recovery::answered(const Result<RowPage>& page, bool was_connected) {
  asked_ = false;
  next_ = 0;
  if (!page) {
    page_ = {};
    const bool is_trouble = was_connected || page.error().code() != StatusCode::Unavailable;
    if (is_trouble && !std::exchange(reported_, true)) notify(page.error().with_context("reading the rows that were there"));
    timer_.arm_at(scheduler_.now() + options_.retry);
    return;
  }
  page_ = *page;
  if (page_.rows.empty() && page_.next.empty()) page_done();
  wake();
}

void Recovery::page_done() {
  ++table_;
  page_ = {};
  next_ = 0;
  reported_ = false;
  if (is_done() && options_.on_done) options_.on_done();
}

void Recovery::notify(const Status& why) const {
  if (options_.on_trouble) options_.on_trouble(options_.tables[table_], why);
}

}  // namespace rondo::store
