// The encoding of data-plane objects in a journal: next hops that were found there, orders that delete objects no row asked for,
// and link events.
// docs/journal-format.md describes it in prose.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dataplane/drift_kind.h"
#include "journal/format.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/op.h"

namespace rondo::journal {

/// Maximum bytes of the encoded objects.
std::size_t bound_of(const NexthopEntry& nexthop) noexcept;
std::size_t bound_of(std::span<const DeleteOrder> deletes) noexcept;
std::size_t bound_of(const LinkEvent& event) noexcept;

void encode(Encoder& to, const NexthopEntry& nexthop) noexcept;
void encode(Encoder& to, std::span<const DeleteOrder> deletes) noexcept;
void encode(Encoder& to, const LinkEvent& event) noexcept;

/// Malformed input makes 'from' not ok().
NexthopEntry read_nexthop(Decoder& from);
std::vector<DeleteOrder> read_deletes(Decoder& from);
DriftKind read_drift_kind(Decoder& from);
LinkEvent read_link(Decoder& from);

}  // namespace rondo::journal
