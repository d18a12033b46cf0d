// The command `write`: rows of several tables, all of them or none. Method: the standard commands on a runtime whose handlers the test
// writes, through a session without a socket, in simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/frame.h"
#include "admin/session.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/commands/standard_commands.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WritesAllOrNone : public testing::Test, public RuntimeFixture {
 protected:
  WritesAllOrNone() {
    EXPECT_TRUE(runtime.store().declare({.name = "SMALL", .rows_max = 3}).ok());
    EXPECT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
    for (const char* const table : {"SMALL", "T"}) {
      orch_.consume(
          table,
          [this, table](std::string_view key, const Fields& fields) {
            taken_.push_back(std::string{table} + ":" + std::string{key});
            for (const Field field : fields) taken_.back() += " " + std::string{field.name} + "=" + std::string{field.value};
            return Outcome::done();
          },
          [this, table](std::string_view key) {
            taken_.push_back("-" + std::string{table} + ":" + std::string{key});
            return Outcome::done();
          });
    }
    commands_ = std::move(add_standard_commands(registry_, runtime).value());
    session_ = std::make_unique<AdminSession>(registry_, nullptr, options_, figures_, [] {});
  }
  /// The answer's result, or its error.
  std::string write(const std::string& rows) {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(R"({"id":1,"command":"write","rows":)" + rows + "}");
    end_frame(frame, start);
    session_->input().append(frame);
    while (session_->has_step()) session_->step();
    const std::string bytes{session_->output().view()};
    session_->output().clear();
    const auto answer = next_frame(bytes);
    if (!answer || !*answer) return "no answer";
    const json::value value = json::parse((**answer).payload);
    const char* const part = value.at("ok").as_bool() ? "result" : "error";
    return json::serialize(value.at(part));
  }
  std::vector<std::string> taken() {
    run_for(10ms);
    return std::exchange(taken_, {});
  }

  std::vector<std::string> taken_;
  OpenOrch& orch_ = runtime.add<OpenOrch>();
  CommandRegistry registry_;
  AdminServerSetup options_;
  AdminServerStats figures_;
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<AdminSession> session_;
};

TEST_F(WritesAllOrNone, RowsOfSeveralTablesAreWrittenTogether) {
  EXPECT_EQ(write(R"([["T","a","SET",[["x","1"],["y",""]]],["SMALL","b","SET",[]],["T","c","DEL"]])"), R"({"accepted":3,"refused":0})");
  EXPECT_THAT(taken(), testing::UnorderedElementsAre("T:a x=1 y=", "SMALL:b", "-T:c"));
  EXPECT_EQ(write(R"([["T","a","DEL"],["T","a","SET",[["z","2"]]]])"), R"({"accepted":2,"refused":0})");
  EXPECT_THAT(taken(), ElementsAre("-T:a", "T:a z=2"));
  EXPECT_EQ(write("[]"), R"({"accepted":0,"refused":0})");
}

TEST_F(WritesAllOrNone, OneRowThatIsRefusedKeepsAllOthersOut) {
  const std::string good = R"(["T","a","SET",[["x","1"]]],)";
  const std::string long_key(limits::kNameBytes + 1, 'k');
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"(["NO_TABLE","a","DEL"])", "no table 'NO_TABLE'"},
      {R"(["T",")" + long_key + R"(","DEL"])", "key"},
      {R"(["NEWS","a","SET",[]])", "channel"},
  };
  for (const auto& [row, why] : bad) {
    EXPECT_THAT(write("[" + good + row + "]"),
                AllOf(HasSubstr(R"("accepted":0,"refused":2,"first_error":{"row":1,)"), HasSubstr("nothing was written"), HasSubstr(why)));
  }
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(WritesAllOrNone, ATableWithoutRoomForAllTakesNone) {
  EXPECT_EQ(write(R"([["SMALL","a","SET",[]],["SMALL","b","SET",[]]])"), R"({"accepted":2,"refused":0})");
  EXPECT_EQ(taken().size(), 2U);
  const std::string full = write(R"([["T","a","SET",[]],["SMALL","c","SET",[]],["SMALL","d","SET",[]]])");
  EXPECT_THAT(full, AllOf(HasSubstr(R"("accepted":0,"refused":3,"first_error":{"row":1,"key":"c","code":"resource-exhausted")"),
                          HasSubstr("SMALL of at most 3 rows has 2")));
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(write(R"([["T","a","SET",[]],["SMALL","c","SET",[]]])"), R"({"accepted":2,"refused":0})");
}

