// WriteFailures: when writes of the admin socket are answered, and the accepted writes that failed later. Their callers got "accepted" and
// may be gone, so the failures are counted for `stats` and `health`. Scheduler thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "rondo/commands/standard_commands.h"
#include "rondo/store/store.h"

namespace rondo::commands {

class WriteFailures {
 public:
  using AnswerOf = std::function<WriteAnswer(std::string_view table)>;
  /// An empty function stands for WriteAnswer::Counted.
  explicit WriteFailures(AnswerOf answer_of) : answer_of_(std::move(answer_of)) {}

  /// The callback for Store::write() to 'table' that counts a later failure; empty unless these are counted.
  WriteDone listener(std::string_view table) {
    if (answer_of(table) != WriteAnswer::Counted) return {};
    return [failures = failures_](const Status& end) {
      if (end.ok()) return;
      ++failures->count;
      failures->last = end;
    };
  }
  bool waits_for_end(std::string_view table) const { return answer_of(table) == WriteAnswer::Stored; }
  std::uint64_t count() const noexcept { return failures_->count; }
  const Status& last() const noexcept { return failures_->last; }

 private:
  WriteAnswer answer_of(std::string_view table) const { return answer_of_ ? answer_of_(table) : WriteAnswer::Counted; }

  struct Failures {
    std::uint64_t count = 0;
    Status last;
  };
  const AnswerOf answer_of_;
  std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();  // Shared with writes that end after this object.
};

}  // namespace rondo::commands
