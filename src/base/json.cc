// The one translation unit that compiles Boost.JSON.
#include "base/json.h"

#include <boost/json/src.hpp>
#include <utility>

#include "rondo/base/text.h"

namespace rondo {

void append_json(std::string& out, const json::value& value) {
  json::serializer serializer;
  serializer.reset(&value);
  char buffer[4096];
  while (!serializer.done()) {
    const json::string_view piece = serializer.read(buffer, sizeof buffer);
    out.append(piece.data(), piece.size());
  }
}

namespace {
/// Like make_visible(), for texts for which 'is_right' is false.
template <class IsRight>
void replace_texts(json::value& value, const IsRight& is_right) {
  if (json::string* const words = value.if_string()) {
    if (!is_right(view(*words))) *words = visible_text(view(*words));
  } else if (json::array* const items = value.if_array()) {
    for (json::value& item : *items) replace_texts(item, is_right);
  } else if (json::object* const members = value.if_object()) {
    bool all_right = true;
    for (auto& [name, member] : *members) {
      replace_texts(member, is_right);
      all_right = all_right && is_right(name);
    }
    if (all_right) return;
    json::object renamed;
    for (auto& [name, member] : *members) renamed[is_right(name) ? std::string{name} : visible_text(name)] = std::move(member);
    *members = std::move(renamed);
  }
}
}  // namespace

void make_visible(json::value& value) {
  replace_texts(value, [](std::string_view text) { return safe_length(text) == text.size(); });
}

void append_utf8_json(std::string& out, const json::value& value) {
  const std::size_t start = out.size();
  append_json(out, value);
  if (is_utf8(std::string_view{out}.substr(start))) return;
  out.resize(start);
  json::value replaced = value;
  replace_texts(replaced, is_utf8);
  append_json(out, replaced);
}

std::size_t end_of_text(std::string_view json, std::size_t at) noexcept {
  for (;;) {
    at = json.find('"', at + 1);
    if (at == std::string_view::npos) return json.size();
    std::size_t first = at;
    while (json[first - 1] == '\\') --first;
    if ((at - first) % 2 == 0) return at;
  }
}

bool has_many_values(std::string_view json, std::size_t most) noexcept {
  if (json.size() <= most) return false;
  std::size_t values = 1;
  for (std::size_t at = 0; at < json.size() && values <= most; ++at) {
    switch (json[at]) {
      case '"': at = end_of_text(json, at); break;
      case '[':
      case '{':
      case ',':
      case ':': ++values; break;
      default: break;
    }
  }
  return values > most;
}

}  // namespace rondo
