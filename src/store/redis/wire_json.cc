#include "store/redis/wire_json.h"

#include <vector>

#include "base/json.h"
#include "rondo/base/text.h"
#include "rondo/store/redis_limits.h"

namespace rondo::redis {

namespace {

/// 'text' with invalid UTF-8 replaced: the peer must be able to parse the JSON.
std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t size = byte < 0x80 ? 1 : (byte >> 5) == 0x6 ? 2 : (byte >> 4) == 0xE ? 3 : (byte >> 3) == 0x1E ? 4 : 0;
    bool good = size > 0 && i + size <= text.size() && byte != 0xC0 && byte != 0xC1 && byte <= 0xF4;
    for (std::size_t k = 1; good && k < size; ++k) good = (static_cast<unsigned char>(text[i + k]) >> 6) == 0x2;
    const auto second = size > 2 && good ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool overlong = (byte == 0xE0 && second < 0xA0) || (byte == 0xF0 && second < 0x90);
    if (good && (overlong || (byte == 0xED && second >= 0xA0) || (byte == 0xF4 && second >= 0x90))) good = false;
    out.append(good ? text.substr(i, size) : std::string_view{"\xEF\xBF\xBD"});
    i += good ? size : 1;
  }
  return out;
}

void append(json::array& list, std::string_view text) { list.emplace_back(valid_utf8(text)); }

void append(json::array& list, const Fields& fields) {
  for (const Field field : fields) {
    append(list, field.name);
    append(list, field.value);
  }
}

Result<std::vector<std::string_view>> texts_of(const json::value& value) {
  const json::array* const list = value.if_array();
  if (list == nullptr) return failure(StatusCode::InvalidArgument, "not a JSON list");
  std::vector<std::string_view> texts;
  for (const json::value& item : *list) {
    const json::string* const text = item.if_string();
    if (text == nullptr) return failure(StatusCode::InvalidArgument, "item " + std::to_string(texts.size()) + " of the list is not a text");
    texts.push_back(view(*text));
  }
  return texts;
}

Result<json::value> parse(std::string_view text) {
  json::error_code error;
  json::value value = json::parse(json::string_view{text.data(), text.size()}, error);
  if (error) return failure(StatusCode::InvalidArgument, "not JSON: " + error.message());
  return value;
}

std::vector<Field> pairs(std::span<const std::string_view> texts) {
  std::vector<Field> fields;
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) fields.push_back({texts[i], texts[i + 1]});
  return fields;
}

}  // namespace

std::string event_text(const Change& event) {
  json::array list;
  append(list, event.verb());
  append(list, event.key());
  append(list, event.fields());
  std::string text;
  append_json(text, list);
  return text;
}

std::string fields_text(const Change& change) {
  if (change.op() == ChangeOp::Delete) return "{}";
  json::array list;
  append(list, change.fields());
  std::string text;
  append_json(text, list);
  return text;
}

std::string queue_operation(const Change& change) { return (change.op() == ChangeOp::Delete ? "D" : "S") + std::string{change.verb()}; }

Status check_text(TableKind kind, const Change& change) {
  constexpr std::size_t kEscapeBytes = 6;
  if ((kind != TableKind::Channel && kind != TableKind::Queue) || change.record().bytes() < limits::kRedisItemBytes / kEscapeBytes / 2) {
    return {};
  }
  const std::size_t size = (kind == TableKind::Channel ? event_text(change) : fields_text(change)).size();
  if (size <= limits::kRedisItemBytes) return {};
  return {StatusCode::InvalidArgument, "key " + quoted(change.key()) + ": " + std::to_string(size) +
                                           " bytes of JSON are over the limit of " + std::to_string(limits::kRedisItemBytes)};
}

Result<Change> parse_event(std::string_view text) {
  const Result<json::value> value = parse(text);
  if (!value) return failure(value.error());
  const auto texts = texts_of(*value);
  if (!texts) return failure(texts.error());
  if (texts->size() < 2 || texts->size() % 2 != 0) {
    return failure(StatusCode::InvalidArgument, "an event of " + std::to_string(texts->size()) + " texts; it takes op, data and pairs");
  }
  const std::vector<Field> fields = pairs(std::span{*texts}.subspan(2));
  if (Status bad = check_record((*texts)[1], fields); !bad.ok()) return failure(std::move(bad));
  return Change::event((*texts)[0], (*texts)[1], fields);
}

Result<Change> parse_entry(std::string_view key, std::string_view text, std::string_view operation) {
  if (operation.size() < 2 || (operation[0] != 'S' && operation[0] != 'D')) {
    return failure(StatusCode::InvalidArgument, "operation " + quoted(operation) + " begins with neither S nor D");
  }
  const std::string_view verb = operation.substr(1);
  if (operation[0] == 'D' && verb == "DEL") return Change::remove(key);
  const Result<json::value> value = parse(text);
  if (!value) return failure(value.error());
  std::vector<Field> fields;
  std::vector<std::string_view> texts;
  if (const json::array* const list = value->if_array(); list != nullptr) {
    auto parsed = texts_of(*value);
    if (!parsed) return failure(parsed.error());
    texts = std::move(*parsed);
    fields = pairs(texts);
  } else if (!value->is_object() || !value->get_object().empty()) {  // A Delete has "{}" in place of the fields.
    return failure(StatusCode::InvalidArgument, "the fields are not a JSON list");
  }
  if (Status bad = check_record(key, fields); !bad.ok()) return failure(std::move(bad));
  if (verb == "SET" && operation[0] == 'S') return Change::set(key, fields);
  return Change::event(verb, key, fields);
}

bool names_row(std::string_view word) { return word == "set" || word == "SET" || word == "create" || word == "remove" || word == "DEL"; }

}  // namespace rondo::redis
