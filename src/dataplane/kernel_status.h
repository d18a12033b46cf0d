// kernel_status: an errno of the kernel's data plane, with its own words, as a Status in the codes that dataplane/op.h promises. Used by
// the Linux and by the simulated data plane, so that both say the same. Costs an allocation or two; called for failures only. Any thread.
#pragma once

#include <string_view>

#include "rondo/dataplane/op.h"

namespace rondo {

/// 'error_number' > 0 is what the kernel answered to 'order'; 'words' is the text of its extended acknowledgement, if it gave any.
Status status_from_kernel(const Order& order, int error_number, std::string_view words);

/// What is said where a route of another program is: "held by a route of protocol static (4)".
std::string held_words(std::uint8_t protocol);

}  // namespace rondo
