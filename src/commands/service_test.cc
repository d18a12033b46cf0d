// Service: a program with three lines has a daemon's defaults. Method: a service in this process with a real socket, real signals and a log
// of its own; a function in a turn raises the signal, so that nothing depends on time.
#include "rondo/commands/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "orch/runtime_fixture.h"
#include "rondo/admin/client.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"

namespace rondo {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The embedded store with a report that the test writes.
class ReportingStore final : public test::PassingStore {
 public:
  ReportingStore(Scheduler& scheduler, const StoreReport& report) : PassingStore(make_memory_store(scheduler)), report_(report) {}
  StoreReport report() const override { return report_; }
  WriteAnswer write_answer(std::string_view) const override { return WriteAnswer::Accepted; }
  Status finish() override { return {StatusCode::DataLoss, "2 records are not in the file"}; }

 private:
  const StoreReport& report_;
};

class ServiceTest : public testing::Test {
 protected:
  ~ServiceTest() override { ::unlink(path_.c_str()); }

  void open(bool reports = false) {
    RuntimeOptions options;
    options.log_rejects = false;
    if (reports) options.store = [this](Scheduler& scheduler) { return std::make_unique<ReportingStore>(scheduler, report_); };
    runtime_ = std::make_unique<Runtime>(std::move(options));
    auto& orch = runtime_->add<OpenOrch>("routes");
    orch.consume(
        "T", [this](std::string_view, const Fields&) { return answer_(); }, [](std::string_view) { return Outcome::done(); });
    ServiceOptions service;
    service.admin.path = path_;
    service.log = &log_;
    service.drain = drain_;
    service.stall = Duration{0};
    service.on_reload = [this] { events_ += "reload "; };
    service.on_drain = [this] { events_ += "drain "; };
    auto opened = Service::open(*runtime_, registry_, std::move(service));
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    service_ = std::move(*opened);
  }
  /// In a turn of run().
  void then(std::function<void()> act) { ASSERT_TRUE(runtime_->post(std::move(act)).ok()); }
  /// Calls 'command' from another thread while run() serves, and then ends it.
  json::object call(const std::string& command, const json::object& arguments = {}) {
    json::object answer;
    std::thread caller([&] {
      const auto client = AdminClient::connect(path_);
      if (client) {
        const Result<json::object> answered = (*client)->call(command, arguments);
        answer = answered ? *answered : json::object{{"error", answered.error().to_string()}};
      }
      std::raise(SIGTERM);
    });
    ended_ = service_->run();
    caller.join();
    return answer;
  }

