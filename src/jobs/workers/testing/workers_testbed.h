// WorkersTest: Workers against workers that the test plays over a real admin socket. Tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "admin/server.h"
#include "jobs/jobs_view.h"
#include "jobs/testing/passing_job_store.h"
#include "jobs/testing/testbed.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/options.h"
#include "rondo/admin/client.h"
#include "rondo/jobs/workers.h"

namespace rondo::jobs {

namespace json = boost::json;

/// A worker in the hands of the test.
struct PlayedWorker {
  std::unique_ptr<AdminClient> orders;
  std::unique_ptr<AdminClient> reports;
  std::string session;
  std::vector<json::object> starts;
  std::vector<json::object> stops;
  std::vector<json::object> logs;
  std::vector<json::object> checks;
  std::vector<json::object> offers;
  std::vector<json::object> refused;
  std::vector<std::string> kinds;  // Of all orders, in their order.
  std::optional<Status> over;      // Why the orders ended.

  void look() {
    if (orders == nullptr || over) return;
    const auto ended = orders->answer([this](const json::value& row) {
      const json::object& order = row.as_object();
      kinds.emplace_back(order.begin()->key());
      if (order.contains("welcome")) session = order.at("welcome").at("session").as_string().c_str();
      if (order.contains("start")) starts.push_back(order.at("start").as_object());
      if (order.contains("stop")) stops.push_back(order.at("stop").as_object());
      if (order.contains("offers")) offers.push_back(order.at("offers").as_object());
      if (order.contains("refused")) refused.push_back(order.at("refused").as_object());
      if (order.contains("log")) logs.push_back(order.at("log").as_object());
      if (order.contains("check")) checks.push_back(order.at("check").as_object());
    });
    if (!ended) over = ended.error();
  }
};

inline json::array field(std::string_view name, std::string_view value) { return {json::string{name}, json::string{value}}; }
inline json::array event(std::string_view kind, std::int64_t id, json::array fields = {}, int attempt = 0) {
  if (kind != "log" && kind != "checked") fields.push_back(field("attempt", std::to_string(attempt)));
  return {json::string{kind}, json::string{std::to_string(id)}, "SET", std::move(fields)};
}
inline json::array claim(std::int64_t run, std::string_view text) { return field(std::to_string(run), text); }

/// What is the matter with the store of a test.
struct StoreFaults {
  /// Its thread stops before it records the worker of a run, and before it reads what an earlier process left.
  std::atomic<bool> is_closed = false;
  std::atomic<bool> holds_ends = false;     // Its thread stops before it stores ends.
  std::atomic<bool> is_full = false;        // No end can be stored.
  std::atomic<bool> loses_workers = false;  // The worker of a run cannot be stored.
};

class GatedStore final : public test::PassingJobStore {
 public:
  GatedStore(std::shared_ptr<JobStore> store, StoreFaults& faults) : PassingJobStore(*store), held_(std::move(store)), faults_(faults) {}
  Status note_worker(std::int64_t run, std::string_view worker) override {
    faults_.is_closed.wait(true);
    return faults_.loses_workers ? Status{StatusCode::Unavailable, "the disk is full"} : PassingJobStore::note_worker(run, worker);
  }
  Status finish(std::span<const RunEnd> ends) override {
    faults_.holds_ends.wait(true);
    return faults_.is_full ? Status{StatusCode::Unavailable, "the disk is full"} : PassingJobStore::finish(ends);
  }
  Result<std::vector<JobRun>> unfinished(std::int64_t after, std::size_t max) override {
    faults_.is_closed.wait(true);
    return PassingJobStore::unfinished(after, max);
  }

