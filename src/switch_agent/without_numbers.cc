#include "switch_agent/without_numbers.h"

#include <algorithm>
#include <string_view>

namespace rondo::switch_agent {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Replaces each 'before' that a number and then 'after' follow, and both of these.
void replace_number(std::string& words, std::string_view before, std::string_view after, std::string_view by) {
  for (std::size_t at = words.find(before); at != std::string::npos; at = words.find(before, at + 1)) {
    std::size_t end = at + before.size();
    while (end < words.size() && is_digit(words[end])) ++end;
    if (end == at + before.size() || words.compare(end, after.size(), after) != 0) continue;
    words.replace(at, end + after.size() - at, by);
  }
}

}  // namespace

std::string without_numbers(std::string words) {
  replace_number(words, "nexthop ", " to ", "next hop ");
  replace_number(words, " via nexthop ", "", "");
  const std::size_t group = words.find("group ");
  const std::size_t colon = words.find(": ", std::min(group, words.size()));
  const std::string_view members = std::string_view{words}.substr(std::min(group, words.size()), colon - group);
  if (colon != std::string::npos && members.size() > 6 && is_digit(members[6]) && members.find(" of ") != std::string_view::npos)
    words.replace(group, members.size(), "the group of next hops");
  return words;
}

}  // namespace rondo::switch_agent
