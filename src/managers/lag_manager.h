// LagManager: makes rows of LAG_TABLE from PORTCHANNEL and rows of LAG_MEMBER_TABLE from PORTCHANNEL_MEMBER, as SONiC's teammgrd and
// teamsyncd do together: the kernel speaks LACP itself, so no daemon has to be asked.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "managers/manager.h"

namespace rondo::managers {

class LagManager final : public Manager {
 public:
  LagManager(Runtime& runtime, ManagedRows& rows);

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome set_member(std::string_view key, const Fields& fields);
  Outcome remove_member(std::string_view key);

  std::set<std::string, std::less<>> written_;  // LAGs whose row is in LAG_TABLE.
};

}  // namespace rondo::managers
