// Answers: rows as pages, the end as a 'J' frame, each within the largest frame.
#include <utility>

#include "admin/frame.h"
#include "admin/reply_state.h"
#include "base/json.h"
#include "rondo/admin/caller.h"
#include "rondo/admin/limits.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/base/text.h"

namespace rondo {
namespace {

void append_head(std::string& frame, std::int64_t id) { frame.append("{\"id\":").append(std::to_string(id)); }

}  // namespace

std::string error_frame(std::int64_t id, const Status& why) {
  RONDO_ASSERT(!why.ok());
  std::string frame;
  const std::size_t start = begin_frame(frame, FrameKind::Json);
  append_head(frame, id);
  frame.append(",\"ok\":false,\"error\":");
  json::object error{{"code", to_string(why.code())}, {"message", visible_text(why.message().substr(0, limits::kAdminPageBytes))}};
  append_json(frame, error);
  frame.append("}");
  end_frame(frame, start);
  return frame;
}

Reply::State::~State() {
  if (port != nullptr) end_failed(Status{StatusCode::Internal, "the command gave no answer"});
}

bool Reply::State::page_full() noexcept {
  if (row_count >= limits::kAdminPageRows || rows.size() >= limits::kAdminPageBytes) return true;
  return ++looks % limits::kItemsPerStep == 0 && port != nullptr && port->turn_is_over();
}

void Reply::State::send_page() {
  if (port == nullptr || row_count == 0) return;
  if (row_count >= limits::kAdminPageRows || rows.size() >= limits::kAdminPageBytes) port->note_full_page();
  std::string frame;
  const std::size_t start = begin_frame(frame, FrameKind::More);
  append_head(frame, id);
  frame.append(",\"rows\":[").append(rows).append("]}");
  end_frame(frame, start);
  rows.clear();
  row_count = 0;
  port->send(frame);
}

void Reply::State::end_ok(const json::object* result) {
  std::string frame;
  const std::size_t start = begin_frame(frame, FrameKind::Json);
  append_head(frame, id);
  frame.append(",\"ok\":true,\"result\":{");
  bool first = true;
  if (result != nullptr) {
    for (const auto& member : *result) {
      if (has_rows && member.key() == "rows") continue;
      if (!std::exchange(first, false)) frame += ',';
      append_utf8_json(frame, json::value(member.key()));
      frame += ':';
      append_utf8_json(frame, member.value());
    }
  }
  if (has_rows) frame.append(first ? "\"rows\":[" : ",\"rows\":[").append(rows).append("]");
  frame.append("}}");
  end_frame(frame, start);
  if (frame.size() - kFrameLengthBytes > limits::kAdminFrameBytes) {
    end_failed(Status{StatusCode::ResourceExhausted, "the answer of " + std::to_string(frame.size()) + " bytes does not fit a frame of " +
                                                         std::to_string(limits::kAdminFrameBytes)});
    return;
  }
  ReplyPort* const to = std::exchange(port, nullptr);
  on_gone = {};
  report.reset();
  to->send(frame);
  to->ended(true);
}

void Reply::State::lose_caller() {
  port = nullptr;
  if (const std::function<void()> gone = std::exchange(on_gone, {})) gone();
}

void Reply::State::end_failed(const Status& why) {
  ReplyPort* const to = std::exchange(port, nullptr);
  on_gone = {};
  if (report != nullptr) report->fail(why.code());
  report.reset();
  to->send(error_frame(id, why));
  to->ended(false);
}

const Caller& Reply::caller() const noexcept { return state_->caller; }
bool Reply::wanted() const noexcept { return state_->port != nullptr; }

void Reply::on_gone(std::function<void()> gone) {
  if (wanted()) state_->on_gone = std::move(gone);
}

void Reply::row(const json::value& row) {
  if (!wanted()) return;
  State& state = *state_;
  if (state.row_count >= limits::kAdminPageRows || state.rows.size() >= limits::kAdminPageBytes) state.send_page();
  state.has_rows = true;
  if (state.row_count != 0) state.rows += ',';
  append_utf8_json(state.rows, row);
  ++state.row_count;
  if (state.rows.size() > limits::kAdminFrameBytes / 2) {
    state.end_failed(Status{StatusCode::ResourceExhausted, "a row of the answer does not fit a frame"});
  }
}

bool Reply::page_full() const noexcept { return state_->page_full(); }

void Reply::flush() { state_->send_page(); }

void Reply::next_turn(Continuation go_on) {
  if (!wanted()) return;
  state_->send_page();
  state_->port->continue_later(*this, std::move(go_on));
}

void Reply::stream(std::function<bool(Reply& reply)> produce) {
  expect_rows();
  const bool more = produce(*this);
  if (!wanted()) return;
  if (!more) {
    finish();
    return;
  }
  next_turn([produce = std::move(produce)](Reply reply) mutable { reply.stream(std::move(produce)); });
}

void Reply::finish() {
  if (wanted()) state_->end_ok(nullptr);
}

void Reply::finish(const json::object& result) {
  if (wanted()) state_->end_ok(&result);
}

void Reply::fail(const Status& why) {
  RONDO_ASSERT(!why.ok());
  if (state_->report != nullptr) state_->report->fail(why.code());  // Also if the caller has gone.
  if (wanted()) state_->end_failed(why);
}

Reply::TellChange Reply::tell_change() {
  if (state_->report == nullptr) return {};
  return [report = state_->report](std::string_view before, std::string_view after) { report->tell({}, before, after); };
}

void Reply::tell_change(std::string_view before, std::string_view after) {
  if (state_->report != nullptr) state_->report->tell({}, before, after);
}

Reply::TellRow Reply::tell_rows() {
  if (state_->report == nullptr) return {};
  return [report = state_->report](std::string_view row, std::string_view before, std::string_view after) {
    report->tell(row, before, after);
  };
}

void Reply::expect_rows() noexcept { state_->has_rows = true; }

}  // namespace rondo
