// ReportsHealth: a Source of a component above the Orchs that may have a trouble of its own, such as the switch's. `health` asks it.
#pragma once

#include "rondo/base/status.h"

namespace rondo {

class ReportsHealth {
 public:
  virtual ~ReportsHealth() = default;
  /// Ok, or what an operator must do. Runtime's thread.
  virtual Status health() const = 0;
};

}  // namespace rondo
