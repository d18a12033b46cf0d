#include "store/redis/single_consumer_subscription.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "rondo/base/assert.h"
#include "store/redis/scripts.h"

namespace rondo::redis {

namespace {
constexpr unsigned kPopsAhead = 2;
/// A notification this soon after a pop that emptied the table is probably about entries that the pop took: both were on their way
/// simultaneously.
constexpr Duration kEcho = 500us;
/// Batches that one step of the recovery reads at most; it also ends after kPopSeconds.
constexpr std::size_t kRecoveredTogether = 64;

bool contains_batch(const auto& batches, std::uint64_t number) {
  return std::ranges::any_of(batches, [number](const auto& batch) { return batch.number == number; });
}
bool contains(const auto& numbers, std::uint64_t number) { return std::ranges::find(numbers, number) != numbers.end(); }
}  // namespace

// --- connection events

void SingleConsumerSubscription::online() {
  pop_size_ = link().options.pop_batch;
  online_ = true;
  ready_ = stuck_ = false;
  dirty_ = true;
  send_requests();
}

void SingleConsumerSubscription::offline() {
  // Recovery finds incomplete batches in flight later, and acknowledgements that may not have arrived are sent again then. Rows that were
  // read are not in flight, so the consumer receives them now.
  std::erase_if(coming_, [](const Batch& batch) { return batch.number != 0; });
  hand_over();
  for (const std::uint64_t number : acknowledged_) done_.push_back(number);
  acknowledged_.clear();
  broke_off();
  pops_ = 0;
  online_ = recovering_ = counting_ = keeping_ = ready_ = false;
  trouble_ = {};
  forget_types();
}

void SingleConsumerSubscription::message(std::string_view) {
  dirty_ = true;
  send_requests();
}

void SingleConsumerSubscription::tick() {
  if (std::exchange(stuck_, false)) {
    ready_ = false;  // Recovery finds in flight what the failed pop took out.
    dirty_ = true;
  }
  send_requests();
}

void SingleConsumerSubscription::failed(const Reply& reply, std::string_view what) {
  if (reply.text().starts_with("FENCED")) return link().on_fenced();
  stuck_ = true;
  const Status why = status_of(reply, std::string{what} + " of table " + quoted(spec().name));
  if (why.code() == StatusCode::Unavailable && !lacks_replicas(why)) return link().commands.give_up(why);
  trouble_ = why;
}

// --- requests

void SingleConsumerSubscription::send_requests() {
  if (!online_ || !link().up || !is_open() || stuck_) return;
  if (!ready_) {
    if (!recovering_) send_recover();
    return;
  }
  acknowledge_part();
  go_beside_pops();
  if (goes_before_pops()) return;
  const std::size_t fetched = fetched_ahead();
  while (pops_ < kPopsAhead && target().waiting > pops_ * pop_size_ && fetched + pops_ * pop_size_ < 2 * pop_size_) send_pop();
  if (!dirty_ || pops_ > 0 || counting_ || fetched >= pop_size_) return;
  if (link().scheduler.clock().now() - emptied_ < kEcho) {
    send_count();
  } else {
    send_pop();
  }
}

void SingleConsumerSubscription::send_pop() {
  const std::uint64_t number = next_number_++;
  dirty_ = false;  // Notifications that arrive after this point refer to later writes.
  write_pop(pop_size_, number, done_);
  for (const std::uint64_t done : done_) acknowledged_.push_back(done);
  ++pops_;
  ask(1, popped_shape(), [this, number, asked = pop_size_, sent = std::exchange(done_, {})](const Reply& reply) {
    std::erase_if(acknowledged_, [&sent](std::uint64_t known) { return contains(sent, known); });
    if (reply.is_error()) done_.insert(done_.end(), sent.begin(), sent.end());  // The server may not have applied the acknowledgements.
    popped(reply, number, asked);
  });
}

/// Called when nothing waits for the consumer, so that no pop may carry the numbers. The next process would apply a batch that stays in
/// flight again, over newer writes of other consumers.
void SingleConsumerSubscription::acknowledge() {
  if (done_.empty() || !link().up || !is_open() || !ready_ || pops_ > 0) return;
  Commands& out = link().commands.out();
  if (link().fence.empty()) {
    out.begin(2 + done_.size()).word("HDEL").word(keys().inflight);
  } else {
    out.begin(6 + done_.size()).word("EVAL").word(kAcknowledge).word("2").word(keys().inflight).word(kLeaseKey).word(link().fence);
  }
  for (const std::uint64_t done : done_) {
    out.number(done);
    acknowledged_.push_back(done);
  }
  ask(1, shape::kCount, [this, sent = std::exchange(done_, {})](const Reply& reply) {
    std::erase_if(acknowledged_, [&sent](std::uint64_t known) { return contains(sent, known); });
    if (!reply.is_error()) return;
    done_.insert(done_.end(), sent.begin(), sent.end());
    if (reply.text().starts_with("FENCED")) link().on_fenced();
  });
}

/// One request at a time: the server rewrites the batch, and a later request includes the earlier ones.
void SingleConsumerSubscription::acknowledge_part() {
  if (done_part_.number == 0 || keeping_) return;
  const Part sent = done_part_;
  if (!write_keep(sent.number, sent.left)) {
    done_part_ = {};
    return;
  }
  keeping_ = true;
  ask(1, shape::kCount, [this, sent](const Reply& reply) {
    keeping_ = false;
    if (reply.text().starts_with("FENCED")) return link().on_fenced();
    if (reply.is_error()) return;  // tick() sends it again.
    if (done_part_ == sent) done_part_ = {};
    acknowledge_part();
  });
}

void SingleConsumerSubscription::send_count() {
  counting_ = true;
  dirty_ = false;
  write_count();
  ask(1, shape::kCount, [this](const Reply& reply) {
    counting_ = false;
    note_waiting(reply);
    if (reply.is_error()) failed(reply, "counting");
    send_requests();
  });
}

void SingleConsumerSubscription::send_recover() {
  recovering_ = true;
  dirty_ = false;  // The answer has the count. Notifications that arrive after this point refer to later writes.
  recovered_.clear();
  link().commands.out().command({"HKEYS", keys().inflight});
  ask(1, shape::kNames, [this](const Reply& reply) {
    if (reply.is_error()) {
      recovering_ = false;
      return failed(reply, "recovery");
    }
    in_flight_.clear();
    for (const Reply& field : reply.items()) in_flight_.emplace_back(field.text());
    ask_in_flight();
  });
}

/// Also without a batch in flight, for the count.
void SingleConsumerSubscription::ask_in_flight() {
  write_recover(std::span{in_flight_}.first(std::min(in_flight_.size(), kRecoveredTogether)));
  ask(1, recovered_shape(), [this](const Reply& reply) { recovered(reply); });
}

// --- answers

void SingleConsumerSubscription::popped(const Reply& reply, std::uint64_t number, std::size_t asked) {
  --pops_;
  if (reply.is_error()) return failed(reply, "a pop");
  trouble_ = {};
  ++stats().pops;
  Batch batch{.number = number, .entries = {}};
  read_popped(reply.items()[1], batch);
  batch.cut = batch.entries.size() < asked && reply.items()[0].integer() > 0;
  const bool is_empty = batch.entries.empty();
  if (!is_empty) coming_.push_back(std::move(batch));
  note_waiting(reply.items()[0]);
  if (target().waiting == 0) emptied_ = link().scheduler.clock().now();
  if (is_empty) {
    if (reply.items()[1].items().empty()) {
      ++stats().empty_pops;
    } else {
      done_.push_back(number);  // All entries were malformed. No consumer will take the batch, so it need not stay in flight.
    }
    send_requests();
    if (waiting_.empty()) acknowledge();  // The consumer came for more while this pop was outstanding.
    return;
  }
  stats().popped += coming_.back().entries.size();
  read_rows(coming_.back());
  hand_over();
  send_requests();
}

void SingleConsumerSubscription::recovered(const Reply& reply) {
  if (reply.is_error()) {
    recovering_ = false;
    return failed(reply, "recovery");
  }
  note_damage(reply.items()[2]);
  for (Batch& batch : read_recovered(reply.items()[1])) recovered_.push_back(std::move(batch));
  const std::size_t read = std::min(static_cast<std::size_t>(reply.items()[3].integer()), in_flight_.size());
  if (read == 0 && !in_flight_.empty()) {
    return link().commands.give_up({StatusCode::DataLoss, "the server reads none of the batches in flight"});
  }
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(read));
  if (!in_flight_.empty()) return ask_in_flight();
  recovering_ = false;
  ready_ = true;
  target().waiting = static_cast<std::size_t>(std::max<std::int64_t>(0, reply.items()[0].integer()));
  if (target().waiting == 0) trouble_ = {};  // Otherwise the next pop sets it.
  if (!was_empty()) dirty_ = true;           // The answer that would have reported the empty table may be lost, so request it again.
  take_recovered();
}

