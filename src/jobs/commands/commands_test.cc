// The commands for jobs over a real admin socket: what `rondo call` does.
#include "rondo/jobs/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admin/reply_state.h"
#include "admin/server.h"
#include "base/testing/temporary_folder.h"
#include "jobs/job_store.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/base/trace_context.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A program with jobs and an admin socket on a thread of its own.
class JobCommands : public ::testing::Test {
 protected:
  JobCommands() {
    jobs = std::make_unique<Jobs>(runtime, std::move(*make_sqlite_job_store((folder / "jobs.db").string())), JobsOptions{.cycle = 50ms});
    jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
    jobs->handle_in_turn("fail", [](const JobContext&) { return Status{StatusCode::Unavailable, "no \x1b[31mserver"}; });
    jobs->handle_in_turn(
        "strict", [](const JobContext&) { return Status{}; },
        [](const Job& job, const std::function<void(const Status&)>& checked) {
          const bool is_away = job.parameters == "away";
          checked(job.parameters == "good" ? Status{}
                  : is_away                ? Status{StatusCode::Unavailable, "the \x1b[31mserver is away"}
                                           : Status{StatusCode::InvalidArgument, "it is not 'good'"});
        });
    jobs->handle_in_turn(
        "late", [](const JobContext&) { return Status{}; },
        [this](const Job&, const std::function<void(const Status&)>& checked) {
          checks.push_back(checked);
          if (checks.size() < 2) return;
          for (const auto& waiting : std::exchange(checks, {})) waiting({});
        });
    jobs->handle("gate", [opened = gate.get_future().share()](const JobContext&) { return opened.wait(), Status{}; });
    jobs->handle_async("stoppable", {.begin = [this](const AsyncRun& run) {
                         begun.insert_or_assign(run.run(), run);
                         run.on_stop([this, id = run.run()] {
                           const AsyncRun stopped = begun.extract(id).mapped();
                           stopped.end({StatusCode::Cancelled, "stopped"});
                         });
                       }});
    EXPECT_TRUE(add_job_commands(registry, *jobs).ok());
    AdminServerSetup setup({.path = (folder / "socket").string()});
    setup.on_write = [](const AdminWrite&) {};
    setup.on_change = [this] {
      return [this](const AdminWrite& write) {
        told = std::string{write.command};
        if (write.before) told += ": " + std::string{*write.before} + " -> " + std::string{write.after};
        all_told.push_back(told);
      };
    };
    auto opened = AdminServer::open(runtime.scheduler(), registry, std::move(setup));
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    server = std::move(*opened);
    jobs->start();
    program = std::thread([this] { runtime.run(); });
    client = std::move(*AdminClient::connect((folder / "socket").string()));
  }
  ~JobCommands() override {
    client.reset();
    runtime.stop();
    program.join();
    server.reset();
    for (const auto& [id, run] : begun) run.leave();
    begun.clear();
    jobs.reset();
  }
  json::object call(std::string_view command, const json::object& arguments = {}) {
    const auto answer = client->call(command, arguments);
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
    return answer.value_or(json::object{});
  }
  std::string error(std::string_view command, const json::object& arguments) {
    const auto answer = client->call(command, arguments);
    EXPECT_FALSE(answer.has_value()) << json::serialize(answer.value_or(json::object{}));
    return answer ? std::string{} : answer.error().to_string();
  }
  /// The runs of a job, when 'count' of them have ended.
  json::array ended_runs(std::string_view name, std::size_t count) {
    json::array runs;
    for (int calls = 0; calls < 100'000; ++calls) {
      runs = call("job-runs", {{"name", name}}).at("rows").as_array();
      const auto ended =
          static_cast<std::size_t>(std::ranges::count_if(runs, [](const json::value& run) { return !run.at("ended").is_null(); }));
      if (ended >= count || HasFailure()) return runs;
    }
    ADD_FAILURE() << count << " runs never ended: " << json::serialize(runs);
    return runs;
  }

  /// The answer to a caller that may see the jobs of one group of executors alone: its last frame.
  std::string call_of_group(const std::string& group, std::string_view command, json::object arguments) {
    return call_of({.group = group}, command, std::move(arguments));
  }
  std::string call_of(const Caller& caller, std::string_view command, json::object arguments) {
    struct Port final : ReplyPort {
      void send(std::string_view frame) override { text = frame; }
      void note_full_page() override {}
      void continue_later(Reply reply, Reply::Continuation go_on) override {
        EXPECT_TRUE(runtime->post([reply = std::move(reply), go_on = std::move(go_on)] { go_on(reply); }).ok());
      }
      void ended(bool) override { done.set_value(); }
      bool turn_is_over() const override { return false; }
      Runtime* runtime = nullptr;
      std::string text;
      std::promise<void> done;
    };
    Port port;
    port.runtime = &runtime;
    arguments["id"] = 1;
    arguments["command"] = command;
    const auto dispatch = [&] { registry.dispatch(arguments, Reply{std::make_shared<Reply::State>(port, 1, caller)}); };
    EXPECT_TRUE(runtime.post(dispatch).ok());
    port.done.get_future().wait();
    return port.text;
  }

  TemporaryFolder folder;
  std::string told;  // The last call that changed jobs. Read it when the call is answered.
  std::vector<std::string> all_told;
  std::vector<std::function<void(const Status&)>> checks;  // Of "late". Used by the thread of the program.
  std::promise<void> gate;
  std::map<std::int64_t, AsyncRun> begun;  // Runs of "stoppable". Used by the thread of the program.
  Runtime runtime;
  CommandRegistry registry{"test", "1"};
  std::unique_ptr<Jobs> jobs;
  std::unique_ptr<AdminServer> server;
  std::thread program;
  std::unique_ptr<AdminClient> client;
};

