// AdminSession: the protocol of one connection without its socket. The caller writes bytes to input(), calls step() while has_step(), and
// reads bytes from output(). Requests are answered one after the other; while an answer is under way the next frame waits. A step handles
// one request, one page, or limits::kAdminRowsPerTurn rows of a bulk write. A bulk frame is answered when its sink has the results of its
// rows; until then only a few more bulk frames are taken. Used by the connection (admin/connection.h), by tests and by the fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/bulk.h"
#include "admin/bulk_codec.h"
#include "admin/byte_buffer.h"
#include "admin/frame.h"
#include "admin/memory_share.h"
#include "admin/reply_state.h"
#include "admin/server.h"
#include "rondo/admin/command.h"

namespace rondo {

class AdminSession final : private ReplyPort {
 public:
  /// All references outlive the session. If 'sink' is null, bulk writes are Unimplemented. 'wake' is called when an awaited answer has
  /// arrived, so that there is output or a step again. 'share': the bytes of all sessions together; may be null. 'caller': the process at
  /// the other end, and its rights.
  AdminSession(const CommandRegistry& commands, std::unique_ptr<BulkSink> sink, const AdminServerSetup& options, AdminServerStats& stats,
               std::function<void()> wake, const MemoryShare* share = nullptr, const Caller& caller = {});
  ~AdminSession() override;
  AdminSession(const AdminSession&) = delete;
  AdminSession& operator=(const AdminSession&) = delete;

  ByteBuffer& input() noexcept { return input_; }
  const ByteBuffer& input() const noexcept { return input_; }
  ByteBuffer& output() noexcept { return output_; }
  const ByteBuffer& output() const noexcept { return output_; }
  /// No further byte follows those in input(), so an incomplete frame is an error.
  void end_input() noexcept { input_ended_ = true; }

  /// True when step() would have an effect. O(1).
  bool has_step() const;
  /// Called every few rows of a bulk frame or of an answer: the step ends when it returns true.
  using TimeIsUp = std::function<bool()>;
  void step(const TimeIsUp& time_is_up = {});
  /// True if more input can be used. False while an answer is under way, the sink has enough, output is unread, or the session is closing.
  bool wants_input() const noexcept;
  /// True if no request is under way, no output waits, and no input has arrived.
  bool is_idle() const noexcept { return !answering_ && !bulk_ && unsettled_.empty() && input_.empty() && output_.empty(); }
  /// The number of whole frames taken so far.
  std::uint64_t requests_taken() const noexcept { return requests_taken_; }
  /// True while a request is being answered.
  bool is_answering() const noexcept { return answering_; }
  /// True if only output() remains to be written.
  bool closing() const noexcept { return closing_; }
  /// True if the caller has ended its stream and all its answers are made.
  bool drained() const { return input_ended_ && !bulk_ && !answering_ && unsettled_.empty() && input_.empty(); }
  /// True while part of a frame has arrived and the rest has not.
  bool frame_cut() const noexcept;
  /// True if more than options.output_bytes wait for a slow reader: the connection must be closed.
  bool overflowed() const noexcept { return output_.size() > options_.output_bytes; }

 private:
  enum class Next : std::uint8_t { Nothing, Rows, Continuation, Request, Truncated };
  Next next() const;
  bool output_has_room() const noexcept;
  bool is_held_back() const;
  void request(const TimeIsUp& time_is_up);
  void json_request(const Frame& frame);
  void dispatch(const boost::json::object& request);
  void report_write(const CommandSpec& spec, const Arguments& arguments, Reply::State& answer) const;
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
    std::size_t frame_bytes = 0;  // Consumed from the input at the end.
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::string first_error;  // JSON text.
  };
  /// An answer that waits for the sink, or for an earlier answer that does.
  struct Unsettled {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::string first_error;  // JSON text.
    Status malformed;         // Why the frame ended early, if it did.
    std::string frame;        // The whole answer, once it is complete.
    bool closes = false;      // The session closes after it.
  };
  void settle(Unsettled& answer, const BulkSink::Unwritten& unwritten);

  const CommandRegistry& commands_;
  const std::unique_ptr<BulkSink> sink_;
  const AdminServerSetup& options_;
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
  std::deque<std::shared_ptr<Unsettled>> unsettled_;  // Sorted by their frames. At most limits::kAdminBulkFrames, and one error.
  std::weak_ptr<Reply::State> active_;                // The answer under way; its handles own it.
  bool answering_ = false;
  bool in_step_ = false;
  const TimeIsUp* time_is_up_ = nullptr;  // Set for the step under way.
  std::optional<Reply> paused_;           // Waits for its next turn, which calls 'continuation_'.
  Reply::Continuation continuation_;
};

}  // namespace rondo
