#include "api/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "api/answers.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::api {

namespace {

constexpr std::string_view kJobsCommand = "jobs";
constexpr std::string_view kTagOfJobs = "metrics";
constexpr std::string_view kTextType = "text/plain; version=0.0.4; charset=utf-8";

/// The part of 'list' up to 'separator', which is removed from it.
std::string_view take_part(std::string_view& list, char separator) noexcept {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view part = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return part;
}

std::string text_of(const json::value* value) {
  if (value == nullptr) return {};
  if (const json::string* const text = value->if_string()) return std::string{view(*text)};
  std::string text;
  append_json(text, *value);
  return text;
}

bool is_condition(std::string_view member) noexcept { return member.find_first_of("=^") != std::string_view::npos; }

bool holds(const json::object& object, std::string_view conditions) {
  while (!conditions.empty()) {
    const std::string_view one = take_part(conditions, '&');
    const std::size_t sign = one.find_first_of("!=^");
    const bool is_negated = one[sign] == '!';
    const std::size_t at = sign + (is_negated ? 1 : 0);
    const std::string value = text_of(object.if_contains(one.substr(0, sign)));
    const std::string_view wanted = one.substr(at + 1);
    if ((one[at] == '^' ? value.starts_with(wanted) : value == wanted) == is_negated) return false;
  }
  return true;
}

/// Calls 'use' with each object at 'path', and the last name that stood in place of a *.
void for_each_at(const json::value& value, std::string_view path, std::string_view star,
                 const std::function<void(const json::object&, std::string_view)>& use) {
  if (const json::array* const list = value.if_array(); list != nullptr && path.empty()) {
    for (const json::value& one : *list) for_each_at(one, path, star, use);
  }
  const json::object* const object = value.if_object();
  if (object == nullptr) return;
  if (path.empty()) return use(*object, star);
  const std::string_view name = take_part(path, '.');
  if (name == "*") {
    for (const auto& member : *object) for_each_at(member.value(), path, {member.key().data(), member.key().size()}, use);
  } else if (const json::value* const member = object->if_contains(name)) {
    for_each_at(*member, path, star, use);
  }
}

/// An instant counts as its seconds since 1970.
std::optional<double> number_in(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  if (value == nullptr) return std::nullopt;
  if (const json::string* const text = value->if_string()) {
    const Result<WallTime> instant = calendar::parse_rfc3339(view(*text));
    return instant ? std::optional{static_cast<double>(instant->nanoseconds() / 1'000'000) / 1e3} : std::nullopt;
  }
  if (const bool* const flag = value->if_bool()) return *flag ? 1 : 0;
  if (!value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

void add_label(std::string& labels, std::string_view name, std::string_view value) {
  labels.append(labels.empty() ? "" : ",").append(name).append("=\"");
  for (const char c : value) {
    if (c == '\n') {
      labels += "\\n";
    } else {
      if (c == '\\' || c == '"') labels += '\\';
      labels += c;
    }
  }
  labels += '"';
}

std::string labels_of(const json::object& object, std::string_view list, std::string_view star) {
  std::string labels;
  while (!list.empty()) {
    const std::string_view one = take_part(list, ',');
    const std::size_t sign = std::min(one.find_first_of(":="), one.size());
    const std::string_view name = one.substr(0, sign);
    const std::string_view rest = one.substr(std::min(sign + 1, one.size()));
    if (sign < one.size() && one[sign] == '=') {
      add_label(labels, name, rest);
    } else {
      const std::string value = rest == "*" ? std::string{star} : text_of(object.if_contains(rest.empty() ? name : rest));
      add_label(labels, name, shorten(value, limits::kMetricLabelBytes));
    }
  }
  return labels;
}

void add_number(std::string& text, double value) {
  std::array<char, 32> digits;  // The longest double has 24 characters.
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

/// Without the last digits of the double, which are an error of the division.
std::string text_of_bound(double bound) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), bound, std::chars_format::general, 12).ptr};
}

void add_line(std::string& text, std::string_view name, std::string_view suffix, std::string_view labels, double value) {
  text.append(name).append(suffix);
  if (!labels.empty()) text.append("{").append(labels).append("}");
  text += ' ';
  add_number(text, value);
  text += '\n';
}

std::string_view name_of(MetricName::Type type) noexcept {
  switch (type) {
    case MetricName::Type::Gauge:
    case MetricName::Type::Greatest: return "gauge";
    case MetricName::Type::Counter: return "counter";
    case MetricName::Type::Summary: return "summary";
    case MetricName::Type::Histogram: return "histogram";
  }
  return "untyped";
}

