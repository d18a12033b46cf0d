// The tables of the switch and their fields, declared once. The row parsers (schema.cc) take names and ranges from this declaration.
// `rondo schema` and docs/guide/tables.md print it, and errors name unknown fields with the nearest declared one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/store/record.h"

namespace rondo::switch_agent {

struct FieldReference {
  std::string_view name;
  std::string_view type;  // For operators, such as "up or down".
  std::string_view unit = {};
  std::string_view fallback;  // The value that applies without the field.
  std::string_view help;
  std::int64_t low = 0;  // The range of a number.
  std::int64_t high = 0;
};

struct TableReference {
  std::string_view name;
  std::string_view help;
  std::string_view key;
  std::string_view key_help;
  /// Returns the canonical spelling of a key that is not canonical. Null: keys of this table have only one spelling.
  std::optional<std::string> (*canonical_key)(std::string_view key) = nullptr;
  std::span<const FieldReference* const> fields;
  std::string_view rule;                      // Which fields must or must not be combined.
  std::span<const std::string_view> ignored;  // SONiC's fields that are accepted without effect.
  std::string_view example;                   // A command line.
};

namespace field {

inline constexpr FieldReference kAdminStatus{
    .name = "admin_status", .type = "up or down", .fallback = "the device stays as it is", .help = "Sets the device up or down."};
// The minimum of RFC 791, and the largest value that an IPv4 length can express.
inline constexpr FieldReference kMtu{.name = "mtu",
                                     .type = "68 to 65535",
                                     .unit = "bytes",
                                     .fallback = "the device stays as it is",
                                     .help = "Sets the MTU of the device. IPv6 needs at least 1280.",
                                     .low = 68,
                                     .high = 65535};
inline constexpr FieldReference kVlanAdminStatus{
    .name = "admin_status", .type = "up or down", .fallback = "up", .help = "Sets the device of the VLAN up or down."};
inline constexpr FieldReference kVlanMtu{.name = kMtu.name,
                                         .type = kMtu.type,
                                         .unit = kMtu.unit,
                                         .fallback = "the smallest of the members",
                                         .help = "Sets the MTU of the device of the VLAN. IPv6 needs at least 1280.",
                                         .low = kMtu.low,
                                         .high = kMtu.high};
inline constexpr FieldReference kMac{
    .name = "mac", .type = "MAC address of one station", .fallback = "that of a member", .help = "The address of the device of the VLAN."};
inline constexpr FieldReference kTaggingMode{.name = "tagging_mode",
                                             .type = "tagged, untagged or priority_tagged",
                                             .fallback = "untagged",
                                             .help =
                                                 "Whether the frames of the VLAN have its tag on the port. priority_tagged is the same "
                                                 "as untagged: frames of priority have the tag 0, which belongs to no VLAN."};
inline constexpr FieldReference kLagAdminStatus{
    .name = "admin_status", .type = "up or down", .fallback = "up", .help = "Sets the device of the LAG up or down."};
inline constexpr FieldReference kLagMtu{.name = kMtu.name,
                                        .type = kMtu.type,
                                        .unit = kMtu.unit,
                                        .fallback = "the device stays as it is",
                                        .help = "Sets the MTU of the device of the LAG and of its members. IPv6 needs at least 1280.",
                                        .low = kMtu.low,
                                        .high = kMtu.high};
inline constexpr FieldReference kMinLinks{.name = "min_links",
                                          .type = "0 to 1024",
                                          .unit = "members",
                                          .fallback = "1",
                                          .help = "With LACP the LAG has carrier while this many members are active. 0 is the same as 1.",
                                          .low = 0,
                                          .high = 1024};
inline constexpr FieldReference kStatic{.name = "static",
                                        .type = "true or false",
                                        .fallback = "false",
                                        .help = "true: without LACP, every member with carrier is used. A change makes the device anew."};
inline constexpr FieldReference kMemberStatus{.name = "status",
                                              .type = "enabled or disabled",
                                              .fallback = "enabled",
                                              .help = "disabled: the port belongs to the LAG, and is not in its device."};
inline constexpr FieldReference kFdbPort{.name = "port",
                                         .type = "port",
                                         .fallback = "required",
                                         .help = "The port behind which the station is; the row waits until it is a member of the VLAN."};
inline constexpr FieldReference kFdbType{.name = "type",
                                         .type = "static or dynamic",
                                         .fallback = "static",
                                         .help = "dynamic: nothing is set, because the bridge learns the station itself."};
inline constexpr FieldReference kVrfName{.name = "vrf_name",
                                         .type = "key of VRF_TABLE",
                                         .fallback = "the default VRF",
                                         .help = "Names the VRF of the interface; the row waits until VRF_TABLE has it."};
inline constexpr FieldReference kNeigh{
    .name = "neigh", .type = "MAC address of one station", .fallback = "required", .help = "The link address of the neighbour."};
inline constexpr FieldReference kLearned{.name = "learned",
                                         .type = "MAC address",
                                         .fallback = "none",
                                         .help =
                                             "Written by rondod ([dataplane] learn_neighbors). If it is the same as neigh, the kernel "
                                             "has learned the neighbour, and keeps and ages it."};
inline constexpr FieldReference kFamily{
    .name = "family", .type = "IPv4 or IPv6", .fallback = "that of the key", .help = "Must be the family of the key's address."};
inline constexpr FieldReference kNexthop{
    .name = "nexthop",
    .type = "addresses, separated by commas",
    .fallback = "none",
    .help = "The gateways. An IPv4 route can have gateways of both families, an IPv6 route only IPv6 ones."};
inline constexpr FieldReference kIfname{
    .name = "ifname", .type = "ports, separated by commas", .fallback = "none", .help = "The port of each gateway, in the same order."};
inline constexpr FieldReference kWeight{
    .name = "weight",
    .type = "1 to 65535 each, separated by commas",
    .fallback = "1 each",
    .help =
        "The weight of each gateway, in the same order. Weights of equal next hops are added. If one is "
        "above 255, all are scaled to 1 to 255, and keep their proportion.",
    .low = 1,
    .high = 65535};
inline constexpr FieldReference kOnlink{
    .name = "onlink",
    .type = "true or false each, separated by commas",
    .fallback = "false each",
    .help =
        "true: the port reaches the gateway directly, although no subnet of the port contains it. In the "
        "same order as the gateways."};
inline constexpr FieldReference kNexthopGroup{.name = "nexthop_group",
                                              .type = "key of NEXTHOP_GROUP_TABLE",
                                              .fallback = "none",
                                              .help = "The group of next hops; the route waits until the group is in the kernel."};
inline constexpr FieldReference kPrefsrc{.name = "prefsrc",
                                         .type = "address of this host",
                                         .fallback = "the kernel chooses",
                                         .help =
                                             "The source address of packets that the host itself sends along the route. It is of the "
                                             "prefix's family; while the host does not have it, the kernel refuses the route."};
inline constexpr FieldReference kBlackhole{
    .name = "blackhole", .type = "true or false", .fallback = "false", .help = "true: packets to the prefix are dropped."};

}  // namespace field

/// All tables that the switch agent consumes and that operators write.
std::span<const TableReference> tables();
/// Returns null for an undeclared table.
const TableReference* find_table(std::string_view name);

/// Returns "ROUTE_TABLE has no field 'nexthop_grup'; did you mean 'nexthop_group'?"; empty if 'table' has the field.
std::string unknown_field(const TableReference& table, std::string_view name);
/// The same for the first of 'fields' that 'table' does not have; empty if it has all of them.
std::string unknown_field(const TableReference& table, const Fields& fields);

}  // namespace rondo::switch_agent
