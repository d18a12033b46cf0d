#include "api/answers.h"

#include <array>
#include <utility>

#include "rondo/admin/client.h"

namespace rondo::api {

namespace {

unsigned status_of(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::Ok: return 200;
    case StatusCode::InvalidArgument: return 400;
    case StatusCode::PermissionDenied: return 403;
    case StatusCode::NotFound: return 404;
    case StatusCode::AlreadyExists:
    case StatusCode::FailedPrecondition: return 409;
    case StatusCode::ResourceExhausted: return 429;
    case StatusCode::Unimplemented: return 501;
    case StatusCode::Unavailable: return 503;
    case StatusCode::DeadlineExceeded: return 504;
    case StatusCode::Cancelled:
    case StatusCode::DataLoss:
    case StatusCode::Internal: return 500;
  }
  return 500;
}

Status nonsense() { return {StatusCode::Internal, "the daemon's answer makes no sense"}; }

/// The payload of a frame of an answer; empty if it is none.
std::optional<json::object> object_in(const Frame& frame) {
  json::error_code failed;
  json::value value = json::parse(json::string_view{frame.payload.data(), frame.payload.size()}, failed);
  if (failed || !value.is_object() || frame.kind == FrameKind::Bulk) return std::nullopt;
  return std::move(value.get_object());
}

/// The result of the last frame; null if it has an error.
json::object* result_in(json::object& answer) {
  json::value* const result = answer.if_contains("result");
  return result == nullptr ? nullptr : result->if_object();
}

json::array* rows_in(json::object& object) {
  json::value* const rows = object.if_contains("rows");
  return rows == nullptr ? nullptr : rows->if_array();
}

/// The text of the rows in a page, whose form Reply gives it: {"id":1,"rows":[...]}.
std::optional<std::string_view> rows_of_page(std::string_view payload) {
  constexpr std::string_view kHead = "{\"id\":1,\"rows\":[";
  constexpr std::string_view kTail = "]}";
  if (payload.size() < kHead.size() + kTail.size() || !payload.starts_with(kHead) || !payload.ends_with(kTail)) return std::nullopt;
  return payload.substr(kHead.size(), payload.size() - kHead.size() - kTail.size());
}

/// JSON text has no line break.
void add_event(std::string& text, std::string_view name, const json::value& data) {
  text.append("event: ").append(name).append("\ndata: ");
  append_json(text, data);
  text += "\n\n";
}

json::object error_object(const Status& why) { return {{"code", to_string(why.code())}, {"message", why.message()}}; }

}  // namespace

std::optional<Status> error_in(const json::object& answer) {
  const json::value* const error = answer.if_contains("error");
  const json::object* const members = error == nullptr ? nullptr : error->if_object();
  const json::value* const code = members == nullptr ? nullptr : members->if_contains("code");
  const json::value* const message = members == nullptr ? nullptr : members->if_contains("message");
  if (code == nullptr || !code->is_string() || message == nullptr || !message->is_string()) return std::nullopt;
  return Status{code_named(view(code->get_string())), std::string{view(message->get_string())}};
}

std::vector<http::Field> kept_to_the_caller() { return {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}; }

http::Response json_response(std::string text) { return {.body = std::move(text), .fields = kept_to_the_caller()}; }

http::Response error_response(const Status& why) {
  http::Response response = json_response({});
  response.status = status_of(why.code());
  append_utf8_json(response.body, json::object{{"error", error_object(why)}});
  return response;
}

http::Response wrong_method(std::string allowed) {
  http::Response response = error_response({StatusCode::InvalidArgument, "the method must be " + allowed});
  response.status = 405;
  response.fields.push_back({"Allow", std::move(allowed)});
  return response;
}

std::optional<http::Response> AnswerReader::put(std::string_view bytes) {
  if (bytes.empty()) return error_response({StatusCode::Unavailable, "the daemon ended the call"});
  input_.append(bytes);
  bytes_ += bytes.size();
  if (bytes_ > limits::kApiAnswerBytes) {
    http::Response response = error_response(
        {StatusCode::ResourceExhausted, "the answer has more than " + std::to_string(limits::kApiAnswerBytes) +
                                            " bytes: ask for events (\"Accept: text/event-stream\"), whose number has no limit"});
    response.status = 413;
    return response;
  }
  for (;;) {
    const Result<std::optional<Frame>> frame = next_frame(input_.view());
    if (!frame) return error_response(nonsense());
    if (!*frame) return std::nullopt;
    std::optional<http::Response> response = take(**frame);
    input_.consume((**frame).bytes);
    if (response) return response;
  }
}

std::optional<http::Response> AnswerReader::take(const Frame& frame) {
  const auto add = [this](std::string_view rows) {
    has_rows_ = true;
    if (!rows.empty()) rows_.append(rows_.empty() ? "" : ",").append(rows);
  };
  if (frame.kind == FrameKind::More) {
    const std::optional<std::string_view> rows = rows_of_page(frame.payload);
    if (!rows) return error_response(nonsense());
    add(*rows);
    return std::nullopt;
  }
  std::optional<json::object> answer = object_in(frame);
  if (!answer) return error_response(nonsense());
  json::object* const result = result_in(*answer);
  if (result == nullptr) return error_response(error_in(*answer).value_or(nonsense()));
  if (const json::array* const rows = rows_in(*result)) {
    std::string text;
    append_json(text, *rows);
    add(std::string_view{text}.substr(1, text.size() - 2));
    result->erase("rows");
  }
  http::Response response = json_response({});
  append_json(response.body, *result);
  if (has_rows_) {
    response.body.pop_back();
    response.body.append(result->empty() ? "\"rows\":[" : ",\"rows\":[").append(rows_).append("]}");
  }
  return response;
}

std::optional<std::string> EventWriter::put(std::string_view bytes) {
  input_.append(bytes);
  std::string text;
  for (;;) {
    const Result<std::optional<Frame>> frame = next_frame(input_.view());
    if (!frame) return std::nullopt;
    if (!*frame) return text;
    std::optional<json::object> answer = object_in(**frame);
    const bool is_last = (**frame).kind == FrameKind::Json;
    input_.consume((**frame).bytes);
    if (!answer) return std::nullopt;
    json::object* const result = is_last ? result_in(*answer) : &*answer;
    if (result == nullptr) {
      add_event(text, "error", error_object(error_in(*answer).value_or(nonsense())));
      continue;
    }
    if (json::array* const rows = rows_in(*result)) {
      for (const json::value& row : *rows) add_event(text, "row", row);
      result->erase("rows");
    }
    if (is_last) add_event(text, "end", *result);
  }
}

}  // namespace rondo::api
