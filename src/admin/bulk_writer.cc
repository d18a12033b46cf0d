// Bulk writes on the client's side: sends frames without waiting and reads answers; both are bounded.
#include <deque>
#include <optional>
#include <utility>

#include "admin/bulk_codec.h"
#include "admin/bulk_writer.h"
#include "admin/client_wire.h"
#include "rondo/admin/client.h"
#include "rondo/admin/limits.h"
#include "rondo/base/assert.h"

namespace rondo {

struct BulkWriter::Frames {
  BulkEncoder encoder;
  std::string table;
  bool open = false;  // Between begin() and end().
  struct Frame {
    std::string table;
    std::uint64_t first_row = 0;  // Rows passed to row() before this frame.
  };
  std::deque<Frame> waiting;  // Unanswered frames, oldest first.
};

BulkWriter::BulkWriter(AdminClient& client, Options options, std::function<void(const BulkTotals&)> on_answer)
    : client_(client), options_(options), on_answer_(std::move(on_answer)), frames_(std::make_unique<Frames>()) {}

BulkWriter::~BulkWriter() = default;

Status BulkWriter::fail(Status why) {
  broken_ = std::move(why);
  return broken_;
}

Status BulkWriter::begin(std::string_view table) {
  if (!broken_.ok()) return broken_;
  RONDO_ASSERT(!frames_->open);
  if (Status started = frames_->encoder.start(table); !started.ok()) return started;
  frames_->table = table;
  frames_->open = true;
  return {};
}

Status BulkWriter::row(BulkOp op, std::string_view key, std::span<const BulkField> fields) {
  if (!broken_.ok()) return broken_;
  RONDO_ASSERT(frames_->open);
  BulkEncoder& encoder = frames_->encoder;
  if (encoder.rows() != 0 && encoder.would_exceed(key, fields, options_.frame_bytes)) {
    if (Status sent = send_frame(); !sent.ok()) return sent;
  }
  Status added = encoder.add(op, key, fields, limits::kAdminFrameBytes);
  if (added.ok()) ++totals_.sent;
  return added;
}

Status BulkWriter::end() {
  if (!broken_.ok()) return broken_;
  RONDO_ASSERT(frames_->open);
  frames_->open = false;
  return frames_->encoder.rows() == 0 ? Status{} : send_frame();
}

Result<BulkTotals> BulkWriter::finish() {
  if (!broken_.ok()) return failure(broken_);
  RONDO_ASSERT(!frames_->open);
  if (Status taken = take_answers(0); !taken.ok()) return failure(std::move(taken));
  return totals_;
}

Status BulkWriter::send_frame() {
  const std::uint64_t rows = frames_->encoder.rows();
  client_.wire_->awaited = 0;
  client_.wire_->queue(frames_->encoder.finish());
  frames_->waiting.push_back({frames_->table, totals_.sent - rows});
  const Status started = frames_->encoder.start(frames_->table);
  RONDO_ASSERT(started.ok());
  if (Status sent = client_.wire_->exchange(); !sent.ok()) return fail(std::move(sent));
  return take_answers(options_.frames_in_flight);
}

namespace {

std::uint64_t count_of(const json::object& result, std::string_view name) {
  const json::value* const value = result.if_contains(name);
  return value != nullptr && value->is_int64() && value->get_int64() > 0 ? static_cast<std::uint64_t>(value->get_int64()) : 0;
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string{view(value->get_string())} : std::string{};
}

/// Returns the answer's "first_error" as a Status with table and key.
Status refusal_of(const json::object& result, std::string_view table) {
  const json::value* const error = result.if_contains("first_error");
  if (error == nullptr || !error->is_object()) return {};
  const json::object& object = error->get_object();
  std::string message = "row '" + std::string{table} + ":" + text_of(object, "key") + "': " + text_of(object, "code");
  message.append(": ").append(text_of(object, "message"));
  return Status{code_named(text_of(object, "code")), std::move(message)};
}

/// Returns the index of that row in its frame.
std::uint64_t row_of(const json::object& result) {
  const json::value* const error = result.if_contains("first_error");
  return error == nullptr || !error->is_object() ? 0 : count_of(error->get_object(), "row");
}

/// Adds the answer to a frame for 'table', whose first row has the number 'first_row'.
void add_answer(BulkTotals& totals, const json::object& result, const std::string& table, std::uint64_t first_row) {
  totals.accepted += count_of(result, "accepted");
  totals.refused += count_of(result, "refused");
  totals.unwritten += count_of(result, "unwritten");
  if (!totals.first_error.ok()) return;
  totals.first_error = refusal_of(result, table);
  totals.first_row = first_row + row_of(result);
}

}  // namespace

/// The daemon goes on with the frames that were sent already, so the totals need their answers.
Status BulkWriter::stop_at_refused_table(Status why) {
  totals_.stopped_at = frames_->waiting.front().first_row;
  frames_->waiting.pop_front();
  while (!frames_->waiting.empty()) {
    const Result<AdminAnswer> answer = client_.wire_->await_answer();
    if (!answer) break;
    const Frames::Frame& frame = frames_->waiting.front();
    if (answer->error.ok()) add_answer(totals_, answer->body, frame.table, frame.first_row);
    frames_->waiting.pop_front();
  }
  if (on_answer_) on_answer_(totals_);
  return fail(std::move(why));
}

Status BulkWriter::take_answers(std::size_t in_flight_max) {
  for (;;) {
    Result<std::optional<AdminAnswer>> answer = client_.wire_->next_answer();
    if (!answer) return fail(answer.error());
    if (!*answer) {
      if (frames_->waiting.size() <= in_flight_max) return {};
      if (Status waited = client_.wire_->wait_and_exchange(); !waited.ok()) return fail(std::move(waited));
      continue;
    }
    const bool is_asked = !frames_->waiting.empty();
    if (!(**answer).error.ok()) return is_asked ? stop_at_refused_table((**answer).error) : fail((**answer).error);
    if (!is_asked) return fail(Status{StatusCode::DataLoss, "the daemon answered a bulk write that was not sent"});
    const Frames::Frame& frame = frames_->waiting.front();
    add_answer(totals_, (**answer).body, frame.table, frame.first_row);
    frames_->waiting.pop_front();
    if (on_answer_) on_answer_(totals_);
  }
}

}  // namespace rondo
