// The protocol of one connection, byte by byte, without a socket: valid requests, every kind of invalid one, pages, late answers and bulk
// writes. Method: the test writes bytes, takes steps until none is left, and reads frames from the output.
#include "admin/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "admin/frame.h"
#include "base/json.h"
#include "rondo/admin/limits.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Stores its rows as text; refuses the table "closed" and keys that begin with "bad".
class RecordingSink final : public BulkSink {
 public:
  explicit RecordingSink(std::vector<std::string>& log) : log_(log) {}
  Status begin(std::string_view table) override {
    if (table == "closed") return Status{StatusCode::NotFound, "no table 'closed'"};
    log_.push_back("begin " + std::string{table});
    return {};
  }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    if (key.starts_with("bad")) return Status{StatusCode::InvalidArgument, "bad key"};
    std::string text = op == BulkOp::Set ? "set " : "del ";
    text.append(key);
    for (const BulkField& field : fields) text.append(" ").append(field.name).append("=").append(field.value);
    log_.push_back(std::move(text));
    return {};
  }
  Status end() override {
    log_.emplace_back("end");
    return {};
  }

 private:
  std::vector<std::string>& log_;
};

std::string frame_of(FrameKind kind, std::string_view payload) {
  std::string out;
  const std::size_t start = begin_frame(out, kind);
  out.append(payload);
  end_frame(out, start);
  return out;
}

class Session : public testing::Test {
 protected:
  Session() {
    add("echo",
        {{.name = "text", .kind = ArgumentKind::Text, .required = true, .help = ""},
         {.name = "count", .kind = ArgumentKind::Integer, .required = false, .help = ""},
         {.name = "loud", .kind = ArgumentKind::Flag, .required = false, .help = ""},
         {.name = "fields", .kind = ArgumentKind::Fields, .required = false, .help = ""}},
        [](const Arguments& arguments, Reply reply) {
          reply.finish(json::object{{"text", arguments.text("text")},
                                    {"count", arguments.integer("count", -1)},
                                    {"loud", arguments.flag("loud")},
                                    {"fields", arguments.fields().size()}});
        });
    add("throw", {}, [](const Arguments&, Reply) { throw std::runtime_error("boom"); });
    add("throw-number", {}, [](const Arguments&, Reply) { throw 42; });
    add("forget", {}, [](const Arguments&, Reply) {});
    add("later", {}, [this](const Arguments&, Reply reply) { kept.push_back(std::move(reply)); });
    add("count", {{.name = "rows", .kind = ArgumentKind::Integer, .required = true, .help = ""}},
        [](const Arguments& arguments, Reply reply) {
          reply.stream([at = std::int64_t{0}, rows = arguments.integer("rows", 0)](Reply& page) mutable {
            while (at < rows && !page.page_full()) page.row(at++);
            return at < rows;
          });
        });
    options.path = "unused";
    renew();
  }

  void add(std::string name, std::vector<ArgumentSpec> arguments, CommandHandler handler) {
    ASSERT_TRUE(
        commands.add({.name = std::move(name), .help = "for the test", .arguments = std::move(arguments)}, std::move(handler)).ok());
  }
  void renew() {
    session = std::make_unique<AdminSession>(commands, std::make_unique<RecordingSink>(log), options, stats, [this] { ++wakes; });
  }
  void steps() {
    while (session->has_step()) {
      session->step();
      ++steps_taken;
    }
  }
  void give(std::string_view bytes) {
    session->input().append(bytes);
    steps();
  }
  void request(std::string_view text) { give(frame_of(FrameKind::Json, text)); }

  /// Takes the frames written so far out of the output.
  std::vector<std::pair<char, json::value>> frames() {
    std::vector<std::pair<char, json::value>> all;
    for (;;) {
      const Result<std::optional<Frame>> frame = next_frame(session->output().view());
      if (!frame || !*frame) break;
      const std::string_view payload = (**frame).payload;
      all.emplace_back(static_cast<char>((**frame).kind), json::parse(json::string_view{payload.data(), payload.size()}));
      session->output().consume((**frame).bytes);
    }
    return all;
  }
  json::object only_answer() {
    const auto all = frames();
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? json::object{} : all.front().second.as_object();
  }
  std::string only_error(std::string_view code) {
    const json::object answer = only_answer();
    if (answer.empty() || answer.at("ok").as_bool()) return "no error";
    const json::object& error = answer.at("error").as_object();
    EXPECT_EQ(view(error.at("code").as_string()), code);
    return std::string{view(error.at("message").as_string())};
  }