TEST_F(JobCommands, AChangeOfAJobIsToldWithItsFields) {
  call("job-put", {{"definition", R"({"name":"a","handler":"ok","parameters":"secret-1","owner":"me"})"}});
  EXPECT_THAT(told, AllOf(HasSubstr("job-put: (none) -> "), HasSubstr("handler=ok"), HasSubstr("parameters=\"(8 bytes)\""),
                          Not(HasSubstr("secret-1"))));
  call("job-put", {{"definition", R"({"name":"a","handler":"ok","parameters":"secret-2","owner":"you"})"}});
  EXPECT_EQ(told, "job-put: owner=me parameters=\"(8 bytes)\" -> owner=you parameters=\"(8 other bytes)\"");
  call("job-start", {{"name", "a"}});
  EXPECT_EQ(told, "job-start: running=false -> running=true");
  call("job-stop", {{"name", "a"}, {"note", "it is night"}});
  EXPECT_EQ(told, R"(job-stop: running=true -> running=false stop_note="it is night")");
  call("jobs-put", {{"definitions", R"([{"name":"a","handler":"ok","owner":"her"},{"name":"b","handler":"ok"}])"}});
  EXPECT_THAT(told, AllOf(HasSubstr("jobs-put: a: owner=you"), HasSubstr("; b: (none) -> a: owner=her"), HasSubstr("; b: handler=ok")));
  call("job-remove", {{"name", "b"}});
  EXPECT_EQ(told, "job-remove: handler=ok running=false -> (none)");
  error("job-put", {{"definition", R"({"name":"a"})"}});
  EXPECT_EQ(told, "job-put") << "nothing was changed";
  const std::string run = std::to_string(call("job-trigger", {{"name", "a"}}).at("run").as_int64());
  EXPECT_EQ(told, "job-trigger: (none) -> run=" + run);
  call("job-put", {{"definition", R"({"name":"hourly","handler":"ok","schedule":"cron 0 * * * *"})"}});
  call("job-backfill", {{"name", "hourly"}, {"from", "2026-01-01T00:00:00Z"}, {"to", "2026-01-01T03:00:00Z"}});
  EXPECT_EQ(told, "job-backfill: (none) -> runs=3");
}

/// Both calls wait for the check of the parameters while the job has its first owner.
TEST_F(JobCommands, AChangeOfAJobIsToldFromTheOneBeforeIt) {
  call("job-put", {{"definition", R"({"name":"a","handler":"ok","owner":"one"})"}});
  all_told.clear();
  const auto put = [this](const std::string& owner) {
    const auto other = std::move(*AdminClient::connect((folder / "socket").string()));
    EXPECT_TRUE(other->call("job-put", {{"definition", R"({"name":"a","handler":"late","owner":")" + owner + R"("})"}}).has_value());
  };
  std::thread second(put, "two");
  put("three");
  second.join();
  ASSERT_EQ(all_told.size(), 2U);
  const std::string first = all_told[0].ends_with("two") ? "two" : "three";
  EXPECT_EQ(all_told[0], "job-put: handler=ok owner=one -> handler=late owner=" + first);
  EXPECT_EQ(all_told[1], "job-put: owner=" + first + " -> owner=" + (first == "two" ? "three" : "two"));
}

TEST_F(JobCommands, TheAttemptsOfARunAreShown) {
  call("job-put", {{"definition", R"({"name":"a","handler":"fail","retries":24,"backoff_ms":0})"}});
  call("job-trigger", {{"name", "a"}});
  ASSERT_EQ(ended_runs("a", 1).size(), 1U);
  const json::object answer = call("job-runs", {{"name", "a"}, {"details", true}});
  const json::object& run = answer.at("rows").at(0).as_object();
  EXPECT_EQ(run.at("attempt"), 25);
  const json::array& attempts = run.at("attempts").as_array();
  ASSERT_EQ(attempts.size(), limits::kAttemptsShown) << "the newest";
  EXPECT_EQ(attempts.front().at("attempt"), 6);
  EXPECT_EQ(attempts.back().at("attempt"), 25);
  EXPECT_EQ(attempts.back().at("begun"), run.at("begun"));
  EXPECT_EQ(attempts.back().at("ended"), run.at("ended"));
  EXPECT_EQ(attempts.front().at("state"), "failed");
  EXPECT_THAT(std::string{attempts.front().at("note").as_string()}, HasSubstr("attempt 6 failed: "));
  EXPECT_FALSE(call("job-runs", {{"name", "a"}}).at("rows").at(0).as_object().contains("attempts"));
}

TEST_F(JobCommands, ARunKeepsTheTraceOfItsCallerUntilItsEnd) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Caller caller{.trace =
                          std::make_shared<const TraceContext>(TraceContext::parse("00-" + trace + "-00f067aa0ba902b7-01", {}).value())};
  call("job-put", {{"definition", R"({"name":"held","handler":"stoppable"})"}});
  const auto newest = [this] { return call("job-runs", {{"name", "held"}}).at("rows").at(0).as_object(); };
  for (const char* const command : {"job-trigger", "job-rerun"}) {
    const bool is_rerun = std::string_view{command} == "job-rerun";
    const json::object arguments = is_rerun ? json::object{{"run", newest().at("run")}} : json::object{{"name", "held"}};
    EXPECT_THAT(call_of(caller, command, arguments), HasSubstr(R"("ok":true)"));
    EXPECT_EQ(newest().at("trace").as_string(), trace);
    call("job-kill", {{"run", newest().at("run")}});
    ended_runs("held", is_rerun ? 2 : 1);
    EXPECT_FALSE(newest().contains("trace"));
  }
  call("job-trigger", {{"name", "held"}});
  EXPECT_FALSE(newest().contains("trace")) << "its caller has none";
}

