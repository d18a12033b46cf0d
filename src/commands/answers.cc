#include "commands/answers.h"

#include <utility>

namespace rondo::commands {

namespace json = boost::json;

void make_visible(json::value& value) {
  if (json::string* const words = value.if_string()) {
    if (safe_length(*words) != words->size()) *words = sentence(*words);
  } else if (json::array* const items = value.if_array()) {
    for (json::value& item : *items) make_visible(item);
  } else if (json::object* const members = value.if_object()) {
    bool is_safe = true;
    for (auto& [name, member] : *members) {
      make_visible(member);
      is_safe = is_safe && safe_length(name) == name.size();
    }
    if (is_safe) return;
    json::object renamed;
    for (auto& [name, member] : *members) renamed[sentence(name)] = std::move(member);
    *members = std::move(renamed);
  }
}

}  // namespace rondo::commands
