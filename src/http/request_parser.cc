#include "http/request_parser.h"

#include <ostream>  // Boost 1.81 uses it in string_view.hpp and does not include it.

#include <algorithm>
#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "http/limits.h"
#include "rondo/base/assert.h"

namespace rondo::http {

namespace {

namespace beast = boost::beast;
namespace wire = boost::beast::http;

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
/// What no host and port contain, and what other programs could read as the end of the host.
constexpr std::string_view kNotInHost = " \t/\\@?#,<>\"";

constexpr std::array kServed{wire::verb::get,   wire::verb::head,    wire::verb::post,   wire::verb::put,
                             wire::verb::patch, wire::verb::delete_, wire::verb::options};

std::string to_text(beast::string_view text) { return {text.data(), text.size()}; }

/// True if the size in a chunk's line is 0, however many digits it has.
bool is_last_chunk(std::string_view line) noexcept {
  const std::string_view digits = line.substr(0, line.find_first_not_of(kHexDigits));
  return !digits.empty() && digits.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

/// Beast's parser, and the checks of what it read. 'refusal' is set when one fails.
class RequestParser::Beast final : public wire::basic_parser<true> {
 public:
  explicit Beast(const BodyLimit& by_head) : body_limit_of_(by_head) {
    body_limit(boost::none);  // The checks below have the limits.
    header_limit(2 * limits::kHttpHeaderBytes);
  }

  Request request;
  Refusal refusal;
  std::uint64_t chunk_bytes = 0;  // Size of the newest chunk.

 private:
  using Error = beast::error_code;
  using Text = beast::string_view;

  void refuse(Error& error, unsigned status, std::string why) {
    refusal = {.status = status, .why = std::move(why)};
    error = wire::error::bad_value;
  }

  void on_request_impl(wire::verb verb, Text method, Text target, int version, Error& error) override {
    request.method = to_text(method);
    request.target = to_text(target);
    request.is_http_11 = version == 11;
    const bool is_path = target.front() == '/' || (target == "*" && verb == wire::verb::options);
    if (std::ranges::find(kServed, verb) == kServed.end()) return refuse(error, 501, "the method is not known here");
    if (!is_path) return refuse(error, 400, "request line: the target is no path");
    if (std::ranges::any_of(target, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
      return refuse(error, 400, "request line: the target has a byte that is not ASCII");
    }
  }
  void on_response_impl(int, Text, int, Error&) override {}

  void on_field_impl(wire::field field, Text name, Text value, Error& error) override {
    const auto refuse_field = [&](unsigned status, const std::string& why) {
      refuse(error, status, "header field " + std::to_string(request.fields.size()) + ", " + to_text(name) + ": " + why);
    };
    if (request.fields.size() == limits::kHttpFields) {
      return refuse(error, 431, "a header has at most " + std::to_string(limits::kHttpFields) + " fields");
    }
    request.fields.push_back({to_text(name), to_text(value)});
    const std::string& text = request.fields.back().value;
    bool* seen = nullptr;
    if (field == wire::field::host) {
      seen = &has_host_;
      if (text.find_first_of(kNotInHost) != std::string::npos) return refuse_field(400, "the value is no host");
    } else if (field == wire::field::content_length) {
      seen = &has_length_;
      if (text.empty() || text.find_first_not_of(kDigits) != std::string::npos) {
        return refuse_field(400, "the value is not a number in digits");
      }
    } else if (field == wire::field::transfer_encoding) {
      seen = &has_encoding_;
      if (!request.is_http_11) return refuse_field(400, "HTTP/1.0 has no such field");
      if (text != "chunked") return refuse_field(400, "the only encoding here is 'chunked'");
    } else if (field == wire::field::expect && !equals_without_case(text, "100-continue")) {
      return refuse_field(417, "the expectation is not known here");
    }
    if (seen != nullptr && std::exchange(*seen, true)) return refuse_field(400, "the field is there twice");
  }

  void on_header_impl(Error& error) override {
    if (has_encoding_ && has_length_) return refuse(error, 400, "the header has both Transfer-Encoding and Content-Length");
    if (has_encoding_ != chunked()) return refuse(error, 400, "the header's Transfer-Encoding is not understood");
    if (request.is_http_11 && !has_host_) return refuse(error, 400, "the header has no Host");
    request.keep_alive = keep_alive();
    body_bytes_max_ = body_limit_of_ ? body_limit_of_(request) : limits::kHttpBodyBytes;
    body_bytes_most_ = static_cast<std::size_t>(std::min<std::uint64_t>(content_length().value_or(body_bytes_max_), body_bytes_max_));
    if (content_length().value_or(0) > body_bytes_max_) refuse_body(error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(Text bytes, Error&) override {
    std::string& body = request.body;
    const std::size_t needed = body.size() + bytes.size();
    if (needed > body.capacity()) {
      // The memory doubles, but not beyond the length of the body or its limit. reserve() of 'body' itself would double it always.
      std::string larger;
      larger.reserve(std::max(needed, std::min(2 * body.capacity(), body_bytes_most_)));
      body.swap(larger.append(body));
    }
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, Text, Error& error) override {
    chunk_bytes = size;
    if (size > body_bytes_max_ - request.body.size()) refuse_body(error);
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, Error& error) override { return on_body_impl(bytes, error); }
  void on_finish_impl(Error&) override {}

  void refuse_body(Error& error) {
    refuse(error, 413,
           "the body is longer than " + std::to_string(body_bytes_max_) + " bytes, the limit of " + std::string{request.path()});
  }

  const BodyLimit& body_limit_of_;
  bool has_host_ = false;
  bool has_length_ = false;
  bool has_encoding_ = false;
  std::size_t body_bytes_max_ = 0;   // By the limit's function.
  std::size_t body_bytes_most_ = 0;  // By the header, too.
};

RequestParser::RequestParser(const BodyLimit& body_limit, std::string peer) : body_limit_(body_limit), peer_(std::move(peer)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && progress_ != Progress::Done && progress_ != Progress::Refused) {
    const std::string_view rest = bytes.substr(taken);
    switch (part_) {
      case Part::Line: taken += take_head(rest); break;
      case Part::ChunkLine: taken += take_chunk_line(rest); break;
      case Part::Body: taken += take_body(rest); break;
    }
  }
  return taken;
}

Request RequestParser::take() {
  RONDO_ASSERT(progress_ == Progress::Done);
  Request request = std::move(beast_->request);
  clear();
  return request;
}

void RequestParser::clear() {
  beast_.reset();
  std::string{}.swap(element_);
  line_begin_ = 0;
  progress_ = Progress::Start;
  part_ = Part::Line;
  skipped_line_ = after_chunk_ = last_chunk_ = false;
  left_ = 0;
}

std::size_t RequestParser::held() const noexcept {
  std::size_t bytes = element_.capacity();
  if (!beast_) return bytes;
  bytes += sizeof(Beast) + beast_->request.body.capacity();
  for (const Field& field : beast_->request.fields) bytes += sizeof field + field.name.size() + field.value.size();
  return bytes;
}

void RequestParser::refuse(unsigned status, std::string why) {
  progress_ = Progress::Refused;
  refusal_ = {.status = status, .why = std::move(why)};
}

/// What is wrong with 'byte' as the next one of a header or of the line of a chunk; null: nothing.
const char* RequestParser::wrong_with(char byte) const noexcept {
  const bool after_cr = !element_.empty() && element_.back() == '\r';
  if (after_cr != (byte == '\n')) return after_cr ? "a CR without LF" : "an LF without CR";
  const auto value = static_cast<unsigned char>(byte);
  if ((value < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || value == 0x7f) return "a control character";
  const bool begins_line = line_begin_ == element_.size();
  if (begins_line && line_begin_ > 0 && (byte == ' ' || byte == '\t')) return "a folded line";
  return nullptr;
}

std::size_t RequestParser::take_head(std::string_view bytes) {
  progress_ = Progress::Head;
  for (std::size_t taken = 1; taken <= bytes.size(); ++taken) {
    const char byte = bytes[taken - 1];
    if (const char* const wrong = wrong_with(byte)) {
      refuse(400, "header byte " + std::to_string(element_.size()) + ": " + wrong);
      return taken;
    }
    if (element_.size() == limits::kHttpHeaderBytes) {
      refuse(431, "the request line and the header are longer than " + std::to_string(limits::kHttpHeaderBytes) + " bytes");
      return taken;
    }
    element_.push_back(byte);
    if (byte != '\n') continue;
    const bool is_empty = element_.size() - line_begin_ == 2;
    line_begin_ = element_.size();
    if (!is_empty) continue;
    if (element_.size() > 2) {
      parse_head();
      return taken;
    }
    // RFC 9112, 2.2: an empty line before the request line is ignored. Some clients send one after a body.
    if (std::exchange(skipped_line_, true)) refuse(400, "two empty lines are before the request line");
    element_.clear();
    line_begin_ = 0;
    return taken;
  }
  return bytes.size();
}

void RequestParser::parse_head() {
  beast_ = std::make_unique<Beast>(body_limit_);
  beast_->request.peer = peer_;
  beast_->request.is_secure = is_secure_;
  if (!give(element_, "header")) return;
  std::string{}.swap(element_);  // Frees its memory.
  line_begin_ = 0;
  if (beast_->is_done()) {
    progress_ = Progress::Done;
    return;
  }
  progress_ = Progress::Body;
  part_ = beast_->chunked() ? Part::ChunkLine : Part::Body;
  left_ = beast_->content_length().value_or(0);
}

/// Gives Beast an element that it must understand to its last byte. Otherwise Beast and the checks here disagree, and the request is
/// refused.
bool RequestParser::give(std::string_view element, std::string_view what) {
  beast::error_code error;
  const std::size_t taken = beast_->put({element.data(), element.size()}, error);
  if (beast_->refusal.status != 0) {
    refuse(beast_->refusal.status, std::move(beast_->refusal.why));
  } else if (error) {
    refuse(400, std::string{what} + " byte " + std::to_string(taken) + ": " + error.message());
  } else if (taken != element.size()) {
    refuse(400, std::string{what} + " byte " + std::to_string(taken) + ": not understood");
  }
  return progress_ != Progress::Refused;
}

std::size_t RequestParser::take_chunk_line(std::string_view bytes) {
  for (std::size_t taken = 1; taken <= bytes.size(); ++taken) {
    const char byte = bytes[taken - 1];
    const std::size_t place = element_.size() - line_begin_;
    const char* wrong = wrong_with(byte);
    if (wrong == nullptr && place == 0 && byte != '\r') {
      wrong = after_chunk_ ? "the chunk is longer than its size" : last_chunk_ ? "a trailer, which is not supported" : nullptr;
    }
    if (wrong == nullptr && place == limits::kHttpChunkLine) wrong = "the line is too long";
    if (wrong != nullptr) {
      refuse(400, "line of the chunk at body byte " + std::to_string(beast_->request.body.size()) + ", byte " + std::to_string(place) +
                      ": " + wrong);
      return taken;
    }
    element_.push_back(byte);
    if (byte == '\n' && end_of_line()) {
      parse_chunk_line();
      return taken;
    }
  }
  return bytes.size();
}

/// At the end of a line of a chunk. True if what was read so far is an element of Beast's.
bool RequestParser::end_of_line() {
  const std::string_view line = std::string_view{element_}.substr(line_begin_);
  line_begin_ = element_.size();
  if (last_chunk_) return true;
  if (std::exchange(after_chunk_, false)) return false;
  last_chunk_ = is_last_chunk(line);
  return !last_chunk_;
}

void RequestParser::parse_chunk_line() {
  const std::string what = "line of the chunk at body byte " + std::to_string(beast_->request.body.size()) + ",";
  if (!give(element_, what)) return;
  std::string{}.swap(element_);  // Frees its memory.
  line_begin_ = 0;
  if (beast_->is_done()) {
    progress_ = Progress::Done;
    return;
  }
  left_ = beast_->chunk_bytes;
  part_ = Part::Body;
}

std::size_t RequestParser::take_body(std::string_view bytes) {
  const std::string_view mine = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  left_ -= mine.size();
  if (!give(mine, "body") || left_ > 0) return mine.size();
  if (beast_->is_done()) {
    progress_ = Progress::Done;
  } else {
    part_ = Part::ChunkLine;
    after_chunk_ = true;
  }
  return mine.size();
}

}  // namespace rondo::http