TEST_F(JobCommands, AKillSaysWhatBecameOfTheRun) {
  call("job-put", {{"definition", R"({"name":"held","handler":"gate","overlap":"serial"})"}});
  const std::int64_t runs = call("job-trigger", {{"name", "held"}}).at("run").as_int64();
  const std::int64_t waits = call("job-trigger", {{"name", "held"}}).at("run").as_int64();
  const auto state = [&](std::int64_t id) {
    const json::object answer = call("job-runs", {{"name", "held"}});
    for (const json::value& run : answer.at("rows").as_array()) {
      if (run.at("run").as_int64() == id) return std::string{run.at("state").as_string()};
    }
    return std::string{};
  };
  for (int calls = 0; state(runs) != "running" && !HasFailure(); ++calls) ASSERT_LT(calls, 100'000) << "the run never began";
  EXPECT_EQ(call("job-kill", {{"run", waits}}).at("stopping"), false) << "it had not begun";
  EXPECT_EQ(call("job-kill", {{"run", runs}}).at("stopping"), true);
  gate.set_value();
  ended_runs("held", 2);
  EXPECT_THAT(error("job-kill", {{"run", runs}}),
              AllOf(HasSubstr("the run " + std::to_string(runs) + " has ended already, as killed at 20"), HasSubstr("killed by a user")));
  EXPECT_THAT(error("job-kill", {{"run", 4711}}), HasSubstr("no run 4711"));
}

TEST_F(JobCommands, AJobIsPutTriggeredAndListedWithItsRuns) {
  const json::object put =
      call("job-put", {{"definition", R"({"name":"backup","handler":"ok","tags":["night"],"priority":12})"}, {"start", true}});
  EXPECT_EQ(put.at("running"), true);
  const std::int64_t run = call("job-trigger", {{"name", "backup"}}).at("run").as_int64();
  const json::array runs = ended_runs("backup", 1);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].at("run").as_int64(), run);
  EXPECT_EQ(runs[0].at("state"), "succeeded");
  EXPECT_EQ(runs[0].at("band"), "manual");
  const json::array all = call("jobs").at("rows").as_array();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].at("name"), "backup");
  EXPECT_EQ(all[0].at("priority"), 12);
  EXPECT_EQ(call("job", {{"name", "backup"}}).at("tags").as_array().size(), 1U);
  EXPECT_EQ(call("job-stats").at("succeeded"), 1U);
}

/// One such row ended the answer with an error.
TEST_F(JobCommands, ADamagedRowIsShownBesideTheOthers) {
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    for (const std::string& name : std::vector<std::string>{"a", "b", "c\xff", std::string(3'000'000, 'd'), "e"}) {
      const std::string parameters(name == "b" ? 3'000'000 : 1, 'p');
      ASSERT_TRUE(store->put({.name = name, .handler = "ok", .parameters = parameters}, std::nullopt).has_value());
    }
  }
  const json::array all = call("jobs").at("rows").as_array();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].at("handler"), "ok");
  EXPECT_THAT(json::serialize(all[1]), HasSubstr("the row of this job cannot be read: table jobs, column spec: it has 3000"));
  EXPECT_EQ(all[2].at("name"), "c\\xff");
  EXPECT_EQ(all[3].at("name").as_string().size(), 200U);
  EXPECT_EQ(all[4].at("handler"), "ok");
}

