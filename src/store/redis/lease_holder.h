// LeaseHolder: the text by which a process names itself as the holder of a lease (lease.h): host, pid, and what tells that process from
// any other one. Another process reads it, names the holder to people, and finds out whether a holder on this machine is gone.
#pragma once

#include <string>
#include <string_view>

namespace rondo::redis {

/// Of a new holder in this process; no two are equal.
std::string new_lease_holder();

/// Whether the holder was a process of this machine and pid namespace that has ended. False where that cannot be known.
bool is_gone(std::string_view holder);

/// For people: "pid 4711 on host leaf1", or the text itself where another program wrote it.
std::string describe_holder(std::string_view holder);

}  // namespace rondo::redis
