// Reply::State: one answer under way, and ReplyPort, the destination of its frames. The session implements the port. If the session is
// destroyed first, it resets the port (port = nullptr), so that a late answer is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/admin/command.h"

namespace rondo {

class ReplyPort {
 public:
  virtual ~ReplyPort() = default;
  /// Queues one whole frame for the caller.
  virtual void send(std::string_view frame) = 0;
  /// The next page sent is full: it has the maximum rows or bytes of a page.
  virtual void note_full_page() = 0;
  /// Calls 'go_on' with 'reply' in a later turn, when there is room for output.
  virtual void continue_later(Reply reply, Reply::Continuation go_on) = 0;
  /// The answer is complete; 'ok' is true without an error. The port drops the state.
  virtual void ended(bool ok) = 0;
  /// True if the turn in which the answer is being made has lasted long enough. False outside of a turn.
  virtual bool turn_is_over() const = 0;
};

/// Reports what a call changes: each of its rows, or all of it with an empty 'row'. Reports it without a change when nothing can tell the
/// change any more. All texts are valid during the call.
class ChangeReport {
 public:
  struct Told {
    std::string_view row = {};
    std::optional<std::string_view> before = {};
    std::string_view after = {};
    std::string_view error = {};  // The code of the error with which the answer ended, if no change was told.
  };
  using Tell = std::function<void(const Told& told)>;
  explicit ChangeReport(Tell tell) : tell_(std::move(tell)) {}
  ~ChangeReport() {
    if (!is_told_) tell_({.error = error_});
  }
  ChangeReport(const ChangeReport&) = delete;
  ChangeReport& operator=(const ChangeReport&) = delete;
  void tell(std::string_view row, std::string_view before, std::string_view after) {
    is_told_ = true;
    tell_({.row = row, .before = before, .after = after});
  }
  void fail(StatusCode code) noexcept { error_ = to_string(code); }

 private:
  const Tell tell_;
  bool is_told_ = false;
  std::string_view error_;
};

struct Reply::State {
  State(ReplyPort& to, std::int64_t request_id, const Caller& who = {}) noexcept : port(&to), id(request_id), caller(who) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// Sends the gathered rows as a page.
  void send_page();
  void end_ok(const boost::json::object* result);
  void end_failed(const Status& why);
  bool page_full() noexcept;
  /// Resets the port because the caller is gone.
  void lose_caller();

  ReplyPort* port;  // nullptr once the answer has ended or the caller is gone.
  std::int64_t id;
  Caller caller;
  std::function<void()> on_gone = {};
  std::shared_ptr<ChangeReport> report = {};  // Tells a log of a write (CommandSpec::is_reported), until the answer ends.
  bool has_rows = false;
  std::string rows;  // The present page: JSON texts joined by commas.
  std::size_t row_count = 0;
  std::size_t looks = 0;  // Calls of page_full(), some of which read the clock.
};

/// Returns a 'J' frame with an error.
std::string error_frame(std::int64_t id, const Status& why);

}  // namespace rondo
