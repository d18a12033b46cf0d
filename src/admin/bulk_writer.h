// BulkWriter: writes many rows over the connection of an AdminClient. Blocking; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "admin/bulk.h"
#include "rondo/admin/client.h"
#include "rondo/base/result.h"

namespace rondo {

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
