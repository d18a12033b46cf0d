// How objects of the data plane lie in a journal: next hops that were found there, and the orders that delete what nobody asked for.
// docs/journal-format.md has it in words.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orch/journal_format.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"

namespace rondo::journal {

/// At most so many bytes take these.
std::size_t bound_of(const NexthopEntry& nexthop) noexcept;
std::size_t bound_of(std::span<const DeleteOrder> deletes) noexcept;

void encode(Encoder& to, const NexthopEntry& nexthop) noexcept;
void encode(Encoder& to, std::span<const DeleteOrder> deletes) noexcept;

/// What is malformed makes 'from' not ok().
NexthopEntry read_nexthop(Decoder& from);
std::vector<DeleteOrder> read_deletes(Decoder& from);
DriftKind read_drift_kind(Decoder& from);

}  // namespace rondo::journal
