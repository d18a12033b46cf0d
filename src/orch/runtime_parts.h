// The inside of Runtime, shared by runtime.cc, orch.cc and why.cc: who owns what, in the order in which it must be destroyed (last first).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orch/constraint_index.h"
#include "orch/consumer.h"
#include "orch/observer.h"
#include "rondo/orch/runtime.h"

namespace rondo {

struct Runtime::Parts {
  SystemClock system_clock;
  std::unique_ptr<Reactor> own_reactor;
  const Clock* clock = nullptr;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Store> store;
  std::unique_ptr<Journal> journal;
  ConstraintIndex constraints;
  Consumer::OnReject on_reject;
  std::set<std::string, std::less<>> written_tables;             // Known to the store.
  Ticket current;                                                // Of the change that a handler is being asked about.
  std::map<std::string, Consumer*, std::less<>> consumers;       // By table.
  std::multimap<std::string, Observer*, std::less<>> observers;  // By kind of fact.
  std::map<std::string, std::function<FactOrigin(std::string_view)>, std::less<>> origins;  // By kind of fact.
  std::vector<std::unique_ptr<Orch>> orchs;
};

}  // namespace rondo
