// Reply::State: one answer under way, and ReplyPort, where its frames go. The session implements the port; when it dies first it cuts the
// tie (port = nullptr), so that a late answer finds nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "rondo/admin/command.h"

namespace rondo {

class ReplyPort {
 public:
  virtual ~ReplyPort() = default;
  /// Queues one whole frame for the caller.
  virtual void send(std::string_view frame) = 0;
  /// A page that is sent next has all the rows or bytes that a page may have.
  virtual void note_full_page() = 0;
  /// 'go_on' is to be called with 'reply' in a later turn, when there is room for output.
  virtual void continue_later(Reply reply, Reply::Continuation go_on) = 0;
  /// The answer is complete; 'ok' says how it ended. The port forgets the state.
  virtual void ended(bool ok) = 0;
  /// Whether the turn in which an answer is being made has lasted long enough. False outside of one.
  virtual bool turn_is_over() const = 0;
};

struct Reply::State {
  State(ReplyPort& to, std::int64_t request_id, const Caller& who = {}) noexcept : port(&to), id(request_id), caller(who) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// Sends the rows gathered so far as a page.
  void send_page();
  void end_ok(const boost::json::object* result);
  void end_failed(const Status& why);
  bool page_full() noexcept;
  /// Cuts the tie to the session because the caller is gone.
  void lose_caller();

  ReplyPort* port;  // nullptr once the answer has ended or the caller is gone.
  std::int64_t id;
  Caller caller;
  std::function<void()> on_gone = {};
  bool has_rows = false;
  std::string rows;  // The current page: JSON texts joined by commas.
  std::size_t row_count = 0;
  std::size_t looks = 0;  // At page_full(), of which some look at the clock.
};

/// One 'J' frame that says no.
std::string error_frame(std::int64_t id, const Status& why);

}  // namespace rondo
