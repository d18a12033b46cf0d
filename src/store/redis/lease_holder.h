// The text with which a process identifies itself as the holder of a lease (lease.h): host, pid, and data that distinguish the process
// from any other. Another process reads it, shows the holder to users, and detects whether a holder on this machine has ended.
#pragma once

#include <string>
#include <string_view>

namespace rondo::redis {

/// Makes the text for a new holder in this process; no two are equal.
std::string new_lease_holder();

/// The text for this process: the same at each call.
std::string process_lease_holder();

/// True if the holder was a process of this machine and pid namespace that has ended. False if that cannot be determined.
bool is_gone(std::string_view holder);

/// For display: "pid 4711 on host leaf1", or, for a text that no holder wrote, that another program wrote it, and the cure in parentheses.
std::string describe_holder(std::string_view holder);

}  // namespace rondo::redis