void SingleConsumerSubscription::take_recovered() {
  std::ranges::sort(recovered_, {}, &Batch::number);  // Oldest first.
  const std::vector<std::uint64_t> acked = std::exchange(done_, {});
  for (Batch& batch : std::exchange(recovered_, {})) {
    next_number_ = std::max(next_number_, batch.number + 1);
    const bool dealt = contains(acked, batch.number);
    if (dealt) done_.push_back(batch.number);
    if (dealt || contains(handing_out_, batch.number) || contains(taken_, batch.number)) {
      complete(batch);  // Its writes to Redis may not have arrived. They run again, oldest first, so the newest state wins.
    } else if (contains_batch(coming_, batch.number)) {
      return link().commands.give_up({StatusCode::DataLoss, "the server tells batch " + std::to_string(batch.number) + " in flight twice"});
    } else {
      stats().recovered += batch.entries.size();
      coming_.push_back(std::move(batch));
      read_rows(coming_.back(), true);
    }
  }
  hand_over();
  send_requests();
}

/// The script removed these fields, so each is reported once.
void SingleConsumerSubscription::note_damage(const Reply& fields) {
  for (const Reply& field : fields.items()) {
    ++stats().malformed;
    stats().last_damage = "field " + quoted(field.text()) + " of " + quoted(keys().inflight) + " held no batch and was removed";
  }
}

