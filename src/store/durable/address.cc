// See parse_durable_address().
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "rondo/store/durable_limits.h"
#include "rondo/store/durable_store.h"
#include "store/percent.h"

namespace rondo {

namespace {

constexpr std::string_view kScheme = "file://";
constexpr std::int64_t kIntervalMost = limits::kDurableInterval / std::chrono::milliseconds{1};

tl::unexpected<Status> wrong(std::string_view url, const std::string& why) {
  return failure(StatusCode::InvalidArgument, "address " + quoted(url) + ": " + why);
}

Status read_option(std::string_view url, std::string_view name, std::string_view value, DurableStoreOptions& options) {
  if (name == "durability") {
    for (const Durability known : {Durability::None, Durability::Interval, Durability::EveryBatch}) {
      if (value != to_string(known)) continue;
      options.durability = known;
      return {};
    }
    return wrong(url, "durability is none, interval or every-batch, not " + quoted(value)).value();
  }
  if (name == "interval_ms") {
    std::int64_t milliseconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (error != std::errc{} || end != value.data() + value.size() || milliseconds < 1 || milliseconds > kIntervalMost) {
      return wrong(url, "interval_ms is 1 to " + std::to_string(kIntervalMost) + ", not " + quoted(value)).value();
    }
    options.interval = std::chrono::milliseconds{milliseconds};
    return {};
  }
  return wrong(url, "there is no option " + quoted(name) + ", only durability and interval_ms").value();
}

}  // namespace

Result<DurableStoreOptions> parse_durable_address(std::string_view url) {
  if (!url.starts_with(kScheme)) return wrong(url, "does not begin with file://");
  std::string_view rest = url.substr(kScheme.size());
  std::string_view options_text;
  if (const std::size_t mark = rest.find('?'); mark != rest.npos) {
    options_text = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  DurableStoreOptions options;
  std::optional<std::string> path = store::percent_decoded(rest);
  if (!path) return wrong(url, "'%' is not followed by a byte");
  if (path->size() < 2 || path->front() != '/' || path->back() == '/')
    return wrong(url, "a whole path of a file is needed: file:///var/lib/rondo/tables");
  options.path = std::move(*path);
  while (!options_text.empty()) {
    const std::size_t end = std::min(options_text.find('&'), options_text.size());
    const std::string_view option = options_text.substr(0, end);
    options_text.remove_prefix(std::min(end + 1, options_text.size()));
    const std::size_t equals = option.find('=');
    const std::string_view value = equals == option.npos ? std::string_view{} : option.substr(equals + 1);
    if (Status bad = read_option(url, option.substr(0, equals), value, options); !bad.ok()) return failure(std::move(bad));
  }
  return options;
}

}  // namespace rondo
