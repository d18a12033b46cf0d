// Frames that arrive in pieces and joined, and streams that are not FPM.
#include "fpm/frame_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fpm/fpm_kit.h"

namespace rondo::fpm {
namespace {

using testing::HasSubstr;

/// Feeds 'stream' in pieces of 'piece' bytes, and returns the contents of the frames.
std::vector<std::string> frames_of(std::string_view stream, std::size_t piece) {
  FrameReader reader;
  std::vector<std::string> frames;
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) {
    const std::span<std::byte> room = reader.room();
    const std::size_t length = std::min({piece, stream.size(), room.size()});
    std::memcpy(room.data(), stream.data(), length);
    reader.add(length);
    for (Frame frame; reader.next(frame).value();) {
      frames.emplace_back(reinterpret_cast<const char*>(frame.content.data()), frame.content.size());
    }
  }
  return frames;
}

TEST(FrameReader, PiecesOfAnyLengthGiveTheSameFrames) {
  const std::string stream = kit::captured("frr84_nhg_session");
  const auto whole = frames_of(stream, FrameReader::kRead);
  EXPECT_EQ(whole.size(), 73U);
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U, 63U, 64U, 65U, 1000U}) EXPECT_EQ(frames_of(stream, piece), whole) << piece;
}

TEST(FrameReader, TheLongestFrameFits) {
  const std::string longest = kit::frame(std::string(65'535 - 4, 'x'));
  const std::string stream = longest + longest + kit::frame("") + longest;
  EXPECT_EQ(frames_of(stream, FrameReader::kRead).size(), 4U);
  EXPECT_EQ(frames_of(stream, 4099).size(), 4U);
}

TEST(FrameReader, AnotherVersionAndAShortLengthEndTheStream) {
  const auto error_of = [](const std::string& bytes) {
    FrameReader reader;
    std::memcpy(reader.room().data(), bytes.data(), bytes.size());
    reader.add(bytes.size());
    Frame frame;
    return std::string{reader.next(frame).error().message()};
  };
  EXPECT_THAT(error_of(kit::frame("", 1, 2)), HasSubstr("version 2"));
  EXPECT_THAT(error_of(std::string("\x01\x01\x00\x03", 4)), HasSubstr("length of 3"));
}

}  // namespace
}  // namespace rondo::fpm
