// The frame that tells zebra of a route, byte by byte.
#include "fpm/answer.h"

#include <gtest/gtest.h>

#include "fpm/fpm_kit.h"

namespace rondo::fpm {
namespace {

TEST(FpmAnswer, IsAFrameWithOneRequestAsZebraReadsIt) {
  std::string stream;
  append_answer(stream, {.prefix = kit::prefix("10.1.0.0/16"), .protocol = 186}, 0);
  const std::string expected{
      "\x01\x01\x00\x28"                   // Version, netlink, length.
      "\x24\x00\x00\x00\x18\x00\x01\x00"   // Length, RTM_NEWROUTE, NLM_F_REQUEST.
      "\x00\x00\x00\x00\x00\x00\x00\x00"   // Sequence, port.
      "\x02\x10\x00\x00\x00\xba\x00\x01"   // AF_INET, /16, table 0, protocol 186, unicast.
      "\x00\x40\x00\x00"                   // RTM_F_OFFLOAD.
      "\x08\x00\x01\x00\x0a\x01\x00\x00",  // RTA_DST.
      40};
  EXPECT_EQ(stream, expected);
  append_answer(stream, {.prefix = kit::prefix("2001:db8::/32"), .protocol = 188, .blackhole = true}, 0);
  EXPECT_EQ(stream.size(), 40U + 52U);
}

TEST(FpmAnswer, NamesTheVrfByTheIndexOfItsDevice) {
  std::string low;
  append_answer(low, {.prefix = kit::prefix("10.1.0.0/16"), .protocol = 186, .vrf = "Vrf1"}, 17);
  EXPECT_EQ(low.size(), 40U);
  EXPECT_EQ(low[24], 17) << "rtm_table";
  std::string high;
  append_answer(high, {.prefix = kit::prefix("10.1.0.0/16"), .protocol = 186, .vrf = "Vrf1"}, 0x1234);
  ASSERT_EQ(high.size(), 48U);
  EXPECT_EQ(high[24], 0);
  EXPECT_EQ(high.substr(40), (std::string{"\x08\x00\x0f\x00\x34\x12\x00\x00", 8})) << "RTA_TABLE";
}

}  // namespace
}  // namespace rondo::fpm
