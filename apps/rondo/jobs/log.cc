#include "jobs/log.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The output of a command as a terminal may show it: its lines and tabs, and everything else that could move the cursor as \xHH.
std::string shown(std::string_view output) {
  std::string text;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find_first_of("\n\t"), output.size());
    text += escape_text(output.substr(0, end));
    if (end < output.size()) text += output[end];
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return text;
}

}  // namespace

int print_log(const Options& options, Backend& backend, std::int64_t run, bool follow) {
  for (std::int64_t from = 0;;) {
    const Result<json::object> piece = backend.call("job-log", {{"run", run}, {"from", from}, {"wait", follow && from > 0}}, {});
    if (!piece) return report(options, piece.error());
    const json::string& data = piece->at("data").as_string();
    const auto first = piece->at("from").to_number<std::int64_t>();
    const auto next = piece->at("next").to_number<std::int64_t>();
    const bool has_ended = piece->at("ended").as_bool();
    if (options.json) {
      print(json_text(*piece) + "\n");
    } else {
      if (first > from) print_error("(" + std::to_string(first - from) + " bytes are no longer kept)\n");
      print(shown(unescape_text(std::string_view{data.data(), data.size()})));
    }
    if (const int code = finish_output(); code != kExitDone) return code;
    // Without --follow the end of the log is where it is now.
    if (has_ended || (!follow && data.empty())) return kExitDone;
    from = next;
  }
}

}  // namespace rondo::cli