/// Seconds since 1970 at which the process began.
double start_time() {
  std::ifstream file("/proc/self/stat");
  std::string field;
  std::getline(file, field, ')');  // The name of the program may have blanks.
  for (int i = 3; i <= 22; ++i) file >> field;
  timespec since_boot{};
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto seconds = [](const timespec& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9; };
  return seconds(now) - seconds(since_boot) + std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

void Exposition::add(std::string_view command, const json::object& answer) {
  for (std::size_t i = 0, first = 0; i < names_.size(); ++i) {
    if (names_[i].name != names_[first].name) first = i;
    if (names_[i].command != command) continue;
    for_each_at(answer, names_[i].path, {}, [&](const json::object& object, std::string_view star) {
      if (holds(object, names_[i].where)) add_figure(i, first, object, star);
    });
  }
}

Exposition::Series* Exposition::series_of(std::size_t first, const std::string& labels) {
  Metric& metric = metrics_[first];
  const auto known = metric.find(labels);
  if (known != metric.end()) return &known->second;
  if (metric.size() < limits::kMetricLabelSets) return &metric[labels];
  ++dropped_;
  return nullptr;
}

void Exposition::add_figure(std::size_t place, std::size_t first, const json::object& object, std::string_view star) {
  const MetricName& name = names_[place];
  const std::string labels = labels_of(object, name.labels, star);
  if (name.type == MetricName::Type::Histogram) {
    const json::value* const given = object.if_contains(name.member);
    const json::object* const histogram = given == nullptr ? nullptr : given->if_object();
    Series* const series = histogram == nullptr ? nullptr : series_of(first, labels);
    if (series == nullptr) return;
    series->value += number_in(*histogram, "sum_us").value_or(0) / name.unit;
    series->count += number_in(*histogram, "count").value_or(0);
    const json::array& buckets = histogram->at("buckets").as_array();
    series->buckets.resize(buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      series->buckets[i].first = buckets[i].at(0).to_number<double>() / name.unit;
      series->buckets[i].second += buckets[i].at(1).to_number<double>();
    }
    return;
  }
  std::string_view count = name.member;
  const std::string_view member = name.type == MetricName::Type::Summary ? take_part(count, '/') : count;
  const std::optional<double> figure = member.empty()         ? 1
                                       : is_condition(member) ? (holds(object, member) ? 1 : 0)
                                                              : number_in(object, member);
  Series* const series = figure ? series_of(first, labels) : nullptr;
  if (series == nullptr) return;
  const double value = *figure / name.unit;
  series->value = name.type == MetricName::Type::Greatest ? std::max(series->value, value) : series->value + value;
  if (name.type == MetricName::Type::Summary) series->count += number_in(object, count).value_or(0);
}

std::string Exposition::text() const {
  std::string text;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const MetricName& name = names_[i];
    if (i != 0 && names_[i - 1].name == name.name) continue;
    text.append("# HELP ").append(name.name).append(" ").append(name.help);
    text.append("\n# TYPE ").append(name.name).append(" ").append(name_of(name.type)).append("\n");
    for (const auto& [labels, series] : metrics_[i]) {
      if (name.type != MetricName::Type::Histogram && name.type != MetricName::Type::Summary) {
        add_line(text, name.name, {}, labels, series.value);
        continue;
      }
      if (name.type == MetricName::Type::Histogram) {
        const auto add_bucket = [&, &own = labels](std::string_view bound, double count) {
          std::string with = own;
          add_label(with, "le", bound);
          add_line(text, name.name, "_bucket", with, count);
        };
        for (const auto& [bound, count] : series.buckets) add_bucket(text_of_bound(bound), count);
        add_bucket("+Inf", series.count);
      }
      add_line(text, name.name, "_sum", labels, series.value);
      add_line(text, name.name, "_count", labels, series.count);
    }
  }
  return text;
}

MetricCommands metric_commands() { return {"stats", "tables", "sources", "ports", "workers", "parked"}; }

std::string MetricsReader::requests() const {
  std::string frames;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const std::size_t start = begin_frame(frames, FrameKind::Json);
    json::object request{{"id", i + 1}, {"command", commands_[i]}};
    if (commands_[i] == kJobsCommand) {  // One more than there is room for, so that it counts as dropped.
      request["tag"] = kTagOfJobs;
      request["ends"] = true;
      request["count"] = limits::kMetricLabelSets + 1;
    }
    append_json(frames, request);
    end_frame(frames, start);
  }
  return frames;
}

std::optional<http::Response> MetricsReader::put(std::string_view bytes) {
  if (bytes.empty()) return error_response({StatusCode::Unavailable, "the daemon ended the call"});
  input_.append(bytes);
  for (;;) {
    const Result<std::optional<Frame>> frame = next_frame(input_.view());
    if (!frame) return error_response(frame.error());
    if (!*frame) return std::nullopt;
    std::optional<http::Response> response = take(**frame);
    input_.consume((**frame).bytes);
    if (response) return response;
  }
}