  CommandRegistry commands{"testd"};
  AdminServerSetup options;
  AdminServerStats stats;
  std::vector<std::string> log;
  std::vector<Reply> kept;
  int wakes = 0;
  int steps_taken = 0;
  std::unique_ptr<AdminSession> session;
};

TEST(CommandRegistry, RefusesACommandThatHasTwoArgumentsOfOneName) {
  CommandRegistry registry{"test", "1"};
  const Status added = registry.add({"drain", "Drain", {{.name = "who"}, {.name = "who"}}}, [](const Arguments&, Reply) {});
  EXPECT_EQ(added.to_string(), "invalid-argument: command 'drain' has two arguments named 'who'");
}

TEST_F(Session, AnswersARequestWithItsIdAndResult) {
  request(R"({"id":7,"command":"echo","text":"a\\x00b","count":3,"loud":true,"fields":[["a","b"]]})");
  const json::object answer = only_answer();
  EXPECT_EQ(answer.at("id").as_int64(), 7);
  EXPECT_TRUE(answer.at("ok").as_bool());
  const json::object& result = answer.at("result").as_object();
  EXPECT_EQ(view(result.at("text").as_string()), std::string_view("a\0b", 3));
  EXPECT_EQ(result.at("count").as_int64(), 3);
  EXPECT_TRUE(result.at("loud").as_bool());
  EXPECT_EQ(result.at("fields").as_int64(), 1);
}

TEST_F(Session, AnAnswerIsMadeOverSeveralTurnsWhenItsTimeIsUp) {
  session->input().append(frame_of(FrameKind::Json, R"({"id":1,"command":"count","rows":900})"));
  int looks = 0;
  const auto time_is_up = [&looks] { return ++looks % 3 == 0; };  // Every third reading of the clock: after some 24 rows.
  std::size_t rows = 0;
  int turns = 0;
  while (session->has_step()) {
    session->step(time_is_up);
    ++turns;
    for (const auto& [kind, body] : frames()) {
      const json::object& holder = kind == 'M' ? body.as_object() : body.at("result").as_object();
      const std::size_t page = holder.at("rows").as_array().size();
      EXPECT_LE(page, 32U);
      rows += page;
    }
  }
  EXPECT_EQ(rows, 900U);
  EXPECT_GE(turns, 900 / 32);
}

TEST_F(Session, RowsThatComeByThemselvesLeaveWhenTheyAreFlushed) {
  request(R"({"id":1,"command":"later"})");
  Reply reply = kept.back();
  reply.row(1);
  EXPECT_THAT(frames(), IsEmpty());
  reply.flush();
  const auto page = frames();
  ASSERT_THAT(page, SizeIs(1));
  EXPECT_EQ(page[0].first, 'M');
  EXPECT_EQ(json::serialize(page[0].second.at("rows")), "[1]");
  reply.flush();
  EXPECT_THAT(frames(), IsEmpty()) << "nothing new";
  reply.row(2);
  reply.finish();
  EXPECT_EQ(json::serialize(only_answer().at("result").at("rows")), "[2]");
  kept.clear();
}

// A frame that is no JSON would end the caller's connection.
TEST_F(Session, BytesThatAreNoUtf8AreSentAsHexadecimal) {
  request(R"({"id":1,"command":"later"})");
  Reply reply = kept.back();
  reply.row("caf\xe9");
  reply.finish(json::object{{"text", "a\xff\xc3\xa4"}, {"bad\x80name", json::array{"\xfe"}}});
  const json::object result = only_answer().at("result").as_object();
  EXPECT_EQ(json::serialize(result), R"({"text":"a\\xffä","bad\\x80name":["\\xfe"],"rows":["caf\\xe9"]})");
  kept.clear();
}

struct BadRequest {
  std::string text;
  std::string code;
  std::string message_part;
};

