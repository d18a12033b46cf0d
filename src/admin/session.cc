// The state machine of one connection. After input that makes the rest unreadable (a bad length, an unknown kind, a malformed bulk write)
// it sends one error and closes. After a wrong request (bad JSON, an unknown command) it sends an error and reads the next request.
#include "admin/session.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "admin/field_count.h"
#include "admin/frame.h"
#include "admin/peer.h"
#include "admin/server.h"
#include "base/counted.h"
#include "base/doubled_name.h"
#include "base/json.h"
#include "base/thrown.h"
#include "rondo/admin/limits.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/base/text.h"

namespace rondo {
namespace {

constexpr std::string_view kSink = "the sink of bulk writes";

/// Bytes of rows that end a slice of a bulk write early, because large rows cost time by the byte.
constexpr std::size_t kSliceBytes = 64 * 1024;
/// The cost of a field in bytes, beside its own bytes: a slice ends with at most kAdminRowFields fields.
constexpr std::size_t kFieldBytes = kSliceBytes / limits::kAdminRowFields;

/// The names of all objects in 'json', which is valid.
std::size_t names_in(std::string_view json) {
  std::size_t names = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') at = end_of_text(json, at);
    if (at < json.size() && json[at] == ':') ++names;
  }
  return names;
}

std::size_t names_in(const json::value& value) {
  std::size_t names = 0;
  if (const json::object* const object = value.if_object()) {
    names = object->size();
    for (const auto& [name, member] : *object) names += names_in(member);
  } else if (const json::array* const array = value.if_array()) {
    for (const json::value& member : *array) names += names_in(member);
  }
  return names;
}

/// Parses the whole of 'payload', or returns an error with the position.
Result<json::value> parse_request(std::string_view payload) {
  json::parser parser;
  json::error_code error;
  const std::size_t read = parser.write_some(payload.data(), payload.size(), error);
  if (!error && read < payload.size())
    return failure(StatusCode::InvalidArgument, "the request goes on after its JSON value, at byte " + std::to_string(read));
  if (error) {
    return failure(StatusCode::InvalidArgument, "the request is not JSON: " + error.message() + " at byte " + std::to_string(read));
  }
  json::value value = parser.release();
  if (names_in(payload) == names_in(value)) return value;
  // The parser has dropped a member.
  const auto doubled = doubled_name(payload);
  return failure(StatusCode::InvalidArgument,
                 "an object of the request has the name '" + visible_text(doubled ? doubled->name : "") + "' twice");
}

json::object error_of_row(std::uint64_t row, std::string_view key, const Status& why) {
  return {{"row", row},
          {"key", escape_text(key.substr(0, limits::kAdminPageBytes))},
          {"code", to_string(why.code())},
          {"message", visible_text(why.message().substr(0, limits::kAdminPageBytes))}};
}

}  // namespace

AdminSession::AdminSession(const CommandRegistry& commands, std::unique_ptr<BulkSink> sink, const AdminServerSetup& options,
                           AdminServerStats& stats, std::function<void()> wake, const MemoryShare* share, const Caller& caller)
    : commands_(commands),
      sink_(std::move(sink)),
      options_(options),
      stats_(stats),
      wake_(std::move(wake)),
      share_(share),
      caller_(caller) {}

AdminSession::~AdminSession() {
  if (const std::shared_ptr<Reply::State> state = active_.lock()) state->lose_caller();
}

bool AdminSession::output_has_room() const noexcept {
  return output_.size() <= options_.output_bytes / 4 && (share_ == nullptr || share_->has_room_to_answer(output_.size()));
}

/// Answers are sent in the order of the requests. So other requests wait until the sink has settled the bulk frames before them.
bool AdminSession::is_held_back() const {
  if (unsettled_.empty()) return false;
  if (unsettled_.size() >= limits::kAdminBulkFrames || unsettled_.back()->closes) return true;
  const Result<std::optional<Frame>> frame = next_frame(input_.view(), options_.frame_bytes);
  return !frame || (*frame && (**frame).kind != FrameKind::Bulk);
}

AdminSession::Next AdminSession::next() const {
  if (closing_ || !output_has_room()) return Next::Nothing;
  if (bulk_) return Next::Rows;
  if (is_held_back()) return Next::Nothing;
  if (paused_) return Next::Continuation;
  if (answering_) return Next::Nothing;
  const Result<std::optional<Frame>> frame = next_frame(input_.view(), options_.frame_bytes);
  if (!frame || *frame) return Next::Request;
  return input_ended_ && !input_.empty() ? Next::Truncated : Next::Nothing;
}

bool AdminSession::has_step() const { return next() != Next::Nothing; }

bool AdminSession::wants_input() const noexcept {
  return !closing_ && !input_ended_ && !bulk_ && !answering_ && output_has_room() && !is_held_back();
}

