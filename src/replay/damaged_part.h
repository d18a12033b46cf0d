// DamagedPart: a part of a journal file that a replay skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::replay {

class Replay;

/// A part of a journal file that is not a complete block; after a crash, the end of the file.
struct DamagedPart {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;  // For display: "a block is cut off".
  bool at_end = false;
};

/// The parts that Replay::damage() names.
const std::vector<DamagedPart>& damaged_parts(const Replay& replay) noexcept;

}  // namespace rondo::replay
