// kernel_status: translates an errno of the kernel's data plane and its error text into a Status with the codes that dataplane/op.h
// promises. The Linux and the simulated data plane both use it, so that they report the same. Costs an allocation or two; called for
// failures only. Any thread.
#pragma once

#include <string_view>

#include "rondo/dataplane/op.h"

namespace rondo {

/// 'error_number' > 0 is the kernel's answer to 'order'; 'words' is the text of its extended acknowledgement, or empty.
Status status_from_kernel(const Order& order, int error_number, std::string_view words);

/// In the text of a refusal: the preferred source of a route.
inline constexpr std::string_view kNoSource = "the preferred source is not an address of this host";

/// "protocol static (4)"
std::string protocol_words(std::uint8_t protocol);
/// What to do if routes of this number are those of an earlier run of rondod; empty for the number of a known program.
std::string former_number_words(std::uint8_t protocol);
/// The text for a prefix at which another program has a route: "held by a route of protocol static (4)".
std::string held_words(std::uint8_t protocol);
/// The text for a number under which another program has a next hop or a group.
std::string held_nexthop_words(std::uint8_t protocol);

/// The texts for an entry of a bridge that an FdbSet does not replace.
inline constexpr const char* kHeldByControlPlane = "the bridge has an entry of another control plane for this address (extern_learn)";
inline constexpr const char* kAddressOfDevice = "it is the address of a device of this bridge";

}  // namespace rondo
