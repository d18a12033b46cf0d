// The command `history`: its answer from the journal of the running program, and its errors. Method: a runtime on the real clock with a
// journal; calls without a socket, which the test's thread makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admin/reply_state.h"
#include "base/testing/temporary_folder.h"
#include "rondo/commands/limits.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

class RowOrch final : public Orch {
 public:
  explicit RowOrch(Runtime& runtime) : Orch(runtime, "rows", Priority::p1) {
    for (const auto& [table, kind] : {std::pair{"T", TableKind::Staged}, {"W", TableKind::Watched}}) {
      consume(
          table, [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); },
          {.kind = kind});
    }
  }
};

/// A program with a table on a thread of its own.
class HistoryCommand : public testing::Test {
 protected:
  /// Takes answers. Used by the thread of the program.
  struct Port final : ReplyPort {
    explicit Port(Runtime& of) : runtime(of) {}
    void send(std::string_view frame) override { frames.emplace_back(frame.substr(frame.find('{'))); }
    void note_full_page() override {}
    void continue_later(Reply reply, Reply::Continuation go_on) override {
      EXPECT_TRUE(runtime.post([reply = std::move(reply), go_on = std::move(go_on)] { go_on(reply); }).ok());
    }
    void ended(bool) override {
      if (++ends == awaited) done.set_value();
    }
    bool turn_is_over() const override { return false; }
    Runtime& runtime;
    std::vector<std::string> frames;
    std::size_t awaited = 1;
    std::size_t ends = 0;
    std::promise<void> done;
  };

