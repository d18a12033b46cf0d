#include "commands/answers.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <utility>

#include "base/thrown.h"

namespace rondo::commands {

namespace {
/// 'fraction' stands between the seconds and the Z.
std::string time_text(WallTime time, const char* fraction) {
  const std::time_t calendar = time.nanoseconds() / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&calendar, &parts);
  std::array<char, 40> buffer{};
  return std::string{buffer.data(), std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts)} + fraction + "Z";
}
}  // namespace

std::string second_text(WallTime time) { return time_text(time, ""); }

std::string microsecond_text(WallTime time) {
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06d", static_cast<int>(time.nanoseconds() / 1000 % 1'000'000));
  return time_text(time, fraction.data());
}

void get_row(Store& store, std::string_view table, std::string_view key, Reply reply, GetDone use) {
  store.get(table, key, [reply = std::move(reply), use = std::move(use)](const Result<Record>& row) mutable {
    try {
      use(row);
    } catch (...) {
      reply.fail(thrown_by("the command, while it went on,", std::current_exception()));
    }
  });
}

}  // namespace rondo::commands