bool AdminSession::frame_cut() const noexcept { return !closing_ && !bulk_ && !answering_ && !input_.empty() && !is_held_back(); }

void AdminSession::step(const TimeIsUp& time_is_up) {
  in_step_ = true;
  time_is_up_ = &time_is_up;
  switch (next()) {
    case Next::Nothing: break;
    case Next::Rows: bulk_rows(time_is_up); break;
    case Next::Continuation: resume(); break;
    case Next::Request: request(time_is_up); break;
    case Next::Truncated: {
      const std::optional<std::size_t> announced = announced_frame_bytes(input_.view());
      break_off(Status{StatusCode::InvalidArgument, "the stream ended in the middle of a frame, after " + std::to_string(input_.size()) +
                                                        " of " + (announced ? std::to_string(*announced) : "at least 5") + " bytes"});
      break;
    }
  }
  in_step_ = false;
  time_is_up_ = nullptr;
}

void AdminSession::resume() {
  const Reply reply = *std::exchange(paused_, std::nullopt);
  const Reply::Continuation go_on = std::exchange(continuation_, {});
  try {
    go_on(reply);
  } catch (...) {
    Reply{reply}.fail(thrown_by("the command, while it went on,", std::current_exception()));
  }
}

void AdminSession::request(const TimeIsUp& time_is_up) {
  const Result<std::optional<Frame>> frame = next_frame(input_.view(), options_.frame_bytes);
  if (!frame) {
    break_off(frame.error());
    return;
  }
  RONDO_ASSERT(frame->has_value());
  ++requests_taken_;
  switch ((**frame).kind) {
    case FrameKind::Json: json_request(**frame); return;
    case FrameKind::Bulk: bulk_request(**frame, time_is_up); return;
    case FrameKind::More: break_off(Status{StatusCode::InvalidArgument, "frame kind 'M' is for answers, not for requests"}); return;
  }
}

void AdminSession::json_request(const Frame& frame) {
  ++stats_.requests;
  if (frame.payload.size() > options_.request_bytes) {
    answer(0, Status{StatusCode::InvalidArgument, "a request of " + std::to_string(frame.payload.size()) + " bytes is larger than " +
                                                      std::to_string(options_.request_bytes) + "; use a bulk write for large rows"});
    input_.consume(frame.bytes);
    return;
  }
  if (has_many_values(frame.payload, limits::kAdminRequestValues)) {
    answer(0, Status{StatusCode::InvalidArgument,
                     "the request has more than " + std::to_string(limits::kAdminRequestValues) + " JSON values"});
    input_.consume(frame.bytes);
    return;
  }
  const Result<json::value> value = parse_request(frame.payload);
  input_.consume(frame.bytes);
  if (!value) {
    answer(0, value.error());
  } else if (const json::object* const object = value->if_object()) {
    dispatch(*object);
  } else {
    answer(0, Status{StatusCode::InvalidArgument, "the request must be a JSON object"});
  }
}

void AdminSession::dispatch(const json::object& request) {
  const json::value* const id = request.if_contains("id");
  if (id == nullptr || !id->is_int64()) {
    answer(0, Status{StatusCode::InvalidArgument, "the request needs an integer \"id\""});
    return;
  }
  const auto state = std::make_shared<Reply::State>(static_cast<ReplyPort&>(*this), id->get_int64(), caller_);
  active_ = state;
  answering_ = true;
  commands_.dispatch(request, Reply{state},
                     [&](const CommandSpec& spec, const Arguments& arguments) { report_write(spec, arguments, *state); });
}

namespace {

/// Text arguments that are JSON objects with a name. Their other members are not logged: the parameters of a job may hold secrets.
bool is_definition(std::string_view argument) { return argument == "definition" || argument == "definitions"; }

/// "NAME (412 bytes)", with the name of each object.
std::string names_in_definition(const std::string& definition) {
  json::error_code error;
  const json::value value = json::parse(definition, error);
  const json::array all = error ? json::array{} : value.is_array() ? value.get_array() : json::array{value};
  std::string names;
  for (const json::value& one : all) {
    const json::value* const name = one.is_object() ? one.get_object().if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string() || names.size() >= kAdminWriteWords) continue;
    names += std::string{name->get_string().data(), name->get_string().size()} + " ";
  }
  constexpr std::string_view kCut = "... ";
  constexpr std::size_t kRoom = 30;  // For the size.
  if (names.size() > kAdminWriteWords - kRoom) names.replace(kAdminWriteWords - kRoom, std::string::npos, kCut);
  return names + "(" + std::to_string(definition.size()) + " bytes)";
}

/// A text argument as logs have it.
std::string logged(const std::string& argument, const std::string& text) {
  if (is_definition(argument)) return names_in_definition(text);
  return argument == "parameters" ? "(" + std::to_string(text.size()) + " bytes)" : text;
}

}  // namespace

