// What the daemon's frames become for a client over HTTP: one JSON object, or a stream of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/byte_buffer.h"
#include "admin/frame.h"
#include "api/limits.h"
#include "base/json.h"
#include "http/message.h"

namespace rondo::api {

/// The fields of all answers: a browser keeps none, and takes none for another type than it has.
std::vector<http::Field> kept_to_the_caller();
/// An answer with this JSON text.
http::Response json_response(std::string text);
/// {"error":{"code":...,"message":...}} with the HTTP status of the code.
http::Response error_response(const Status& why);

/// 405 with the field Allow.
http::Response wrong_method(std::string allowed);

/// The error in an object such as this one or a frame's; empty if there is none.
std::optional<Status> error_in(const json::object& answer);

/// Joins the frames of one answer to a response.
class AnswerReader {
 public:
  /// Takes bytes of the daemon; none: its stream has ended. Returns the response once it is whole.
  std::optional<http::Response> put(std::string_view bytes);

 private:
  std::optional<http::Response> take(const Frame& frame);

  ByteBuffer input_;
  std::size_t bytes_ = 0;  // All frames so far have these bytes.
  std::string rows_;       // JSON texts joined by commas: parsed values would take many times the memory.
  bool has_rows_ = false;
};

/// Makes events of the frames of one answer: "row" for each row, and at the end "end" with the result, or "error".
class EventWriter {
 public:
  /// The events of the frames that 'bytes' complete. nullopt after a frame that is none.
  std::optional<std::string> put(std::string_view bytes);

 private:
  ByteBuffer input_;
};

}  // namespace rondo::api
