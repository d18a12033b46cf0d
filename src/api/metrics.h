// Metrics: GET /metrics, and /metrics/jobs, figures of the admin commands in the text format 0.0.4 of Prometheus. A scrape calls the
// commands one after the other on one connection, so the scheduler's thread makes their pages in its usual short turns; the text is made on
// the HTTP thread. metric_names.cc says which figure becomes which metric. docs/guide/metrics.md describes it for operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/byte_buffer.h"
#include "admin/frame.h"
#include "api/api.h"
#include "api/limits.h"
#include "base/json.h"
#include "http/http_thread.h"

namespace rondo::api {

/// One metric, or a part of it: lines with the same name follow each other, and differ in their labels. All texts are literals.
struct MetricName {
  enum class Type : std::uint8_t {
    Gauge,
    Greatest,   // A gauge: of several figures with the same labels the greatest, and not their sum.
    Counter,    // The name ends with "_total".
    Summary,    // 'member' is "SUM/COUNT".
    Histogram,  // 'member' is an object of commands::histogram_json().
  };

  std::string_view command;  // The command whose answer has the figure; kOwnFigures: the process and its HTTP server.
  /// Where its objects are in the answer: names separated by dots, where * stands for each object of an object. Empty: the answer itself.
  std::string_view path;
  std::string_view member;  // A number of such an object. Empty: 1. With conditions (as in 'where'): 1 if all hold, else 0.
  std::string_view where;   // Conditions, separated by &: NAME=VALUE, NAME!=VALUE, NAME^PREFIX, NAME!^PREFIX. Other objects are left out.
  std::string_view
      labels;  // Separated by commas: LABEL (a member of this name), LABEL:MEMBER or LABEL=VALUE. MEMBER *: the last name of *.
  std::string_view name;
  Type type = Type::Gauge;
  double unit = 1;  // The figure is divided by it.
  std::string_view help;
};

inline constexpr std::string_view kOwnFigures = "process";

/// The commands of a scrape, in this order. If the first one fails, so does the scrape. `parked` is the last one, because its answer may be
/// left half-read.
using MetricCommands = std::vector<std::string_view>;
/// All that metric_names() names.
MetricCommands metric_commands();

/// All metrics of rondod without a series for each job.
std::span<const MetricName> metric_names() noexcept;
/// The metrics of /metrics/jobs, with a series for each job.
std::span<const MetricName> job_metric_names() noexcept;

/// The series of one scrape.
class Exposition {
 public:
  explicit Exposition(std::span<const MetricName> names = metric_names()) : names_(names), metrics_(names.size()) {}

  /// Adds the figures in 'answer', a result of 'command' or one page of it. A figure that is missing, or no number, has no series.
  void add(std::string_view command, const json::object& answer);
  /// Label sets that had no place: limits::kMetricLabelSets.
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// The text. It declares all metrics, also those without a series. O(series).
  std::string text() const;

 private:
  struct Series {
    double value = 0;  // The sum, for a summary and a histogram.
    double count = 0;
    std::vector<std::pair<double, double>> buckets = {};
  };
  using Metric = std::map<std::string, Series, std::less<>>;  // By its labels, as the text shows them.

  /// 'first' is the place of the first line with the name of the line in 'place'.
  void add_figure(std::size_t place, std::size_t first, const json::object& object, std::string_view star);
  /// Null if it has no place.
  Series* series_of(std::size_t first, const std::string& labels);

  const std::span<const MetricName> names_;
  std::vector<Metric> metrics_;  // A metric of several lines is in the place of the first one.
  std::uint64_t dropped_ = 0;
};

/// Reads the answers of the daemon to a scrape.
class MetricsReader {
 public:
  MetricsReader(Exposition exposition, MetricCommands commands) : commands_(std::move(commands)), exposition_(std::move(exposition)) {}

  /// The requests, as frames.
  std::string requests() const;
  /// See http::Collect. A command that fails is left out; if the first one fails, the response is its error.
  std::optional<http::Response> put(std::string_view bytes);
  std::uint64_t dropped() const noexcept { return exposition_.dropped(); }

 private:
  std::optional<http::Response> take(const Frame& frame);

  const MetricCommands commands_;
  Exposition exposition_;
  ByteBuffer input_;
  std::size_t answered_ = 0;  // Requests.
  std::size_t facts_ = 0;     // Rows of `parked`.
};

class Metrics {
 public:
  /// 'commands' are the names of the daemon's commands. 'adopt' is as for Api. 'api' knows the callers; null: each caller is served. It
  /// must outlive this. Then an answer is sent to all who ask within 'shared'.
  Metrics(std::string version, MetricCommands commands, api::Api::Adopt adopt, api::Api* api, Duration patience = limits::kMetricsTime,
          Duration shared = limits::kMetricsShared);

  static bool serves(std::string_view path) noexcept { return path == "/metrics" || path == kPathOfJobs; }
  /// Answers a request whose path it serves. HTTP thread. This must outlive the thread.
  void handle(const http::Request& request, http::Answer answer, http::HttpGate& gate) const;

 private:
  static constexpr std::string_view kPathOfJobs = "/metrics/jobs";
  struct Shared {
    std::optional<http::Response> response = {};
    Instant made = {};
  };
  json::object own_figures(http::HttpGate& gate) const;
  /// Sends the answer to a caller who may read it.
  void scrape(const Caller& caller, bool is_of_jobs, http::Answer answer, http::HttpGate& gate) const;

  const std::string version_;
  const MetricCommands commands_;
  const api::Api::Adopt adopt_;
  api::Api* const api_;
  const Duration patience_;
  const Duration shared_for_;
  const double started_;                                                               // Seconds since 1970.
  const std::shared_ptr<int> scrapes_ = std::make_shared<int>(0);                      // Under way. HTTP thread.
  const std::shared_ptr<std::uint64_t> dropped_ = std::make_shared<std::uint64_t>(0);  // HTTP thread.
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();                  // The newest answer without 'api'. HTTP thread.
};

}  // namespace rondo::api