void AdminSession::report_write(const CommandSpec& spec, const Arguments& arguments, Reply::State& answer) const {
  constexpr std::string_view kDryRun = "dry_run";
  if (!options_.on_write || !spec.is_reported || (arguments.has(kDryRun) && arguments.flag(kDryRun))) return;
  std::string what;
  std::uint64_t rows = 1;
  const auto name = [&what](const std::string& text) {
    what.append(what.empty() ? "" : " ").append(escape_text(text.substr(0, kAdminWriteWords)));
  };
  for (const ArgumentSpec& argument : spec.arguments) {
    if (!arguments.has(argument.name)) continue;
    if (argument.kind == ArgumentKind::Text) name(logged(argument.name, arguments.text(argument.name)));
    if (argument.kind == ArgumentKind::Integer && argument.required) name(std::to_string(arguments.integer(argument.name, 0)));
    if (argument.kind != ArgumentKind::Rows) continue;
    std::set<std::string> tables;
    const std::vector<RowArgument> all = arguments.rows(argument.name);
    for (const RowArgument& row : all) tables.insert(row.table);
    for (const std::string& table : tables) name(table);
    rows = all.size();
  }
  what.resize(std::min(what.size(), kAdminWriteWords));
  auto on_change = options_.on_change ? options_.on_change() : nullptr;
  const bool is_told_later = static_cast<bool>(on_change);
  options_.on_write({.caller = caller_, .command = spec.name, .what = what, .rows = rows, .is_told_later = is_told_later});
  if (!is_told_later) return;
  // The change may be known when the session has ended.
  answer.report = std::make_shared<ChangeReport>(
      [on_change = std::move(on_change), caller = caller_, name = spec.name, what = std::move(what), rows](const ChangeReport::Told& told) {
        AdminWrite write{
            .caller = caller, .command = name, .what = what, .rows = rows, .before = told.before, .after = told.after, .error = told.error};
        if (!told.row.empty()) write.what = told.row.substr(0, kAdminWriteWords);
        if (!told.row.empty()) write.rows = 1;
        on_change(write);
      });
}

void AdminSession::bulk_request(const Frame& frame, const TimeIsUp& time_is_up) {
  ++stats_.bulk_frames;
  Result<BulkReader> reader = BulkReader::open(frame.payload);
  if (!reader) {
    break_off(reader.error());
    return;
  }
  Status begun;
  if (sink_ == nullptr) {
    begun = Status{StatusCode::Unimplemented, "this daemon takes no bulk writes"};
  } else if (!may_call(caller_.role, CommandEffect::Writes)) {
    begun = may_not_call("a bulk write", caller_);
  } else if (!caller_.group.empty()) {
    begun = not_of_group("a bulk write", caller_);
  } else {
    begun = contained(kSink, [&] { return sink_->begin(reader->table()); });
  }
  if (!begun.ok()) {
    stats_.bulk_rows_refused += reader->rows();
    answer(0, begun);
    input_.consume(frame.bytes);
    return;
  }
  if (options_.on_write) {
    const std::string table = escape_text(reader->table().substr(0, kAdminWriteWords));
    options_.on_write({.caller = caller_, .command = "load", .what = table, .rows = reader->rows()});
  }
  bulk_.emplace(Bulk{std::move(*reader), frame.bytes, 0, 0, {}});
  bulk_rows(time_is_up);
}

void AdminSession::bulk_rows(const TimeIsUp& time_is_up) {
  std::size_t bytes = 0;
  for (std::size_t rows = 0; rows < limits::kAdminRowsPerTurn && bytes < kSliceBytes; ++rows) {
    if (rows > 0 && rows % limits::kItemsPerStep == 0 && time_is_up && time_is_up()) return;
    const Result<std::optional<BulkReader::Row>> row = bulk_->reader.next();
    if (!row) return bulk_end(row.error());
    if (!*row) return bulk_end({});
    const Status counted = check_field_count((**row).fields.size());
    const auto take = [&] { return sink_->row((**row).op, (**row).key, (**row).fields); };
    const Status taken = counted.ok() ? contained(kSink, take) : counted;
    if (taken.ok()) {
      ++bulk_->accepted;
    } else {
      ++bulk_->refused;
      ++stats_.bulk_rows_refused;
      note_error((**row).key, taken);
    }
    bytes += (**row).key.size() + kFieldBytes * (**row).fields.size();
    for (const BulkField& field : (**row).fields) bytes += field.name.size() + field.value.size();
  }
  ++stats_.bulk_pauses;
}

void AdminSession::note_error(std::string_view key, const Status& why) {
  if (!bulk_->first_error.empty()) return;
  append_json(bulk_->first_error, error_of_row(bulk_->reader.position() == 0 ? 0 : bulk_->reader.position() - 1, key, why));
}

