// route_spellings.cc: decides which row has a route if the keys of several rows spell one prefix. See spellings.h.
#include "rondo/orch/runtime.h"
#include "switch_agent/facts.h"
#include "switch_agent/routes.h"

namespace rondo::switch_agent {

void Routes::provide_spellings() {
  provide(kRouteSpelling, [this](std::string_view name) {
    const Result<Place> place = place_of(name);
    return !place || (routes_.find(place->id) == RouteMap::kNone && !spellings_.is_odd(name));
  });
  runtime().explain(kRouteSpelling, [this](std::string_view name) {
    return FactOrigin{"", "", spellings_.explain("route", "ROUTE_TABLE", name)};
  });
}

/// Costs two branches for a row with a canonical key while all keys are canonical.
bool Routes::another_row_has(const Place& place, std::string_view spelt) const {
  if (place.canonical && spellings_.empty()) return false;
  return !spellings_.may_act(row_key_of(place.id), spelt, routes_.find(place.id) != RouteMap::kNone);
}

void Routes::wait_for_row(Batch& batch, std::size_t index, const RouteId& route) {
  const std::string canonical = row_key_of(route);
  spellings_.contest(canonical);
  batch.answer(index, Outcome::wait_for({kRouteSpelling, canonical}));
}

/// Called when no row has a route of this prefix any more.
void Routes::tell_free(const RouteId& route) {
  if (spellings_.empty()) return;
  const std::string canonical = row_key_of(route);
  if (spellings_.release(canonical)) announce({kRouteSpelling, canonical});
}

/// The outcome for a route that is in the kernel. A row with another spelling may have arrived while the order was under way, and its
/// order is queued behind.
Outcome Routes::outcome_of_answer(const Ordered& ordered, const RouteId& route) {
  if (!ordered.canonical || spellings_.empty()) return outcome_of_present(route, ordered.group);
  const std::string canonical = row_key_of(route);
  if (!spellings_.is_odd(canonical)) return outcome_of_present(route, ordered.group);
  spellings_.contest(canonical);
  return Outcome::wait_for({kRouteSpelling, canonical});
}

}  // namespace rondo::switch_agent
