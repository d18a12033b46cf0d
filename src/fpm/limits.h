// Limits of the FPM server. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- FPM

/// Routes that the FPM server holds, in every table of the kernel that it takes. Each costs about 90 bytes and its row.
/// Reached: a new prefix is left out until there is room, and `health` reports it. Figure: `stats.fpm.skipped.full`. Test:
/// `RouteBookTest.APrefixBeyondTheLimitIsLeftOutAndCounted`,
/// `FpmServer.WhatWasLeftOutIsSentAgainWhenThereIsRoom`.
inline constexpr std::size_t kFpmRoutes = 4'000'000;

/// Next hops and groups of next hops that the FPM server holds. zebra makes one for each distinct set, and keeps unused ones for minutes.
/// Also the most distinct sets of next hops that routes state themselves and that have a row.
/// Reached: a new next hop is left out, and its routes wait for it; a route with one set more waits for the group `fpm:limit` until another
/// set is not used any more. Figure: `stats.fpm.without_room`, `stats.fpm.skipped.full`. Test:
/// `RouteBookTest.ANextHopBeyondTheLimitIsLeftOutAndCounted`, `RouteBookTest.ARouteBeyondTheLimitOfSetsWaitsAndIsTakenUp`.
inline constexpr std::size_t kFpmNexthops = 262'144;

/// Members of groups and of sets of next hops that the FPM server holds, added up. A member costs up to 28 bytes, and its part of a row.
/// Reached: a route waits for the group `fpm:limit`, a next hop is left out and its routes wait for it, and zebra must send both again.
/// Figure: `stats.fpm.left_out`, `stats.fpm.members`. Test: `RouteBookTest.MembersBeyondTheLimitAreNotHeldAndTheRouteWaits`.
inline constexpr std::size_t kFpmMembers = 4'194'304;

/// Routes that the FPM server writes ahead of the data plane's answers. A route that goes first waits for these: 1.3 ms at 390,000 routes a
/// second. Two netlink sends keep the data plane busy.
/// Reached: the rest stays in the server, merged by prefix, until the data plane has answered some. Figure: `stats.fpm.unwritten`. Test:
/// `FpmServer.NoMoreRoutesThanTheLimitAreUnderWay`.
inline constexpr std::size_t kFpmUnderWay = 512;

/// VRFs, besides the default one, whose routes the FPM server holds, and tables without a VRF that it counts by themselves. As many as
/// kVrfs. Each VRF costs 2 KiB.
/// Reached: routes of a further VRF are skipped, until another VRF has no routes any more. Figure: `stats.fpm.vrfs`,
/// `stats.fpm.skipped.table`. Test: `VrfSlotsTest.AVrfBeyondTheLimitIsSkippedUntilAnotherIsEmpty`.
inline constexpr std::size_t kFpmVrfs = 1000;

/// Rows of ROUTE_TABLE that FPM did not write and whose keys the FPM server knows, so that it does not write a route of zebra over one of
/// them. A key costs about 100 bytes.
/// Reached: the server writes zebra's route of a further prefix over such a row. `health` reports it. Figure:
/// `stats.fpm.other_rows_unknown`. Test: `FpmRows.RowsOfOthersBeyondTheLimitAreCounted`.
inline constexpr std::size_t kFpmOtherRows = 1'000'000;

/// Different preferred sources of the routes that the FPM server holds. SONiC gives all routes of BGP that of its loopback, one for each
/// family and VRF, and a route has one byte for it.
/// Reached: a route with a further source is written without it, and zebra must send it again when there is room. Figure:
/// `stats.fpm.left_out`. Test: `RouteBookTest.SourcesBeyondTheLimitAreLeftOutAndSentAgain`.
inline constexpr std::size_t kFpmSources = 255;

}  // namespace rondo::limits