TEST_F(Session, AWrongRequestIsAnsweredAndTheNextOneIsRead) {
  const std::vector<BadRequest> table{
      {"", "invalid-argument", "not JSON"},
      {"{", "invalid-argument", "not JSON"},
      {R"({"id":1} x)", "invalid-argument", "byte"},
      {"[]", "invalid-argument", "must be a JSON object"},
      {"\xff", "invalid-argument", "at byte 0"},
      {std::string(100, '['), "invalid-argument", "not JSON"},
      {R"({"command":"echo"})", "invalid-argument", "integer \"id\""},
      {R"({"id":"1","command":"echo"})", "invalid-argument", "integer \"id\""},
      {R"({"id":1})", "invalid-argument", "no \"command\""},
      {R"({"id":1,"command":5})", "invalid-argument", "must be a string"},
      {R"({"id":1,"command":"ehco"})", "not-found", "did you mean 'echo'?"},
      {R"({"id":1,"command":"echo"})", "invalid-argument", "'text' is missing"},
      {R"({"id":1,"command":"echo","text":1})", "invalid-argument", "must be a string"},
      {R"({"id":1,"command":"echo","text":"","count":1.5})", "invalid-argument", "must be an integer"},
      {R"({"id":1,"command":"echo","text":"","loud":"yes"})", "invalid-argument", "true or false"},
      {R"({"id":1,"command":"echo","text":"","fields":[["a"]]})", "invalid-argument", "pairs"},
      {R"({"id":1,"command":"echo","text":"","colour":"red"})", "invalid-argument", "unknown argument 'colour'"},
      {R"({"id":1,"command":"echo","text":"a\"b:","te\u0078t":"c"})", "invalid-argument", "has the name 'text' twice"},
      {R"({"id":1,"command":"echo","text":"","more":[{"a":{"b":1,"b":2}}]})", "invalid-argument", "has the name 'b' twice"},
      {R"({"id":1,"command":"throw"})", "internal", "boom"},
      {R"({"id":1,"command":"throw-number"})", "internal", "command 'throw-number' threw something that is no std::exception"},
      {R"({"id":1,"command":"forget"})", "internal", "no answer"},
  };
  for (const BadRequest& bad : table) {
    request(bad.text);
    EXPECT_THAT(only_error(bad.code), HasSubstr(bad.message_part)) << bad.text;
    EXPECT_FALSE(session->closing()) << bad.text;
  }
  request(R"({"id":2,"command":"echo","text":"still here"})");
  EXPECT_TRUE(only_answer().at("ok").as_bool());
  EXPECT_EQ(stats.failed_requests, table.size());
}

TEST_F(Session, ATooLargeRequestIsRefusedAndTheNextOneIsRead) {
  EXPECT_EQ(options.request_bytes, limits::kAdminRequestBytes);
  request(R"({"id":1,"command":"echo","text":")" + std::string(options.request_bytes, 'x') + "\"}");
  EXPECT_THAT(only_error("invalid-argument"), HasSubstr("bulk write"));
  EXPECT_EQ(stats.failed_requests, 1U);
  request(R"({"id":2,"command":"echo","text":"ok"})");
  EXPECT_TRUE(only_answer().at("ok").as_bool());
}