TEST_F(WritesAllOrNone, WhatIsNoListOfRowsIsRefusedBeforeItIsRead) {
  for (const char* const rows : {R"([["T","a"]])", R"([["T","a","PUT"]])", R"([["T","a","SET"]])", R"([["T","a","DEL",[]]])",
                                 R"([["T","a","SET",[["x"]]]])", R"({"T":"a"})", R"(["T"])"}) {
    EXPECT_THAT(write(rows), AllOf(HasSubstr("invalid-argument"), HasSubstr("argument 'rows' of 'write' must be an array of"))) << rows;
  }
}

/// A log of writes: "what: before -> after", or "what, N rows" of a call that told no change.
class ToldBatches : public WritesAllOrNone {
 protected:
  ToldBatches() {
    options_.on_write = [](const AdminWrite&) {};
    options_.on_change = [this] {
      return [this](const AdminWrite& write) {
        EXPECT_EQ(write.command, "write");
        std::string line{write.what};
        if (!write.before) line += ", " + std::to_string(write.rows) + " rows";
        if (write.before) line += ": " + std::string{*write.before} + " -> " + std::string{write.after};
        EXPECT_TRUE(!write.before || write.rows == 1);
        told_.push_back(std::move(line));
      };
    };
  }
  std::vector<std::string> told(const std::string& rows) {
    const std::string answer = write(rows);
    EXPECT_THAT(answer, HasSubstr("accepted"));
    run_for(10ms);
    return std::exchange(told_, {});
  }
  static std::string rows_of(std::size_t count) {
    std::string rows;
    for (std::size_t i = 0; i < count; ++i) rows += (i == 0 ? "" : ",") + std::string{R"(["T","k)"} + std::to_string(i) + R"(","DEL"])";
    return "[" + rows + "]";
  }
  std::vector<std::string> told_;
};

TEST_F(ToldBatches, HaveEachOfFewRowsBeforeAndAfter) {
  EXPECT_THAT(told(R"([["T","a","SET",[["x","1"],["y","2"]]],["SMALL","b","SET",[["z","3"]]]])"),
              ElementsAre("T a: (none) -> x=1 y=2", "SMALL b: (none) -> z=3"));
  EXPECT_THAT(told(R"([["T","a","SET",[["x","4"]]],["SMALL","b","DEL"],["T","c","DEL"]])"),
              ElementsAre("T a: x=1 -> x=4", "SMALL b: z=3 -> (none)", "T c: (none) -> (none)"));
}

TEST_F(ToldBatches, KnowWhatAnEarlierRowOfTheBatchLeft) {
  EXPECT_THAT(told(R"([["T","a","SET",[["x","1"]]],["T","a","SET",[["y","2"]]],["T","a","DEL"],["T","a","SET",[["x","3"]]]])"),
              ElementsAre("T a: (none) -> x=1", "T a:  -> y=2", "T a: x=1 y=2 -> (none)", "T a: (none) -> x=3"));
}

TEST_F(ToldBatches, DoNotKnowARowWhileChangesOfItsTableWait) {
  static_cast<void>(write(R"([["T","a","SET",[["x","1"]]]])"));
  EXPECT_THAT(told(R"([["T","a","SET",[["x","2"]]],["T","a","SET",[["y","3"]]],["SMALL","b","DEL"],["T","a","DEL"],["T","a","SET",[]]])"),
              ElementsAre("T a: (none) -> x=1", "T a: (unknown) -> x=2", "T a: (unknown) -> y=3", "SMALL b: (none) -> (none)",
                          "T a: (unknown) -> (none)", "T a: (none) -> "));
}

TEST_F(ToldBatches, HaveTheSumOfManyRowsAndOfRowsThatAreRefused) {
  EXPECT_EQ(told(rows_of(16)).size(), 16U);
  EXPECT_THAT(told(rows_of(17)), ElementsAre("T, 17 rows"));
  EXPECT_THAT(told(R"([["T","a","DEL"],["NO_TABLE","a","DEL"]])"), ElementsAre("NO_TABLE T, 2 rows"));
}

TEST_F(ToldBatches, HideSecretsAndAreSafeToShow) {
  EXPECT_THAT(told(R"([["T","a\\x0a\\x1b[2J","SET",[["password","geheim"],["x","1\\x0a2"]]]])"),
              ElementsAre(R"(T a\x0a\x1b[2J: (none) -> password=*** x=1\x0a2)"));
  const std::vector<std::string> cut = told(R"([["T",")" + std::string(600, 'k') + R"(","DEL"]])");
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_LT(cut[0].size(), kAdminWriteWords + 40);
}

}  // namespace
}  // namespace rondo::commands
