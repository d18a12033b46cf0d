#include "rondo-demo/measurement/verify.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace rondo::demo {

namespace {

constexpr std::size_t kExamples = 5;

struct Asked {
  rondo::Prefix prefix;
  std::string group;
};

using Members = std::set<std::string>;  // "gateway@port*weight".

Members asked_members(unsigned group, feed::Family family, const feed::NextHopPlan& plan) {
  Members members;
  for (unsigned k = group * feed::kHopsPerGroup; k < (group + 1) * feed::kHopsPerGroup; ++k) {
    const feed::NextHop hop = feed::NextHopPlan::hop(k, family);
    members.insert(hop.address + "@" + plan.port_name(hop.port) + "*1");
  }
  return members;
}

std::map<NexthopId, Members> kernel_members(const KernelState& kernel) {
  std::map<NexthopId, std::string> singles;
  for (const NexthopEntry& entry : kernel.nexthops) {
    if (entry.members.empty()) singles[entry.id] = entry.gateway.to_string() + "@" + kernel.port_name(entry.port);
  }
  std::map<NexthopId, Members> groups;
  for (const NexthopEntry& entry : kernel.nexthops) {
    for (const GroupMember& member : entry.members) {
      groups[entry.id].insert(singles[member.nexthop] + "*" + std::to_string(member.weight));
    }
  }
  return groups;
}

/// The last entry for each prefix, sorted by prefix; withdrawn ones omitted.
std::vector<std::pair<rondo::Prefix, const feed::Route*>> last_words(std::span<const feed::Route> routes) {
  std::vector<std::pair<rondo::Prefix, const feed::Route*>> words;
  words.reserve(routes.size());
  for (const feed::Route& route : routes) words.emplace_back(to_dataplane(route.prefix), &route);
  std::ranges::stable_sort(words, {}, [](const auto& word) { return word.first; });
  std::vector<std::pair<rondo::Prefix, const feed::Route*>> last;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool later_one = i + 1 < words.size() && words[i + 1].first == words[i].first;
    if (!later_one && !words[i].second->withdrawn) last.push_back(words[i]);
  }
  return last;
}

std::string join(const Members& members) {
  std::string text;
  for (const std::string& member : members) text.append(text.empty() ? "" : ", ").append(member);
  return text.empty() ? "nothing" : text;
}

}  // namespace

rondo::Prefix to_dataplane(const feed::Prefix& prefix) {
  if (prefix.family == feed::Family::V4) {
    return {IpAddress::v4(static_cast<std::uint32_t>(prefix.high >> 32U)), prefix.length};
  }
  std::array<std::uint8_t, 16> bytes{};
  for (unsigned i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(prefix.high >> (56U - 8U * i));
    bytes[8 + i] = static_cast<std::uint8_t>(prefix.low >> (56U - 8U * i));
  }
  return {IpAddress::v6(bytes), prefix.length};
}

Comparison compare(std::span<const feed::Route> routes, const feed::NextHopPlan& plan, KernelState kernel) {
  Comparison result;
  const auto example = [&](std::string text) {
    if (result.examples.size() < kExamples) result.examples.push_back(std::move(text));
  };
  const auto asked = last_words(routes);
  result.asked = asked.size();
  std::ranges::sort(kernel.routes, {}, &RouteEntry::prefix);
  const std::map<NexthopId, Members> groups = kernel_members(kernel);
  std::map<std::pair<feed::Family, unsigned>, std::set<NexthopId>> used;  // The kernel groups that implement each requested group.

  auto entry = kernel.routes.begin();
  for (const auto& [prefix, route] : asked) {
    for (; entry != kernel.routes.end() && entry->prefix < prefix; ++entry) {
      ++result.unasked;
      example(entry->prefix.to_string() + " is in the kernel and was not asked for");
    }
    if (entry == kernel.routes.end() || entry->prefix != prefix) {
      ++result.missing;
      example(prefix.to_string() + " is missing");
      continue;
    }
    used[{route->prefix.family, route->group}].insert(entry->nexthop);
    if (entry->type == RouteType::Unicast && entry->table == kMainTable) {
      ++result.equal;
    } else {
      ++result.missing;
      example(prefix.to_string() + " is in the kernel, but of another type or in another table");
    }
    ++entry;
  }
  for (; entry != kernel.routes.end(); ++entry) {
    ++result.unasked;
    example(entry->prefix.to_string() + " is in the kernel and was not asked for");
  }

  std::set<NexthopId> seen;
  for (const auto& [wanted, ids] : used) {
    const Members members = asked_members(wanted.second, wanted.first, plan);
    for (const NexthopId id : ids) {
      if (!seen.insert(id).second || ids.size() != 1) {
        ++result.wrong_group;
        example("routes of group " + feed::NextHopPlan::group_name(wanted.second, wanted.first) + " share or split a kernel group");
      }
      const auto has = groups.find(id);
      if (has != groups.end() && has->second == members) continue;
      ++result.wrong_members;
      example("group " + feed::NextHopPlan::group_name(wanted.second, wanted.first) + " has " +
              join(has == groups.end() ? Members{} : has->second) + " and should have " + join(members));
    }
  }
  // Equal prefixes with wrong groups do not make the table equal.
  if (result.wrong_group > 0 || result.wrong_members > 0) result.equal = 0;
  return result;
}

Result<KernelState> read_kernel(DataPlane& plane) {
  KernelState state;
  if (Status read = plane.routes([&](const RouteEntry& route) { state.routes.push_back(route); }); !read.ok())
    return failure(std::move(read));
  auto nexthops = plane.nexthops();
  if (!nexthops) return failure(nexthops.error());
  state.nexthops = std::move(*nexthops);
  auto links = plane.links();
  if (!links) return failure(links.error());
  auto names = std::make_shared<std::map<IfIndex, std::string>>();
  for (const LinkEvent& link : *links) (*names)[link.port] = link.name;
  state.port_name = [names](IfIndex port) { return (*names)[port]; };
  return state;
}

}  // namespace rondo::demo