  const std::string path_ = "/tmp/rondo-service-" + std::to_string(::getpid()) + ".sock";
  std::string lines_;
  SystemClock clock_;
  Log log_{clock_, {.journal = false, .writer = [this](std::string_view line) { lines_ += line; }}};
  StoreReport report_;
  Duration drain_ = 60s;
  std::function<Outcome()> answer_ = [] { return Outcome::done(); };
  std::string events_;
  CommandRegistry registry_{"test", "1"};
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Service> service_;
  Status ended_;
};

TEST_F(ServiceTest, ASignalEndsItAfterADrain) {
  open();
  then([&] {
    ASSERT_TRUE(runtime_->table("T").set("a", {}).ok());
    std::raise(SIGTERM);
  });
  EXPECT_TRUE(service_->run().ok()) << lines_;
  EXPECT_EQ(runtime_->consumers().at(0).done, 1U) << "accepted before the signal";
  EXPECT_EQ(events_, "drain ");
  EXPECT_THAT(lines_, AllOf(HasSubstr("serving"), HasSubstr("draining signal=15"), HasSubstr("ended drained=true")));
  EXPECT_FALSE(service_->is_serving());
}

// The thread began before the service, and blocks no signal.
TEST_F(ServiceTest, ASignalThatAnotherThreadReceivesEndsIt) {
  std::promise<void> serves;
  std::thread other([heard = serves.get_future()] {
    heard.wait();
    ::pthread_kill(::pthread_self(), SIGINT);
  });
  open();
  then([&] { serves.set_value(); });
  EXPECT_TRUE(service_->run().ok());
  other.join();
  EXPECT_THAT(lines_, HasSubstr("draining signal=2"));
}

TEST_F(ServiceTest, SighupReloadsAndDoesNotEndIt) {
  open();
  then([&] {
    std::raise(SIGHUP);
    then([] { std::raise(SIGTERM); });
  });
  EXPECT_TRUE(service_->run().ok());
  EXPECT_EQ(events_, "reload drain ");
}

TEST_F(ServiceTest, SignalsDoWhatTheyDidBeforeWhenItHasEnded) {
  struct sigaction before {};
  ::sigaction(SIGTERM, nullptr, &before);
  open();
  service_.reset();
  struct sigaction after {};
  ::sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST_F(ServiceTest, OneProcessHasOne) {
  open();
  CommandRegistry registry{"second", "1"};
  const auto second = Service::open(*runtime_, registry, {.admin = {.path = path_ + "2"}});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::AlreadyExists);
}

TEST_F(ServiceTest, WhatIsLostAtTheEndIsAnError) {
  drain_ = 50ms;
  answer_ = [] { return Outcome::staged(); };  // Never settled.
  open(true);
  then([&] {
    ASSERT_TRUE(runtime_->table("T").set("a", {}).ok());
    std::raise(SIGTERM);
  });
  EXPECT_EQ(service_->run().to_string(), "data-loss: 1 accepted rows that were not handled, 2 records are not in the file");
  EXPECT_THAT(lines_, AllOf(HasSubstr("accepted work is lost"), HasSubstr("drained=false")));
}

TEST_F(ServiceTest, DamageOfTheStoreIsLoggedAndInHealth) {
  report_ = {
      .troubles = {"file t was damaged"}, .notes = {"a note of the store"}, .damage = {"entry 7"}, .standby_for = {}, .must_end = {}};
  report_.incidents.push_back({.what = "batches that were dropped", .count = 3, .newest = "the hash H"});
  open(true);
  EXPECT_THAT(lines_, HasSubstr("the store was damaged, what is whole was kept lost=\"entry 7\""));
  const std::string health = json::serialize(call("health"));
  EXPECT_THAT(health, AllOf(HasSubstr("\"healthy\":false"), HasSubstr("file t was damaged"),
                            HasSubstr("batches that were dropped: 3 since"), HasSubstr("the hash H"), HasSubstr("a note of the store")));
}

TEST_F(ServiceTest, AStandbyIsNamedByWhy) {
  report_.standby_for = "pid 7 on host leaf1";
  open(true);
  EXPECT_THAT(json::serialize(call("why", {{"table", "T"}, {"key", "a"}})), HasSubstr("pid 7 on host leaf1"));
}

TEST_F(ServiceTest, EndsWhenTheStoreSaysThatAnotherProcessConsumes) {
  open(true);
  then([&] { report_.must_end = {StatusCode::Unavailable, "the lease is lost"}; });
  EXPECT_EQ(service_->run().to_string(), "unavailable: the lease is lost");
  EXPECT_EQ(events_, "") << "without a drain";
}

TEST_F(ServiceTest, ATableThatNoOrchConsumesIsInHealthAndWhy) {
  open();
  then([&] { ASSERT_TRUE(runtime_->table("TYPO").set("a", {}).ok()); });
  EXPECT_THAT(json::serialize(call("health")), AllOf(HasSubstr("\"healthy\":false"), HasSubstr("no Orch consumes the table 'TYPO'")));
}

TEST_F(ServiceTest, WhyOfARowThatNoOrchConsumesSaysSo) {
  open();
  then([&] { ASSERT_TRUE(runtime_->table("TYPO").set("a", {}).ok()); });
  EXPECT_THAT(json::serialize(call("why", {{"table", "TYPO"}, {"key", "a"}})),
              AllOf(HasSubstr("no Orch of this program consumes the table; keys that wait in it: 1"), Not(HasSubstr("no such row"))));
}

}  // namespace
}  // namespace rondo