/// A page of the store was made in one turn, which ended the connection of a caller that read slowly.
TEST_F(JobCommands, LargeJobsAreListedInPagesOfTheAnswer) {
  {
    const auto store = std::move(*make_sqlite_job_store((folder / "jobs.db").string()));
    const std::string parameters(60'000, 'p');
    ASSERT_TRUE(store
                    ->atomically([&] {
                      for (int i = 0; i < 300; ++i)
                        static_cast<void>(store->put({.name = "j" + std::to_string(i), .handler = "ok", .parameters = parameters}, {}));
                      return Status{};
                    })
                    .ok());
  }
  EXPECT_EQ(call("jobs").at("rows").as_array().size(), 300U);
  EXPECT_EQ(call("jobs", {{"search", "j299"}, {"count", 1}}).at("rows").as_array().size(), 1U) << "it is behind the first page";
  EXPECT_EQ(call("jobs", {{"ends", true}}).at("rows").as_array().size(), 300U);
  EXPECT_EQ(call("jobs", {{"count", 30}}).at("next"), "j124");
}

/// More callers than pages that are read at the same time, and one that has gone.
TEST_F(JobCommands, CallersThatListJobsAtTheSameTimeGetAllOfThem) {
  for (int i = 0; i < 30; ++i) {
    const std::string definition =
        "{\"name\":\"j" + std::to_string(i) + R"(","handler":"ok","parameters":")" + std::string(60'000, 'p') + "\"}";
    call("job-put", {{"definition", definition}});
  }
  std::vector<std::future<std::size_t>> callers;
  for (int i = 0; i < 12; ++i) {
    callers.push_back(std::async(std::launch::async, [this, i] {
      const auto own = std::move(*AdminClient::connect((folder / "socket").string()));
      const auto answer = own->call(i % 3 == 0 ? "job-load" : "jobs", {});
      if (!answer) return std::size_t{0};
      return i % 3 == 0 ? std::size_t{30} : answer->at("rows").as_array().size();
    }));
  }
  for (std::future<std::size_t>& caller : callers) EXPECT_EQ(caller.get(), 30U);
}

TEST_F(JobCommands, AChildShowsItsParentsAndTheRunsForWhichItWaited) {
  call("job-put", {{"definition", R"({"name":"a","handler":"ok"})"}, {"start", true}});
  const json::object child = call("job-put", {{"definition", R"({"name":"b","handler":"ok","parents":["a"]})"}, {"start", true}});
  EXPECT_EQ(child.at("parents"), json::array{"a"});
  EXPECT_EQ(call("job-next", {{"name", "b"}}).at("after"), json::array{"a"});
  EXPECT_FALSE(call("job-next", {{"name", "a"}}).contains("after"));
  const std::int64_t parent = call("job-trigger", {{"name", "a"}}).at("run").as_int64();
  EXPECT_EQ(ended_runs("b", 1).at(0).at("parents"), json::array{parent});
  EXPECT_THAT(error("job-put", {{"definition", R"({"name":"a","handler":"ok","parents":["b"]})"}}), HasSubstr("a cycle: a -> b -> a"));
  EXPECT_THAT(error("job-remove", {{"name", "a"}}), HasSubstr("job 'a' is a parent of 'b'"));
}

TEST_F(JobCommands, AFailureIsShownWithoutItsControlCharacters) {
  call("job-put", {{"definition", R"({"name":"bad","handler":"fail"})"}});
  call("job-trigger", {{"name", "bad"}});
  const json::array runs = ended_runs("bad", 1);
  EXPECT_EQ(runs[0].at("state"), "failed");
  EXPECT_THAT(json::serialize(runs[0].at("note")), testing::AllOf(HasSubstr("server"), testing::Not(HasSubstr("\\u001b"))));
}

TEST_F(JobCommands, AStoppedJobSaysWhyAndAStartedOneWhenItIsNextDue) {
  call("job-put", {{"definition", R"({"name":"hourly","handler":"ok","schedule":"every 1h","note":"of the disks"})"}});
  EXPECT_TRUE(call("job", {{"name", "hourly"}}).at("next").is_null());
  EXPECT_TRUE(call("job-start", {{"name", "hourly"}}).at("next").is_string());
  const json::object stopped = call("job-stop", {{"name", "hourly"}, {"note", "maintenance"}});
  EXPECT_EQ(stopped.at("running"), false);
  EXPECT_EQ(stopped.at("stop_note"), "maintenance");
  EXPECT_EQ(stopped.at("note"), "of the disks");
  // An edit knows nothing of the stop.
  const json::object edited =
      call("job-put", {{"definition", R"({"name":"hourly","handler":"ok","schedule":"every 2h","note":"of the disks"})"}});
  EXPECT_EQ(edited.at("stop_note"), "maintenance");
  const json::object started = call("job-start", {{"name", "hourly"}});
  EXPECT_FALSE(started.contains("stop_note"));
  EXPECT_EQ(started.at("note"), "of the disks");
  call("job-remove", {{"name", "hourly"}});
  EXPECT_TRUE(call("jobs").at("rows").as_array().empty());
}

TEST_F(JobCommands, ARunThatRunsIsShownAsRunningWithItsBeginAndPlace) {
  call("job-put", {{"definition", R"({"name":"long","handler":"gate"})"}});
  const std::int64_t run = call("job-trigger", {{"name", "long"}}).at("run").as_int64();
  const auto first = [this] { return call("job-runs", {{"name", "long"}}).at("rows").at(0).as_object(); };
  while (first().at("state") != "running" && !HasFailure()) EXPECT_EQ(first().at("ended"), nullptr);
  EXPECT_TRUE(first().at("begun").is_string());
  EXPECT_EQ(first().at("place"), "pool fast");
  EXPECT_EQ(first().at("attempt"), 1);
  const json::object under_way = call("job", {{"name", "long"}}).at("under_way").at(0).as_object();
  EXPECT_EQ(under_way.at("run"), run);
  EXPECT_EQ(under_way.at("place"), "pool fast");
  EXPECT_EQ(under_way.contains("percent"), false);
  gate.set_value();
  EXPECT_EQ(ended_runs("long", 1).at(0).at("attempt"), 1);
  EXPECT_FALSE(call("job", {{"name", "long"}}).contains("under_way"));
}

TEST_F(JobCommands, TheNextInstantIsThatOfARunWhichIsPlannedAlready) {
  call("job-put", {{"definition", R"({"name":"tick","handler":"ok","schedule":"every 3s"})"}, {"start", true}});
  while (call("job-runs", {{"name", "tick"}}).at("rows").as_array().empty() && !HasFailure()) continue;
  // The planner is 5 s ahead, so the store has an instant that is at least one period behind the next one.
  const auto is_within_a_period = [](const json::value& next) {
    const auto instant = calendar::parse_rfc3339(next.as_string().c_str());
    return instant && *instant <= SystemClock{}.wall_now() + 3s;
  };
  EXPECT_TRUE(is_within_a_period(call("job", {{"name", "tick"}}).at("next")));
  EXPECT_TRUE(is_within_a_period(call("jobs").at("rows").at(0).at("next")));
}

TEST_F(JobCommands, JobsAreListedByTagAndOwner) {
  call("job-put", {{"definition", R"({"name":"a","handler":"ok","tags":["night","big"],"owner":"ann"})"}});
  call("job-put", {{"definition", R"({"name":"b","handler":"ok","tags":["night"],"owner":"bob"})"}});
  call("job-put", {{"definition", R"({"name":"c","handler":"ok"})"}});
  const auto names = [this](const json::object& arguments) {
    std::string all;
    const json::array rows = call("jobs", arguments).at("rows").as_array();
    for (const json::value& job : rows) all += job.at("name").as_string();
    return all;
  };
  EXPECT_EQ(names({}), "abc");
  EXPECT_EQ(names({{"tag", "night"}}), "ab");
  EXPECT_EQ(names({{"owner", "bob"}}), "b");
  EXPECT_EQ(names({{"tag", "big"}, {"owner", "bob"}}), "");
}

TEST_F(JobCommands, JobsAreListedInPartsByTextAndByState) {
  const auto put = [this](int i, const std::string& more) {
    const std::string number = std::to_string(1000 + i);
    call("job-put", {{"definition", "{\"name\":\"j" + number + "\",\"handler\":\"ok\"" + more + "}"}, {"start", i % 2 == 0}});
  };
  for (int i = 0; i < 205; ++i) put(i, i % 10 == 0 ? R"(,"owner":"Ann")" : "");
  put(7, R"(,"note":"Needs the DISK","schedule":"every 1h")");
  put(9, R"(,"tags":["disks"],"parameters":"x","schedule":"every 1h")");
  const auto names = [this](json::object arguments, std::size_t count) {
    std::vector<std::string> all;
    arguments["count"] = count;
    for (;;) {
      const json::object answer = call("jobs", arguments);
      EXPECT_LE(answer.at("rows").as_array().size(), count);
      for (const json::value& job : answer.at("rows").as_array()) all.emplace_back(job.at("name").as_string());
      if (!answer.contains("next") || HasFailure()) return all;
      EXPECT_EQ(answer.at("next").as_string(), std::string_view{all.back()});
      arguments["after"] = answer.at("next");
    }
  };
  for (const std::size_t count : {7U, 200U, 204U, 205U, 206U}) {
    const std::vector<std::string> all = names({}, count);
    EXPECT_EQ(all.size(), 205U);
    EXPECT_TRUE(std::ranges::is_sorted(all, std::ranges::less_equal{}));
  }
  EXPECT_FALSE(call("jobs", {{"count", 205}}).contains("next"));
  EXPECT_THAT(names({{"search", "dIsK"}}, 1), ElementsAre("j1007", "j1009"));
  EXPECT_EQ(names({{"search", "ann"}}, 4).size(), 21U);
  EXPECT_EQ(names({{"search", "J119"}}, 4).size(), 10U);
  EXPECT_EQ(names({{"state", "running"}}, 50).size(), 103U);
  EXPECT_EQ(names({{"state", "stopped"}, {"search", "disk"}}, 50).size(), 2U);
  EXPECT_EQ(names({{"after", "j1200"}}, 50).size(), 4U);
  EXPECT_THAT(error("jobs", {{"state", "odd"}}), HasSubstr("state is running, stopped or failing"));
  EXPECT_THAT(error("jobs", {{"count", 0}}), HasSubstr("count is at least 1"));
  EXPECT_THAT(error("jobs", {{"search", std::string(257, 'x')}}), HasSubstr("search has 257 bytes, and at most 256 are possible"));
}

TEST_F(JobCommands, ACallerWithAGroupGetsTheJobsOfItsGroupInPartsToo) {
  for (const char* const name : {"a1", "b1", "a2", "b2", "a3", "b3"}) {
    const std::string handler = std::string{"executor/"} + *name + "/run";
    const std::string job{name};
    call("job-put", {{"definition", R"({"name":")" + job + R"(","handler":")" + handler + R"(","schedule":"every 1h"})"}, {"start", true}});
  }
  EXPECT_THAT(call_of_group("a", "jobs", {{"count", 1}, {"after", "a1"}}), AllOf(HasSubstr("\"a2\""), HasSubstr(R"("next":"a2")")));
  const std::string last = call_of_group("a", "jobs", {{"count", 3}, {"search", "RUN"}});
  EXPECT_THAT(last, AllOf(HasSubstr("\"a1\""), HasSubstr("\"a3\""), Not(HasSubstr("\"b")))) << "no name of another group";
  EXPECT_THAT(call_of_group("a", "jobs", {{"search", "b1"}}), HasSubstr(R"("rows":[])"));
}

TEST_F(JobCommands, AJobIsFailingAsLongAsItsNewestEndIsAFailure) {
  call("job-put", {{"definition", R"({"name":"bad","handler":"fail"})"}});
  call("job-put", {{"definition", R"({"name":"good","handler":"ok"})"}});
  call("job-put", {{"definition", R"({"name":"new","handler":"ok"})"}});
  call("job-trigger", {{"name", "bad"}});
  call("job-trigger", {{"name", "good"}});
  ended_runs("bad", 1);
  ended_runs("good", 1);
  const json::array all = call("jobs", {{"ends", true}}).at("rows").as_array();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].at("last_state"), "failed");
  EXPECT_EQ(all[1].at("last_state"), "succeeded");
  EXPECT_EQ(all[1].at("last_ended"), ended_runs("good", 1)[0].at("ended"));
  EXPECT_TRUE(all[2].at("last_state").is_null());
  EXPECT_TRUE(all[2].at("last_ended").is_null());
  EXPECT_TRUE(all[0].at("last_success").is_null());
  EXPECT_EQ(all[1].at("last_success"), all[1].at("last_ended"));
  const json::array failing = call("jobs", {{"state", "failing"}}).at("rows").as_array();
  ASSERT_EQ(failing.size(), 1U);
  EXPECT_EQ(failing[0].at("name"), "bad");
  EXPECT_FALSE(failing[0].as_object().contains("last_state"));
  call("job-put", {{"definition", R"({"name":"bad","handler":"ok"})"}});
  call("job-trigger", {{"name", "bad"}});
  ended_runs("bad", 2);
  EXPECT_TRUE(call("jobs", {{"state", "failing"}}).at("rows").as_array().empty());
  const json::value success = ended_runs("bad", 2)[0].at("ended");
  call("job-put", {{"definition", R"({"name":"bad","handler":"fail"})"}});
  call("job-trigger", {{"name", "bad"}});
  ended_runs("bad", 3);
  EXPECT_EQ(call("jobs", {{"ends", true}}).at("rows").at(0).at("last_success"), success) << "it stays when a later run fails";
}

