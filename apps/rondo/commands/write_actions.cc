// The commands that write many rows: load and feed. Both use a bulk write with several frames in flight.
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/bulk_writer.h"
#include "backends/backend.h"
#include "commands/actions.h"
#include "commands/load.h"
#include "commands/load_wait.h"
#include "commands/row_plan.h"
#include "feed/feed.h"
#include "feed/route_file.h"
#include "feed/synthetic.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "terminal/progress.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// Prints each row in the form of SONiC's swss.rec: TABLE:key|SET|field:value|... With JSON: an array with one entry a line, in the form
/// that load accepts.
class PrintingSink final : public BulkSink {
 public:
  explicit PrintingSink(bool as_json) : as_json_(as_json) {}

  Status begin(std::string_view table) override {
    table_ = table;
    return {};
  }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    if (as_json_) return put((rows_++ == 0 ? "[\n" : ",\n") + json_text(load_entry(table_, key, op, fields)));
    std::string line = escape_text(table_);
    line.append(":").append(escape_text(key)).append(op == BulkOp::Set ? "|SET" : "|DEL");
    for (const BulkField& field : fields) line.append("|").append(escape_text(field.name)).append(":").append(escape_text(field.value));
    return put(line + '\n');
  }
  Status end() override { return {}; }
  /// Called after the last row.
  void finish() const {
    if (as_json_) print(rows_ == 0 ? "[]\n" : "\n]\n");
  }

 private:
  /// If standard output accepts no more, the command ends.
  static Status put(const std::string& text) {
    print(text);
    return output_trouble();
  }

  const bool as_json_;
  std::string table_;
  std::uint64_t rows_ = 0;
};

/// Returns the position of the row with this number in the input, such as "rows.json:12:3: "; empty if it has none.
using PlaceOfRow = std::function<std::string(std::uint64_t row)>;

/// 'ends' has the states of the rows, if the caller waited for them.
int print_totals(const Options& options, const BulkTotals& totals, Duration elapsed, const PlaceOfRow& place_of,
                 const std::optional<RowEnds>& ends = std::nullopt) {
  const double seconds = std::max(std::chrono::duration<double>(elapsed).count(), 1e-9);
  const double rate = static_cast<double>(totals.sent) / seconds;
  if (options.json) {
    json::object result{{"rows", totals.sent},           {"accepted", totals.accepted}, {"refused", totals.refused},
                        {"unwritten", totals.unwritten}, {"seconds", seconds},          {"rows_per_second", rate}};
    if (ends) result["became"] = ends->json();
    print(json_text(result) + "\n");
  } else {
    const std::string unwritten = totals.unwritten == 0 ? "" : ", " + std::to_string(totals.unwritten) + " accepted, but not written yet";
    char rows[128];
    std::snprintf(rows, sizeof rows, "%llu rows written in %.2f s (%.0f/s), %llu refused", static_cast<unsigned long long>(totals.accepted),
                  seconds, rate, static_cast<unsigned long long>(totals.refused));
    print(rows + unwritten + (ends ? "; " + ends->text() : "; 'rondo rejected' and 'rondo parked' tell what became of them") + "\n");
    if (ends) {
      for (const std::string& reason : ends->reasons) print_error("rondo: " + reason + "\n");
    }
  }
  if (totals.unwritten == 0 && totals.refused == 0) {
    const int printed = finish_output();
    return ends && printed == kExitDone ? ends->exit_code() : printed;
  }
  const std::string place = place_of ? place_of(totals.first_row) + ": " : std::string{};
  return report(options, totals.first_error.with_context(place + (totals.unwritten != 0 ? "the first of these" : "the first refused")),
                kExitFailed);
}

/// The rows to wait for, and the longest wait.
struct WaitForRows {
  std::optional<Duration> most = {};  // Empty: does not wait.
  RowNames rows = {};
};

