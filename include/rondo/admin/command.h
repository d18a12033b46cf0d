// Commands of the admin socket: what a module registers, what its handler receives, and how it answers. A handler runs in a turn of the
// caller's connection, so it must be short. A long answer is made in pages over several turns (Reply::next_turn, Reply::stream). To answer
// later, the handler keeps the Reply. Scheduler's thread only.
//
//   commands.add({.name = "keys", .help = "List the keys of a table", .arguments = {{.name = "table"}}},
//                [&store](const Arguments& arguments, Reply reply) { ... });
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/admin/caller.h"
#include "rondo/base/result.h"

namespace rondo {

enum class ArgumentKind : std::uint8_t {
  Text,     // A string; \xHH stands for a byte (rondo/base/text.h).
  Integer,  // Fits 64 bits, signed.
  Flag,     // true or false.
  Fields,   // [["name","value"], ...], with texts as above.
  Rows,     // [["TABLE","key","SET",[["name","value"], ...]], ["TABLE","key","DEL"], ...], with texts as above.
};

/// "text", "integer", "flag", "fields", "rows".
std::string_view to_string(ArgumentKind kind) noexcept;

struct ArgumentSpec {
  std::string name;
  ArgumentKind kind = ArgumentKind::Text;
  bool required = true;
  std::string help = {};
};

/// What a command does to the daemon, which decides who may call it.
enum class CommandEffect : std::uint8_t {
  Writes,  // It changes something. This is the default.
  Reads,
  Works,        // A worker takes runs and reports them.
  Administers,  // It changes who may call.
};

/// True if a caller of this role may call such commands: a viewer those that read, a worker those that work, an operator both and those
/// that write, an admin all.
bool may_call(Role role, CommandEffect effect) noexcept;

struct CommandSpec {
  std::string name;
  std::string help = {};  // One line.
  std::vector<ArgumentSpec> arguments = {};
  CommandEffect effect = CommandEffect::Writes;
  /// True if a log and the journal get the call of a command that writes: the journal when it begins, the log when the change is known
  /// (Reply::tell_change(), tell_rows()) or when the answer has ended. False for reports of programs, several a second. A call with the
  /// flag "dry_run" is no write.
  bool is_reported = true;
  /// True if the handler keeps a caller with a group (Caller::group) to that group. Such callers may call no other command.
  bool keeps_to_group = false;
};

/// One row of an argument of kind Rows, unescaped.
struct RowArgument {
  std::string table;
  std::string key;
  bool is_delete = false;
  std::vector<std::pair<std::string, std::string>> fields = {};
};

/// The arguments of one call, already checked against the command's specification: required ones are present, all have their kind, and none
/// is unknown. Valid during the handler's call only; copy what you keep.
class Arguments {
 public:
  /// 'object' was checked (CommandRegistry::check) and must outlive this.
  explicit Arguments(const boost::json::object& object) noexcept : object_(&object) {}

  bool has(std::string_view name) const;
  /// The bytes, unescaped; 'absent' if the argument was not given.
  std::string text(std::string_view name, std::string_view absent = {}) const;
  std::int64_t integer(std::string_view name, std::int64_t absent) const;
  bool flag(std::string_view name) const;
  /// Name and value pairs, unescaped, in order.
  std::vector<std::pair<std::string, std::string>> fields(std::string_view name = "fields") const;
  std::vector<RowArgument> rows(std::string_view name) const;
  const boost::json::object& json() const noexcept { return *object_; }

