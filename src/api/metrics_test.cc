// The text of /metrics as a function of the commands' answers, and /metrics, /healthz and /readyz over HTTP as in api_test.cc.
#include "api/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <set>

#include "admin/admin_socket_kit.h"
#include "admin/frame.h"
#include "api/probes.h"

namespace rondo::api {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using enum MetricName::Type;

constexpr MetricName kNames[] = {
    {"stats", "rows", "depth", "", "table,kind=a", "t_depth", Gauge, 1, "Help."},
    {"stats", "rows", "oldest_us", "", "kind", "t_oldest_seconds", Greatest, 1e6, "Help."},
    {"stats", "rows", "state=up", "name!^lo", "", "t_up", Gauge, 1, "Help."},
    {"stats", "audit.*", "found", "", "object:*", "t_found_total", Counter, 1, "Help."},
    {"stats", "", "ran_us/turns", "", "", "t_ran_seconds", Summary, 1e6, "Help."},
    {"stats", "", "waits", "", "name", "t_wait_seconds", Histogram, 1e6, "Help."},
};

std::string text_of(std::string_view answer) {
  Exposition exposition{kNames};
  exposition.add("stats", json::parse(json::string_view{answer.data(), answer.size()}).as_object());
  return exposition.text();
}

TEST(Exposition, FiguresWithTheSameLabelsAreOneSeries) {
  const std::string text = text_of(R"({"rows":[{"table":"A","kind":"x","depth":1,"oldest_us":1500000,"state":"up","name":"p"},
      {"table":"A","kind":"x","depth":2,"oldest_us":500000,"state":"down","name":"q"},{"table":"B","depth":null,"state":"up","name":"lo1"}],
      "audit":{"held":5,"routes":{"found":7}},"ran_us":2500000,"turns":4})");
  EXPECT_THAT(text, AllOf(HasSubstr("# HELP t_depth Help.\n# TYPE t_depth gauge\nt_depth{table=\"A\",kind=\"a\"} 3\n# HELP"),
                          HasSubstr("t_oldest_seconds{kind=\"x\"} 1.5\n"), HasSubstr("\nt_up 1\n"),
                          HasSubstr("# TYPE t_found_total counter\nt_found_total{object=\"routes\"} 7\n# HELP"),
                          HasSubstr("# TYPE t_ran_seconds summary\nt_ran_seconds_sum 2.5\nt_ran_seconds_count 4\n")));
}

TEST(Exposition, AHistogramHasItsBucketsSumAndCount) {
  const std::string text = text_of(R"({"name":"a","waits":{"count":9,"sum_us":3000000,"buckets":[[1.023,4],[4.095,8]]}})");
  EXPECT_THAT(text, EndsWith("# TYPE t_wait_seconds histogram\nt_wait_seconds_bucket{name=\"a\",le=\"1.023e-06\"} 4\n"
                             "t_wait_seconds_bucket{name=\"a\",le=\"4.095e-06\"} 8\nt_wait_seconds_bucket{name=\"a\",le=\"+Inf\"} 9\n"
                             "t_wait_seconds_sum{name=\"a\"} 3\nt_wait_seconds_count{name=\"a\"} 9\n"));
}

TEST(Exposition, HostileValuesAreEscaped) {
  const std::string text = text_of(R"({"rows":[{"table":"T\"} 1\nfake 2\\","depth":1}]})");
  EXPECT_THAT(text, AllOf(HasSubstr("t_depth{table=\"T\\\"} 1\\nfake 2\\\\\",kind=\"a\"} 1\n"), Not(HasSubstr("\nfake"))));
}

TEST(Exposition, ALongValueIsCut) {
  const std::string text = text_of(R"({"rows":[{"table":")" + std::string(limits::kMetricLabelBytes + 1, 'x') + R"(","depth":1}]})");
  EXPECT_THAT(text, HasSubstr("{table=\"" + std::string(limits::kMetricLabelBytes, 'x') + "...\""));
}

