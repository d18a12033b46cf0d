// Goal: a consumer with ConsumeOptions::needs handles no row before the Orchs that provide those facts have handled their standing rows, so
// that a restart looks like no loss. Method: a dependent of a higher priority than its provider, under strict priority, which would
// otherwise have all turns first; standing rows, staged ones, and none.
#include <gmock/gmock.h>

#include "orch/runtime_fixture.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t kRoutes = 20;
constexpr std::size_t kGroups = 500;

class NeedsTest : public testing::Test, public RuntimeFixture {
 protected:
  /// Rows of both tables that exist before their Orchs.
  void write_rows(std::size_t count = kGroups) {
    for (std::size_t i = 0; i < count; ++i) set("GROUP", std::to_string(i));
    for (std::size_t i = 0; i < kRoutes; ++i) set("ROUTE", "r" + std::to_string(i), {{"group", std::to_string(i)}});
  }
  /// Its handler gives each group 'outcome'.
  OpenOrch& add_provider(std::function<Outcome(OpenOrch&, std::string_view)> handle) {
    auto& orch = runtime.add<OpenOrch>("groups", Priority::p1);
    orch.provide(kGroup, [this](std::string_view key) { return groups.contains(key); });
    orch.consume(
        "GROUP", [&orch, handle = std::move(handle)](std::string_view key, const Fields&) { return handle(orch, key); },
        [this, &orch](std::string_view key) {
          groups.erase(std::string{key});
          orch.withdraw({kGroup, std::string{key}});
          return Outcome::done();
        });
    return orch;
  }
  Outcome make_group(OpenOrch& orch, std::string_view key) {
    groups.emplace(key);
    orch.announce({kGroup, std::string{key}});
    return Outcome::done();
  }
  /// Its handler notes what it would remove because its group does not exist.
  void add_routes(const ConsumeOptions& options) {
    auto& orch = runtime.add<OpenOrch>("routes", Priority::p5);
    orch.consume(
        "ROUTE",
        [this, &orch](std::string_view key, const Fields& fields) {
          const Fact group{kGroup, fields.text_or("group", "")};
          if (orch.holds(group)) return Outcome::done_while(group);
          calls.push_back("remove " + std::string{key});
          return Outcome::wait_for(group);
        },
        [](std::string_view) { return Outcome::done(); }, options);
  }
};

TEST_F(NeedsTest, StandingRowsOfTheProviderComeFirst) {
  write_rows();
  add_provider([this](OpenOrch& orch, std::string_view key) { return make_group(orch, key); });
  add_routes({.needs = {kGroup}});
  run();
  EXPECT_THAT(calls, IsEmpty());
  EXPECT_EQ(stats("ROUTE").bound, kRoutes);
}

TEST_F(NeedsTest, WithoutItTheOrderOfTurnsDecides) {
  write_rows();
  add_provider([this](OpenOrch& orch, std::string_view key) { return make_group(orch, key); });
  add_routes({});
  run();
  EXPECT_EQ(calls.size(), kRoutes);
}

TEST_F(NeedsTest, StagedStandingRowsAreWaitedForAndLaterOnesAreNot) {
  write_rows(2);
  std::vector<Ticket> tickets;
  OpenOrch& provider = add_provider([&tickets](OpenOrch& orch, std::string_view) {
    tickets.push_back(orch.current_ticket());
    return Outcome::staged();
  });
  add_routes({.needs = {kGroup}});
  run();
  ASSERT_EQ(tickets.size(), 2U);
  EXPECT_EQ(stats("ROUTE").handled, 0U);
  EXPECT_EQ(stats("ROUTE").awaits, "GROUP");
  EXPECT_GT(stats("ROUTE").held_for, Duration{0});
  set("GROUP", "later");
  run();
  ASSERT_EQ(tickets.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(stats("ROUTE").handled, 0U);
    provider.settle(tickets[i], make_group(provider, std::to_string(i)));
    run();
  }
  EXPECT_EQ(stats("ROUTE").handled, kRoutes);
  EXPECT_EQ(stats("ROUTE").awaits, "");
}

TEST_F(NeedsTest, AProviderWithoutRowsHoldsNobody) {
  for (std::size_t i = 0; i < kRoutes; ++i) set("ROUTE", "r" + std::to_string(i), {{"group", "0"}});
  add_provider([this](OpenOrch& orch, std::string_view key) { return make_group(orch, key); });
  add_routes({.needs = {kGroup}});
  run();
  EXPECT_EQ(calls.size(), kRoutes);
}

TEST_F(NeedsTest, ARowThatComesAfterTheBeginWaitsForNothing) {
  add_provider([this](OpenOrch& orch, std::string_view key) { return make_group(orch, key); });
  add_routes({.needs = {kGroup}});
  run();
  for (std::size_t i = 0; i < kGroups; ++i) set("GROUP", std::to_string(i));
  set("ROUTE", "r", {{"group", "7"}});
  run();
  EXPECT_THAT(calls, ElementsAre("remove r"));
}

TEST_F(NeedsTest, WhyNamesTheTableThatComesFirst) {
  write_rows(1);
  add_provider([](OpenOrch&, std::string_view) { return Outcome::staged(); });
  add_routes({.needs = {kGroup}});
  run();
  const Why why = runtime.why("ROUTE", "r0");
  ASSERT_THAT(why.chain, Not(IsEmpty()));
  EXPECT_THAT(why.chain.front().note, HasSubstr("the standing rows of GROUP come first"));
}

TEST_F(NeedsTest, AKindWithoutAProviderIsRefused) {
  class Early final : public Orch {
   public:
    explicit Early(Runtime& runtime) : Orch(runtime, "early", Priority::p1) {
      consume(
          "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); },
          {.needs = {kGroup}});
    }
  };
  const auto refused = runtime.try_add<Early>();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(std::string{refused.error().message()},
              HasSubstr("table 'T' needs facts of the kind 'group', which no Orch provides yet: add their provider first"));
}

}  // namespace
}  // namespace rondo
