#include "commands/answers.h"

#include <exception>
#include <utility>

#include "base/thrown.h"

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

void get_row(Store& store, std::string_view table, std::string_view key, Reply reply, GetDone use) {
  store.get(table, key, [reply = std::move(reply), use = std::move(use)](const Result<Record>& row) mutable {
    try {
      use(row);
    } catch (...) {
      reply.fail(thrown_by("the command, while it went on,", std::current_exception()));
    }
  });
}

}  // namespace rondo::commands
