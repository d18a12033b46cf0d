// An Orch is an agent that also consumes tables: its messages and its changes are handled in turns of one thread, and share its state.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "rondo/message/limits.h"
#include "rondo/message/messaging_orch.h"
#include "rondo/message/runtime_agents.h"
#include "rondo/orch/worker.h"

namespace rondo {
namespace {

struct Reload {
  std::string prefix;
};
struct PortDown {
  std::string port;
};
struct Count {
  Address asker;
};
struct Counted {
  std::size_t routes = 0;
};

class Routes final : public MessagingOrch {
 public:
  Routes(Runtime& runtime, const Topic<PortDown>& ports) : MessagingOrch(runtime, "routes", Priority::p3) {
    consume("ROUTE", this, &Routes::set, &Routes::remove);
    limit<Reload>({.most = 2});
    receive<&Routes::reload>();
    receive<&Routes::count>();
    EXPECT_TRUE(subscribe<&Routes::port_down>(ports).ok());
  }
  std::string seen;

 private:
  Outcome set(std::string_view key, const Fields&) {
    seen += "set " + std::string{key} + " ";
    ++routes_;
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  void reload(const Reload& message) { seen += "reload " + message.prefix + " "; }
  void port_down(const PortDown& message) { seen += "down " + message.port + " "; }
  void count(const Count& question) { EXPECT_TRUE(question.asker.post(Counted{routes_}).ok()); }
  std::size_t routes_ = 0;
};

class Asker final : public Agent {
 public:
  explicit Asker(AgentGroup& group) : Agent(group, "asker", Priority::p5) { receive<&Asker::counted>(); }
  std::size_t routes = 0;

 private:
  void counted(const Counted& answer) { routes = answer.routes; }
};

TEST(MessagingOrch, AnOrchIsAnAgentThatAlsoConsumesTables) {
  Runtime runtime;
  const Topic<PortDown> ports = agents_of(runtime).topic<PortDown>("port down");
  Routes& routes = runtime.add<Routes>(ports);
  Asker* asker = nullptr;
  ASSERT_TRUE(agents_of(runtime)
                  .add([&](AgentGroup& group) {
                    asker = &group.make<Asker>();
                    return Status{};
                  })
                  .has_value());
  ASSERT_TRUE(runtime.table("ROUTE").set("a", {{"f", "1"}}).ok());
  runtime.run_until_idle();
  ASSERT_TRUE(routes.address().post(Reload{"10."}).ok());
  EXPECT_EQ(ports.publish({"Ethernet0"}).delivered, 1U);
  ASSERT_TRUE(routes.address().post(Count{asker->address()}).ok());
  runtime.run_until_idle();
  EXPECT_EQ(routes.seen, "set a reload 10. down Ethernet0 ");
  EXPECT_EQ(asker->routes, 1U);
  EXPECT_TRUE(routes.address().post(Reload{"1"}).ok());
  EXPECT_TRUE(routes.address().post(Reload{"2"}).ok());
  EXPECT_EQ(routes.address().post(Reload{"3"}).code(), StatusCode::ResourceExhausted);
}

TEST(MessagingOrch, OfAWorkerAreHandledOnItsThread) {
  Runtime home;
  Worker worker(home, {.name = "worker"});
  const Topic<PortDown> ports = agents_of(home).topic<PortDown>("port down");
  Routes& routes = worker.add<Routes>(ports);
  const Address to = routes.address();
  ASSERT_TRUE(worker.start().ok());
  ASSERT_TRUE(to.post(Reload{"10."}).ok());
  EXPECT_EQ(ports.publish({"Ethernet0"}).delivered, 1U) << "a topic reaches agents of every thread";
  worker.stop();  // Handles the pending messages first.
  EXPECT_EQ(routes.seen, "reload 10. down Ethernet0 ");
}

class Stateless final : public MessagingOrch {
 public:
  Stateless(Runtime& runtime, int& asked) : MessagingOrch(runtime, "stateless", Priority::p1), asked_(asked) { receive<&Stateless::ask>(); }

 private:
  void ask(const Reload&) const { ++asked_; }
  int& asked_;
};

TEST(MessagingOrch, HandlersMayBeConstMembers) {
  Runtime runtime;
  int asked = 0;
  ASSERT_TRUE(runtime.add<Stateless>(asked).address().post(Reload{}).ok());
  runtime.run_until_idle();
  EXPECT_EQ(asked, 1);
}

class Thrower final : public MessagingOrch {
 public:
  explicit Thrower(Runtime& runtime) : MessagingOrch(runtime, "thrower", Priority::p3) { receive<&Thrower::reload>(); }

 private:
  void reload(const Reload&) { throw std::runtime_error("bang"); }
};

TEST(MessagingOrch, AHandlerThatThrowsIsToldAsARejectOfItsMessage) {
  Runtime runtime;
  std::string told;
  runtime.on_reject([&](std::string_view where, const Change& change, const Status& why) {
    EXPECT_EQ(why.code(), StatusCode::Internal);
    told += std::string{where} + " " + std::string{change.verb()} + " " + std::string{change.key()} + ": " + std::string{why.message()};
  });
  ASSERT_TRUE(runtime.add<Thrower>().address().post(Reload{}).ok());
  runtime.run_until_idle();
  const std::string type = "rondo::(anonymous namespace)::Reload";
  EXPECT_EQ(told, "thrower message " + type + ": thrower " + type + ": the handler threw: bang");
}

TEST(MessagingOrch, OptionsOfTheAgentsAreTheRuntimes) {
  int told = 0;
  Runtime runtime;
  make_agents(runtime, {.messages_max = 4, .on_fault = [&](const MessageFault&) { ++told; }});
  runtime.on_reject([](std::string_view, const Change&, const Status&) { FAIL() << "somebody else is told"; });
  const Address to = runtime.add<Thrower>().address();
  int accepted = 0;
  while (to.post(Reload{}).ok()) ++accepted;
  EXPECT_LE(accepted, 4 + static_cast<int>(limits::kMessagePlacesKept));
  runtime.run_until_idle();
  EXPECT_EQ(told, accepted);
}

/// Calls 'at_end' when it finishes.
class Leaver final : public Agent {
 public:
  Leaver(AgentGroup& group, std::function<void()> at_end) : Agent(group, "leaver", Priority::p3), at_end_(std::move(at_end)) {}

 private:
  void on_finish() override { at_end_(); }
  const std::function<void()> at_end_;
};

TEST(MessagingOrch, TheLastWordsOfAnAgentMayAskForItsAgentsAndTheRuntime) {
  std::size_t groups = 0;
  std::size_t tables = 0;
  {
    Runtime runtime;
    ASSERT_TRUE(runtime.store().declare({.name = "ROUTE"}).ok());
    const auto at_end = [&] {
      groups = agents_of(runtime).groups();
      tables = runtime.store().tables().size();
    };
    ASSERT_TRUE(agents_of(runtime).make<Leaver>(at_end).has_value());
    runtime.run_until_idle();
  }
  EXPECT_EQ(groups, 1U);
  EXPECT_EQ(tables, 1U);
}

TEST(MessagingOrch, EndWithTheRuntime) {
  Address to;
  {
    Runtime runtime;
    const Topic<PortDown> ports = agents_of(runtime).topic<PortDown>("port down");
    to = runtime.add<Routes>(ports).address();
    ASSERT_TRUE(to.post(Reload{"never"}).ok());
  }
  EXPECT_EQ(to.post(Reload{"later"}).code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace rondo
