#include "store/redis/watched_subscription.h"

#include <utility>

namespace rondo::redis {

namespace {
/// Rows of one round trip: a few hundred microseconds of the server.
constexpr std::size_t kRead = 256;
/// Rows requested and not yet received: further round trips run while one is handled.
constexpr std::size_t kReading = 4 * kRead;
/// Rows compared between two reads of the clock: some tens of microseconds.
constexpr std::size_t kCompared = 256;
}  // namespace

void WatchedSubscription::offline() {
  dirty_.clear();
  reading_ = 0;
  scanning_ = comparing_ = again_ = failed_ = unread_ = false;
  stopped_ = {};
  forget_types();
}

void WatchedSubscription::tick() {
  if (std::exchange(failed_, false)) return resync();
  if (std::exchange(unread_, false)) fetch();
}

void WatchedSubscription::changed(std::string_view key) {
  if (!is_open() || !link().up) return;
  dirty_.emplace(key);
}

/// A key with a known change is not requeued: its read delivers it.
void WatchedSubscription::requeue(std::string_view key) {
  if (dirty_.contains(std::string{key})) return;
  const bool had_news = has_news();
  view_.requeue(key);
  if (!had_news) notify();
}

void WatchedSubscription::resync() {
  if (!is_open() || !link().up || !stopped_.ok()) return;
  if (scanning_) {
    again_ = true;
    return;
  }
  ++stats().resyncs;
  scanning_ = true;
  again_ = unread_ = false;
  forget_types();
  view_.begin_read();
  bound_.begin();
  scan("0");
}

void WatchedSubscription::scan(std::string cursor) {
  link().commands.out().command({"SCAN", cursor, "MATCH", literal(keys().rows) + "*", "COUNT", "512"});
  ask(1, shape::kPage, [this](const Reply& reply) { scanned(reply); });
}

void WatchedSubscription::scanned(const Reply& reply) {
  if (reply.is_error()) {
    scanning_ = false;
    failed_ = true;
    return;
  }
  if (Status endless = bound_.add(reply.items()[1].items().size(), spec()); !endless.ok()) {
    stopped_ = std::move(endless);  // The view keeps what it knew before.
    scanning_ = false;
    return;
  }
  const std::string cursor{reply.items()[0].text()};
  const auto page = std::make_shared<std::vector<std::string>>();
  for (const Reply& found : reply.items()[1].items()) {
    page->emplace_back(found.text().substr(std::min(keys().rows.size(), found.text().size())));
  }
  if (page->empty()) return page_read(cursor);
  read(
      page,
      [this](const std::string&, Result<Record> row) {
        failed_ = failed_ || !row;
        if (row && *row) view_.read(std::move(*row));
      },
      [this, cursor] { page_read(cursor); });
}

void WatchedSubscription::page_read(const std::string& cursor) {
  if (cursor != "0" && !failed_) return scan(cursor);
  if (failed_ || again_) {  // After a failure tick() restarts the read; the view keeps what it knew before.
    scanning_ = false;
    if (!failed_) resync();
    return;
  }
  comparing_ = true;
  compare();
}

void WatchedSubscription::compare() {
  if (!comparing_) return;
  const bool had_news = has_news();
  bool ended = view_.end_read(kCompared);
  while (!ended && !link().commands.turn_is_over()) ended = view_.end_read(kCompared);
  if (!had_news) notify();
  note_caught_up();
  if (!ended) return continue_next_turn();
  scanning_ = comparing_ = false;
  if (again_) return resync();
  fetch();
}

/// Keys that change during the full read are read after it, so the newest state wins.
void WatchedSubscription::fetch() {
  if (scanning_ || failed_ || unread_ || dirty_.empty()) return;
  // A partial batch is read only when no other read is outstanding. Later changes join the batch, and a key that changes often is read less
  // often.
  if (reading_ > 0 && (dirty_.size() < kRead || reading_ + kRead > kReading)) return;
  const auto batch = std::make_shared<std::vector<std::string>>();
  while (!dirty_.empty() && batch->size() < kRead) batch->push_back(std::move(dirty_.extract(dirty_.begin()).value()));
  const std::size_t count = batch->size();
  reading_ += count;
  stats().reads += count;
  read(
      batch,
      [this](const std::string& key, Result<Record> row) {
        if (!row) {
          dirty_.insert(key);
          unread_ = true;
          return;
        }
        notify_due_ = notify_due_ || !has_news();
        view_.changed(*row ? Change{ChangeOp::Set, std::move(*row)} : Change::remove(key));
      },
      [this, count] {
        reading_ -= count;
        if (std::exchange(notify_due_, false)) notify();
        fetch();
      });
  fetch();
}

Status WatchedSubscription::trouble() const { return stopped_.ok() ? trouble_of_types() : stopped_; }

void WatchedSubscription::read(const std::shared_ptr<std::vector<std::string>>& wanted,
                               std::function<void(const std::string& key, Result<Record> row)> each, std::function<void()> end) {
  for (const std::string& key : *wanted) link().commands.out().begin(2).word("HGETALL").word(keys().rows, key);
  ask(
      wanted->size(), shape::kRow,
      [this, wanted, next = std::size_t{0}, each = std::move(each), end = std::move(end)](const Reply& reply) mutable {
        const std::string& key = (*wanted)[next++];
        Result<Record> row = row_of(key, reply);
        note_type(key, is_of_other_type(reply));
        if (!row && row.error().code() == StatusCode::Unavailable) link().commands.give_up(row.error());
        each(key, std::move(row));
        if (next == wanted->size()) end();
      },
      true);
}

}  // namespace rondo::redis