TEST(Exposition, LabelSetsAboveTheLimitAreDroppedAndCounted) {
  json::array rows;
  for (std::size_t i = 0; i < limits::kMetricLabelSets + 2; ++i) rows.push_back(json::object{{"table", std::to_string(i)}, {"depth", 1}});
  Exposition exposition{kNames};
  exposition.add("stats", {{"rows", rows}});
  EXPECT_EQ(exposition.dropped(), 2U);
  EXPECT_THAT(exposition.text(), AllOf(HasSubstr("{table=\"0\""), Not(HasSubstr("{table=\"" + std::to_string(rows.size() - 1)))));
  exposition.add("stats", {{"rows", json::array{rows.front()}}});  // A known one has its place.
  EXPECT_EQ(exposition.dropped(), 2U);
}

TEST(MetricNames, FollowTheRulesOfPrometheus) {
  std::set<std::string_view> seen;
  std::string_view last;
  std::vector<MetricName> all{metric_names().begin(), metric_names().end()};
  all.insert(all.end(), job_metric_names().begin(), job_metric_names().end());
  for (const MetricName& one : all) {
    const std::string name{one.name};
    EXPECT_EQ(one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << name;
    EXPECT_EQ(one.name.ends_with("_total"), one.type == Counter) << name;
    const bool is_instant = one.name.ends_with("_timestamp_seconds");
    EXPECT_EQ(one.unit != 1, one.name.find("_seconds") != std::string_view::npos && one.command != kOwnFigures && !is_instant) << name;
    if (one.name == last) continue;
    EXPECT_TRUE(seen.insert(one.name).second) << name << ": its lines follow each other";
    EXPECT_FALSE(one.help.empty()) << name;
    last = one.name;
  }
  for (const std::string_view name :
       {"workqueue_depth", "workqueue_adds_total", "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds", "workqueue_retries_total",
        "controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds"})
    EXPECT_TRUE(seen.contains(name)) << name << ": dashboards read it";
}

TEST(MetricNames, OfAJobAreItsInstantsAndStates) {
  Exposition exposition{job_metric_names()};
  exposition.add("jobs", json::parse(R"({"rows":[
      {"name":"a","running":true,"next":"2100-01-01T00:00:00.5Z","last_state":"timed-out","last_ended":"2026-01-01T00:00:00Z","last_success":null},
      {"name":"b","running":false,"next":null,"last_state":"succeeded","last_success":"1970-01-01T00:00:10Z"},
      {"name":"c","running":true,"next":"never","last_state":"failed"}]})")
                             .as_object());
  const std::string text = exposition.text();
  EXPECT_THAT(text, AllOf(HasSubstr("\nrondo_job_next_timestamp_seconds{job_name=\"a\"} 4102444800.5\n# HELP"),
                          HasSubstr("# TYPE rondo_job_last_success_timestamp_seconds gauge\n"
                                    "rondo_job_last_success_timestamp_seconds{job_name=\"b\"} 10\n# HELP"),
                          HasSubstr("rondo_job_suspended{job_name=\"a\"} 0\nrondo_job_suspended{job_name=\"b\"} 1\n"),
                          HasSubstr("rondo_job_failing{job_name=\"a\"} 1\nrondo_job_failing{job_name=\"b\"} 0\n"
                                    "rondo_job_failing{job_name=\"c\"} 1\n")));
}

