// Settings that differ between two configurations: see config.h.
#include <boost/json.hpp>

#include "rondod/configuration/config.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

void compare(const std::string& name, const json::value& one, const json::value& other, std::vector<std::string>& differing) {
  if (!one.is_object() || !other.is_object()) {
    if (one != other) differing.push_back(name);
    return;
  }
  const auto below = [&name](json::string_view key) { return name.empty() ? std::string{key} : name + "." + std::string{key}; };
  for (const auto& member : one.get_object()) {
    const json::value* const same = other.get_object().if_contains(member.key());
    if (same == nullptr) {
      differing.push_back(below(member.key()));
    } else {
      compare(below(member.key()), member.value(), *same, differing);
    }
  }
  for (const auto& member : other.get_object()) {
    if (!one.get_object().contains(member.key())) differing.push_back(below(member.key()));
  }
}

}  // namespace

std::vector<std::string> differences(const Config& one, const Config& other) {
  std::vector<std::string> differing;
  compare({}, json::parse(to_json(one)), json::parse(to_json(other)), differing);
  return differing;
}

}  // namespace rondo::daemon
