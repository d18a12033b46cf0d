// The parser of BGP messages: messages made by hand after RFC 4271, cut at every byte.
#include "rondo-demo/frr/bgp_tap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo::demo {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes message(std::uint8_t type, const Bytes& body) {
  Bytes bytes(16, 255);
  const std::size_t length = 19 + body.size();
  bytes.insert(bytes.end(), {static_cast<std::uint8_t>(length >> 8U), static_cast<std::uint8_t>(length), type});
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

/// Two attribute bytes, one withdrawn prefix; announces 20.1.0.0/16, 20.2.3.0/24 and the default route.
Bytes update() { return message(2, {0, 2, 8, 10, 0, 2, 0x40, 1, 16, 20, 1, 24, 20, 2, 3, 0}); }

std::vector<Prefix> announced() {
  return {Prefix::parse("20.1.0.0/16").value(), Prefix::parse("20.2.3.0/24").value(), Prefix::parse("0.0.0.0/0").value()};
}

TEST(BgpTap, ReadsTheAnnouncedPrefixesOfAStreamThatIsCutAtEveryByte) {
  Bytes all = message(4, {});
  for (const std::uint8_t byte : update()) all.push_back(byte);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    Bytes stream(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
    std::vector<Prefix> found = take_announcements(stream);
    stream.insert(stream.end(), all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
    for (const Prefix& prefix : take_announcements(stream)) found.push_back(prefix);
    EXPECT_EQ(found, announced()) << "cut at " << cut;
    EXPECT_TRUE(stream.empty());
  }
}

TEST(BgpTap, FindsTheNextMessageAfterBytesThatAreNone) {
  Bytes stream{1, 2, 3};
  for (const std::uint8_t byte : update()) stream.push_back(byte);
  EXPECT_EQ(take_announcements(stream), announced());
  Bytes lying = message(2, {0, 0, 0, 0, 33, 1, 2, 3, 4});
  EXPECT_THAT(take_announcements(lying), testing::IsEmpty()) << "33 bits are no length";
}

}  // namespace
}  // namespace rondo::demo
