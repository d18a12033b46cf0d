#include "jobs/executors/wire.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "rondo/base/assert.h"
#include "rondo/base/text.h"
#include "rondo/dataplane/ip.h"

namespace rondo::jobs::executors {

namespace {

constexpr std::int64_t kShardsOfLogId = 1'000;
constexpr std::int64_t kAttemptsOfLogId = 100;

constexpr std::int64_t kSuccess = 200;
constexpr std::size_t kExcerpt = 200;  // Bytes of a body that an error repeats.
constexpr std::string_view kDots = "...";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kAddressBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]";

tl::unexpected<Status> wrong(std::string what) { return failure(StatusCode::InvalidArgument, std::move(what)); }

std::string text_of(const json::object& object) {
  std::string body;
  append_utf8_json(body, object);
  return body;
}

std::string_view strategy_of(Overlap overlap, bool is_orth) {
  switch (overlap) {
    case Overlap::Discard: return "DISCARD_LATER";
    case Overlap::Cover: return "COVER_EARLY";
    case Overlap::Concurrent: return is_orth ? "CONCURRENT" : "SERIAL_EXECUTION";
    case Overlap::Serial: break;
  }
  return "SERIAL_EXECUTION";
}

/// The code unit of the escape \uXXXX at 'at'; 0 if there is none.
unsigned escaped_unit(std::string_view text, std::size_t at) {
  if (text.size() - at < 6 || text[at] != '\\' || text[at + 1] != 'u') return 0;
  unsigned unit = 0;
  const char* const end = text.data() + at + 6;
  return std::from_chars(end - 4, end, unit, 16).ptr == end ? unit : 0;
}

/// 'body' with U+FFFD for each half of a surrogate pair that is alone. In JSON only texts have backslashes. O(bytes).
std::string without_half_pairs(std::string_view body) {
  std::string mended{body};
  for (std::size_t at = mended.find('\\'); at != std::string::npos; at = mended.find('\\', at)) {
    const unsigned unit = escaped_unit(mended, at);
    if (unit < 0xd800 || unit > 0xdfff) {
      at = std::min(at + 2, mended.size());
      continue;
    }
    const unsigned next = unit < 0xdc00 ? escaped_unit(mended, at + 6) : 0;
    const bool is_pair = next >= 0xdc00 && next <= 0xdfff;
    if (!is_pair) mended.replace(at, 6, "\\ufffd");
    at += is_pair ? 12 : 6;
  }
  return mended;
}

Result<json::value> parse(std::string_view body) {
  if (has_many_values(body, limits::kExecutorValues))
    return failure(StatusCode::ResourceExhausted, "more than " + std::to_string(limits::kExecutorValues) + " values");
  json::parse_options options;
  options.max_depth = limits::kExecutorNesting;
  options.allow_invalid_utf8 = true;
  boost::system::error_code error;
  json::value value = json::parse(body, error, {}, options);
  // Boost.JSON calls a half pair a syntax error in some places.
  if (error) value = json::parse(without_half_pairs(body), error, {}, options);
  if (error) return wrong("not JSON: " + error.message());
  return value;
}

/// The member 'name'; nullptr if it is absent or null.
const json::value* member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const json::object* object_in(const json::object& object, std::string_view name) {
  const json::value* const value = member(object, name);
  return value == nullptr ? nullptr : value->if_object();
}

/// A member that is text; empty if it is none.
std::string_view text_in(const json::object& object, std::string_view name) {
  const json::value* const value = member(object, name);
  return value != nullptr && value->is_string() ? view(value->get_string()) : std::string_view{};
}

/// The number 'name' of an object, from 'least' to 'most'. It is 42, 42.0 or "42", as Gson reads them.
Result<std::int64_t> number_in(const json::object& object, std::string_view name, std::int64_t least, std::int64_t most) {
  const json::value* const value = member(object, name);
  if (value == nullptr) return wrong(std::string{name} + " is missing");
  std::int64_t number = 0;
  bool is_whole = false;
  if (const json::string* const text = value->if_string()) {
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    is_whole = error == std::errc{} && stop == end;
  } else {
    boost::system::error_code error;
    number = value->to_number<std::int64_t>(error);
    is_whole = !error;
  }
  if (!is_whole || number < least || number > most)
    return wrong(std::string{name} + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

std::string cut(std::string_view text) {
  return text.size() <= limits::kExecutorMessage ? std::string{text} : shorten(text, limits::kExecutorMessage - kDots.size());
}

/// The message 'name' of an object, as UTF-8 within its limit. It is cut before and after, because visible_text() makes it longer.
std::string message_in(const json::object& object, std::string_view name) {
  const json::value* const value = member(object, name);
  if (value == nullptr) return {};
  std::string text;
  if (value->is_string()) {
    text = cut(view(value->get_string()));
  } else {
    append_json(text, *value);
    text = cut(text);
  }
  return is_utf8(text) ? text : cut(visible_text(text));
}

/// The code and the message under these names.
Result<CallAnswer> answer_in(const json::object& object, std::string_view code, std::string_view message) {
  const Result<std::int64_t> number = number_in(object, code, INT32_MIN, INT32_MAX);
  if (!number) return failure(number.error());
  return CallAnswer{.code = *number, .message = message_in(object, message)};
}

/// What a callback item says: handleCode and handleMsg, and executeResult for what of them is absent.
Result<CallAnswer> outcome_in(const json::object& item) {
  const json::object* const old = object_in(item, "executeResult");
  if (old == nullptr) return answer_in(item, "handleCode", "handleMsg");
  if (member(item, "handleCode") == nullptr) return answer_in(*old, "code", "msg");
  Result<CallAnswer> outcome = answer_in(item, "handleCode", "handleMsg");
  if (outcome && outcome->message.empty()) outcome->message = message_in(*old, "msg");
  return outcome;
}

/// The answer to a call: an object, or what the Go client sends when it refuses a run.
Result<CallAnswer> answer_in(const json::value& body) {
  if (const json::object* const object = body.if_object()) return answer_in(*object, "code", "msg");
  const json::array* const items = body.if_array();
  const json::object* const item = items != nullptr && items->size() == 1 ? items->front().if_object() : nullptr;
  if (item == nullptr) return wrong("neither an object nor a list of one");
  return member(*item, "code") != nullptr ? answer_in(*item, "code", "msg") : outcome_in(*item);
}

/// A number of a line; 0 if it is missing or negative.
Result<std::int64_t> line_in(const json::object& object, std::string_view name) {
  if (member(object, name) == nullptr) return std::int64_t{0};
  Result<std::int64_t> line = number_in(object, name, INT32_MIN, INT32_MAX);
  if (line) *line = std::max(std::int64_t{0}, *line);
  return line;
}

Result<LogPiece> log_in(const json::value& body) {
  const Result<CallAnswer> answer = answer_in(body);
  if (!answer) return failure(answer.error());
  if (answer->code != kSuccess)
    return failure(StatusCode::FailedPrecondition,
                   "the executor gave no log: code " + std::to_string(answer->code) + ", " + visible_text(answer->message));
  const json::object* const object = body.if_object();
  if (object == nullptr) return wrong("not an object");
  const json::object* const content = object_in(*object, "content");
  const json::object* const piece = content != nullptr ? content : object_in(*object, "data");
  if (piece == nullptr) return wrong("neither content nor data");
  const Result<std::int64_t> from = line_in(*piece, "fromLineNum");
  if (!from) return failure(from.error());
  const Result<std::int64_t> to = line_in(*piece, "toLineNum");
  if (!to) return failure(to.error());
  const json::value* const end = member(*piece, "isEnd");
  const bool is_end = end != nullptr && end->is_bool() && end->get_bool();
  return LogPiece{.from_line = *from, .to_line = *to, .text = std::string{text_in(*piece, "logContent")}, .is_end = is_end};
}

/// The end of the last line's end "\n" in a JSON text; 0: there is none. O(bytes).
std::size_t end_of_lines(std::string_view body) {
  std::size_t at = body.rfind("\\n");
  for (; at != std::string_view::npos; at = at == 0 ? at - 1 : body.rfind("\\n", at - 1)) {
    const std::size_t before = body.substr(0, at).find_last_not_of('\\');
    const std::size_t backslashes = at - (before + 1);  // Each second one is escaped.
    if (backslashes % 2 == 0) return at + 2;
  }
  return 0;
}

/// What 'read' reads from the body of an answer. An InvalidArgument says what the executor sent.
template <class T>
Result<T> read_answer(unsigned http_status, std::string_view body, Result<T> (&read)(const json::value&)) {
  const Result<json::value> value = parse(body);
  Result<T> result = value ? read(*value) : failure(value.error());
  if (result || result.error().code() == StatusCode::FailedPrecondition) return result;
  return wrong("the executor answered with HTTP status " + std::to_string(http_status) + " and no usable body (" +
               std::string{result.error().message()} + "): " + visible_text(shorten(body, kExcerpt)));
}

Result<CallbackItem> item_of(const json::value& value) {
  const json::object* const object = value.if_object();
  if (object == nullptr) return wrong("a callback item is not an object");
  const Result<std::int64_t> log_id = number_in(*object, "logId", 1, limits::kExecutorLogId);
  if (!log_id) return failure(log_id.error());
  Result<CallAnswer> outcome = outcome_in(*object);
  if (!outcome) return failure(outcome.error());
  return CallbackItem{.log_id = *log_id, .code = outcome->code, .message = std::move(outcome->message)};
}

tl::unexpected<Status> wrong_address(std::string_view text, std::string_view why) {
  return wrong("the address '" + visible_text(shorten(text, kExcerpt)) + "' " + std::string{why});
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// True if each part between separators has a byte and 'is_right'.
template <class IsRight>
bool parts_are(std::string_view text, char separator, const IsRight& is_right) {
  for (;;) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    if (part.empty() || !is_right(part)) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

/// A lower-case host in its canonical form. The system's resolver reads more numbers as addresses than IpAddress does, such as "127.1" and
/// "0x7f000001". So a host whose last part is such a number is refused.
std::optional<std::string> canonical_host(std::string_view host) {
  if (host.starts_with('[')) {
    const Result<IpAddress> address = IpAddress::parse(host.substr(1, host.size() - 2));
    if (!host.ends_with(']') || !address || !address->is_v6()) return std::nullopt;
    return "[" + address->to_string() + "]";
  }
  if (!parts_are(host, '.', [](std::string_view part) { return part.find_first_of("[]~") == std::string_view::npos; })) return std::nullopt;
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const bool is_number = last.find_first_not_of(kDigits) == std::string_view::npos || last.starts_with("0x");
  if (is_number && !IpAddress::parse(host)) return std::nullopt;
  return std::string{host};
}

/// The port after a host: "" or ":8080". 0 if it is wrong.
std::uint16_t port_of(std::string_view text, std::uint16_t absent) {
  if (text.empty()) return absent;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, port);
  return text.front() == ':' && error == std::errc{} && stop == end ? port : std::uint16_t{0};
}

}  // namespace

std::int64_t log_id_of(std::int64_t run, std::uint32_t attempt, std::size_t shard) noexcept {
  return (run * kAttemptsOfLogId + attempt % kAttemptsOfLogId) * kShardsOfLogId + static_cast<std::int64_t>(shard);
}

LogId LogId::parse(std::int64_t number) noexcept {
  return {.run = number / kShardsOfLogId / kAttemptsOfLogId,
          .attempt = static_cast<std::uint32_t>(number / kShardsOfLogId % kAttemptsOfLogId),
          .shard = static_cast<std::size_t>(number % kShardsOfLogId)};
}

bool LogId::is_of(std::uint32_t of_attempt) const noexcept { return of_attempt % kAttemptsOfLogId == attempt; }

std::string run_body(const RunOrder& order, bool is_orth) {
  RONDO_ASSERT(order.job >= 1 && order.job <= limits::kExecutorJob);
  RONDO_ASSERT(order.log_id >= 1 && order.log_id <= limits::kExecutorLogId);
  json::object body{{"jobId", order.job},
                    {"executorHandler", order.handler},
                    {"executorParams", order.parameters},
                    {"executorBlockStrategy", strategy_of(order.overlap, is_orth)},
                    {"executorTimeout", order.timeout_s},
                    {"logId", order.log_id},
                    {"logDateTime", order.log_time_ms},
                    {"glueType", "BEAN"},
                    {"glueSource", ""},
                    // The time of the source text. It never changes: executors would end the job's thread at a change.
                    {"glueUpdatetime", 0},
                    {"broadcastIndex", order.shard},
                    {"broadcastTotal", order.shards}};
  if (is_orth) {
    body["executorConcurrency"] = order.concurrency;
    body["scheduleTime"] = order.schedule_time_ms ? json::value(*order.schedule_time_ms) : json::value(nullptr);
  }
  return text_of(body);
}

std::string job_body(std::int64_t job) {
  RONDO_ASSERT(job >= 1 && job <= limits::kExecutorJob);
  return text_of({{"jobId", job}});
}

std::string beat_body() { return "{}"; }

std::string log_body(std::int64_t log_id, std::int64_t log_time_ms, std::int64_t from_line) {
  return text_of({{"logDateTim", log_time_ms}, {"logDateTime", log_time_ms}, {"logId", log_id}, {"fromLineNum", from_line}});
}

std::string answer_body(std::int64_t code, std::string_view message) {
  const json::value words = message.empty() ? json::value(nullptr) : json::value(message);
  return text_of({{"code", code}, {"msg", words}, {"content", nullptr}, {"data", nullptr}});
}

Result<CallAnswer> parse_call_answer(unsigned http_status, std::string_view body) {
  return read_answer<CallAnswer>(http_status, body, answer_in);
}

Result<LogPiece> parse_log(unsigned http_status, std::string_view body) { return read_answer<LogPiece>(http_status, body, log_in); }

Result<LogPiece> parse_cut_log(unsigned http_status, std::string body) {
  const std::size_t end = end_of_lines(body);
  if (end == 0) return wrong("a line of the log is longer than " + std::to_string(limits::kExecutorLogBytes) + " bytes");
  body.resize(end);
  body += "\"}}";  // The ends of the text, of 'content', and of the answer.
  return parse_log(http_status, body);
}

Result<Registration> parse_registration(std::string_view body) {
  const Result<json::value> value = parse(body);
  if (!value) return failure(value.error());
  const json::object* const object = value->if_object();
  if (object == nullptr) return wrong("Illegal Argument.");
  const std::string_view kind = text_in(*object, "registryGroup");
  const std::string_view group = text_in(*object, "registryKey");
  const std::string_view address = text_in(*object, "registryValue");
  if (kind.empty() || group.empty() || address.empty()) return wrong("Illegal Argument.");
  if (kind != "EXECUTOR") return wrong("registryGroup is not EXECUTOR");
  if (group.size() > limits::kExecutorGroup)
    return wrong("registryKey is longer than " + std::to_string(limits::kExecutorGroup) + " bytes");
  if (safe_length(group) != group.size()) return wrong("registryKey has characters that are not safe to display");
  Result<Address> canonical = parse_address(address);
  if (!canonical) return failure(canonical.error().with_context("registryValue"));
  return Registration{.group = std::string{group}, .address = std::move(canonical->url)};
}

Result<std::vector<CallbackItem>> parse_callbacks(std::string_view body) {
  const Result<json::value> value = parse(body);
  if (!value) return failure(value.error());
  const json::object* const object = value->if_object();
  const json::value* const list = object == nullptr ? nullptr : object->if_contains("callbackList");
  const json::value& all = list == nullptr ? *value : *list;
  const json::array* const array = all.if_array();
  const json::array one = array == nullptr ? json::array{all} : json::array{};
  const json::array& items = array == nullptr ? one : *array;
  if (items.size() > limits::kExecutorCallbacks)
    return failure(StatusCode::ResourceExhausted, "more than " + std::to_string(limits::kExecutorCallbacks) + " callback items");
  std::vector<CallbackItem> read;
  read.reserve(items.size());
  for (const json::value& each : items) {
    Result<CallbackItem> item = item_of(each);
    if (!item) return failure(item.error());
    read.push_back(std::move(*item));
  }
  return read;
}

Result<Address> parse_address(std::string_view text) {
  const std::string too_long = "is longer than " + std::to_string(limits::kExecutorAddress) + " bytes";
  if (text.size() > limits::kExecutorAddress) return wrong_address(text, too_long);
  if (text.find_first_not_of(kAddressBytes) != std::string_view::npos) return wrong_address(text, "has characters that are not allowed");
  const std::size_t scheme_end = text.find("://");
  const bool has_scheme = scheme_end != std::string_view::npos;
  const std::string scheme = has_scheme ? lower(text.substr(0, scheme_end)) : "http";
  if (scheme != "http" && scheme != "https") return wrong_address(text, "is neither http nor https");
  const std::string_view rest = has_scheme ? text.substr(scheme_end + 3) : text;
  const std::size_t authority_end = std::min(rest.find('/'), rest.size());
  const std::string authority = lower(rest.substr(0, authority_end));
  const std::size_t host_end = std::min(authority.find(':', authority.find(']') + 1), authority.size());
  const std::optional<std::string> host = canonical_host(std::string_view{authority}.substr(0, host_end));
  if (!host) return wrong_address(text, "has no valid host");
  const std::uint16_t port = port_of(std::string_view{authority}.substr(host_end), scheme == "http" ? 80 : 443);
  if (port == 0) return wrong_address(text, "has no port from 1 to 65535");
  std::string_view path = rest.substr(authority_end);
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto is_segment = [](std::string_view part) { return part != "." && part != ".." && part.find_first_of(":[]") == part.npos; };
  if (!path.empty() && !parts_are(path.substr(1), '/', is_segment)) return wrong_address(text, "has a path that is not allowed");
  Address address{.url = scheme + "://" + *host + ":" + std::to_string(port), .host = *host, .port = port};
  address.url += path;
  if (address.url.size() > limits::kExecutorAddress) return wrong_address(text, too_long);
  return address;
}

}  // namespace rondo::jobs::executors
