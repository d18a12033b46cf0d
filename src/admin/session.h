// AdminSession: the protocol of one connection without its socket. Bytes go into input(), steps are taken while has_step(), bytes come out
// of output(). Requests are answered one after the other; while an answer is under way the next frame waits. A step handles one request,
// one page, or limits::kAdminRowsPerTurn rows of a bulk write. A bulk frame is answered when its sink knows what became of its rows; until
// then a few more bulk frames are taken, and nothing else. Used by the connection (admin/connection.h), by tests and by the fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/bulk_codec.h"
#include "admin/byte_buffer.h"
#include "admin/frame.h"
#include "admin/memory_share.h"
#include "admin/reply_state.h"
#include "rondo/admin/bulk.h"
#include "rondo/admin/command.h"
#include "rondo/admin/server.h"

namespace rondo {

class AdminSession final : private ReplyPort {
 public:
  /// All references outlive the session. 'sink' may be nullptr: bulk writes are then Unimplemented. 'wake' is called when an answer that
  /// was awaited has come, so that there is output or a step again. 'share': what waits in all sessions together, if anybody counts it.
  /// 'caller': who is at the other end, and what it may do.
  AdminSession(const CommandRegistry& commands, std::unique_ptr<BulkSink> sink, const AdminServerOptions& options, AdminServerStats& stats,
               std::function<void()> wake, const MemoryShare* share = nullptr, const Caller& caller = {});
  ~AdminSession() override;
  AdminSession(const AdminSession&) = delete;
  AdminSession& operator=(const AdminSession&) = delete;

  ByteBuffer& input() noexcept { return input_; }
  const ByteBuffer& input() const noexcept { return input_; }
  ByteBuffer& output() noexcept { return output_; }
  const ByteBuffer& output() const noexcept { return output_; }
  /// No byte will follow those in input(): a frame that is not complete now is an error.
  void end_input() noexcept { input_ended_ = true; }

  /// True when step() would do something. O(1).
  bool has_step() const;
  /// Asked every few rows of a bulk frame or of an answer: the step ends when it says that the time is up.
  using TimeIsUp = std::function<bool()>;
  void step(const TimeIsUp& time_is_up = {});
  /// Would more input help? False while an answer is under way or the sink has enough, output is not read, or the session is closing.
  bool wants_input() const noexcept;
  /// No request is under way, nothing waits for the caller, and nothing has come from it.
  bool is_idle() const noexcept { return !answering_ && !bulk_ && unsettled_.empty() && input_.empty() && output_.empty(); }
  /// Whole frames taken so far.
  std::uint64_t requests_taken() const noexcept { return requests_taken_; }
  /// A request is being answered.
  bool is_answering() const noexcept { return answering_; }
  /// Nothing will happen any more but writing out output().
  bool closing() const noexcept { return closing_; }
  /// The caller has ended its stream and got all its answers made.
  bool drained() const { return input_ended_ && !bulk_ && !answering_ && unsettled_.empty() && input_.empty(); }
  /// True while part of a frame has arrived and the rest has not.
  bool frame_cut() const noexcept;
  /// The reader was too slow: more than options.output_bytes wait for it. To be cut.
  bool overflowed() const noexcept { return output_.size() > options_.output_bytes; }

 private:
  enum class Next : std::uint8_t { Nothing, Rows, Continuation, Request, Truncated };
  Next next() const;
  bool output_has_room() const noexcept;
  bool is_held_back() const;
  void request(const TimeIsUp& time_is_up);
  void json_request(const Frame& frame);
  void dispatch(const boost::json::object& request);
  void tell_write(const CommandSpec& spec, const Arguments& arguments) const;
  void bulk_request(const Frame& frame, const TimeIsUp& time_is_up);
  void resume();
  void bulk_rows(const TimeIsUp& time_is_up);
  void bulk_end(const Status& malformed);
  void send_settled();
  void note_error(std::string_view key, const Status& why);
  void answer(std::int64_t id, const Status& why);
  void break_off(const Status& why);
  void send_in_order(std::string frame, bool closes);

  void send(std::string_view frame) override;
  void continue_later(Reply reply, Reply::Continuation go_on) override;
  void ended(bool ok) override;
  void note_full_page() override { ++stats_.full_pages; }
  bool turn_is_over() const override { return time_is_up_ != nullptr && *time_is_up_ && (*time_is_up_)(); }

  struct Bulk {
    BulkReader reader;
    std::size_t frame_bytes = 0;  // Consumed from the input when done.
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::string first_error;  // JSON text.
  };
  /// An answer that waits for the sink, or for one that does.
  struct Unsettled {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::string first_error;  // JSON text.
    Status malformed;         // Why the frame ended early, if it did.
    std::string frame;        // The whole answer, once it is known.
    bool closes = false;      // It is the last one.
  };
  void settle(Unsettled& answer, const BulkSink::Unwritten& unwritten);

  const CommandRegistry& commands_;
  const std::unique_ptr<BulkSink> sink_;
  const AdminServerOptions& options_;
  AdminServerStats& stats_;
  const std::function<void()> wake_;
  const MemoryShare* const share_;
  const Caller caller_;
  std::uint64_t requests_taken_ = 0;
  ByteBuffer input_;
  ByteBuffer output_;
  bool input_ended_ = false;
  bool closing_ = false;
  std::optional<Bulk> bulk_;
  std::deque<std::shared_ptr<Unsettled>> unsettled_;  // In the order of their frames. At most limits::kAdminBulkFrames, and one error.
  std::weak_ptr<Reply::State> active_;                // The answer under way; its handles own it.
  bool answering_ = false;
  bool in_step_ = false;
  const TimeIsUp* time_is_up_ = nullptr;  // Of the step under way.
  std::optional<Reply> paused_;           // Waits for its next turn, which 'continuation_' is.
  Reply::Continuation continuation_;
};

}  // namespace rondo