void AdminSession::bulk_end(const Status& malformed) {
  const Status ended = contained(kSink, [this] { return sink_->end(); });
  if (!ended.ok() && malformed.ok()) note_error({}, ended);
  const auto answer = std::make_shared<Unsettled>(Unsettled{.accepted = bulk_->accepted,
                                                            .refused = bulk_->refused,
                                                            .first_error = std::move(bulk_->first_error),
                                                            .malformed = malformed,
                                                            .frame = {},
                                                            .closes = !malformed.ok()});
  if (!ended.ok() && !malformed.ok()) {
    answer->malformed =
        Status{malformed.code(), std::string{malformed.message()} + "; ending the table failed too: " + std::string{ended.message()}};
  }
  if (malformed.ok()) {
    input_.consume(bulk_->frame_bytes);
  } else {
    ++stats_.malformed_frames;
    input_.clear();
  }
  bulk_.reset();
  unsettled_.push_back(answer);
  if (unsettled_.size() == limits::kAdminBulkFrames) ++stats_.bulk_waits;
  // The sink may call this after the connection has ended.
  const auto settled = [this, waiting = std::weak_ptr<Unsettled>{answer}](const BulkSink::Unwritten& unwritten) {
    const std::shared_ptr<Unsettled> known = waiting.lock();
    if (known == nullptr || !known->frame.empty()) return;
    settle(*known, unwritten);
    send_settled();
  };
  const Status thrown = contained(kSink, [&] { return sink_->when_settled(settled), Status{}; });
  if (!thrown.ok()) settled({.rows = answer->accepted, .first = thrown});
}

void AdminSession::settle(Unsettled& answer, const BulkSink::Unwritten& unwritten) {
  const std::uint64_t failed = std::min(unwritten.rows, answer.accepted);
  const Status& first = unwritten.first;
  answer.accepted -= failed;
  stats_.bulk_rows += answer.accepted;
  (unwritten.refused ? stats_.bulk_rows_refused : stats_.bulk_rows_unwritten) += failed;
  if (!answer.malformed.ok()) {
    std::string message{answer.malformed.message()};
    message.append("; ").append(counted(answer.accepted, "row before it was", "rows before it were")).append(" accepted");
    if (failed > 0) message.append("; ").append(std::to_string(failed)).append(" more, but not written: ").append(first.message());
    answer.frame = error_frame(0, Status{StatusCode::InvalidArgument, std::move(message)});
    return;
  }
  if (failed > 0 && answer.first_error.empty()) {
    append_json(answer.first_error, error_of_row(unwritten.first_row, unwritten.first_key, first));
  }
  const std::size_t start = begin_frame(answer.frame, FrameKind::Json);
  answer.frame.append("{\"id\":0,\"ok\":true,\"result\":{\"accepted\":").append(std::to_string(answer.accepted));
  answer.frame.append(",\"refused\":").append(std::to_string(answer.refused + (unwritten.refused ? failed : 0)));
  if (failed > 0 && !unwritten.refused) answer.frame.append(",\"unwritten\":").append(std::to_string(failed));
  if (!answer.first_error.empty()) answer.frame.append(",\"first_error\":").append(answer.first_error);
  answer.frame.append("}}");
  end_frame(answer.frame, start);
}

void AdminSession::send_settled() {
  while (!unsettled_.empty() && !unsettled_.front()->frame.empty()) {
    const std::shared_ptr<Unsettled> answer = std::move(unsettled_.front());
    unsettled_.pop_front();
    closing_ = closing_ || answer->closes;
    send(answer->frame);
  }
}

void AdminSession::answer(std::int64_t id, const Status& why) {
  ++stats_.failed_requests;
  send_in_order(error_frame(id, why), false);
}

void AdminSession::break_off(const Status& why) {
  ++stats_.malformed_frames;
  input_.clear();
  send_in_order(error_frame(0, why), true);
}

void AdminSession::send_in_order(std::string frame, bool closes) {
  auto answer = std::make_shared<Unsettled>();
  answer->frame = std::move(frame);
  answer->closes = closes;
  unsettled_.push_back(std::move(answer));
  send_settled();
}

void AdminSession::send(std::string_view frame) {
  output_.append(frame);
  if (!in_step_) wake_();
}

void AdminSession::continue_later(Reply reply, Reply::Continuation go_on) {
  RONDO_ASSERT(!paused_);
  paused_.emplace(std::move(reply));
  continuation_ = std::move(go_on);
  if (!in_step_) wake_();
}

void AdminSession::ended(bool ok) {
  answering_ = false;
  if (!ok) ++stats_.failed_requests;
  if (!in_step_) wake_();
}

}  // namespace rondo
