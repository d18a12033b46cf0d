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

}  // namespace rondo