 private:
  const boost::json::object* object_;
};

/// The answer to one call. A handle: all copies refer to one answer. Exactly one of finish() and fail() ends it; if the last handle is
/// destroyed before, the answer ends as Internal. A Reply may outlive the connection: then its output is dropped (wanted() is false).
class Reply {
 public:
  using Continuation = std::function<void(Reply)>;
  struct State;
  explicit Reply(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

  /// Valid as long as this.
  const Caller& caller() const noexcept;
  /// False when the caller has disconnected or the answer has ended: stop working for it.
  bool wanted() const noexcept;
  /// Sets a function that is called once, in a turn of the server, if the caller disconnects before the answer has ended. With it a long
  /// command can cancel its work elsewhere. The last call counts. 'gone' must not throw, and must not hold a Reply, which would keep itself
  /// alive. Does nothing if the caller has already disconnected: check wanted() first.
  void on_gone(std::function<void()> gone);

  /// Adds a row to the answer's "rows". Rows are sent in pages; a full page is sent when the next row is added. Here and in finish(), bytes
  /// that are no UTF-8 are sent as a backslash, an x and two digits.
  void row(const boost::json::value& row);
  /// True when the current page has limits::kAdminPageRows rows or 64 KiB, or when the turn has used the time of an answer: call
  /// next_turn() then. Reads the clock every few rows.
  bool page_full() const noexcept;
  /// Sends the page now, without ending the answer or requesting another turn: for rows that arrive independently.
  void flush();
  /// Sends the page and calls 'go_on' in a later turn, after the caller has read enough. One at a time; at most one call a turn.
  void next_turn(Continuation go_on);
  /// Calls 'produce' once now and then once a turn until it returns false, and then finishes. It should return when page_full().
  void stream(std::function<bool(Reply& reply)> produce);

  /// Ends the answer. The result is 'result', with the rows of the last page under "rows" if row() was ever called.
  void finish();
  void finish(const boost::json::object& result);
  /// Ends the answer with an error. 'why' must not be ok.
  void fail(const Status& why);
  /// For a command with CommandSpec::is_reported: what gives a log the changed fields, such as "mtu=1500" and "mtu=9000"
  /// (src/commands/change_text.h). Call it once; the log gets a call of the command without one when the answer has ended and all copies
  /// are gone. Empty if no log wants it.
  using TellChange = std::function<void(std::string_view before, std::string_view after)>;
  TellChange tell_change();
  /// The same for a change that is known already.
  void tell_change(std::string_view before, std::string_view after);
  /// The same for a call that writes several rows: call it once for each 'row', such as "PORT_TABLE swp1" (escape_text()). The log has a
  /// line for each.
  using TellRow = std::function<void(std::string_view row, std::string_view before, std::string_view after)>;
  TellRow tell_rows();
  /// Marks the answer as one with rows: without any row, "rows" is then [] instead of absent.
  void expect_rows() noexcept;

 private:
  std::shared_ptr<State> state_;
};

/// Called with checked arguments. An exception ends the answer as Internal with its text.
using CommandHandler = std::function<void(const Arguments& arguments, Reply reply)>;

/// The commands of one daemon. Modules add theirs before the server opens; the registry must outlive the server. `commands` (rows of name,
/// help, arguments, writes) and `version` ({name, version}) are built in.
class CommandRegistry {
 public:
  /// Name and version are the answer of `version`; without a version it is that of the library.
  explicit CommandRegistry(const std::string& program_name = "rondod", const std::string& program_version = {});
  ~CommandRegistry();
  CommandRegistry(const CommandRegistry&) = delete;
  CommandRegistry& operator=(const CommandRegistry&) = delete;

  /// AlreadyExists for a name in use; InvalidArgument for an empty name, or an argument named "id" or "command".
  Status add(CommandSpec spec, CommandHandler handler);

  /// Checks 'request' (the whole request object) and calls the command's handler, or fails 'reply'. NotFound for an unknown command (with
  /// the nearest name). PermissionDenied if the caller's role or its group does not allow the command. InvalidArgument for a missing,
  /// unknown or wrongly typed argument. 'before_write' is called before the handler of a command that does not only read.
  using BeforeWrite = std::function<void(const CommandSpec& spec, const Arguments& arguments)>;
  void dispatch(const boost::json::object& request, Reply reply, const BeforeWrite& before_write = {}) const;

  std::vector<const CommandSpec*> commands() const;

 private:
  struct Command;
  Result<const Command*> find(const boost::json::object& request) const;
  static Status check(const CommandSpec& spec, const boost::json::object& request);
  void add_builtins(const std::string& program_name, const std::string& program_version);

  std::map<std::string, std::unique_ptr<const Command>, std::less<>> commands_;
};

}  // namespace rondo