TEST(MetricNames, HistogramsAndMisfiresAreOfStats) {
  const json::value parsed = json::parse(R"({"scheduler":{"turn_histogram":{"count":3,"sum_us":5.5,"buckets":[[1.023,2]]}},
      "store":{"files":[{"commit_histogram":{"count":1,"sum_us":1000,"buckets":[[1.023,0]]}},
                        {"commit_histogram":{"count":2,"sum_us":3000,"buckets":[[1.023,1]]}}]},
      "jobs":{"commit_histogram":{"count":5,"sum_us":2000000,"buckets":[[1.023,0]]},"misfired":6,"misfire_skipped":7,
              "run_histogram":{"count":4,"sum_us":9000000,"buckets":[[1.023,0]]},"waiting":8,"running":9,"oldest_due_ms":2500,
              "bands":{"ring":{"succeeded":10},"manual":{"succeeded":11}}},
      "executors":{"unsent_histogram":{"count":12,"sum_us":1,"buckets":[]}},
      "agent":{"families":[{"vrf":"","afi":"ipv4","routes":13},{"vrf":"red","afi":"ipv6","routes":14}]}})");
  Exposition exposition;
  exposition.add("stats", parsed.as_object());
  EXPECT_THAT(exposition.text(), AllOf(HasSubstr("rondo_job_runs_open{state=\"running\"} 9\nrondo_job_runs_open{state=\"waiting\"} 8\n"),
                                       HasSubstr("\nrondo_job_oldest_due_seconds 2.5\n"),
                                       HasSubstr("rondo_job_runs_total{result=\"succeeded\",band=\"manual\"} 11\n"),
                                       HasSubstr("rondo_job_runs_total{result=\"succeeded\",band=\"ring\"} 10\n"),
                                       HasSubstr("\nrondo_dispatch_seconds_count{result=\"unsent\"} 12\n"),
                                       HasSubstr("rondo_routes{vrf=\"\",afi=\"ipv4\"} 13\nrondo_routes{vrf=\"red\",afi=\"ipv6\"} 14\n")));
  EXPECT_THAT(exposition.text(),
              AllOf(HasSubstr("\nrondo_turn_seconds_bucket{le=\"1.023e-06\"} 2\n"), HasSubstr("\nrondo_turn_seconds_count 3\n"),
                    HasSubstr("\nrondo_store_commit_seconds_bucket{store=\"files\",le=\"1.023e-06\"} 1\n"),
                    HasSubstr("\nrondo_store_commit_seconds_sum{store=\"files\"} 0.004\n"),
                    HasSubstr("\nrondo_store_commit_seconds_count{store=\"jobs\"} 5\n"), HasSubstr("\nrondo_job_run_seconds_sum 9\n"),
                    HasSubstr("\nrondo_job_misfires_total{decision=\"fired\"} 6\n"),
                    HasSubstr("\nrondo_job_misfires_total{decision=\"skipped\"} 7\n")));
}

std::string frame(FrameKind kind, std::string_view payload) {
  std::string bytes;
  const std::size_t start = begin_frame(bytes, kind);
  bytes += payload;
  end_frame(bytes, start);
  return bytes;
}