/// Returns a request with structural characters in a text, and an array of 'fields' pairs.
std::string request_with(std::size_t fields) {
  std::string text = R"({"id":1,"command":"echo","text":"[,\",{:\\","fields":[)";
  for (std::size_t i = 0; i < fields; ++i) text += i == 0 ? R"(["a","1"])" : R"(,["a","1"])";
  return text + "]}";
}

TEST_F(Session, ARequestOfTooManyValuesIsRefusedAndTheNextOneIsRead) {
  const std::string nothings(limits::kAdminRequestValues, ',');
  for (const std::string& many : {request_with(limits::kAdminRequestValues / 3), "[" + nothings, std::string(100'000, '[')}) {
    request(many);
    EXPECT_THAT(only_error("invalid-argument"), HasSubstr("more than 8192 JSON values"));
  }
  EXPECT_EQ(stats.failed_requests, 3U);
  request(R"({"id":2,"command":"echo","text":")" + nothings + R"(\"[{:\\"})");
  EXPECT_TRUE(only_answer().at("ok").as_bool()) << "what stands in a text is one value";
}

TEST_F(Session, ARowOfTooManyFieldsIsRefused) {
  request(request_with(limits::kAdminRowFields));
  EXPECT_EQ(only_answer().at("result").at("fields").to_number<std::size_t>(), limits::kAdminRowFields);
  request(request_with(limits::kAdminRowFields + 1));
  EXPECT_THAT(only_error("invalid-argument"), AllOf(HasSubstr("a row of 2049 fields"), HasSubstr("2048")));
}

TEST_F(Session, BytesThatAreNoFrameAreAnsweredOnceAndEndTheSession) {
  const auto length = [](std::size_t bytes) {
    std::string head;
    for (unsigned shift = 0; shift < 32; shift += 8) head += static_cast<char>(bytes >> shift & 0xFFU);
    return head;
  };
  give(length(limits::kAdminFrameBytes) + "J");
  EXPECT_FALSE(session->has_step()) << "the largest frame is waited for";
  const std::vector<std::pair<std::string, std::string>> table{
      {std::string("\0\0\0\0", 4), "length 0"},
      {std::string("\xff\xff\xff\xff", 4), "larger than"},
      {length(limits::kAdminFrameBytes + 1), "larger than"},
      {std::string("\x05\0\0\0Q1234", 9), "unknown frame kind 'Q'"},
      {std::string("\x01\0\0\0\xfe", 5), "unknown frame kind '\\xfe'"},
      {frame_of(FrameKind::More, "{}"), "'M' is for answers"},
      {"GET / HTTP/1.1\r\n\r\n", "larger than"},
      {frame_of(FrameKind::Bulk, ""), "table name length"},
      {frame_of(FrameKind::Bulk, std::string("\xff\xffx", 3)), "table name needs 65535"},
      {frame_of(FrameKind::Bulk, std::string("\0\0\xff\xff\xff\xff", 6)), "announces 4294967295 rows"},
  };
  for (const auto& [bytes, part] : table) {
    renew();
    give(bytes + frame_of(FrameKind::Json, R"({"id":2,"command":"echo","text":"never read"})"));
    EXPECT_THAT(only_error("invalid-argument"), HasSubstr(part));
    EXPECT_TRUE(session->closing()) << part;
    EXPECT_FALSE(session->has_step()) << part;
  }
  EXPECT_EQ(stats.malformed_frames, table.size());
}

TEST_F(Session, AStreamThatEndsInsideAFrameSaysSo) {
  const std::string whole = frame_of(FrameKind::Json, R"({"id":1,"command":"version"})");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    renew();
    give(whole.substr(0, length));
    EXPECT_THAT(frames(), IsEmpty()) << length;
    session->end_input();
    steps();
    EXPECT_THAT(only_error("invalid-argument"), HasSubstr("after " + std::to_string(length) + " of")) << length;
    EXPECT_TRUE(session->closing()) << length;
  }
}

TEST_F(Session, SplittingTheStreamAnywhereChangesNothing) {
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += frame_of(FrameKind::Json, R"({"id":)" + std::to_string(i) + R"(,"command":"echo","text":"x"})");
  for (unsigned seed = 0; seed < 200; ++seed) {
    renew();
    std::mt19937 random(seed);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = 1 + random() % 40;
      give(std::string_view{bytes}.substr(at, piece));
      at += piece;
    }
    const auto answers = frames();
    ASSERT_THAT(answers, SizeIs(5)) << "seed " << seed;
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(answers[i].second.at("id").as_int64(), static_cast<std::int64_t>(i)) << "seed " << seed;
  }
}

TEST_F(Session, ALongAnswerComesInPagesOneATurn) {
  request(R"({"id":3,"command":"count","rows":2500})");
  EXPECT_EQ(steps_taken, 3);
  std::vector<std::int64_t> seen;
  const auto all = frames();
  ASSERT_THAT(all, SizeIs(3));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].first, i + 1 < all.size() ? 'M' : 'J');
    const json::value& holder = i + 1 < all.size() ? all[i].second : all[i].second.at("result");
    EXPECT_LE(holder.at("rows").as_array().size(), limits::kAdminPageRows);
    for (const json::value& row : holder.at("rows").as_array()) seen.push_back(row.as_int64());
  }
  ASSERT_THAT(seen, SizeIs(2500));
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<std::int64_t>(i));
  EXPECT_EQ(stats.full_pages, 2U);
}

