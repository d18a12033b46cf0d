#include "commands/row_waits.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "commands/answers.h"
#include "commands/row_state.h"
#include "orch/row_tap.h"
#include "orch/runtime_events.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace json = boost::json;

namespace {

/// A row that is parked for less time waits only for objects that its own change requested, such as the next hops of a route.
constexpr Duration kParkStands = 500ms;
/// When a write is reported that the store has not confirmed. Longer than a Redis store waits for an answer, so that it names the server.
constexpr Duration kConfirm = 6s;
/// How soon the same is checked again while the store is not in trouble.
constexpr Duration kConfirmAgain = 1s;

std::string unconfirmed(const Store& store) {
  const Status health = store.health();
  return "the store has not confirmed the write; it is written when the store answers, and lost if this process ends before" +
         (health.ok() ? std::string{} : ": " + std::string{health.message()});
}

/// True if 'taken' contains the effect of 'written': the subscription may have had an older change of the same key.
bool brings(const Change& taken, const Change& written) {
  if (taken.op() != written.op()) return false;
  const Fields fields = written.fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    bool is_last = true;
    for (std::size_t later = i + 1; later < fields.size(); ++later) is_last = is_last && fields[later].name != fields[i].name;
    const auto same = [field = fields[i]](const Field& other) { return other.name == field.name && other.value == field.value; };
    const Fields others = taken.fields();
    bool found = false;
    for (const Field other : others) found = found || same(other);
    if (is_last && !found) return false;
  }
  return true;
}

}  // namespace

class RowWaits::Wait {
 public:
  Wait(std::string table, Change change, Instant deadline, std::shared_ptr<const Written> written, Reply reply)
      : table_(std::move(table)), change_(std::move(change)), deadline_(deadline), written_(std::move(written)), reply_(std::move(reply)) {}

  void listen(std::unique_ptr<RowTap> tap) { tap_ = std::move(tap); }
  /// When the wait must be checked even without an event.
  Instant due() const noexcept { return parked_since_ ? std::min(deadline_, *parked_since_ + kParkStands) : deadline_; }

  /// Returns true if the event may end the wait. The result is determined after the consumer's turn, when the row has its new state.
  bool hear(const RowEvent& event) {
    switch (event.what) {
      case RowEvent::What::Taken:
        if (!brings(*event.change, change_)) return false;
        taken_ = true;
        outcome_.reset();  // The earlier outcome was of an older change.
        break;
      case RowEvent::What::Done: outcome_.emplace(); break;
      case RowEvent::What::Rejected: outcome_ = *event.why; break;
      case RowEvent::What::Parked: break;
      default: return false;
    }
    return taken_;
  }

  /// Returns true when the answer has ended or its caller is gone.
  bool is_over(Runtime& runtime, Instant now) {
    if (!reply_.wanted()) return true;
    const WhyLink link = runtime.row_state(table_, change_.key());
    const bool is_parked = link.state == WhyLink::State::Parked && link.missing > 0;
    if (!is_parked) parked_since_.reset();
    if (is_parked && !parked_since_) parked_since_ = now;
    const bool is_refused = link.state == WhyLink::State::Parked && link.plane == PlaneState::Refused;
    if (taken_ && (is_refused || (is_parked ? now >= due() : has_end(link)))) {
      answer(runtime, link);
    } else if (now >= deadline_) {
      reply_.fail(Status{StatusCode::DeadlineExceeded, taken_ || written_->is_stored
                                                           ? "the row was written and the time is over: " + still(link)
                                                           : "the time is over, and " + unconfirmed(runtime.store())});
    }
    return !reply_.wanted();
  }

 private:
  /// A row that is parked only on a time is retried by itself.
  bool has_end(const WhyLink& link) const {
    return outcome_ && (link.state == WhyLink::State::Absent || link.state == WhyLink::State::Rejected);
  }

  void answer(const Runtime& runtime, const WhyLink& link) {
    json::object end = end_of(runtime, link);
    if (written_->change != 0) end["change"] = written_->change;
    reply_.finish(end);
  }

