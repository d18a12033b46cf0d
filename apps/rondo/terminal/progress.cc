// See progress.h.
#include "terminal/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "output/render.h"
#include "rondo/base/text.h"
#include "terminal/terminal.h"

namespace rondo::cli {
namespace {

constexpr std::uint64_t kBarCells = 30;
constexpr Duration kDrawEvery = 100ms;
constexpr std::size_t kNameLeast = 8;  // At least this much of a name is shown.

}  // namespace

bool can_show_progress() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view{terminal} != "dumb" && ::isatty(STDERR_FILENO) == 1;
}

Progress::Progress(const Clock& clock, std::string what, std::uint64_t total, bool shown, std::string_view unit)
    : clock_(clock), what_(std::move(what)), total_(total), shown_(shown), unit_(unit), start_(clock.now()), drawn_(start_) {}

Progress::~Progress() {
  if (!shown_) return;
  draw(last_done_);
  std::fputs(leaves_nothing_ ? "\r\x1b[K" : "\n", stderr);
}

void Progress::update(std::uint64_t done) {
  last_done_ = done;
  if (!shown_ || clock_.now() - drawn_ < kDrawEvery) return;
  draw(done);
}

void Progress::draw(std::uint64_t done) {
  drawn_ = clock_.now();
  // Leaves one column free: some terminals place a cursor at the edge on the next line, and the next carriage return would not return to
  // the first.
  const std::size_t columns = Terminal::size(STDERR_FILENO).columns - 1;
  std::fprintf(stderr, "\r%s\x1b[K", line(what_, done, total_, drawn_ - start_, columns, unit_).c_str());
  std::fflush(stderr);
}

std::string Progress::line(const std::string& what, std::uint64_t done, std::uint64_t total, Duration elapsed, std::size_t columns,
                           std::string_view unit) {
  const std::uint64_t shown = std::min(done, total);
  const std::uint64_t full = total == 0 ? kBarCells : shown * kBarCells / total;
  const double seconds = std::max(std::chrono::duration<double>(elapsed).count(), 1e-9);
  char figures[96];
  std::snprintf(figures, sizeof figures, "] %3llu%%  %llu of %llu %.*s  %.0f/s",
                static_cast<unsigned long long>(total == 0 ? 100 : shown * 100 / total), static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(total), static_cast<int>(unit.size()), unit.data(), static_cast<double>(done) / seconds);
  const std::string bar = " [" + std::string(full, '#') + std::string(kBarCells - full, '.') + figures;
  std::string name = visible_text(what);
  const std::size_t room = std::max(columns, bar.size() + kNameLeast) - bar.size();
  while (characters(name) > room) {
    std::size_t first = 1;
    while (first < name.size() && characters(name.substr(0, first + 1)) == 1) ++first;
    name.erase(0, first);
  }
  return cut_to(name + bar, columns);
}

}  // namespace rondo::cli
