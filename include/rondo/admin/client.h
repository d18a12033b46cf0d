// AdminClient: the client side of the admin socket, for the command line and for tests. Blocking; one thread at a time. Protocol:
// docs/guide/admin-protocol.md.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/admin/bulk.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo {

class AdminClient {
 public:
  /// Connects to the socket at 'path'. Unavailable when no server answers there, NotFound when the file does not exist. A call that waits
  /// longer than 'patience' for the next byte, in either direction, returns DeadlineExceeded; the connection cannot be used after that.
  static Result<std::unique_ptr<AdminClient>> connect(const std::string& path, Duration patience = 30s);
  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  /// Calls 'command' and returns its result; "rows" has the rows of all pages. An error of the daemon is returned as its Status;
  /// Unavailable when the daemon closes the connection, DataLoss when its answer is malformed or has the id of another request,
  /// ResourceExhausted when the answer has more than limits::kAdminAnswerBytes. The connection cannot be used after the last two.
  Result<boost::json::object> call(std::string_view command, const boost::json::object& arguments);

  /// The same, but each row is passed to 'on_row' when its page arrives, so that an answer of any length takes little memory. The result
  /// has no "rows". ResourceExhausted when it has more than 'answer_max' bytes: a caller that keeps the rows should give a limit.
  using RowVisitor = std::function<void(const boost::json::value& row)>;
  Result<boost::json::object> call(std::string_view command, const boost::json::object& arguments, const RowVisitor& on_row,
                                   std::size_t answer_max = SIZE_MAX);

  /// The same in two steps that never block, for a caller that polls other descriptors, too. Call ask() once, then answer() each time that
  /// fd() is readable, until it returns the result; it returns an empty optional until then. 'patience' does not apply. One request at a
  /// time.
  Status ask(std::string_view command, const boost::json::object& arguments);
  Result<std::optional<boost::json::object>> answer();
  /// The same, but each row is passed to 'on_row' when its page arrives, for an answer that does not end.
  Result<std::optional<boost::json::object>> answer(const RowVisitor& on_row);
  /// True if part of the request is still to be written: poll fd() for writing, too.
  bool is_sending() const noexcept;
  /// Descriptor to poll for reading. Owned by this object.
  int fd() const noexcept;

 private:
  friend class BulkWriter;
  struct Wire;
  explicit AdminClient(std::unique_ptr<Wire> wire);
  std::unique_ptr<Wire> wire_;
};

/// The code of an error in an answer, such as "not-found"; Internal for a name that this program does not know.
StatusCode code_named(std::string_view name);

/// Results of the rows of a bulk write.
struct BulkTotals {
  std::uint64_t sent = 0;       // Rows passed to row().
  std::uint64_t accepted = 0;   // Rows with an answer.
  std::uint64_t refused = 0;    // Rows without effect.
  std::uint64_t unwritten = 0;  // Rows that took effect but are not on the disk yet; the daemon retries that.
  /// The number of the first row of a frame whose table the daemon refused, which ended the write.
  std::optional<std::uint64_t> stopped_at;
  /// The error of the first row that was refused or is unwritten, with table and key; ok if there is none.
  /// Its code is that of the daemon's error.
  Status first_error;
  std::uint64_t first_row = 0;  // Number of rows that were passed to row() before that row.
};

struct BulkWriterOptions {
  std::size_t frame_bytes = 64 * 1024;  // A frame is sent when the next row would make it larger.
  std::size_t frames_in_flight = 16;    // Frames without an answer; at this number row() waits.
};

/// Writes many rows, with several frames in flight. Rows that the daemon refuses are counted, and the rest continues. A broken connection
/// or a refused table is an error of row(), end() or finish(), and of every later call. After a refused table totals() has the answers of
/// all frames that were sent. The client must not be used otherwise until finish(), nor after an error.
class BulkWriter final : public BulkSink {
 public:
  using Options = BulkWriterOptions;
  /// 'on_answer', if given, is called with the totals after each answered frame, for progress.
  explicit BulkWriter(AdminClient& client, Options options = {}, std::function<void(const BulkTotals&)> on_answer = {});
  ~BulkWriter() override;

  Status begin(std::string_view table) override;
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override;
  /// Sends the rest of the last frame. Does not wait for its answer.
  Status end() override;
  /// Waits for all answers.
  Result<BulkTotals> finish();
  const BulkTotals& totals() const noexcept { return totals_; }

 private:
  struct Frames;
  Status send_frame();
  Status take_answers(std::size_t in_flight_max);
  Status stop_at_refused_table(Status why);
  Status fail(Status why);

  AdminClient& client_;
  const Options options_;
  const std::function<void(const BulkTotals&)> on_answer_;
  std::unique_ptr<Frames> frames_;
  BulkTotals totals_;
  Status broken_;
};

}  // namespace rondo