  json::object end_of(const Runtime& runtime, const WhyLink& link) const {
    if (link.state == WhyLink::State::Parked && link.plane == PlaneState::Refused)  // It is retried, but the caller need not wait.
      return {{"state", json::string{to_string(link.plane)}}, {"note", sentence(link.note)}};
    if (link.state == WhyLink::State::Parked)
      return {{"state", "parked"}, {"note", sentence(full_note(runtime, link))}, {"facts", facts_json(link.facts)}};
    const bool done = outcome_->ok();
    json::object end{{"state", done ? "done" : "rejected"}, {"note", sentence(done ? link.plane_error : outcome_->to_string())}};
    if (done && link.plane == PlaneState::Withdrawn) {  // Done, but a port is down, so the data plane does not have the route.
      end["plane"] = json::string{to_string(link.plane)};
      end["note"] = sentence(state_note(link));
      end["facts"] = facts_json(link.facts);
    }
    return end;
  }

  std::string still(const WhyLink& link) const {
    if (!taken_) return "its consumer has not taken it yet";
    const std::string note = state_note(link);
    return "it is still " + std::string{state_word(link)} + (note.empty() ? "" : ", " + note);
  }

  const std::string table_;
  const Change change_;
  const Instant deadline_;
  const std::shared_ptr<const Written> written_;
  Reply reply_;
  std::unique_ptr<RowTap> tap_;
  bool taken_ = false;                  // The consumer has taken the change.
  std::optional<Status> outcome_ = {};  // The row's newest outcome.
  std::optional<Instant> parked_since_ = {};
};

RowWaits::RowWaits(Runtime& runtime, Priority priority)
    : runtime_(runtime),
      timer_("row-waits", priority, [this] { check(); }),
      store_timer_("row-waits store", priority, [this] { check_unconfirmed(); }) {
  runtime_.scheduler().add(timer_);
  runtime_.scheduler().add(store_timer_);
}

RowWaits::~RowWaits() = default;

Status RowWaits::add(const std::string& table, const Change& change, Instant deadline, std::shared_ptr<const Written> written,
                     Reply reply) {
  reply.on_gone([this] { check_soon(); });
  auto wait = std::make_unique<Wait>(table, change, deadline, std::move(written), std::move(reply));
  auto tap = runtime_.tap_row(table, change.key(), [this, wait = wait.get()](const RowEvent& event) {
    if (wait->hear(event)) check_soon();
  });
  if (!tap) return tap.error();
  wait->listen(std::move(*tap));
  waits_.push_back(std::move(wait));
  check_soon();
  return {};
}

void RowWaits::add_unconfirmed(Reply reply) {
  while (!unconfirmed_.empty() && !unconfirmed_.front().reply.wanted()) unconfirmed_.pop_front();
  const Instant due = runtime_.clock().now() + kConfirm;
  unconfirmed_.push_back({due, std::move(reply)});
  if (unconfirmed_.size() == 1) store_timer_.arm_at(due);
}

void RowWaits::check_unconfirmed() {
  const Instant now = runtime_.clock().now();
  const bool is_in_trouble = !runtime_.store().health().ok();
  for (Unconfirmed& write : unconfirmed_) {
    if (write.due > now || !write.reply.wanted() || !is_in_trouble) continue;
    write.reply.fail(Status{StatusCode::DeadlineExceeded, unconfirmed(runtime_.store())});
  }
  std::erase_if(unconfirmed_, [](const Unconfirmed& write) { return !write.reply.wanted(); });
  if (!unconfirmed_.empty()) store_timer_.arm_at(std::max(unconfirmed_.front().due, now + kConfirmAgain));
}

void RowWaits::check_soon() {
  if (!std::exchange(is_soon_, true)) timer_.arm_at(runtime_.clock().now());
}

void RowWaits::check() {
  is_soon_ = false;
  const Instant now = runtime_.clock().now();
  std::erase_if(waits_, [this, now](const std::unique_ptr<Wait>& wait) { return wait->is_over(runtime_, now); });
  const auto next = std::ranges::min_element(waits_, {}, &Wait::due);
  if (next != waits_.end()) timer_.arm_at((*next)->due());
}

}  // namespace rondo::commands