TEST(MetricsReader, CommandsThatFailAreLeftOut) {
  MetricsReader reader{Exposition{}, metric_commands()};
  EXPECT_FALSE(reader.put(frame(FrameKind::Json, R"({"id":1,"result":{"scheduler":{"turns":5}}})")));
  for (std::size_t i = 2; i < metric_commands().size(); ++i)
    EXPECT_FALSE(reader.put(frame(FrameKind::Json, R"({"id":2,"error":{"code":"unimplemented","message":"none"}})")));
  const auto response = reader.put(frame(FrameKind::Json, R"({"id":6,"result":{"rows":[]}})"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200U);
  EXPECT_EQ(response->content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response->body, HasSubstr("\nrondo_turns_total 5\n"));
}

TEST(MetricsReader, AnErrorOfStatsIsTheResponse) {
  MetricsReader reader{Exposition{}, metric_commands()};
  const auto response = reader.put(frame(FrameKind::Json, R"({"id":1,"error":{"code":"permission-denied","message":"no"}})"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 403U);
  EXPECT_EQ((MetricsReader{Exposition{}, metric_commands()}).put({})->status, 503U);
  EXPECT_EQ((MetricsReader{Exposition{}, metric_commands()}).put(frame(FrameKind::Json, "[]"))->status, 500U);
}

TEST(MetricsReader, JobsAreAskedForByTheirTagAndCut) {
  MetricsReader reader{Exposition{job_metric_names()}, {"jobs"}};
  EXPECT_THAT(reader.requests(), HasSubstr(R"({"id":1,"command":"jobs","tag":"metrics","ends":true,"count":501})"));
  std::string page = R"({"id":1,"result":{"rows":[)";
  for (std::size_t i = 0; i <= limits::kMetricLabelSets; ++i)
    page.append(i == 0 ? "" : ",").append(R"({"name":")").append(std::to_string(i)).append(R"(","running":true})");
  const auto response = reader.put(frame(FrameKind::Json, page + "]}}"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200U);
  EXPECT_GT(reader.dropped(), 0U) << "RondoMetricsCut";
  EXPECT_EQ((MetricsReader{Exposition{job_metric_names()}, {"jobs"}})
                .put(frame(FrameKind::Json, R"({"id":1,"error":{"code":"unimplemented","message":"no jobs"}})"))
                ->status,
            501U);
}

TEST(MetricsReader, MoreFactsThanTheLimitEndTheScrape) {
  MetricsReader reader{Exposition{}, metric_commands()};
  for (std::size_t i = 1; i < metric_commands().size(); ++i) EXPECT_FALSE(reader.put(frame(FrameKind::Json, R"({"id":1,"result":{}})")));
  std::string page = R"({"id":6,"rows":[)";
  for (std::size_t i = 0; i < limits::kMetricFacts; ++i) page.append(i == 0 ? "" : ",").append(R"({"kind":"n","rows":2,"oldest_ms":1})");
  const auto response = reader.put(frame(FrameKind::More, page + "]}"));
  ASSERT_TRUE(response);
  EXPECT_THAT(response->body, HasSubstr("\nrondo_parked_rows{constraint=\"n\"} 20000\n"));
}

/// A daemon that knows `stats`, and callers without a token.
class Metrics : public AdminSocket {
 protected:
  void start(Duration patience, Duration shared = 0s) {
    open();
    metrics_ = std::make_unique<api::Metrics>(
        "1.2.3", metric_commands(), [this](UniqueFd fd, const Caller& caller) { server->adopt(std::move(fd), caller); }, nullptr, patience,
        shared);
    probes_ = std::make_unique<Probes>([this] { return unready_; }, patience);
    http::HttpThreadOptions options;
    options.server.emplace();
    auto started = http::HttpThread::start(*scheduler, options, [this](http::Request request, http::Answer answer, http::HttpGate& gate) {
      if (Probes::serves(request.path())) return probes_->handle(request, std::move(answer), gate);
      metrics_->handle(request, std::move(answer), gate);
    });
    ASSERT_TRUE(started.has_value()) << started.error().to_string();
    http_ = std::move(*started);
  }
  void keep_stats() {
    ASSERT_TRUE(commands
                    .add({.name = "stats", .effect = CommandEffect::Reads},
                         [this](const Arguments&, Reply reply) { kept_.push_back(std::move(reply)); })
                    .ok());
  }
  void TearDown() override {
    http_.reset();
    kept_.clear();
  }
  UniqueFd ask(std::string_view target, std::string_view method = "GET") const {
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(http_->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::string text = std::string{method} + " " + std::string{target} + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    return fd;
  }
  static std::string hear(const UniqueFd& fd) {
    std::string heard;
    char buffer[65536];
    for (ssize_t got = 0; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) heard.append(buffer, static_cast<std::size_t>(got));
    return heard;
  }
  std::string get(std::string_view target) const { return hear(ask(target)); }

  std::unique_ptr<api::Metrics> metrics_;
  std::unique_ptr<Probes> probes_;
  std::string unready_;
  std::unique_ptr<http::HttpThread> http_;
  std::vector<Reply> kept_;
};

TEST_F(Metrics, WhatTheCallerMayNotReadIs403AndOnlyGetIsServed) {
  add("stats", {}, [](const Arguments&, Reply reply) { reply.finish(json::object{{"memory", json::object{{"rss_bytes", 4096}}}}); });
  start(1000s);
  with_caller([&] {
    EXPECT_THAT(get("/metrics"), AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("stats")));  // The test's commands write.
    EXPECT_THAT(hear(ask("/metrics", "POST")), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET")));
  });
}

TEST_F(Metrics, AScrapeHasTheFiguresOfTheCommandsAndOfTheProcess) {
  ASSERT_TRUE(commands
                  .add({.name = "stats", .effect = CommandEffect::Reads},
                       [](const Arguments&, Reply reply) {
                         reply.finish(json::object{{"memory", json::object{{"rss_bytes", 4096}}}});
                       })
                  .ok());
  start(1000s);
  with_caller([&] {
    EXPECT_THAT(get("/metrics"),
                AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                      HasSubstr("\nprocess_resident_memory_bytes 4096\n"), HasSubstr("\nrondo_build_info{version=\"1.2.3\"} 1\n"),
                      Not(HasSubstr("\nrondo_http_requests_total{")),
                      HasSubstr("\nrondo_http_connections_displaced_total{result=\"replaced\"} 0\n")));
  });
}

TEST_F(Metrics, NamesOfJobsAreNotForEveryCaller) {
  start(1000s);
  with_caller([&] { EXPECT_THAT(get("/metrics/jobs"), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("metrics = "))); });
}

TEST_F(Metrics, CallersWithoutATokenShareAnAnswer) {
  int scrapes = 0;
  ASSERT_TRUE(commands
                  .add({.name = "stats", .effect = CommandEffect::Reads},
                       [&scrapes](const Arguments&, Reply reply) {
                         ++scrapes;
                         reply.finish(json::object{{"memory", json::object{{"rss_bytes", 4096}}}});
                       })
                  .ok());
  start(1000s, 1000s);
  with_caller([&] {
    for (int i = 0; i < 2 * limits::kMetricScrapes; ++i) EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 200 "));
  });
  EXPECT_EQ(scrapes, 1);
}

TEST_F(Metrics, ADaemonThatDoesNotAnswerIs504) {
  keep_stats();
  start(1ms);
  with_caller([&] { EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 504 ")); });
}

TEST_F(Metrics, MoreScrapesThanTheLimitAreRefused) {
  keep_stats();
  start(1000s);
  with_caller([&] {
    std::vector<UniqueFd> scrapes;
    std::vector<pollfd> polled;
    for (int i = 0; i <= limits::kMetricScrapes; ++i) {
      scrapes.push_back(ask("/metrics"));
      polled.push_back({.fd = scrapes.back().get(), .events = POLLIN, .revents = 0});
    }
    ASSERT_EQ(::poll(polled.data(), polled.size(), -1), 1);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) {
        EXPECT_THAT(hear(scrapes[i]), StartsWith("HTTP/1.1 503 "));
      }
    }
  });
}

using ProbesTest = Metrics;

TEST_F(ProbesTest, AnswerWhatATurnFound) {
  start(1000s);
  with_caller([&] {
    EXPECT_THAT(get("/healthz"), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\nok\n")));
    EXPECT_THAT(get("/readyz"), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\nok\n")));
    EXPECT_THAT(hear(ask("/readyz", "DELETE")), StartsWith("HTTP/1.1 405 "));
  });
}

TEST_F(ProbesTest, WhatIsMissingIsNamed) {
  unready_ = "store\nrestart\n";
  start(1000s);
  with_caller([&] {
    EXPECT_THAT(get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("\r\n\r\nstore\nrestart\n")));
    EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
  });
}

TEST_F(ProbesTest, ADaemonThatTakesNoTurnIs503) {
  start(1ms);
  EXPECT_THAT(get("/healthz"), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("\r\n\r\nstalled\n")));
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 503 "));
}

}  // namespace
}  // namespace rondo::api