void SingleConsumerSubscription::read_rows(Batch& batch, bool recovered) {
  batch.unread = static_cast<std::size_t>(std::ranges::count_if(batch.entries, &Entry::unread));
  if (batch.unread == 0) return;
  for (const Entry& entry : batch.entries) {
    if (entry.unread) link().commands.out().begin(2).word("HGETALL").word(keys().rows, entry.key);
  }
  const auto next = std::make_shared<std::size_t>(0);
  ask(
      batch.unread, shape::kRow,
      [this, number = batch.number, recovered, next](const Reply& reply) {
        const auto found = std::ranges::find(coming_, number, &Batch::number);
        if (found == coming_.end()) return;  // The connection was abandoned, see below.
        while (!found->entries[*next].unread) ++*next;
        Entry& entry = found->entries[(*next)++];
        Result<Record> row = row_of(entry.key, reply);
        note_type(entry.key, is_of_other_type(reply));
        if (!row) {  // The row exists but cannot be read. The batch is in flight and is recovered as a whole later.
          coming_.erase(found);
          hand_over();
          return failed(reply, "reading rows");
        }
        if (*row) {
          entry.change = Change{ChangeOp::Set, std::move(*row)};
          if (recovered) row_recovered(entry);
        } else {
          entry.deleted = true;  // The row was deleted in the meantime.
        }
        if (--found->unread > 0) return;
        leave_out_gone(found);
        hand_over();
        send_requests();
      },
      true);
}

/// A later batch has deleted a row that was gone when it was read. That batch alone reports it, so that no Delete is delivered twice. Every
/// pop that the server executed before these reads is in coming_. A row that another program deleted has no later batch.
void SingleConsumerSubscription::leave_out_gone(std::deque<Batch>::iterator read) {
  const auto is_gone = [](const Entry& entry) { return entry.unread && !entry.change.record(); };
  if (std::ranges::none_of(read->entries, is_gone)) return;
  std::set<std::string_view> later;
  for (auto batch = std::next(read); batch != coming_.end(); ++batch) {
    for (const Entry& entry : batch->entries) later.insert(entry.key);
  }
  for (Entry& entry : read->entries) entry.left_out = entry.left_out || (is_gone(entry) && later.contains(entry.key));
}

void SingleConsumerSubscription::hand_over() {
  const bool had_news = has_news();
  const Instant now = link().scheduler.now();
  while (!coming_.empty() && coming_.front().unread == 0) {
    Batch& batch = coming_.front();
    const bool was_read = batch.number == 0;
    if (!was_read) {
      complete(batch);
      learn_pop_size(batch);
    }
    std::erase_if(batch.entries, [](const Entry& entry) { return entry.left_out; });
    for (Entry& entry : batch.entries) {
      const bool set = static_cast<bool>(entry.change.record());
      if (set) note_type(entry.key, false);
      const Instant came = was_read ? Instant{} : now;
      if (entry.deleted) waiting_.push_back({Change::remove(entry.key), set, false, was_read, entry.left, came});
      if (set) waiting_.push_back({std::move(entry.change), false, false, was_read, entry.left, came});
      ++waiting_entries_;
      if (was_read) ++waiting_read_;
    }
    if (!was_read && batch.entries.empty()) {
      done_.push_back(batch.number);
    } else if (!was_read) {
      waiting_.back().ends_batch = true;
      handing_out_.push_back(batch.number);
    }
    coming_.pop_front();
  }
  if (!had_news) notify();
}