/// The answers come in the order of the requests.
std::optional<http::Response> MetricsReader::take(const Frame& frame) {
  const std::string_view command = commands_.at(answered_);
  json::error_code failed;
  json::monotonic_resource memory;  // Half of the time of a scrape went to small pieces of memory.
  const json::value parsed = json::parse(json::string_view{frame.payload.data(), frame.payload.size()}, failed, &memory);
  const json::object* const answer = failed ? nullptr : parsed.if_object();
  if (answer == nullptr) return error_response({StatusCode::Internal, "the answer of '" + std::string{command} + "' is no JSON object"});
  const bool is_last = frame.kind == FrameKind::Json;
  const json::value* const result = is_last ? answer->if_contains("result") : &parsed;
  if (const json::object* const part = result == nullptr ? nullptr : result->if_object()) {
    exposition_.add(command, *part);
    const json::value* const rows = command == "parked" ? part->if_contains("rows") : nullptr;
    if (rows != nullptr && rows->is_array()) facts_ += rows->get_array().size();
  } else if (answered_ == 0) {
    return error_response(error_in(*answer).value_or(Status{StatusCode::Internal, "the answer makes no sense"}));
  }
  if (is_last) ++answered_;
  if (answered_ < commands_.size() && facts_ < limits::kMetricFacts) return std::nullopt;
  return http::Response{.content_type = std::string{kTextType}, .body = exposition_.text()};
}

Metrics::Metrics(std::string version, MetricCommands commands, Api::Adopt adopt, Api* api, Duration patience, Duration shared)
    : version_(std::move(version)),
      commands_(std::move(commands)),
      adopt_(std::move(adopt)),
      api_(api),
      patience_(patience),
      shared_for_(shared),
      started_(start_time()) {}

json::object Metrics::own_figures(http::HttpGate& gate) const {
  timespec cpu{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  std::error_code unknown;
  const auto open = std::distance(std::filesystem::directory_iterator("/proc/self/fd", unknown), {});
  const http::ServerFigures figures = gate.server() == nullptr ? http::ServerFigures{} : gate.server()->figures();
  json::array answers;
  for (const auto& [of, count] : figures.answers) answers.push_back({{"route", of.first}, {"code", of.second}, {"count", count}});
  return {{"version", version_},
          {"cpu_s", static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9},
          {"open_fds", open},
          {"start_s", started_},
          {"http_connections", figures.connections},
          {"http_streams", figures.relays},
          {"http_answers", std::move(answers)},
          {"http_gave_way", figures.gave_way},
          {"http_connections_refused", figures.refused_connections},
          {"dropped_series", *dropped_}};
}

void Metrics::handle(const http::Request& request, http::Answer answer, http::HttpGate& gate) const {
  if (request.method != "GET" && request.method != "HEAD") return answer.send(wrong_method("GET"));
  const bool is_of_jobs = request.path() == kPathOfJobs;
  if (api_ != nullptr) {
    const std::optional<Caller> caller = api_->admit(request, answer, gate);
    if (caller) scrape(*caller, is_of_jobs, std::move(answer), gate);
    return;
  }
  if (is_of_jobs)
    return answer.send(
        error_response({StatusCode::NotFound, "names of jobs are not for every caller: [http] metrics = \"token\" has them"}));
  if (shared_->response && SystemClock{}.now() - shared_->made < (*scrapes_ == 0 ? 1 : 2) * shared_for_) {
    return answer.send(*shared_->response);
  }
  scrape({.role = Role::Viewer}, false, std::move(answer), gate);
}

void Metrics::scrape(const Caller& caller, bool is_of_jobs, http::Answer answer, http::HttpGate& gate) const {
  if (*scrapes_ >= limits::kMetricScrapes)
    return answer.send(error_response({StatusCode::Unavailable, "too many scrapes are under way: try again"}));
  Exposition exposition(is_of_jobs ? job_metric_names() : metric_names());
  if (!is_of_jobs) exposition.add(kOwnFigures, own_figures(gate));
  const std::shared_ptr<MetricsReader> reader{
      new MetricsReader(std::move(exposition), is_of_jobs ? MetricCommands{kJobsCommand} : commands_),
      [scrapes = scrapes_, dropped = dropped_](MetricsReader* read) {
        --*scrapes;
        *dropped += read->dropped();
        delete read;
      }};
  ++*scrapes_;
  Result<Ends> ends = Ends::make();
  Status sent = ends ? ends->ask(reader->requests()) : ends.error();
  if (sent.ok()) {  // A task can be copied, a descriptor cannot.
    sent = gate.post([this, caller, fd = std::make_shared<UniqueFd>(std::move(ends->daemons))] { adopt_(std::move(*fd), caller); });
  }
  if (!sent.ok()) return answer.send(error_response(sent));
  answer.ask(
      std::move(ends->ours),
      [reader, shared = api_ == nullptr ? shared_ : nullptr](std::string_view bytes) {
        std::optional<http::Response> response = reader->put(bytes);
        if (!response || shared == nullptr) return response;
        response->is_public = true;
        if (response->status == 200) *shared = {.response = response, .made = SystemClock{}.now()};
        return response;
      },
      error_response({StatusCode::DeadlineExceeded, "the daemon did not answer in time"}), patience_);
}

}  // namespace rondo::api
