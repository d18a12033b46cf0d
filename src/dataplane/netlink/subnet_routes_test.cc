// SubnetRoutes: notifications of the kernel's routes to subnets, deleted addresses, gaps, and the limit.
#include "dataplane/netlink/subnet_routes.h"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>

#include "dataplane/limits.h"
#include "rondo/dataplane/limits.h"

namespace rondo::netlink {
namespace {

constexpr IfIndex kPort{3};

class SubnetRoutesTest : public ::testing::Test {
 protected:
  using Subnet = SubnetRoutes::Subnet;

  /// The notification of 10.'second'.'third'.0/24, with a metric unless that is 0.
  Message notification(std::uint16_t type, std::uint8_t second, std::uint8_t third, std::uint32_t metric = 0,
                       std::uint8_t protocol = RTPROT_KERNEL, std::uint16_t flags = 0) {
    MessageWriter writer{buffer_};
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_dst_len = 24;
    header.rtm_type = RTN_UNICAST;
    header.rtm_protocol = protocol;
    writer.begin(type, flags, 0, header);
    writer.attribute(RTA_DST, std::array<std::uint8_t, 4>{10, second, third, 0});
    writer.attribute(RTA_OIF, kPort.value());
    if (metric != 0) writer.attribute(RTA_PRIORITY, metric);
    EXPECT_TRUE(writer.end());
    MessageReader reader{writer.bytes()};
    Message message;
    EXPECT_TRUE(reader.next(message));
    return message;
  }
  /// What the routes say of the address 10.0.0.1/24. 'present': whether a read would find its route; counts the reads.
  bool has_route(bool may_read = true, bool present = true) {
    std::vector<AddressEntry> entries{{.port = kPort, .address = {IpAddress::v4(0x0a000001), 24}}};
    const Status noted = routes_.note(entries, may_read, [&]() -> Result<std::vector<Subnet>> {
      ++reads_;
      if (!present) return std::vector<Subnet>{};
      return std::vector{Subnet{kPort, Prefix::parse("10.0.0.0/24").value()}};
    });
    EXPECT_TRUE(noted.ok());
    return entries.at(0).has_subnet_route;
  }

  SubnetRoutes routes_;
  int reads_ = 0;

 private:
  std::array<std::byte, 256> buffer_{};
};

TEST_F(SubnetRoutesTest, WithoutAMonitorEachCallReadsTheRoutes) {
  EXPECT_TRUE(has_route());
  EXPECT_FALSE(has_route(true, false));
  EXPECT_EQ(reads_, 2);
  EXPECT_FALSE(has_route(false)) << "as read before";
}

TEST_F(SubnetRoutesTest, AfterOneReadTheNotificationsDecide) {
  routes_.follow(true);
  EXPECT_TRUE(has_route());
  EXPECT_EQ(routes_.notice(notification(RTM_DELROUTE, 0, 0)), (Subnet{kPort, Prefix::parse("10.0.0.0/24").value()}));
  EXPECT_FALSE(has_route());
  EXPECT_FALSE(routes_.notice(notification(RTM_NEWROUTE, 0, 0)));
  EXPECT_TRUE(has_route());
  EXPECT_EQ(reads_, 1);
}

TEST_F(SubnetRoutesTest, ARouteOfAnotherProgramAndOneThatAnOrderMadeInPassingDoNotCount) {
  routes_.follow(true);
  EXPECT_TRUE(has_route());
  EXPECT_FALSE(routes_.notice(notification(RTM_DELROUTE, 0, 0, 1)));
  EXPECT_FALSE(routes_.notice(notification(RTM_DELROUTE, 0, 0, 0, RTPROT_STATIC)));
  EXPECT_TRUE(has_route());
}

TEST_F(SubnetRoutesTest, ARouteThatAnotherProgramPutInItsPlaceIsALoss) {
  routes_.follow(true);
  EXPECT_TRUE(has_route());
  const auto replaced = [this](std::uint8_t third, std::uint32_t metric) {
    return notification(RTM_NEWROUTE, 0, third, metric, RTPROT_BOOT, NLM_F_REPLACE);
  };
  EXPECT_FALSE(routes_.notice(replaced(1, 0))) << "no address has this subnet";
  EXPECT_FALSE(routes_.notice(replaced(0, 20))) << "beside that of the kernel";
  EXPECT_TRUE(has_route());
  EXPECT_EQ(routes_.notice(replaced(0, 0)), (Subnet{kPort, Prefix::parse("10.0.0.0/24").value()}));
  EXPECT_FALSE(has_route());
  EXPECT_FALSE(routes_.notice(notification(RTM_NEWROUTE, 0, 0)));
  EXPECT_TRUE(has_route());
  EXPECT_EQ(reads_, 1);
}

TEST_F(SubnetRoutesTest, AfterAGapTheRoutesAreReadAgainIfTheyAreFew) {
  routes_.follow(true);
  EXPECT_TRUE(has_route());
  routes_.notice_gap();
  EXPECT_TRUE(has_route(false, false));
  EXPECT_EQ(reads_, 1);
  EXPECT_FALSE(has_route(true, false));
  EXPECT_FALSE(has_route(true, true)) << "not read again";
  EXPECT_EQ(reads_, 2);
}

TEST_F(SubnetRoutesTest, BeyondTheLimitTheRoutesAreReadAgain) {
  routes_.follow(true);
  EXPECT_TRUE(has_route());
  for (std::size_t i = 0; i <= limits::kLostSubnets; ++i) {
    routes_.notice(notification(RTM_DELROUTE, static_cast<std::uint8_t>(1 + i / 256), static_cast<std::uint8_t>(i % 256)));
  }
  EXPECT_FALSE(has_route(true, false));
  EXPECT_EQ(reads_, 2);
}

/// Without this, subnets of deleted addresses would count towards the limit.
TEST_F(SubnetRoutesTest, SubnetsWithoutAnAddressAreForgotten) {
  routes_.follow(true);
  EXPECT_TRUE(has_route());
  for (std::size_t i = 0; i < 3 * limits::kLostSubnets; ++i) {
    routes_.notice(notification(RTM_DELROUTE, static_cast<std::uint8_t>(1 + i / 256), static_cast<std::uint8_t>(i % 256)));
    if (i % 1000 == 0) {
      EXPECT_TRUE(has_route());
    }
  }
  EXPECT_EQ(reads_, 1);
}

}  // namespace
}  // namespace rondo::netlink