std::size_t SingleConsumerSubscription::fetched_ahead() const {
  std::size_t fetched = waiting_entries_;
  for (const Batch& batch : coming_) fetched += batch.entries.size();
  return fetched;
}

/// When nothing is left, everything staged before has been fetched.
void SingleConsumerSubscription::note_waiting(const Reply& count) {
  target().waiting = static_cast<std::size_t>(std::max<std::int64_t>(0, count.integer()));
  if (!count.is_error() && target().waiting == 0 && !empty_at_) empty_at_ = entries_taken_ + fetched_ahead();
}

void SingleConsumerSubscription::forget_fetched() {
  waiting_.clear();
  waiting_entries_ = waiting_read_ = 0;
  coming_.clear();
  handing_out_.clear();
}

void SingleConsumerSubscription::forget_read() {
  std::erase_if(waiting_, &Waiting::was_read);
  waiting_entries_ -= std::exchange(waiting_read_, 0);
}

void SingleConsumerSubscription::hand_in(std::vector<Entry> entries) {
  if (entries.empty()) return;
  coming_.push_back({.entries = std::move(entries)});
  hand_over();
}

void SingleConsumerSubscription::visit_fetched(const std::function<void(std::string_view key)>& visit) const {
  for (const Waiting& waiting : waiting_) visit(waiting.change.key());
  for (const Batch& batch : coming_) {
    for (const Entry& entry : batch.entries) visit(entry.key);
  }
}

bool SingleConsumerSubscription::has_fetched(std::string_view key) const {
  bool found = false;
  visit_fetched([&found, key](std::string_view fetched) { found = found || fetched == key; });
  return found;
}

/// Adapts the pop size to the bytes of the last batch: the rows that the script does not read itself are read with as many commands in a
/// row. A pop that its time ended puts the other keys back, which the next one avoids by asking for fewer. A batch well below the limits
/// makes the size grow by an eighth.
void SingleConsumerSubscription::learn_pop_size(const Batch& batch) {
  std::size_t bytes = 0;
  for (const Entry& entry : batch.entries) {
    const Record& record = entry.change.record();
    if (record) bytes += record.bytes() + 64 * record.fields().size();  // Counted as in the script.
  }
  if (bytes > kPopBytes) {
    pop_size_ = std::max<std::size_t>(1, batch.entries.size() * kPopBytes / bytes);
  } else if (batch.cut) {
    pop_size_ = std::max({std::size_t{1}, batch.entries.size(), pop_size_ * 3 / 4});  // The server may have been interrupted, once.
  } else if (bytes < kPopBytes / 4) {
    pop_size_ = std::min(link().options.pop_batch, pop_size_ + pop_size_ / 8 + 1);
  }
}

// --- the consumer

void SingleConsumerSubscription::next_arrivals(std::size_t max, std::vector<Subscription::Arrival>& out) const {
  const std::size_t before = out.size();
  for (auto waiting = waiting_.begin(); max > 0 && waiting != waiting_.end(); ++waiting) {
    if (waiting->with_next) continue;
    if (out.size() == before || out.back().at != waiting->came) out.push_back({.at = waiting->came, .keys = 0});
    ++out.back().keys;
    --max;
  }
}

std::size_t SingleConsumerSubscription::take(std::size_t max, std::vector<Change>& out) {
  if (!link().may_take()) return 0;
  // A consumer that takes more has dealt with what it took before.
  done_.insert(done_.end(), taken_.begin(), taken_.end());
  taken_.clear();
  if (taken_part_.number != 0) done_part_ = std::exchange(taken_part_, {});
  const std::size_t before = out.size();
  for (std::size_t entries = 0; entries < max && !waiting_.empty(); ++entries) {
    bool with_next = true;
    if (waiting_.front().was_read) --waiting_read_;
    while (with_next) {
      Waiting& front = waiting_.front();
      with_next = front.with_next;
      if (front.ends_batch) {
        taken_.push_back(handing_out_.front());
        handing_out_.pop_front();
        taken_part_ = {};
      } else if (!front.was_read) {
        taken_part_ = {.number = handing_out_.front(), .left = front.left};
      }
      out.push_back(std::move(front.change));
      waiting_.pop_front();
    }
    --waiting_entries_;
    ++entries_taken_;
  }
  send_requests();
  if (out.size() == before) acknowledge();
  return out.size() - before;
}

}  // namespace rondo::redis