TEST_F(JobCommands, ManyJobsAreListedInPages) {
  for (int i = 0; i < 450; ++i) {
    call("job-put", {{"definition", "{\"name\":\"j" + std::to_string(i) + "\",\"handler\":\"ok\"}"}});
  }
  EXPECT_EQ(call("jobs").at("rows").as_array().size(), 450U);
}

TEST_F(JobCommands, SeveralJobsArePutTogetherOrNotAtAll) {
  const auto put = [this](const std::string& definitions, bool is_dry) {
    return call("jobs-put", {{"definitions", definitions}, {"dry_run", is_dry}}).at("rows").as_array();
  };
  const std::string family =
      R"([{"name":"child","handler":"ok","parents":["top"]},{"name":"top","handler":"ok","schedule":"every 1h","running":true}])";
  for (const bool is_dry : {true, false}) {
    EXPECT_TRUE(call("jobs").at("rows").as_array().empty());
    const json::array rows = put(family, is_dry);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("name"), "child");
    EXPECT_EQ(rows[0].at("running"), false);
    EXPECT_EQ(rows[1].at("running"), true);
    EXPECT_TRUE(rows[1].at("next").is_string());
  }
  EXPECT_EQ(put(R"([{"name":"top","handler":"ok","schedule":"every 2h"}])", false)[0].at("running"), true) << "it keeps its state";
  EXPECT_EQ(put(R"([{"name":"top","handler":"ok","running":false}])", false)[0].at("running"), false);
  EXPECT_THAT(error("jobs-put", {{"definitions", "{}"}}), HasSubstr("no JSON array"));
  EXPECT_THAT(error("jobs-put", {{"definitions", "[1]"}}), HasSubstr("entry 1: no JSON object"));
  EXPECT_THAT(error("jobs-put", {{"definitions", R"([{"name":"x","handler":"ok"},{"name":"y","color":1}])"}}),
              testing::AllOf(HasSubstr("entry 2: job 'y'"), HasSubstr("color")));
  EXPECT_THAT(error("jobs-put", {{"definitions", R"([{"name":"x","handler":"ok","running":1}])"}}), HasSubstr("running"));
  EXPECT_THAT(error("jobs-put", {{"definitions", R"([{"name":"x","handler":"ok"},{"name":"y","handler":"ok","parents":["z"]}])"}}),
              HasSubstr("job 'y': parents: there is no job 'z'"));
  EXPECT_EQ(call("jobs").at("rows").as_array().size(), 2U);
}

