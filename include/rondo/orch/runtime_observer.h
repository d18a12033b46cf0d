// RuntimeObserver: receives what a runtime does, in order: the changes that its consumers take, what becomes of each row, facts, and the
// store's refusals. A journal (rondo/journal/journal.h) is one. Without one, each event costs one branch; with one, a virtual call.
#pragma once

namespace rondo {

class RuntimeEvents;

class RuntimeObserver {
 public:
  virtual ~RuntimeObserver();
  /// For the runtime: what receives the events. The interface is no part of the public one.
  virtual RuntimeEvents& events() noexcept = 0;
};

}  // namespace rondo
