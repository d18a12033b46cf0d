// A recorded day of rondod with jobs and a worker: `rondo replay` makes the same decisions, without the database, the worker and the
// callers.
#include "rondo/base/clock.h"
#include "rondod_testbed.h"

namespace rondo::jobs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RecordedDayOnLinux : public RondodWithWorker {
 protected:
  std::string journal() const { return "[journal]\nfile = \"" + path("day") + "\"\n"; }
  /// 'of': "--run 1", or empty for the last run.
  void expect_same(const std::string& of) const {
    const Ended replayed = rondo("replay " + of + " " + path("day"));
    EXPECT_EQ(replayed.code, 0) << of << ": " << replayed.out;
    EXPECT_THAT(replayed.out, HasSubstr("the same: "));
  }
  /// Stores a started job as an earlier version did, which did not check its parameters.
  void store_wrong_job(const std::string& parameters) const {
    const auto store = std::move(*make_sqlite_job_store(path("jobs.db")));
    const Job wrong{
        .name = "wrong", .handler = "table", .parameters = parameters, .schedule = {.when = "every 500ms"}, .retries = 2, .backoff = 10ms};
    ASSERT_TRUE(store->put(wrong, {}).has_value());
    ASSERT_TRUE(store->set_running("wrong", true, SystemClock{}.wall_now(), {}).ok());
  }
  void add_jobs() const {
    must("job add cron --handler none --cron '* * * * * *' --dialect unix6");
    must("job add tick --handler log --parameters 'a \"text\"' --every 50ms");
    must("job add port --handler table --parameters 'PORT_TABLE eth1 admin_status=up' --every 1s");
    must("job add checked --handler command/checked --parameters '{\"n\":1}' --every 300ms");
    // A check that the machine delays beyond its limit is made again.
    EXPECT_TRUE(becomes([this] {
      const Ended refused = rondo("job add refused --handler command/checked --parameters '{\"n\":\"a\"}' --every 300ms --dry-run");
      return refused.out.find("has a character that is not allowed") != std::string::npos;
    }));
    EXPECT_THAT(must("job add unchecked --handler command/absent --manual"), HasSubstr("its parameters were not checked"));
    must("job add up --handler none --every 200ms --requires carrier:eth1");
    must("job add parent --handler command/good --every 300ms");
    must("job add child --handler none --parents parent");
    must("job add bad --handler command/bad --every 700ms --retries 1 --backoff 50ms");
    must("job add long --handler command/long --manual");
    must("job add cover --handler command/long --every 400ms --overlap cover");
  }
  /// Everything that a user and a worker do meanwhile.
  void meddle() {
    trigger("long");
    ASSERT_TRUE(becomes([this] { return call("job-runs", {{"name", "parent"}}).at("rows").as_array().size() > 2; }));
    must("job runs parent");
    must("job show parent");
    must("job list");
    must("call job-kill run=" + std::to_string(boost::json::value_to<std::int64_t>(runs_of("long")[0].at("run"))));
    must("job stop tick --note 'a note'");
    must("job edit parent --every 250ms");
    must("why JOB_RUN_8 'long#1'");
    EXPECT_EQ(rondo("job trigger nosuch").code, 1);
    must("job remove cron --yes");
  }
};

TEST_F(RecordedDayOnLinux, ADayWithAWorkerACrashAndARestartComesOutTheSame) {
  store_wrong_job("PORT_TABLE eth1 nosuch=1");
  start_rondod(journal());
  start_worker(command("good", "echo 'rondo: progress 50 half'; sleep 0.05; echo 'rondo: result all'\n", "concurrency = 4") +
               command("bad", "exit 3\n") + command("long", "sleep 100\n", "concurrency = 4") +
               command("checked", "true\n", "arguments = [\"{n}\"]\n[command.checked.parameters.n]\ncharacters = \"0-9\""));
  ASSERT_TRUE(is_worker_connected());
  add_jobs();
  // The turn that ends the check stores the job.
  ::kill(worker, SIGSTOP);
  EXPECT_THAT(must("job add late --handler command/good --manual"), HasSubstr("its parameters were not checked"));
  ::kill(worker, SIGCONT);
  meddle();
  ASSERT_TRUE(becomes([this] { return succeeded("child") > 0 && succeeded("up") > 0 && succeeded("checked") > 0; }));
  ASSERT_TRUE(becomes([this] { return count_of("wrong", "failed") > 0; }));
  kill_worker(SIGKILL);
  start_worker();
  ::usleep(300'000);
  kill_server();
  start_rondod(journal());
  must("job start tick");
  const std::size_t before = succeeded("child");
  ASSERT_TRUE(becomes([&] { return succeeded("child") > before; }));
  kill_worker(SIGTERM);
  ::usleep(100'000);
  EXPECT_EQ(end_rondod(), 0);
  expect_same("--run 1");
  expect_same("");
}

TEST_F(RecordedDayOnLinux, ADayOfARondodThatOnlySchedulesComesOutTheSame) {
  const std::string row = "PORT_TABLE eth1 admin_status=up";  // There is no such table without a data plane.
  store_wrong_job(row);
  start_rondod(journal(), true);
  must("job add tick --handler none --every 50ms");
  EXPECT_EQ(rondo("job add table --handler table --parameters '" + row + "' --every 100ms").code, 2);
  ASSERT_TRUE(becomes([this] { return succeeded("tick") > 5 && count_of("wrong", "failed") > 0; }));
  EXPECT_EQ(end_rondod(), 0);
  expect_same("");
}

}  // namespace
}  // namespace rondo::jobs
