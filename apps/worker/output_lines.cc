#include "worker/output_lines.h"

#include <algorithm>
#include <charconv>

#include "worker/limits.h"

namespace rondo::worker {

void OutputLines::take(std::string_view bytes, const Found& found) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::size_t room = limits::kOutputLine - std::min(line_.size(), limits::kOutputLine);
    line_.append(bytes.substr(0, std::min(end, room)));
    if (end == bytes.size()) return;
    line(found);
    bytes.remove_prefix(end + 1);
  }
}

void OutputLines::end(const Found& found) {
  if (!line_.empty()) line(found);
}

void OutputLines::line(const Found& found) {
  std::string_view text = line_;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.starts_with(kProgressMark)) {
    text.remove_prefix(kProgressMark.size());
    unsigned percent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    const bool ends_well = end == text.data() + text.size() || *end == ' ' || *end == '%';
    if (error == std::errc{} && ends_well && percent <= 100) {
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      text.remove_prefix(std::min(text.find_first_not_of("% "), text.size()));
      found.progress(percent, text);
    }
  } else if (text.starts_with(kResultMark)) {
    found.result(text.substr(kResultMark.size()));
  } else if (!text.empty()) {
    last_.assign(text);
  }
  line_.clear();
}

}  // namespace rondo::worker
