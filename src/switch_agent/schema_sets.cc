// The names and the rows of sets of next hops, which the agent writes into NEXTHOP_SET. Declared in schema.h.
#include <algorithm>
#include <span>

#include "switch_agent/schema.h"
#include "switch_agent/tables.h"

namespace rondo::switch_agent {

namespace {

constexpr std::string_view kOnlinkMark = "/onlink";

/// The lists of the fields.
struct HopTexts {
  std::string gateways;
  std::string ports;
  std::string weights;
  std::string onlinks;
  void add(std::string_view gateway, std::string_view port, std::string_view weight, bool onlink) {
    const char* const comma = gateways.empty() ? "" : ",";
    gateways.append(comma).append(gateway);
    ports.append(comma).append(port);
    weights.append(comma).append(weight);
    onlinks.append(comma).append(onlink ? "true" : "false");
  }
  Record row(std::string_view name, bool has_onlink) const {
    std::vector<Field> fields{{field::kNexthop.name, gateways}, {field::kIfname.name, ports}, {field::kWeight.name, weights}};
    if (has_onlink) fields.push_back({field::kOnlink.name, onlinks});
    return Record::make(name, std::span<const Field>{fields});
  }
};

}  // namespace

std::string name_of(const std::vector<Hop>& hops) {
  std::string name;
  for (const Hop& hop : hops) {
    if (!name.empty()) name += '+';
    name.append(hop.gateway.to_string()).append("@").append(hop.port).append("*").append(std::to_string(hop.weight));
    if (hop.onlink) name.append(kOnlinkMark);
  }
  return name;
}

Record set_row(const std::vector<Hop>& hops) {
  HopTexts texts;
  for (const Hop& hop : hops) texts.add(hop.gateway.to_string(), hop.port, std::to_string(hop.weight), hop.onlink);
  return texts.row(name_of(hops), std::ranges::any_of(hops, &Hop::onlink));
}

Result<std::vector<Hop>> parse_set_name(std::string_view name) {
  HopTexts texts;
  for (std::string_view rest = name; !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const bool onlink = part.ends_with(kOnlinkMark);
    if (onlink) part.remove_suffix(kOnlinkMark.size());
    const std::size_t at = std::min(part.find('@'), part.size());
    const std::size_t star = std::min(part.find('*', at), part.size());
    const std::size_t port = std::min(at + 1, star);
    texts.add(part.substr(0, at), part.substr(port, star - port), part.substr(std::min(star + 1, part.size())), onlink);
  }
  Result<std::vector<Hop>> hops = parse_hops(texts.row(name, true).fields());
  if (!hops || name_of(*hops) != name)
    return failure(StatusCode::InvalidArgument, "the key is not a list ADDRESS@PORT*WEIGHT[/onlink]+...");
  return hops;
}

}  // namespace rondo::switch_agent