WaitForRows wait_for_file(const LoadFile& load, const std::vector<LoadRow>& rows) {
  WaitForRows wait{.most = load.wait};
  if (!load.wait) return wait;
  for (const LoadRow& row : rows) wait.rows.emplace(row.table, key_of(row));
  return wait;
}

/// Waits for the rows, if requested, and prints the totals. 'elapsed' is the time of the writing alone.
int print_end(const Options& options, Backend& backend, const BulkTotals& totals, Duration elapsed, const PlaceOfRow& place_of,
              const WaitForRows& wait) {
  const bool none_written = totals.refused != 0 && totals.refused >= totals.accepted;
  if (!wait.most || none_written) return print_totals(options, totals, elapsed, place_of);
  const Result<RowEnds> ends = wait_for_rows(backend, wait.rows, *wait.most);
  if (!ends) return report(options, ends.error().with_context("the rows are written"));
  return print_totals(options, totals, elapsed, place_of, *ends);
}

/// Reports a write that ended early. 'totals' are the last ones that are known.
int report_stopped(const Options& options, const Status& why, const BulkTotals& totals, const PlaceOfRow& place_of) {
  if (!totals.stopped_at) return report(options, why);
  const std::string place = place_of ? place_of(*totals.stopped_at) + ": " : std::string{};
  return report(options, Status{why.code(), place + std::string{why.message()} + "; of the other rows " + std::to_string(totals.accepted) +
                                                " are written"});
}

/// 'write' writes 'rows' rows to a sink: the backend, or standard output for a dry run.
template <class Write>
int write_many(const Options& options, const std::string& what, std::uint64_t rows, bool dry_run, Write write,
               const PlaceOfRow& place_of = {}, const WaitForRows& wait = {}) {
  if (dry_run) {
    PrintingSink sink(options.json);
    const Status written = write(sink);
    if (written.ok()) sink.finish();
    return written.ok() || !output_trouble().ok() ? finish_output() : report(options, written, kExitFailed);
  }
  const Result<std::unique_ptr<Backend>> backend = open_backend(options);
  if (!backend) return report(options, backend.error());
  const SystemClock clock;
  const Instant start = clock.now();
  Result<BulkTotals> totals = failure(StatusCode::Internal, "nothing was written");
  BulkTotals last;
  {
    Progress progress(clock, what, rows, can_show_progress());
    totals = (*backend)->write(write, [&](const BulkTotals& now) {
      last = now;
      progress.update(now.accepted + now.refused + now.unwritten);
    });
  }
  if (!totals) return report_stopped(options, totals.error(), last, place_of);
  return print_end(options, **backend, *totals, clock.now() - start, place_of, wait);
}

/// Reports an error with a given file: wrong content means a bad file; a missing file is a plain failure.
int report_file(const Options& options, const Status& why) {
  const bool content = why.code() == StatusCode::InvalidArgument || why.code() == StatusCode::DataLoss;
  return report(options, why, content ? kExitBadFile : kExitFailed);
}

feed::Parts parts_of(const FeedRoutes& feed) {
  feed::Parts parts;
  parts.mtu = feed.mtu;
  for (const std::string& name : feed.also) {
    const bool all = name == "all";
    if (all || name == "nexthops") parts.groups = true;
    if (all || name == "neighbors") parts.neighbors = true;
    if (all || name == "interfaces") parts.interfaces = true;
    if (all || name == "ports") parts.ports = true;
  }
  return parts;
}

Result<std::vector<feed::Route>> read_files(const FeedRoutes& feed, const feed::NextHopPlan& plan) {
  std::vector<feed::Route> routes;
  for (const std::string& path : feed.files) {
    Result<feed::RouteFile> file = feed::read_route_file(path, plan);
    if (!file) return failure(file.error());
    if (file->kind == feed::RouteFileKind::Updates && feed.order != Order::AsIs) {
      return failure(StatusCode::InvalidArgument, path + " holds updates, whose order must stay: --order as-is");
    }
    routes.insert(routes.end(), file->routes.begin(), file->routes.end());
  }
  return routes;
}

}  // namespace