TEST_F(Session, APageOfLargeRowsEndsByItsBytes) {
  constexpr std::size_t kLargeRow = 9000;
  add("large", {}, [](const Arguments&, Reply reply) {
    reply.stream([at = 0](Reply& page) mutable {
      for (; at < 30 && !page.page_full(); ++at) page.row(json::string(kLargeRow, 'x'));
      return at < 30;
    });
  });
  renew();
  request(R"({"id":3,"command":"large"})");
  const auto all = frames();
  ASSERT_GT(all.size(), 2U);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const std::size_t bytes = json::serialize(all[i].second.at("rows")).size();
    EXPECT_GE(bytes, limits::kAdminPageBytes);
    EXPECT_LE(bytes, limits::kAdminPageBytes + kLargeRow + 100) << "the row that filled it, and no other behind it";
  }
  EXPECT_EQ(stats.full_pages, all.size() - 1);
}

TEST_F(Session, AnAnswerWithoutRowsStillHasTheRowsMember) {
  request(R"({"id":3,"command":"count","rows":0})");
  EXPECT_THAT(only_answer().at("result").at("rows").as_array(), IsEmpty());
}

TEST_F(Session, PagesWaitWhileTheCallerDoesNotRead) {
  request(R"({"id":3,"command":"count","rows":100000000})");
  EXPECT_FALSE(session->has_step());
  EXPECT_LE(session->output().size(), options.output_bytes / 4 + 2 * limits::kAdminPageBytes);
  EXPECT_FALSE(session->wants_input());
  frames();
  EXPECT_TRUE(session->has_step()) << "it goes on once the caller has read";
}

TEST_F(Session, ALateAnswerHoldsBackTheNextRequest) {
  request(R"({"id":1,"command":"later"})");
  request(R"({"id":2,"command":"echo","text":"second"})");
  EXPECT_THAT(frames(), IsEmpty());
  EXPECT_FALSE(session->wants_input());
  const int wakes_before = wakes;
  kept.front().finish(json::object{{"late", true}});
  EXPECT_GT(wakes, wakes_before);
  steps();
  const auto answers = frames();
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].second.at("id").as_int64(), 1);
  EXPECT_EQ(answers[1].second.at("id").as_int64(), 2);
}

TEST_F(Session, ALateAnswerMayOutliveItsCaller) {
  request(R"({"id":1,"command":"later"})");
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_TRUE(kept.front().wanted());
  session.reset();
  EXPECT_FALSE(kept.front().wanted());
  kept.front().row(1);
  kept.front().finish();
  kept.clear();
}

TEST_F(Session, ALateAnswerThatIsDroppedIsAnError) {
  request(R"({"id":1,"command":"later"})");
  kept.clear();
  EXPECT_THAT(only_error("internal"), HasSubstr("no answer"));
}

TEST_F(Session, ASessionThatEndsWhilePagesWaitIsQuiet) {
  request(R"({"id":3,"command":"count","rows":100000000})");
  session.reset();
  EXPECT_EQ(stats.failed_requests, 0U);
}

class BulkSession : public Session {
 protected:
  std::string frame(std::string_view table, int rows) {
    EXPECT_TRUE(encoder.start(table).ok());
    for (int i = 0; i < rows; ++i) {
      const std::string key = "k" + std::to_string(i);
      const std::vector<BulkField> fields{{"a", "1"}, {"", ""}};
      EXPECT_TRUE(encoder
                      .add(i % 2 == 0 ? BulkOp::Set : BulkOp::Delete, key,
                           i % 2 == 0 ? std::span<const BulkField>{fields} : std::span<const BulkField>{}, limits::kAdminFrameBytes)
                      .ok());
    }
    return std::string{encoder.finish()};
  }
  BulkEncoder encoder;
};

TEST_F(BulkSession, RowsReachTheSinkInOrder) {
  give(frame("T", 3));
  EXPECT_THAT(log, ElementsAre("begin T", "set k0 a=1 =", "del k1", "set k2 a=1 =", "end"));
  const json::object answer = only_answer();
  EXPECT_EQ(answer.at("result").at("accepted").as_int64(), 3);
  EXPECT_EQ(answer.at("result").at("refused").as_int64(), 0);
}

