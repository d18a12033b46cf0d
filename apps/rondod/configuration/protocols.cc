#include "rondod/configuration/protocols.h"

#include <linux/rtnetlink.h>

#include <string>
#include <string_view>

namespace rondo::daemon {

namespace {

std::string_view owner_of(std::uint8_t protocol) {
  switch (protocol) {
    case 8: return "gated";
    case 9: return "the kernel (router advertisements)";
    case 10: return "mrtd";
    case 11: return "zebra";
    case 12: return "BIRD";
    case 13: return "DECnet";
    case 14: return "XORP";
    case 15: return "Netsukuku";
    case 16: return "DHCP clients";
    case 17: return "mrouted";
    case 18: return "keepalived";
    case 42: return "babeld";
    case 84: return "OVN";
    case 99: return "Open/R";
    case 186: return "BGP in FRR";
    case 187: return "IS-IS in FRR";
    case 188: return "OSPF in FRR";
    case 189: return "RIP in FRR";
    case 190: return "RIPng in FRR";
    case 191: return "NHRP in FRR";
    case 192: return "EIGRP in FRR";
    case 193: return "LDP in FRR";
    case 194: return "sharpd in FRR";
    case 195: return "PBR in FRR";
    case 196: return "static routes of FRR";
    case 197: return "OpenFabric in FRR";
    case 198: return "segment routing policies in FRR";
    default: return {};
  }
}

}  // namespace

Status check_protocol(std::uint8_t protocol) {
  const std::string_view owner = owner_of(protocol);
  if (owner.empty()) return {};
  return Status{StatusCode::InvalidArgument, "cannot be " + std::to_string(protocol) + ", the number of " + std::string{owner} +
                                                 ": a start of rondod would delete objects of that program"};
}

Status check_table(std::uint32_t table) {
  if (table != RT_TABLE_LOCAL) return {};
  return Status{StatusCode::InvalidArgument, "cannot be " + std::to_string(table) + ", the kernel's table of local addresses"};
}

}  // namespace rondo::daemon
