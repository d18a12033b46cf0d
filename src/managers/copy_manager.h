// CopyManager: makes one row of APPL_DB from each row of its tables of CONFIG_DB, with the same fields and default values for missing ones.
// port_copies() does what SONiC's portmgrd does, vlan_copies() what vlanmgrd does, and vrf_copies() what vrfmgrd does. lag_copies() does
// what teammgrd and teamsyncd do together: the kernel speaks LACP itself, so no daemon has to be asked.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "managers/manager.h"

namespace rondo::managers {

struct CopiedTable {
  std::string source;  // The table of CONFIG_DB.
  std::string target;  // The table of APPL_DB. Its key is that of the source, with ':' for '|'.
  FactKind written;    // Holds while the row is in APPL_DB; may be empty.
  Status (*check_key)(std::string_view key);
  /// The fields of the row in APPL_DB, as views into 'fields', or why they are refused.
  Result<std::vector<Field>> (*fields_of)(const Fields& fields);
};
struct CopiedTables {
  std::string manager;  // The name of the Orch.
  std::vector<CopiedTable> tables;
};
CopiedTables port_copies();
CopiedTables lag_copies();
CopiedTables vlan_copies();
CopiedTables vrf_copies();

class CopyManager final : public Manager {
 public:
  CopyManager(Runtime& runtime, ManagedRows& rows, CopiedTables copies);

 private:
  struct Copy {
    CopiedTable table;
    std::set<std::string, std::less<>> written;  // Keys whose row is in APPL_DB, if 'table.written' is given.
  };
  Outcome set(Copy& copy, std::string_view key, const Fields& fields);
  Outcome remove(Copy& copy, std::string_view key);

  std::vector<Copy> copies_;
};

}  // namespace rondo::managers