TEST_F(BulkSession, ATurnHandlesABoundedNumberOfRows) {
  give(frame("T", static_cast<int>(limits::kAdminRowsPerTurn) * 3));
  EXPECT_EQ(steps_taken, 4) << "three full slices, and the one that finds the end";
  EXPECT_THAT(log, SizeIs(limits::kAdminRowsPerTurn * 3 + 2));
  EXPECT_EQ(stats.bulk_pauses, 3U);
}

TEST_F(BulkSession, ARowOfTooManyFieldsIsRefusedAndTheRestGoesOn) {
  const std::vector<BulkField> fields(limits::kAdminRowFields + 1);
  ASSERT_TRUE(encoder.start("T").ok());
  ASSERT_TRUE(encoder.add(BulkOp::Set, "wide", fields, limits::kAdminFrameBytes).ok());
  for (int i = 0; i < 3; ++i) {
    const auto most = std::span{fields}.first(limits::kAdminRowFields);
    ASSERT_TRUE(encoder.add(BulkOp::Set, "most", most, limits::kAdminFrameBytes).ok());
  }
  give(encoder.finish());
  const json::value result = only_answer().at("result");
  EXPECT_EQ(result.at("accepted").as_int64(), 3);
  EXPECT_EQ(result.at("refused").as_int64(), 1);
  EXPECT_EQ(view(result.at("first_error").at("key").as_string()), "wide");
  EXPECT_EQ(stats.bulk_pauses, 4U) << "a row of so many fields is all that a turn handles";
}

TEST_F(BulkSession, ARefusedRowIsCountedAndNamedAndTheRestGoesOn) {
  ASSERT_TRUE(encoder.start("T").ok());
  for (const std::string key : {"good", "bad\xff", "bad2", "fine"}) {
    ASSERT_TRUE(encoder.add(BulkOp::Set, key, {}, limits::kAdminFrameBytes).ok());
  }
  give(encoder.finish());
  const json::value result = only_answer().at("result");
  EXPECT_EQ(result.at("accepted").as_int64(), 2);
  EXPECT_EQ(result.at("refused").as_int64(), 2);
  EXPECT_EQ(result.at("first_error").at("row").as_int64(), 1);
  EXPECT_EQ(view(result.at("first_error").at("key").as_string()), "bad\\xff");
  EXPECT_EQ(stats.bulk_rows, 2U);
  EXPECT_EQ(stats.bulk_rows_refused, 2U);
}

/// A sink of which one function throws, once.
class ThrowingSink final : public BulkSink {
 public:
  explicit ThrowingSink(std::string function) : function_(std::move(function)) {}
  Status begin(std::string_view) override { return throw_if("begin"); }
  Status row(BulkOp, std::string_view, std::span<const BulkField>) override { return throw_if("row"); }
  Status end() override { return throw_if("end"); }
  void when_settled(Settled settled) override {
    kept_ = settled;
    static_cast<void>(throw_if("when_settled"));
    settled({});
  }

 private:
  Status throw_if(std::string_view function) {
    if (function != function_) return {};
    function_.clear();
    throw std::runtime_error("boom");
  }
  std::string function_;
  Settled kept_;
};

TEST_F(BulkSession, AnExceptionOfTheSinkIsTheAnswerToThatFrame) {
  for (const char* const function : {"begin", "row", "end", "when_settled"}) {
    session = std::make_unique<AdminSession>(commands, std::make_unique<ThrowingSink>(function), options, stats, [this] { ++wakes; });
    give(frame("T", 3));
    EXPECT_THAT(json::serialize(only_answer()), HasSubstr("the sink of bulk writes threw: boom")) << function;
    give(frame("T", 3));
    const json::object next = only_answer();
    ASSERT_TRUE(next.at("ok").as_bool()) << function;
    EXPECT_EQ(next.at("result").at("accepted").as_int64(), 3) << function;
  }
}

TEST_F(BulkSession, RowsOfWhichTheSinkCannotSayWhatBecameOfThemAreNotReportedAsWritten) {
  session = std::make_unique<AdminSession>(commands, std::make_unique<ThrowingSink>("when_settled"), options, stats, [this] { ++wakes; });
  give(frame("T", 3));
  const json::value result = only_answer().at("result");
  EXPECT_EQ(result.at("accepted").as_int64(), 0);
  EXPECT_EQ(result.at("unwritten").as_int64(), 3);
}