 private:
  std::shared_ptr<JobStore> held_;
  StoreFaults& faults_;
};

class WorkersTest : public test::JobsTestbed {
 protected:
  WorkersTest() { open(); }
  ~WorkersTest() override {
    played.clear();
    close();
  }
  void open() {
    runtime = std::make_unique<Runtime>();
    auto store = std::make_unique<GatedStore>(std::move(*make_sqlite_job_store(path())), faults);
    jobs = std::make_unique<Jobs>(*runtime, std::move(store), JobsOptions{.cycle = 50ms});
    workers = std::make_unique<Workers>(*runtime, *jobs, options);
    registry = std::make_unique<CommandRegistry>("test", "1");
    EXPECT_TRUE(workers->add_commands(*registry).ok());
    auto opened = AdminServer::open(runtime->scheduler(), *registry, AdminServerSetup({.path = folder.file("socket")}));
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    server = std::move(*opened);
    jobs->start();
  }
  void close_store() { faults.is_closed = true; }
  void open_store() { open_gate(faults.is_closed); }
  void hold_ends() { faults.holds_ends = true; }
  void store_ends() { open_gate(faults.holds_ends); }
  static void open_gate(std::atomic<bool>& is_closed) {
    is_closed = false;
    is_closed.notify_all();
  }
  void close() {
    open_store();
    store_ends();
    server.reset();
    registry.reset();
    workers.reset();
    JobsTestbed::close();
  }
  void look() override {
    for (const auto& worker : played) worker->look();
  }
  std::unique_ptr<AdminClient> connect() { return std::move(*AdminClient::connect(folder.file("socket"))); }
  /// The answer of a command, or its error.
  Result<json::object> call(AdminClient& client, std::string_view command, const json::object& arguments) {
    EXPECT_TRUE(client.ask(command, arguments).ok());
    Result<std::optional<json::object>> got = std::optional<json::object>{};
    EXPECT_TRUE(becomes([&] {
      got = client.answer();
      return !got || got->has_value();
    }));
    if (!got) return failure(got.error());
    if (!*got) return failure(StatusCode::DeadlineExceeded, "no answer");
    return **got;
  }
  PlayedWorker& worker(const std::string& name, json::array offers, std::int64_t places = 10, json::array runs = {}, bool more = false) {
    PlayedWorker& made = *played.emplace_back(std::make_unique<PlayedWorker>());
    made.orders = connect();
    made.reports = connect();
    json::object hello{{"worker", name}, {"places", places}, {"offers", offers}, {"runs", runs}};
    if (more) hello["more"] = true;
    EXPECT_TRUE(made.orders->ask("worker-orders", hello).ok());
    EXPECT_TRUE(becomes([&made] { return !made.session.empty() || made.over.has_value(); }));
    return made;
  }
  std::int64_t report(PlayedWorker& of, json::array events) {
    const auto answer = call(*of.reports, "worker-report", {{"session", of.session}, {"events", std::move(events)}});
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
    return answer ? answer->at("refused").to_number<std::int64_t>() : -1;
  }
  /// The runs that an answer of worker-report names as unstored.
  static std::vector<std::int64_t> unstored(const json::object& answer) {
    std::vector<std::int64_t> runs;
    if (const json::value* const found = answer.if_contains("unstored")) {
      for (const json::value& run : found->as_array()) runs.push_back(run.to_number<std::int64_t>());
    }
    return runs;
  }
  void put(const Job& job) {
    const auto stored = answer<StoredJob>([&](auto done) { jobs->put(job, done); });
    ASSERT_TRUE(stored.has_value()) << stored.error().to_string();
  }
  std::int64_t trigger(const std::string& name) { return JobsTestbed::trigger(name).id; }
  static Job backup(std::string name = "nightly") { return {.name = std::move(name), .handler = "command/backup"}; }
  static Job many(std::string name = "many") {
    return {.name = std::move(name), .handler = "command/backup", .overlap = Overlap::Concurrent, .concurrency = 64};
  }

  /// Waits until the text for people is this. A run that has ended has none.
  bool says(std::int64_t run, const testing::Matcher<std::string>& text) {
    return becomes([&] { return text.Matches(JobsView(*jobs).activity(run).value_or(RunActivity{}).text); });
  }

  StoreFaults faults;
  WorkersOptions options;
  std::unique_ptr<Workers> workers;
  std::unique_ptr<CommandRegistry> registry;
  std::unique_ptr<AdminServer> server;
  std::vector<std::unique_ptr<PlayedWorker>> played;
};

inline const json::array kBackup{field("backup", "10")};

}  // namespace rondo::jobs
