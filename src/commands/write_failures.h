// WriteFailures: when writes of the admin socket are answered, and the writes that failed. They are counted for `stats` and `health`: those
// that the store refused, whose callers got the reason, and those that failed later, whose callers got "accepted" or may be gone. Scheduler
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/store/store.h"

namespace rondo::commands {

/// The error of a write to a table whose writes count when they are on the disk: the write has taken effect, but the disk does not have it
/// because of 'why'.
Status not_yet_written(const Status& why);

class WriteFailures {
 public:
  explicit WriteFailures(const Store& store) : store_(store) {}

  WriteAnswer answer_of(std::string_view table) const { return store_.write_answer(table); }
  /// Returns a callback that counts failed writes to a table that refuses(). A write that was sent and not confirmed, such as one that too
  /// few replicas have, may have taken effect, so it counts as one that failed later.
  WriteDone counter() {
    return [failures = failures_](const Status& end) {
      if (end.ok()) return;
      failures->add(end.code() == StatusCode::DeadlineExceeded ? failures->later : failures->refused, end);
    };
  }
  static bool waits_for_end(WriteAnswer answer) noexcept { return answer != WriteAnswer::Accepted; }
  /// Returns the function that makes the answer for a write, one that waits_for_end(), which ended with an error. It counts the write if it
  /// was refused.
  std::function<Status(const Status& why)> answerer(WriteAnswer answer, std::string_view key) {
    if (!refuses(answer)) return not_yet_written;
    return [count = counter(), key = std::string{key}](const Status& why) {
      count(why);
      return why.with_context("key " + quoted(key));
    };
  }
  /// True if a write that fails later has not taken effect.
  static bool refuses(WriteAnswer answer) noexcept { return answer == WriteAnswer::Confirmed; }

  struct Count {
    std::uint64_t count = 0;
    Status last;  // The newest.
  };
  /// Writes that the store refused.
  const Count& refused() const noexcept { return failures_->refused; }
  /// Accepted writes that failed later.
  const Count& later() const noexcept { return failures_->later; }
  /// All of them, and the newest.
  std::uint64_t count() const noexcept { return failures_->refused.count + failures_->later.count; }
  const Status& last() const noexcept { return failures_->last; }

 private:
  struct Failures {
    void add(Count& kind, const Status& end) {
      ++kind.count;
      kind.last = end;
      last = end;
    }
    Count refused;
    Count later;
    Status last;
  };
  const Store& store_;
  std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();  // Shared with writes that end after this object.
};

}  // namespace rondo::commands