/// A sink whose rows are done when the test sets it.
class SlowSink final : public BulkSink {
 public:
  explicit SlowSink(std::vector<Settled>& waiting) : waiting_(waiting) {}
  Status begin(std::string_view table) override { return table == "closed" ? Status{StatusCode::NotFound, "closed"} : Status{}; }
  Status row(BulkOp, std::string_view, std::span<const BulkField>) override { return {}; }
  Status end() override { return {}; }
  void when_settled(Settled settled) override { waiting_.push_back(std::move(settled)); }

 private:
  std::vector<Settled>& waiting_;
};

class SlowBulkSession : public BulkSession {
 protected:
  SlowBulkSession() { begin_anew(); }
  void begin_anew() {
    session = std::make_unique<AdminSession>(commands, std::make_unique<SlowSink>(waiting), options, stats, [this] { ++wakes; });
  }
  std::vector<BulkSink::Settled> waiting;
};

TEST_F(SlowBulkSession, AFrameIsAnsweredWhenItsRowsAreSettledAndWhatIsNotWrittenIsCounted) {
  give(frame("T", 3));
  EXPECT_THAT(frames(), IsEmpty()) << "the rows are not done";
  ASSERT_THAT(waiting, SizeIs(1));
  waiting[0]({.rows = 2, .first_row = 1, .first_key = "k1", .first = {StatusCode::ResourceExhausted, "disk full"}});
  EXPECT_EQ(wakes, 1) << "somebody must write the answer out";
  const json::value result = only_answer().at("result");
  EXPECT_EQ(result.at("accepted").as_int64(), 1);
  EXPECT_EQ(result.at("refused").as_int64(), 0) << "they took effect";
  EXPECT_EQ(result.at("unwritten").as_int64(), 2);
  EXPECT_EQ(result.at("first_error").at("row").as_int64(), 1);
  EXPECT_EQ(view(result.at("first_error").at("key").as_string()), "k1");
  EXPECT_EQ(view(result.at("first_error").at("message").as_string()), "disk full");
  EXPECT_EQ(stats.bulk_rows, 1U);
  EXPECT_EQ(stats.bulk_rows_refused, 0U);
  EXPECT_EQ(stats.bulk_rows_unwritten, 2U);
}

TEST_F(SlowBulkSession, AFeederThatIsTooFastIsHeldBackAndAnsweredInOrder) {
  std::string all;
  for (std::size_t i = 0; i < limits::kAdminBulkFrames + 2; ++i) all += frame("T", static_cast<int>(i + 1));
  give(all);
  EXPECT_THAT(waiting, SizeIs(limits::kAdminBulkFrames));
  EXPECT_EQ(stats.bulk_waits, 1U);
  EXPECT_FALSE(session->wants_input());
  EXPECT_FALSE(session->frame_cut()) << "it is not the client who is late";
  waiting[1]({});
  EXPECT_THAT(frames(), IsEmpty()) << "the first frame has no answer yet";
  waiting[0]({});
  steps();
  EXPECT_THAT(waiting, SizeIs(limits::kAdminBulkFrames + 2));
  for (std::size_t i = 2; i < waiting.size(); ++i) waiting[i]({});
  EXPECT_TRUE(session->wants_input());
  const auto answers = frames();
  ASSERT_THAT(answers, SizeIs(limits::kAdminBulkFrames + 2));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].second.at("result").at("accepted").as_int64(), static_cast<std::int64_t>(i + 1));
  }
}

TEST_F(SlowBulkSession, WhatComesBehindABulkFrameIsAnsweredBehindIt) {
  give(frame("T", 1) + frame("closed", 1) + frame_of(FrameKind::Json, R"({"id":7,"cmd":"echo","args":{"text":"x"}})"));
  EXPECT_THAT(frames(), IsEmpty());
  EXPECT_FALSE(session->has_step());
  waiting.at(0)({});
  steps();
  const auto answers = frames();
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_TRUE(answers[0].second.at("ok").as_bool());
  EXPECT_FALSE(answers[1].second.at("ok").as_bool());
  EXPECT_EQ(answers[2].second.at("id").as_int64(), 7);
  waiting.clear();
  give(frame("T", 1) + "\xff\xff\xff\xff");
  EXPECT_FALSE(session->closing());
  waiting.at(0)({});
  steps();
  EXPECT_THAT(frames(), SizeIs(2));
  EXPECT_TRUE(session->closing());
}