TEST_F(JobCommands, TheErrorOfAnAttemptIsShownWhileTheNextOneIsWaitedFor) {
  call("job-put", {{"definition", R"({"name":"again","handler":"fail","retries":1,"backoff_ms":100000})"}});
  EXPECT_FALSE(call("job", {{"name", "again"}}).contains("retried"));
  const std::int64_t run = call("job-trigger", {{"name", "again"}}).at("run").as_int64();
  json::object shown;
  while (!shown.contains("retried") && !HasFailure()) shown = call("job", {{"name", "again"}});
  const json::object one = shown.at("retried").at(0).as_object();
  EXPECT_EQ(one.at("run").as_int64(), run);
  const std::string note{one.at("note").as_string()};
  EXPECT_THAT(note, testing::StartsWith("attempt 1 failed: unavailable: no \\x1b[31mserver; next attempt at 20"));
  const json::object row = call("job-runs", {{"name", "again"}}).at("rows").at(0).as_object();
  EXPECT_EQ(row.at("note").as_string(), note);
  EXPECT_EQ(row.at("state").as_string(), "due");
}

TEST_F(JobCommands, AJobWithoutItsHandlerIsShownWithAWarning) {
  call("job-put", {{"definition", R"({"name":"lost","handler":"none"})"}});
  EXPECT_EQ(call("job", {{"name", "lost"}}).at("warning"), "this program has no handler 'none'");
}

TEST_F(JobCommands, ParametersThatAHandlerRefusesAreNotStored) {
  const json::object bad{{"definition", R"({"name":"a","handler":"strict","parameters":"bad"})"}};
  json::object dry = bad;
  dry["dry_run"] = true;
  EXPECT_EQ(error("job-put", bad), "invalid-argument: job 'a': it is not 'good'");
  EXPECT_EQ(error("job-put", dry), "invalid-argument: job 'a': it is not 'good'");
  EXPECT_EQ(error("jobs-put", {{"definitions", R"([{"name":"x","handler":"ok"},{"name":"a","handler":"strict"}])"}}),
            "invalid-argument: job 'a': it is not 'good'");
  EXPECT_TRUE(call("jobs").at("rows").as_array().empty());
  const json::object good = call("job-put", {{"definition", R"({"name":"a","handler":"strict","parameters":"good"})"}, {"start", true}});
  EXPECT_FALSE(good.contains("warning"));
  EXPECT_THAT(error("job-put", bad), HasSubstr("it is not 'good'"));
  EXPECT_EQ(call("job", {{"name", "a"}}).at("parameters"), "good");
  call("job-stop", {{"name", "a"}, {"note", ""}});
}

TEST_F(JobCommands, ParametersThatWereNotCheckedAreAWarning) {
  std::promise<void> is_set;
  const Status posted = runtime.post([&] {
    jobs->wait_for_handlers("command/", [](std::string_view) { return "no worker"; });
    is_set.set_value();
  });
  ASSERT_TRUE(posted.ok());
  is_set.get_future().wait();
  EXPECT_EQ(call("job-put", {{"definition", R"({"name":"a","handler":"strict","parameters":"away"})"}}).at("warning"),
            "its parameters were not checked: the \\x1b[31mserver is away");
  const json::array rows =
      call("jobs-put", {{"definitions", R"([{"name":"b","handler":"ok"},{"name":"c","handler":"command/x"}])"}}).at("rows").as_array();
  EXPECT_FALSE(rows.at(0).as_object().contains("warning"));
  EXPECT_EQ(rows.at(1).at("warning"), "no worker; its parameters were not checked");
  EXPECT_EQ(call("job", {{"name", "c"}}).at("warning"), "no worker");
}

TEST_F(JobCommands, AConcurrencyWithoutEffectIsAWarning) {
  const json::object put = call("job-put", {{"definition", R"({"name":"a","handler":"ok","concurrency":4})"}});
  EXPECT_EQ(put.at("warning"), "the concurrency of 4 has no effect: the overlap is serial");
  EXPECT_FALSE(
      call("job-put", {{"definition", R"({"name":"a","handler":"ok","concurrency":4,"overlap":"concurrent"})"}}).contains("warning"));
}

TEST_F(JobCommands, AStepWithoutEffectIsAWarning) {
  EXPECT_EQ(call("job-put", {{"definition", R"({"name":"a","handler":"ok","schedule":"cron */90 * * * *"})"}}).at("warning"),
            "the step 90 of the minute reaches no second value, so '*/90' is only 0");
  EXPECT_FALSE(call("job-put", {{"definition", R"({"name":"a","handler":"ok","schedule":"cron */30 * * * *"})"}}).contains("warning"));
}

TEST_F(JobCommands, WrongArgumentsAreNamed) {
  EXPECT_THAT(error("job-put", {{"definition", "{"}}), HasSubstr("no JSON"));
  EXPECT_THAT(error("job-put", {{"definition", R"({"name":"a","handlr":"ok"})"}}), HasSubstr("a job has no field 'handlr'"));
  EXPECT_THAT(error("job-put", {{"definition", R"({"name":"a","handler":"ok","priority":64})"}}), HasSubstr("priority"));
  EXPECT_THAT(error("job-put", {{"definition", R"({"name":"a","handler":"ok","schedule":"every 1ms"})"}}), HasSubstr("schedule"));
  EXPECT_THAT(error("job-put", {{"definition", R"({"name":"a","handler":"ok","handler":"no"})"}}), HasSubstr("has 'handler' twice"));
  EXPECT_THAT(error("jobs-put", {{"definitions", R"([{"name":"a","handler":"ok","running":true,"running":false}])"}}),
              HasSubstr("has 'running' twice"));
  EXPECT_THAT(error("job", {{"name", "none"}}), HasSubstr("no job 'none'"));
  EXPECT_THAT(error("job-trigger", {{"name", "none"}}), HasSubstr("no job 'none'"));
  EXPECT_THAT(error("job-kill", {{"run", 99}}), HasSubstr("the run 99"));
  EXPECT_THAT(error("job-runs", {{"name", "none"}, {"max", 0}}), HasSubstr("1 to 200"));
  EXPECT_THAT(error("job-runs", {{"name", "none"}}), HasSubstr("no job 'none'"));
}

