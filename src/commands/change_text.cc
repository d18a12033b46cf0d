#include "commands/change_text.h"

#include <set>
#include <string>

#include "admin/secrets.h"
#include "rondo/base/text.h"

namespace rondo::commands {

namespace {

constexpr std::size_t kText = 220;  // Bytes of a text before the number of its further fields.
constexpr std::size_t kName = 40;   // Bytes of a name.
constexpr std::size_t kValue = 80;  // Bytes of a value.

/// Returns "name=value". An empty value, and one with a blank or a "=", has quotes.
std::string pair_text(const std::string& name, const std::string& value) {
  // A name that means a secret hides any value.
  const std::string marked = name + "=x";
  std::string shown = hide_secrets(marked) == marked ? escape_text(shorten(hide_secrets(value), kValue), "\"") : "***";
  if (shown.empty() || shown.find_first_of(" =") != std::string::npos) shown = '"' + shown + '"';
  return escape_text(shorten(name, kName), " \"=") + "=" + shown;
}

std::string text_of(const FieldValues& fields, const std::set<std::string>& names) {
  if (!fields) return "(none)";
  std::string text;
  std::size_t more = 0;
  for (const std::string& name : names) {
    const auto field = fields->find(name);
    if (field == fields->end()) continue;
    const std::string shown = pair_text(field->first, field->second);
    if (more > 0 || text.size() + shown.size() > kText) {
      ++more;
    } else {
      text += (text.empty() ? "" : " ") + shown;
    }
  }
  if (more > 0) text += (text.empty() ? "" : " ") + std::string{"and "} + std::to_string(more) + " more";
  return text;
}

}  // namespace

ChangeText change_text(const FieldValues& before, const FieldValues& after) {
  std::set<std::string> names;
  const auto add_different = [&names](const FieldValues& from, const FieldValues& other) {
    if (!from) return;
    for (const auto& [name, value] : *from) {
      const auto same = other ? other->find(name) : from->end();
      if (!other || same == other->end() || same->second != value) names.insert(name);
    }
  };
  add_different(before, after);
  add_different(after, before);
  return {text_of(before, names), text_of(after, names)};
}

FieldValues values_of(const Record& row) {
  if (!row) return std::nullopt;
  FieldValues values{std::in_place};
  for (const Field field : row.fields()) values->insert_or_assign(std::string{field.name}, std::string{field.value});
  return values;
}

FieldValues values_after(FieldValues row, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    if (change.op() == ChangeOp::Delete) {
      row.reset();
      continue;
    }
    if (!row) row.emplace();
    for (const Field field : change.fields()) row->insert_or_assign(std::string{field.name}, std::string{field.value});
  }
  return row;
}

}  // namespace rondo::commands