TEST_F(SlowBulkSession, AnEndThatComesLaterThanItsConnectionLastsIsHeardByNobody) {
  give(frame("T", 1));
  session->end_input();
  EXPECT_FALSE(session->drained()) << "an answer is owed";
  begin_anew();
  waiting.at(0)({});
  EXPECT_THAT(frames(), IsEmpty());
}

TEST_F(BulkSession, ARefusedTableRefusesTheFrameOnly) {
  give(frame("closed", 5));
  EXPECT_THAT(only_error("not-found"), HasSubstr("closed"));
  EXPECT_THAT(log, IsEmpty());
  give(frame("T", 1));
  EXPECT_TRUE(only_answer().at("ok").as_bool());
}

TEST_F(BulkSession, EveryTruncationOfABulkPayloadIsAnError) {
  const std::string good = frame("T", 3);
  const std::string payload = good.substr(kFrameHeaderBytes);
  for (std::size_t length = 0; length < payload.size(); ++length) {
    renew();
    give(frame_of(FrameKind::Bulk, payload.substr(0, length)));
    EXPECT_NE(only_error("invalid-argument"), "no error") << length;
    EXPECT_TRUE(session->closing()) << length;
  }
}

TEST_F(BulkSession, BytesAfterTheLastRowAndUnknownOperationsAreErrors) {
  std::string payload = frame("T", 1).substr(kFrameHeaderBytes);
  give(frame_of(FrameKind::Bulk, payload + "x"));
  EXPECT_THAT(only_error("invalid-argument"), HasSubstr("1 byte after the last row; 1 row before it was accepted"));
  EXPECT_EQ(log.back(), "end") << "the sink is told even then";
  renew();
  payload[2 + 1 + 4] = 9;
  give(frame_of(FrameKind::Bulk, payload));
  EXPECT_THAT(only_error("invalid-argument"), HasSubstr("operation 9"));
}

TEST_F(BulkSession, RandomDamageNeverBreaksTheSession) {
  const std::string good = frame("T", 20) + frame_of(FrameKind::Json, R"({"id":1,"command":"echo","text":"x"})");
  for (unsigned seed = 0; seed < 3000; ++seed) {
    renew();
    std::mt19937 random(seed);
    std::string bytes = good;
    for (unsigned i = 0; i < 1 + seed % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    give(bytes);
    session->end_input();
    steps();
    ASSERT_FALSE(session->has_step()) << "seed " << seed;
    ASSERT_THAT(frames(), testing::Not(IsEmpty())) << "seed " << seed << ": every stream gets some answer";
  }
}

TEST(BulkEncoder, ARowThatFitsNoFrameIsRefusedAndTheFrameStaysGood) {
  BulkEncoder encoder;
  ASSERT_TRUE(encoder.start("T").ok());
  ASSERT_TRUE(encoder.add(BulkOp::Set, "a", {}, 100).ok());
  const std::string large(200, 'x');
  EXPECT_EQ(encoder.add(BulkOp::Set, large, {}, 100).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(encoder.rows(), 1U);
  EXPECT_EQ(encoder.start(std::string(70000, 't')).code(), StatusCode::InvalidArgument);
}

TEST_F(Session, AReportOfAWriteHasTheSizeOfParametersAndTheNamesOfDefinitions) {
  std::vector<std::string> reported;
  options.on_write = [&reported](const AdminWrite& write) { reported.emplace_back(write.what); };
  renew();
  add("trigger", {{.name = "name"}, {.name = "parameters", .required = false}, {.name = "definition", .required = false}},
      [](const Arguments&, Reply reply) { reply.finish(); });
  request(R"({"id":1,"command":"trigger","name":"a","parameters":"a secret"})");
  request(R"({"id":2,"command":"trigger","name":"b","definition":"{\"name\":\"c\",\"parameters\":\"a secret\"}"})");
  ASSERT_THAT(reported, SizeIs(2));
  EXPECT_EQ(reported[0], "a (8 bytes)");
  EXPECT_THAT(reported[1], AllOf(HasSubstr("b c ("), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace rondo