/// The journal had three copies of such a text, so that old records were soon rolled over.
TEST_F(JobCommands, EachLongTextIsRefusedBeforeTheJournalHasIt) {
  constexpr std::size_t kBytes = 180'000;
  std::size_t texts = 0;
  for (const CommandSpec* const spec : registry.commands()) {
    for (const ArgumentSpec& argument : spec->arguments) {
      if (argument.kind != ArgumentKind::Text || argument.name.starts_with("definition")) continue;
      json::object arguments;
      for (const ArgumentSpec& other : spec->arguments) {
        if (other.required) arguments[other.name] = other.kind == ArgumentKind::Text ? json::value("x") : json::value(1);
      }
      arguments[argument.name] = std::string(kBytes, 'x');
      EXPECT_THAT(error(spec->name, arguments), HasSubstr(argument.name + " has 180000 bytes, and at most ")) << spec->name;
      ++texts;
    }
  }
  EXPECT_GT(texts, 20U);
  const std::string definition = "{\"name\":\"" + std::string(kBytes, 'x') + R"(","handler":"ok"})";
  for (const char* const command : {"job-put", "job-preview"})
    EXPECT_THAT(error(command, {{"definition", definition}}), HasSubstr("name has 180000 bytes, and at most 200 are possible"));
  EXPECT_THAT(error("jobs-put", {{"definitions", "[" + definition + "]"}}), HasSubstr("name has 180000 bytes"));
}

TEST_F(JobCommands, AJobThatDoesNotRunHasAWarningWhenItIsPutAndShown) {
  const char* const why = "it does not run: it requires job-succeeded:nope, and there is no job 'nope'";
  const json::object typo{{"definition", R"({"name":"typo","handler":"ok","requires":["job-succeeded:nope"]})"}, {"start", true}};
  json::object dry = typo;
  dry["dry_run"] = true;
  EXPECT_EQ(call("job-put", dry).at("warning"), why);
  EXPECT_EQ(call("job-put", typo).at("warning"), why);
  EXPECT_EQ(call("job", {{"name", "typo"}}).at("warning"), why);

  call("job-put", {{"definition", R"({"name":"above","handler":"ok"})"}, {"start", true}});
  const json::object below{{"definition", R"({"name":"below","handler":"ok","parents":["above"]})"}, {"start", true}};
  EXPECT_FALSE(call("job-put", below).contains("warning"));
  call("job-stop", {{"name", "above"}});
  EXPECT_EQ(call("job", {{"name", "below"}}).at("warning"), "it does not run: the job 'above' above it is stopped");
  EXPECT_FALSE(call("job", {{"name", "above"}}).contains("warning")) << "a stopped job shows that it is stopped";
  call("job-start", {{"name", "above"}});
  EXPECT_FALSE(call("job", {{"name", "below"}}).contains("warning"));
}

TEST_F(JobCommands, AJobOfWhichEachRunIsStoppedByTheNextOneHasAWarning) {
  call("job-put", {{"definition", R"({"name":"long","handler":"stoppable","overlap":"cover"})"}});
  const auto warning = [this] {
    const json::object shown = call("job", {{"name", "long"}});
    return shown.contains("warning") ? std::string{shown.at("warning").as_string()} : std::string{};
  };
  for (std::size_t i = 0; i < 5; ++i) {  // Each trigger stops the run before it.
    EXPECT_EQ(warning(), i < 4 ? "" : "each of its last 3 runs was stopped by the next one, so none has ended by itself");
    call("job-trigger", {{"name", "long"}});
    ended_runs("long", i);
  }
  call("job-kill", {{"run", call("job-runs", {{"name", "long"}}).at("rows").at(0).at("run")}});
  ended_runs("long", 5);
  EXPECT_EQ(warning(), "") << "a user has stopped the last one";
}

TEST_F(JobCommands, APreviewMarksTheDaysOnWhichTheClockChanges) {
  const auto preview = [this](const std::string& members, json::object more = {}) {
    more["definition"] = R"({"name":"new","handler":"ok",)" + members + "}";
    return call("job-preview", more);
  };
  const auto text = [](const json::object& answer) {
    std::string all;
    for (const json::value& instant : answer.at("instants").as_array()) {
      all += (all.empty() ? "" : " ") + std::string{instant.at("at").as_string()} + "=" + std::string{instant.at("local").as_string()} +
             (instant.at("clock_change").as_bool() ? "!" : "");
    }
    return all;
  };
  // The years are far ahead, so that the days are always to come.
  const std::string berlin = R"("zone":"Europe/Berlin","schedule":"cron 30 12 * * *","from":)";
  const json::object spring = preview(berlin + R"("2240-03-28T00:00:00Z")", {{"count", 3}});
  EXPECT_EQ(text(spring),
            "2240-03-28T11:30:00Z=2240-03-28T12:30:00+01:00 2240-03-29T10:30:00Z=2240-03-29T12:30:00+02:00! "
            "2240-03-30T10:30:00Z=2240-03-30T12:30:00+02:00");
  EXPECT_EQ(spring.at("words"), "at 12:30, every day, from 2240-03-28T00:00:00Z on");
  EXPECT_EQ(spring.at("zone"), "Europe/Berlin");
  EXPECT_EQ(spring.at("troubles").as_array().size(), 0U);
  EXPECT_EQ(text(preview(berlin + R"("2240-10-25T00:00:00Z")", {{"count", 2}})),
            "2240-10-25T11:30:00Z=2240-10-25T12:30:00+01:00! 2240-10-26T11:30:00Z=2240-10-26T12:30:00+01:00");
  // A half hour, and west of Greenwich.
  const std::string johns = R"("zone":"America/St_Johns","schedule":"cron 0 1 * * *","from":"2240-01-10T00:00:00Z")";
  EXPECT_EQ(text(preview(johns, {{"count", 1}})), "2240-01-10T04:30:00Z=2240-01-10T01:00:00-03:30");
  EXPECT_EQ(preview(berlin + R"("2240-03-28T00:00:00Z")").at("instants").as_array().size(), 10U);
  EXPECT_TRUE(call("jobs").at("rows").as_array().empty()) << "nothing is stored";
}

