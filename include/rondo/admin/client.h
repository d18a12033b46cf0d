// AdminClient: the caller's end of the admin socket, for the command line and for tests. Blocking; one thread at a time. Protocol:
// docs/guide/admin-protocol.md.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/admin/bulk.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo {

class AdminClient {
 public:
  /// Connects to the socket at 'path'. Unavailable when nobody answers there, NotFound when there is no such file. 'patience' is how long a
  /// call waits for the next byte, either way, before it gives up with DeadlineExceeded; the connection cannot be used after that.
  static Result<std::unique_ptr<AdminClient>> connect(const std::string& path, Duration patience = 30s);
  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  /// Calls 'command' and returns its result; the rows of all pages are in its "rows". The daemon's error comes back as its Status;
  /// Unavailable when the daemon goes away, DataLoss when its answer makes no sense.
  Result<boost::json::object> call(std::string_view command, const boost::json::object& arguments);

  /// The same, but each row goes to 'on_row' as its page arrives, so that an answer of any length takes little memory; the result has no
  /// "rows".
  using RowVisitor = std::function<void(const boost::json::value& row)>;
  Result<boost::json::object> call(std::string_view command, const boost::json::object& arguments, const RowVisitor& on_row);

  /// The same in two steps that never wait, for a caller who watches more than the daemon: ask() once, then answer() each time that fd()
  /// can be read, until it has the result. Nothing while it is under way; 'patience' is the caller's. One question at a time.
  Status ask(std::string_view command, const boost::json::object& arguments);
  Result<std::optional<boost::json::object>> answer();
  /// To watch for reading. Of this object, as long as it lives.
  int fd() const noexcept;

 private:
  friend class BulkWriter;
  struct Wire;
  explicit AdminClient(std::unique_ptr<Wire> wire);
  std::unique_ptr<Wire> wire_;
};

/// What became of the rows of a bulk write.
struct BulkTotals {
  std::uint64_t sent = 0;       // Given to row().
  std::uint64_t accepted = 0;   // Answered.
  std::uint64_t refused = 0;    // Without effect.
  std::uint64_t unwritten = 0;  // Took effect; the disk has them not yet, but is tried again.
  /// Why the first row that was refused, or is unwritten, was so, naming table and key; ok when none was.
  Status first_error;
  std::uint64_t first_row = 0;  // Of that row: how many were given to row() before it.
};

struct BulkWriterOptions {
  std::size_t frame_bytes = 64 * 1024;  // A frame is sent when the next row would make it larger.
  std::size_t frames_in_flight = 16;    // Sent and not answered; row() waits beyond it.
};

/// Many rows, several frames in flight. Rows that the daemon refuses are counted, the rest goes on; a broken connection or a refused table
/// is an error of row(), end() or finish(), and of every call after it. The client must not be used otherwise until finish(), nor after an
/// error.
class BulkWriter final : public BulkSink {
 public:
  using Options = BulkWriterOptions;
  /// 'on_answer', if given, is told the totals after each answered frame (for progress).
  explicit BulkWriter(AdminClient& client, Options options = {}, std::function<void(const BulkTotals&)> on_answer = {});
  ~BulkWriter() override;

  Status begin(std::string_view table) override;
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override;
  /// Sends what is left of the last frame. Does not wait for its answer.
  Status end() override;
  /// Waits for all answers.
  Result<BulkTotals> finish();
  const BulkTotals& totals() const noexcept { return totals_; }

 private:
  struct Frames;
  Status send_frame();
  Status take_answers(std::size_t in_flight_max);
  Status fail(Status why);

  AdminClient& client_;
  const Options options_;
  const std::function<void(const BulkTotals&)> on_answer_;
  std::unique_ptr<Frames> frames_;
  BulkTotals totals_;
  Status broken_;
};

}  // namespace rondo
