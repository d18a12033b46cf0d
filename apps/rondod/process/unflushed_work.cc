#include "rondod/process/unflushed_work.h"

#include <string>
#include <string_view>

#include "rondod/stores/placement.h"

namespace rondo::daemon {

Status UnflushedWork::lost() const {
  std::string what;
  const auto name = [&what](std::uint64_t number, std::string_view of) {
    if (number != 0) what.append(what.empty() ? "" : ", ").append(std::to_string(number)).append(" ").append(of);
  };
  name(rows, "accepted rows that were not handled");
  name(writes, "accepted writes without an answer");
  name(changes, "changes of direct tables");
  return what.empty() ? Status{} : Status{StatusCode::DataLoss, what};
}

std::uint64_t unkept_rows(const Config& config, std::span<const ConsumerStats> consumers) {
  std::uint64_t rows = 0;
  for (const ConsumerStats& consumer : consumers) {
    if (!is_kept(config, consumer.table)) rows += consumer.queued + consumer.in_flight;
  }
  return rows;
}

}  // namespace rondo::daemon