  ~HistoryCommand() override {
    runtime_->stop();
    program_.join();
    commands_.reset();
  }
  void start(bool has_journal) {
    RuntimeOptions options;
    options.clock = &clock_;
    if (has_journal) options.observer = std::move(*Journal::open({.file = (folder_ / "day").string()}, clock_));
    runtime_ = std::make_unique<Runtime>(std::move(options));
    runtime_->add<RowOrch>();
    commands_ = std::move(add_standard_commands(registry_, *runtime_).value());
    program_ = std::thread([this] { runtime_->run(); });
  }
  /// The answers to 'count' calls in one turn.
  std::vector<std::string> ask(json::object arguments, std::size_t count) {
    Port& port = *ports_.emplace_back(std::make_unique<Port>(*runtime_));
    port.awaited = count;
    arguments["id"] = 1;
    arguments["command"] = "history";
    const auto dispatch = [this, &port, arguments, count] {
      Journal* const journal = Journal::of(*runtime_);
      EXPECT_TRUE(journal == nullptr || journal->flush().ok());
      for (std::size_t i = 0; i < count; ++i) registry_.dispatch(arguments, Reply{std::make_shared<Reply::State>(port, 1)});
    };
    EXPECT_TRUE(runtime_->post(dispatch).ok());
    port.done.get_future().wait();
    return port.frames;
  }
  std::string ask(const json::object& arguments) { return ask(arguments, 1).front(); }
  json::object result(const json::object& arguments) { return json::parse(ask(arguments)).at("result").as_object(); }
  /// Writes changes in one turn, and waits until the journal has them. Returns the frames with all changes of the row.
  std::vector<std::string> write(const std::string& table, const std::vector<Change>& changes) {
    const json::object row{{"table", table}, {"key", "k"}};
    const std::vector<std::string> before = ask(row, 1);
    const auto write_all = [&] {
      for (const Change& change : changes) EXPECT_TRUE(runtime_->store().write(table, change).ok());
    };
    EXPECT_TRUE(runtime_->post(write_all).ok());
    for (int calls = 0; calls < 1000; ++calls) {
      if (std::vector<std::string> frames = ask(row, 1); frames != before) return frames;
    }
    ADD_FAILURE() << "the journal never had the change: " << before.back();
    return before;
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<std::unique_ptr<Port>> ports_;  // The program's thread may still be in one that has told its end.
  CommandRegistry registry_;
  std::unique_ptr<StandardCommands> commands_;
  std::thread program_;
};

TEST_F(HistoryCommand, WithoutAJournalTheOptionIsNamed) {
  start(false);
  EXPECT_THAT(ask({{"table", "T"}, {"key", "k"}}), AllOf(HasSubstr("failed-precondition"), HasSubstr("'file' in the section [journal]")));
}

TEST_F(HistoryCommand, ListsTheChangesOfARow) {
  start(true);
  const std::vector<Field> first{{"a", "1"}, {"b", "\x1b"}};
  write("T", {Change::set("k", std::span<const Field>{first})});
  write("T", {Change::remove("k")});
  const json::object all = result({{"table", "T"}, {"key", "k"}});
  const json::array& rows = all.at("rows").as_array();
  EXPECT_EQ(rows[0].at("op"), "DEL");
  EXPECT_EQ(rows[0].at("fields"), json::parse(R"([{"name":"a","after":null,"before":"1"},{"name":"b","after":null,"before":"\\x1b"}])"));
  EXPECT_EQ(rows[1].at("op"), "SET");
  EXPECT_FALSE(rows[1].at("fields").at(0).as_object().contains("before")) << "nothing says it";
  EXPECT_FALSE(all.contains("stopped"));
  EXPECT_EQ(all.at("damaged"), false);
  const json::object one = result({{"table", "T"}, {"key", "k"}, {"count", 1}});
  EXPECT_EQ(one.at("rows").as_array().size(), 1U);
  EXPECT_EQ(one.at("stopped"), "there are older changes");
}

TEST_F(HistoryCommand, AFieldThatAWatchedTableLostIsShown) {
  start(true);
  const std::vector<Field> both{{"a", "1"}, {"b", "2"}};
  write("W", {Change::set("k", std::span<const Field>{both})});
  write("W", {Change::remove("k"), Change::set("k", std::span<const Field>{both.data(), 1})});
  EXPECT_EQ(result({{"table", "W"}, {"key", "k"}}).at("rows").at(0).at("fields"),
            json::parse(R"([{"name":"b","after":null,"before":"2"}])"));
}

TEST_F(HistoryCommand, LargeChangesComeInPages) {
  start(true);
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) names.push_back(std::string(200, '\x02') + std::to_string(i));
  std::vector<std::string> frames;
  for (const char part : {'\x01', '\x02', '\x03'}) {
    const std::string value(300, part);
    std::vector<Field> fields;
    for (const std::string& name : names) fields.push_back({name, value});
    frames = write("T", {Change::set("k", std::span<const Field>{fields})});
  }
  ASSERT_EQ(frames.size(), 3U) << "a change is a page";
  for (const std::string& frame : frames) EXPECT_LT(frame.size(), 70'000U);
  EXPECT_THAT(frames[0], HasSubstr("fields_beyond"));
}

TEST_F(HistoryCommand, WrongArgumentsAreRefused) {
  start(true);
  EXPECT_THAT(ask({{"table", "NONE"}, {"key", "k"}}), HasSubstr("not-found"));
  EXPECT_THAT(ask({{"table", "T"}, {"key", "k"}, {"count", 0}}), HasSubstr("invalid-argument"));
  EXPECT_THAT(ask({{"table", "T"}, {"key", "k"}, {"count", 101}}), HasSubstr("invalid-argument"));
}

TEST_F(HistoryCommand, ManyCallsAtOnceAreRefused) {
  start(true);
  const std::vector<std::string> frames = ask({{"table", "T"}, {"key", "k"}}, limits::kHistoryCalls + 1);
  EXPECT_THAT(frames[0], AllOf(HasSubstr("resource-exhausted"), HasSubstr("8 calls wait")));
  for (std::size_t i = 1; i < frames.size(); ++i) EXPECT_THAT(frames[i], testing::Not(HasSubstr("resource-exhausted")));
}

}  // namespace
}  // namespace rondo::commands
