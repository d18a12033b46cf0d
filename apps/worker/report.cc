#include "worker/report.h"

#include <string>

#include "rondo/base/text.h"
#include "worker/limits.h"

namespace rondo::worker {

namespace json = boost::json;

bool WorkerReport::add(std::string_view kind, std::int64_t id, const Fields& fields) {
  json::array values;
  std::size_t bytes = 64;
  for (const auto& [name, value] : fields) {
    const std::string text = escape_text(value);
    // JSON doubles each backslash, of which an escape has one in four bytes.
    bytes += name.size() + text.size() + text.size() / 4 + 16;
    values.push_back(json::array{json::string{name}, json::string{text}});
  }
  if (!events_.empty() && (events_.size() >= limits::kReportEvents || bytes_ + bytes > limits::kReportBytes)) return false;
  bytes_ += bytes;
  events_.push_back(json::array{json::string{kind}, json::string{std::to_string(id)}, "SET", std::move(values)});
  return true;
}

}  // namespace rondo::worker