namespace {

/// Compares with the daemon's rows, and prints or writes the difference.
int load_changes(const Options& options, const LoadFile& load, const std::vector<LoadRow>& rows,
                 const std::function<std::string(std::size_t offset)>& place_of) {
  const Result<std::unique_ptr<Backend>> backend = open_backend(options);
  if (!backend) return report(options, backend.error());
  const Result<std::vector<PlannedRow>> plan = plan_rows(**backend, rows, load.replace);
  if (!plan) return report(options, plan.error());
  if (load.atomic) {
    const Result<std::optional<RefusedRow>> refused = first_refused(**backend, *plan);
    if (!refused) return report(options, refused.error());
    if (*refused) return report(options, (**refused).why.with_context(place_of((**refused).offset) + ": nothing was written"), kExitFailed);
  }
  if (load.diff) {
    print(options.json ? json_text(diff_json(*plan)) + "\n" : diff_text(*plan));
    return finish_output();
  }
  const SystemClock clock;
  const Instant start = clock.now();
  std::vector<std::size_t> offsets;
  BulkTotals last;
  const Result<BulkTotals> totals = load.atomic ? write_plan_atomically(*plan, **backend, offsets)
                                                : (*backend)->write([&](BulkSink& sink) { return write_plan(*plan, sink, offsets); },
                                                                    [&last](const BulkTotals& now) { last = now; });
  const PlaceOfRow place_of_row = [&](std::uint64_t row) { return place_of(row < offsets.size() ? offsets[row] : 0); };
  if (!totals) return report_stopped(options, totals.error(), last, place_of_row);
  return print_end(options, **backend, *totals, clock.now() - start, place_of_row, wait_for_file(load, rows));
}

}  // namespace

int load_file(const Options& options, const LoadFile& load) {
  const Result<std::string> text = read_text(load.file);
  if (!text) return report(options, text.error(), kExitFailed);
  const std::string name = load.file == "-" ? "standard input" : load.file;
  const Result<std::vector<LoadRow>> rows = parse_load(*text, name);
  if (!rows) return report_file(options, rows.error());
  if (load.is_planned()) {
    return load_changes(options, load, *rows, [&](std::size_t offset) { return place_in(*text, name, offset); });
  }
  return write_many(
      options, load.file, rows->size(), load.dry_run, [&rows](BulkSink& sink) { return write_rows(*rows, sink); },
      [&](std::uint64_t row) { return place_in(*text, name, row < rows->size() ? (*rows)[row].offset : 0); }, wait_for_file(load, *rows));
}

int feed_routes(const Options& options, const FeedRoutes& feed) {
  const Result<feed::NextHopPlan> plan = feed::NextHopPlan::make(feed.groups, feed.ports);
  if (!plan) return report(options, plan.error());
  Result<std::vector<feed::Route>> routes =
      feed.files.empty() ? feed::synthetic_routes({.ipv4 = feed.synthetic, .ipv6 = feed.synthetic6, .seed = feed.seed}, *plan)
                         : read_files(feed, *plan);
  if (!routes) return feed.files.empty() ? report(options, routes.error(), kExitUsage) : report_file(options, routes.error());
  if (feed.order == Order::Sorted) feed::sort_routes(*routes);
  if (feed.order == Order::Shuffled) feed::shuffle_routes(*routes, feed.seed);
  if (feed.withdraw) {
    for (feed::Route& route : *routes) route.withdrawn = true;
  }
  const feed::Parts parts = parts_of(feed);
  return write_many(options, "routes", feed::count_rows(*routes, *plan, parts), feed.dry_run,
                    [&](BulkSink& sink) { return feed::feed_all(*routes, *plan, parts, sink); });
}

}  // namespace rondo::cli
