// Fuzzes one connection of the admin socket without its socket: frames, JSON requests, argument checks, bulk writes, pages and late
// answers. The first byte chooses how the rest is split into pieces. For any input, the session must become idle, and a client must be
// able to read every frame that it writes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "admin/frame.h"
#include "admin/session.h"
#include "base/json.h"
#include "rondo/base/assert.h"
#include "rondo/base/text.h"

namespace {

using namespace rondo;

class CheckingSink final : public BulkSink {
 public:
  Status begin(std::string_view table) override {
    RONDO_ASSERT(!open_);
    if (table == "closed") return Status{StatusCode::NotFound, "closed"};
    open_ = true;
    return {};
  }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    RONDO_ASSERT(open_);
    std::size_t bytes = key.size();
    for (const BulkField& field : fields) bytes += field.name.size() + field.value.size();
    if (bytes % 7 == 3) return Status{StatusCode::InvalidArgument, std::string{key}};
    RONDO_ASSERT(op == BulkOp::Set || fields.empty());
    return {};
  }
  Status end() override {
    RONDO_ASSERT(open_);
    open_ = false;
    return {};
  }

 private:
  bool open_ = false;
};

struct Daemon {
  CommandRegistry commands{"fuzz"};
  std::vector<Reply> kept;

  Daemon() {
    const Status echo = commands.add({.name = "e",
                                      .help = "echo",
                                      .arguments = {{.name = "t", .kind = ArgumentKind::Text, .required = true, .help = ""},
                                                    {.name = "i", .kind = ArgumentKind::Integer, .required = false, .help = ""},
                                                    {.name = "b", .kind = ArgumentKind::Flag, .required = false, .help = ""},
                                                    {.name = "fields", .kind = ArgumentKind::Fields, .required = false, .help = ""}}},
                                     [](const Arguments& arguments, Reply reply) {
                                       reply.finish(json::object{{"t", visible_text(arguments.text("t"))},
                                                                 {"i", arguments.integer("i", 0)},
                                                                 {"b", arguments.flag("b")},
                                                                 {"n", arguments.fields().size()}});
                                     });
    const Status rows = commands.add({.name = "r", .help = "rows", .arguments = {}}, [](const Arguments&, Reply reply) {
      reply.stream([at = 0](Reply& page) mutable {
        while (at < 1500 && !page.page_full()) page.row(at++);
        return at < 1500;
      });
    });
    const Status late = commands.add({.name = "l", .help = "late", .arguments = {}},
                                     [this](const Arguments&, Reply reply) { kept.push_back(std::move(reply)); });
    RONDO_ASSERT(echo.ok() && rows.ok() && late.ok());
  }
};

void check_output(ByteBuffer& output) {
  while (!output.empty()) {
    const Result<std::optional<Frame>> frame = next_frame(output.view());
    RONDO_ASSERT(frame.has_value() && frame->has_value());
    json::error_code error;
    const std::string_view payload = (**frame).payload;
    const json::value value = json::parse(json::string_view{payload.data(), payload.size()}, error);
    RONDO_ASSERT(!error && value.is_object());
    output.consume((**frame).bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{1} + data[0];
  std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
  Daemon daemon;
  const AdminServerSetup options;
  AdminServerStats stats;
  AdminSession session(daemon.commands, std::make_unique<CheckingSink>(), options, stats, [] {});
  const auto settle = [&] {
    do {
      while (session.has_step()) session.step();
      for (Reply& reply : daemon.kept) reply.finish();
      daemon.kept.clear();
    } while (session.has_step());
    check_output(session.output());
  };
  while (!rest.empty()) {
    session.input().append(rest.substr(0, piece));
    rest.remove_prefix(std::min(piece, rest.size()));
    settle();
  }
  session.end_input();
  settle();
  RONDO_ASSERT(session.closing() || session.drained());
  return 0;
}
