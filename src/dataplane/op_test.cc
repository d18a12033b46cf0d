// Goal: orders have readable texts, and the kernel's errors become the codes that op.h promises. (Orders that are wrong by themselves:
// dataplane_contract_test.cc.) Method: tables.
#include "rondo/dataplane/op.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "dataplane/kernel_status.h"

namespace rondo {
namespace {

Prefix prefix(const char* text) { return Prefix::parse_interface(text).value(); }
IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

TEST(Order, ReadsAsASentence) {
  const IfIndex port{3};
  const std::vector<std::pair<Order, std::string>> cases = {
      {RouteSet{.prefix = prefix("10.0.0.0/8"), .nexthop = NexthopId{7}}, "route 10.0.0.0/8 via nexthop 7"},
      {RouteSet{.prefix = prefix("10.0.0.0/8"), .nexthop = NexthopId{7}, .source = ip("10.1.0.32")},
       "route 10.0.0.0/8 via nexthop 7 src 10.1.0.32"},
      {RouteSet{.prefix = prefix("::/0"), .table = 1001, .type = RouteType::Blackhole}, "route ::/0 table 1001 blackhole"},
      {RouteSet{.prefix = prefix("::/0"), .type = RouteType::Unreachable}, "route ::/0 unreachable"},
      {RouteSet{.prefix = prefix("::/0"), .type = RouteType::Prohibit}, "route ::/0 prohibit"},
      {RouteDelete{.prefix = prefix("10.0.0.0/8")}, "delete route 10.0.0.0/8"},
      {GroupSet{.id = NexthopId{9}, .members = {{NexthopId{7}}, {NexthopId{8}, 3}}}, "group 9 of 7 8*3"},
      {GroupSet{.id = NexthopId{9}, .members = std::vector<GroupMember>(9, {NexthopId{1}})}, "group 9 of 1 1 1 1 1 1 1 1 ... (9 members)"},
      {NexthopSet{.id = NexthopId{7}, .gateway = ip("10.0.0.2"), .port = port}, "nexthop 7 to 10.0.0.2 on port 3"},
      {NexthopSet{.id = NexthopId{7}, .gateway = ip("10.0.0.2"), .port = port, .onlink = true}, "nexthop 7 to 10.0.0.2 on port 3 onlink"},
      {NexthopDelete{.id = NexthopId{7}}, "delete nexthop 7"},
      {NeighborSet{.port = port, .address = ip("::1"), .mac = {}}, "neighbor ::1 at 00:00:00:00:00:00 on port 3"},
      {NeighborDelete{.port = port, .address = ip("::1")}, "delete neighbor ::1 on port 3"},
      {AddressSet{.port = port, .address = prefix("10.0.0.1/24")}, "address 10.0.0.1/24 on port 3"},
      {AddressDelete{.port = port, .address = prefix("10.0.0.1/24")}, "delete address 10.0.0.1/24 on port 3"},
      {LinkSet{.port = port, .up = true, .mtu = 1500}, "port 3 up mtu 1500"},
      {LinkSet{.port = port, .up = false}, "port 3 down"},
      {BondSet{.name = "Po1", .min_links = 2}, "bond Po1 of mode 802.3ad with min_links 2"},
      {BondSet{.name = "Po1", .mode = BondMode::Static}, "bond Po1 of mode balance-xor with min_links 0"},
      {BondSet{.name = {}, .min_links = 2, .device = port}, "bond of port 3 with min_links 2"},
  };
  for (const auto& [order, text] : cases) EXPECT_EQ(to_string(order), text);
}

TEST(KernelStatus, ClassifiesWhatTheKernelSays) {
  const Order set = RouteSet{.prefix = prefix("10.0.0.0/8"), .nexthop = NexthopId{7}};
  const Order from = RouteSet{.prefix = prefix("10.0.0.0/8"), .nexthop = NexthopId{7}, .source = ip("10.1.0.32")};
  const Order remove = RouteDelete{.prefix = prefix("10.0.0.0/8")};
  const Order nexthop = NexthopSet{.id = NexthopId{7}, .gateway = ip("10.0.0.2"), .port = IfIndex{3}};
  const Order bond = BondSet{.name = {}, .min_links = 2, .device = IfIndex{3}};
  const Order enter = LinkSet{.port = IfIndex{3}, .master = IfIndex{4}};
  struct Case {
    const Order& order;
    int error_number;
    const char* words;
    StatusCode code;
  };
  for (const Case& c : {Case{remove, ESRCH, "", StatusCode::NotFound},
                        Case{remove, ENOENT, "", StatusCode::NotFound},
                        Case{set, EINVAL, "Nexthop id does not exist.", StatusCode::FailedPrecondition},
                        Case{set, EINVAL, "", StatusCode::FailedPrecondition},
                        Case{set, EINVAL, "Something else", StatusCode::InvalidArgument},
                        Case{from, EINVAL, "Invalid prefsrc address", StatusCode::FailedPrecondition},
                        Case{from, EINVAL, "Invalid source address", StatusCode::FailedPrecondition},
                        Case{from, EINVAL, "Something else", StatusCode::InvalidArgument},
                        Case{nexthop, EINVAL, "Invalid device index", StatusCode::FailedPrecondition},
                        Case{nexthop, EINVAL, "", StatusCode::InvalidArgument},
                        Case{nexthop, ENETDOWN, "", StatusCode::FailedPrecondition},
                        Case{nexthop, ENETUNREACH, "", StatusCode::FailedPrecondition},
                        Case{nexthop, EHOSTUNREACH, "", StatusCode::FailedPrecondition},
                        Case{nexthop, ENODEV, "", StatusCode::FailedPrecondition},
                        Case{set, ENOBUFS, "", StatusCode::ResourceExhausted},
                        Case{set, ENOSPC, "", StatusCode::ResourceExhausted},
                        Case{set, EOPNOTSUPP, "", StatusCode::Unimplemented},
                        Case{set, EPERM, "", StatusCode::PermissionDenied},
                        Case{bond, EBUSY, "", StatusCode::FailedPrecondition},
                        Case{bond, ENOTEMPTY, "", StatusCode::FailedPrecondition},
                        Case{bond, EOPNOTSUPP, "", StatusCode::Unimplemented},
                        Case{enter, EPERM, "Device can not be enslaved while up", StatusCode::FailedPrecondition},
                        Case{enter, EPERM, "", StatusCode::PermissionDenied},
                        Case{set, EEXIST, "", StatusCode::AlreadyExists}}) {
    const Status status = status_from_kernel(c.order, c.error_number, c.words);
    EXPECT_EQ(status.code(), c.code) << to_string(c.order) << " errno " << c.error_number << " '" << c.words << "'";
    EXPECT_EQ(status.origin_errno(), c.error_number);
    EXPECT_EQ(status.message().find(to_string(c.order) + ": "), 0U) << status.message();
  }
  EXPECT_EQ(status_from_kernel(set, EINVAL, "Nexthop id does not exist.").message(),
            "route 10.0.0.0/8 via nexthop 7: Nexthop id does not exist");
}

}  // namespace
}  // namespace rondo
