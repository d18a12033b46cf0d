// WorkerReport: the events of one report to a server, bounded in number and bytes.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo::worker {

class WorkerReport {
 public:
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;
  /// Adds an event. False if the report has no room for it: it belongs in the next one. The first event always has room.
  bool add(std::string_view kind, std::int64_t id, const Fields& fields);
  bool empty() const noexcept { return events_.empty(); }
  boost::json::array take() noexcept { return std::move(events_); }

 private:
  boost::json::array events_;
  std::size_t bytes_ = 0;
};

}  // namespace rondo::worker
