// VrfManager: makes rows of VRF_TABLE from VRF, as SONiC's vrfmgrd does.
#pragma once

#include <string_view>

#include "managers/manager.h"

namespace rondo::managers {

class VrfManager final : public Manager {
 public:
  VrfManager(Runtime& runtime, ManagedRows& rows);

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
};

}  // namespace rondo::managers
