// OutputLines: finds progress and results in the output of a command, which a command prints as lines of their own:
//   rondo: progress 40 copying the second disk
//   rondo: result 1204 files
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rondo::worker {

/// What a line begins with that reports progress, or the result. A value of a parameter may not contain it.
inline constexpr std::string_view kProgressMark = "rondo: progress ";
inline constexpr std::string_view kResultMark = "rondo: result ";

class OutputLines {
 public:
  struct Found {
    std::function<void(unsigned percent, std::string_view text)> progress;
    std::function<void(std::string_view text)> result;
  };
  /// Takes the next bytes of the output. Keeps at most limits::kOutputLine bytes of a line. O(bytes).
  void take(std::string_view bytes, const Found& found);
  /// The output has ended: its last line may have no newline.
  void end(const Found& found);
  /// The last line that was not empty.
  const std::string& last() const noexcept { return last_; }

 private:
  void line(const Found& found);
  std::string line_;
  std::string last_;
};

}  // namespace rondo::worker