TEST_F(JobCommands, APreviewHasWordsForEachKindOfScheduleAndItsTroubles) {
  const auto preview = [this](const std::string& members) {
    return call("job-preview", {{"definition", R"({"name":"new",)" + members + "}"}});
  };
  const auto words = [&](const std::string& members) {
    return std::string{preview(R"("handler":"ok")" + members).at("words").as_string()};
  };
  EXPECT_EQ(words(R"(,"schedule":"every 10s")"), "every 10s");
  EXPECT_EQ(words(R"(,"schedule":"every 1h","excluded":"SAT, SUN","jitter_ms":5000)"),
            "every 1h, not on SAT, SUN, each up to 5000 ms later");
  EXPECT_EQ(words(R"(,"schedule":"after 5min")"), "5min after the end of each run");
  EXPECT_EQ(words(R"(,"schedule":"at 2240-01-01T00:00:00+01:00")"), "once, at 2239-12-31T23:00:00Z");
  EXPECT_EQ(words(""), "only when it is triggered");
  call("job-put", {{"definition", R"({"name":"top","handler":"ok"})"}});
  EXPECT_EQ(words(R"(,"parents":["top"])"), "when runs of all these jobs have succeeded: top");
  EXPECT_EQ(preview(R"("handler":"ok","schedule":"after 5min")").at("instants").as_array().size(), 1U);
  const json::array none = preview(R"("handler":"nobody","schedule":"at 2020-01-01T00:00:00Z","concurrency":2)").at("troubles").as_array();
  ASSERT_EQ(none.size(), 3U);
  EXPECT_THAT(std::string{none[0].as_string()}, HasSubstr("no handler 'nobody'"));
  EXPECT_THAT(std::string{none[1].as_string()}, HasSubstr("concurrency"));
  EXPECT_EQ(none[2], "its schedule has no instant after now");
  EXPECT_EQ(preview(R"("handler":"strict","parameters":"bad")").at("troubles").as_array().size(), 0U) << "its handler is not asked";
  EXPECT_THAT(error("job-preview", {{"definition", R"({"name":"new","handler":"ok","schedule":"cron 0 24 * * *"})"}}), HasSubstr("24"));
  EXPECT_THAT(error("job-preview", {{"definition", R"({"name":"new","handler":"ok","zone":"Mars/Base"})"}}), HasSubstr("Mars/Base"));
  EXPECT_THAT(error("job-preview", {{"definition", R"({"name":"a","name":"b"})"}}), HasSubstr("twice"));
  EXPECT_THAT(error("job-preview", {{"definition", "{}"}, {"count", 51}}), HasSubstr("count is 1 to 50"));
}

TEST_F(JobCommands, TheLoadIsCountedByMinute) {
  const auto put = [this](const std::string& name, const std::string& members, bool is_started = true) {
    call("job-put", {{"definition", R"({"name":")" + name + R"(",)" + members + "}"}, {"start", is_started}});
  };
  put("a", R"("handler":"executor/a/x","schedule":"every 20s")");
  put("b", R"("handler":"executor/b/x","schedule":"cron 2 * * * *")");
  put("child", R"("handler":"ok","parents":["b"])");
  put("manual", R"("handler":"ok")");
  put("stopped", R"("handler":"ok","schedule":"every 1s")", false);
  const json::object times{{"from", "2240-01-01T00:00:30Z"}, {"to", "2240-01-01T00:04:30Z"}};
  const json::object answer = call("job-load", times);
  EXPECT_EQ(answer.at("from"), "2240-01-01T00:00:00Z") << "minutes of the clock";
  EXPECT_EQ(json::serialize(answer.at("minutes")), "[3,3,4,3,2]");
  EXPECT_EQ(answer.at("jobs_counted"), 2);
  EXPECT_EQ(answer.at("cut_short"), false);
  EXPECT_THAT(call_of_group("a", "job-load", times), AllOf(HasSubstr("[3,3,3,3,2]"), HasSubstr(R"("jobs_counted":1)")));
  EXPECT_THAT(call("job-load").at("minutes").as_array().size(), testing::AnyOf(60U, 61U));
  for (const char* const to : {"2240-01-01T00:00:30Z", "2239-01-01T00:00:00Z", "2240-01-03T00:00:31Z"})
    EXPECT_THAT(error("job-load", {{"from", "2240-01-01T00:00:30Z"}, {"to", to}}), HasSubstr("at most 48 hours"));
  EXPECT_THAT(error("job-load", {{"from", "soon"}}), HasSubstr("from"));
}

TEST_F(JobCommands, TheLoadOfTooManyInstantsIsCutShort) {
  call("job-put",
       {{"definition", R"({"name":"hot","handler":"ok","schedule":"every 10ms","from":"2230-01-01T00:00:00Z"})"}, {"start", true}});
  const json::object answer = call("job-load", {{"from", "2240-01-01T00:00:00Z"}, {"to", "2240-01-01T01:00:00Z"}});
  EXPECT_EQ(answer.at("cut_short"), true);
  std::int64_t counted = 0;
  for (const json::value& minute : answer.at("minutes").as_array()) counted += minute.to_number<std::int64_t>();
  EXPECT_EQ(counted, 200'000);
}

TEST_F(JobCommands, TheJobsWithTheirPlanAreWhatAForecastNeeds) {
  call("job-put", {{"definition", R"({"name":"a","handler":"ok"})"}});
  call("job-remove", {{"name", "a"}});
  call("job-put", {{"definition", R"({"name":"b","handler":"gate","schedule":"every 1s"})"}, {"start", true}});
  json::object answer;
  do answer = call("jobs", {{"plan", true}});
  while (answer.at("rows").at(0).at("runs").as_array().empty() && !HasFailure());
  const json::object& row = answer.at("rows").at(0).as_object();
  EXPECT_EQ(row.at("id"), 2);
  const json::object& run = row.at("runs").at(0).as_object();
  EXPECT_EQ(run.at("band"), "ring");
  EXPECT_EQ(run.at("due"), run.at("scheduled"));
  EXPECT_LT(calendar::parse_rfc3339(std::string_view{run.at("scheduled").as_string()}).value(),
            calendar::parse_rfc3339(std::string_view{row.at("next").as_string()}).value());
  EXPECT_EQ(answer.at("window_ms"), 5000);
  EXPECT_EQ(answer.at("grace_ms"), 10'000);
  EXPECT_EQ(answer.at("cycle_ms"), 50);
  EXPECT_FALSE(call("jobs").at("rows").at(0).as_object().contains("id"));
  gate.set_value();
}

}  // namespace
}  // namespace rondo::jobs
