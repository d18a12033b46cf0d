#include "switch_agent/plain_names.h"

#include <algorithm>
#include <cctype>

namespace rondo::switch_agent {
namespace {

bool is_address(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

constexpr std::size_t kNameLength = std::string_view{"NEXTHOP_SET"}.size();

/// True if the name of the table or of the fact is at 'at'. A name of a Redis key, such as _NEXTHOP_SET or NEXTHOP_SET_CHANNEL, stays.
bool is_name_at(std::string_view text, std::size_t at) {
  const std::string_view name = text.substr(at, kNameLength);
  if (name != "NEXTHOP_SET" && name != "nexthop-set") return false;
  if (at > 0 && is_of_name(text[at - 1])) return false;
  return at + kNameLength == text.size() || !is_of_name(text[at + kNameLength]);
}

/// A next hop at the beginning of a text: ADDRESS@PORT*WEIGHT[/onlink]. Its parts are views; an empty 'address' means that there is none.
struct NextHop {
  std::string_view address;
  std::string_view port;
  std::string_view weight;
  bool onlink = false;
  std::size_t end = 0;
};

NextHop next_hop_at(std::string_view text, std::size_t at) {
  const auto past = [&text](std::size_t from, auto belongs) {
    while (from < text.size() && belongs(text[from])) ++from;
    return from;
  };
  const std::size_t sign = past(at, is_address);
  if (sign == at || sign == text.size() || text[sign] != '@') return {};
  const std::size_t star = past(sign + 1, [](char c) { return c != '*' && c != ' ' && c != '@' && c != '+'; });
  if (star == sign + 1 || star == text.size() || text[star] != '*') return {};
  const std::size_t end = past(star + 1, is_digit);
  if (end == star + 1) return {};
  constexpr std::string_view kOnlink = "/onlink";
  const bool onlink = text.substr(end).starts_with(kOnlink);
  return {.address = text.substr(at, sign - at),
          .port = text.substr(sign + 1, star - sign - 1),
          .weight = text.substr(star + 1, end - star - 1),
          .onlink = onlink,
          .end = onlink ? end + kOnlink.size() : end};
}

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

std::string plain_names(std::string_view text) {
  std::string out;
  bool after_hop = false;
  for (std::size_t at = 0; at < text.size();) {
    if (is_name_at(text, at)) {
      out += "next hops";
      at += kNameLength;
      after_hop = false;
      // A fact is KIND:KEY.
      if (at + 1 < text.size() && text[at] == ':' && !next_hop_at(text, at + 1).address.empty()) {
        out += ' ';
        ++at;
        after_hop = true;
      }
      continue;
    }
    const bool begins_word = at == 0 || after_hop || !is_address(text[at - 1]);
    const std::size_t from = after_hop && text[at] == '+' ? at + 1 : at;
    const NextHop hop = begins_word ? next_hop_at(text, from) : NextHop{};
    if (hop.address.empty()) {
      out += text[at++];
      after_hop = false;
      continue;
    }
    if (from != at) out += ", ";
    out.append(hop.address).append(" on ").append(hop.port);
    if (hop.weight != "1") out.append(" (weight ").append(hop.weight).append(")");
    if (hop.onlink) out += " (onlink)";
    at = hop.end;
    after_hop = true;
  }
  return out;
}

}  // namespace rondo::switch_agent
