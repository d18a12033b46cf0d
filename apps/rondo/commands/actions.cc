// Commands whose answer is printed as it arrives.
#include "commands/actions.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "arguments/commands.h"
#include "arguments/completion.h"
#include "backends/backend.h"
#include "commands/lists.h"
#include "commands/own_call.h"
#include "commands/schema.h"
#include "manual/man_page.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/render.h"
#include "output/report.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// Typed text as JSON text: \xHH remains a byte, and each byte that JSON cannot represent becomes \xHH.
std::string typed(const std::string& word) { return escape_text(unescape_text(word)); }

/// A member that decides about the exit code. Throws what run() reports if it is absent or no bool.
bool verdict(const json::object& result, const std::string& member) {
  const json::value* const found = result.if_contains(member);
  if (found == nullptr || !found->is_bool()) throw std::invalid_argument("its member " + member + " is neither true nor false");
  return found->get_bool();
}

/// The same for a number that must be 0.
bool is_none(const json::object& result, const std::string& member) {
  const json::value* const found = result.if_contains(member);
  boost::system::error_code wrong;
  const auto number = found == nullptr ? std::uint64_t{0} : found->to_number<std::uint64_t>(wrong);
  if (found == nullptr || wrong) throw std::invalid_argument("its member " + member + " is no number");
  return number == 0;
}

/// Returns the exit code after the answer was printed. The answers of doctor, health, restart-check and verify also contain a
/// verdict.
int finish(const std::string& command, const json::object& result) {
  const int printed = finish_output();
  if (command == "health" && !verdict(result, "healthy") && printed == kExitDone) return kExitFailed;
  if (command == "restart-check" && !verdict(result, "ready") && printed == kExitDone) return kExitFailed;
  if (command == "verify" && !is_none(result, "differences") && printed == kExitDone) return kExitFailed;
  if (command == "doctor" && !is_none(result, "problems") && printed == kExitDone) return kExitFailed;
  return printed;
}

/// Prints a stream of changes that has no end. Each line is written immediately, and the command ends when its reader is gone.
int print_changes(Backend& backend, const Options& options, const std::string& command, const json::object& arguments) {
  const auto render = command == "trace" ? render_event : render_change;
  const Result<json::object> result = backend.call(command, arguments, [&options, render](const json::value& row) {
    print(options.json ? json_text(row) + "\n" : render(row));
    if (finish_output() != kExitDone) std::exit(report(options, output_trouble(), kExitFailed));
  });
  return result ? finish_output() : report(options, result.error());
}

/// Prints an array with one object per line, in the form that load accepts.
int print_export(Backend& backend, const Options& options, const json::object& arguments) {
  std::uint64_t rows = 0;
  const Result<json::object> result =
      backend.call("export", arguments, [&rows](const json::value& row) { print((rows++ == 0 ? "[\n" : ",\n") + json_text(row)); });
  const bool is_whole = result || result.error().code() == StatusCode::FailedPrecondition;  // Otherwise it is cut off.
  if (is_whole) print(rows == 0 ? "[]\n" : "\n]\n");
  const int code = finish_output();
  return result ? code : report(options, result.error());
}

/// Reports that a call failed. If a write has no answer, health has the reason: the daemon answers a write when the store has it.
int report_call(const Options& options, const std::string& command, const Status& why) {
  const bool is_write = command == "set" || command == "del" || command == "clear" || command == "send";
  if (why.code() != StatusCode::DeadlineExceeded || !is_write || options.store.given() || options.json) return report(options, why);
  const int code = report(options, why);
  Options brief = options;
  brief.patience = std::min<Duration>(options.patience, 1s);
  const Result<std::unique_ptr<Backend>> backend = open_backend(brief);
  const Result<json::object> health = backend ? (*backend)->call("health", {}, {}) : failure(backend.error());
  const json::value* const troubles = health ? health->if_contains("troubles") : nullptr;
  if (troubles == nullptr || !troubles->is_array()) return code;
  for (const json::value& trouble : troubles->get_array())
    if (trouble.is_string()) print_error("rondo: health: " + visible_text(std::string{trouble.get_string()}) + "\n");
  return code;
}

int print_text(Backend& backend, const Options& options, const std::string& command, const json::object& arguments, bool wide = false) {
  if (command == "keys") {
    const Result<json::object> result = backend.call(command, arguments, [&options](const json::value& row) {
      const json::value* const key = row.is_object() ? row.get_object().if_contains("key") : nullptr;
      print((key != nullptr && key->is_string() ? std::string{key->get_string()} : json_text(row)) + "\n");
      end_without_reader(options);
    });
    return result ? finish_output() : report(options, result.error());
  }
  Result<json::object> result = backend.call(command, arguments, {});
  if (!result) return report_call(options, command, result.error());
  json::value* const rows = result->if_contains("rows");
  if (command == "sources" && !wide && rows != nullptr && rows->is_array()) *rows = busiest_sources(std::move(rows->get_array()));
  if (command == "workers" && rows != nullptr && rows->is_array()) *rows = worker_lines(std::move(rows->get_array()));
  if (command == "turns" && rows != nullptr && rows->is_array()) {
    *rows = turn_lines(std::move(rows->get_array()), result->at("at_us").to_number<double>());
    for (const std::string_view name : {"at_us", "recorded_us", "missed", "next"}) result->erase(name);  // They are for programs.
  }
  if (command == "set" || command == "del") result->erase("change");  // Scripts expect that a write prints nothing.
  const json::value* const secret = command == "token-add" ? result->if_contains("token") : nullptr;
  if (secret != nullptr && secret->is_string()) {  // Alone, for a file.
    print(std::string{secret->get_string()} + "\n");
    return finish_output();
  }
  const std::string text = render_result(command, *result, wants_color(STDOUT_FILENO));
  if (text.empty() && rows != nullptr && ::isatty(STDOUT_FILENO) == 1) print_error("(none)\n");
  print(text);
  return finish(command, *result);
}

/// True if the user confirmed. A script must give --yes.
bool may_clear(const json::object& arguments) {
  if (arguments.contains("yes")) return true;
  if (::isatty(STDIN_FILENO) != 1) return false;
  print_error("Delete every row of " + std::string{arguments.at("table").as_string()} + " and all that waits for its consumer? [y/N] ");
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

/// Options for a stream: --timeout ends it, and silence before then is no error. If the daemon hangs, the client ends soon after.
Options patient(const Options& options) {
  Options more = options;
  if (!options.store.given()) more.patience = options.timeout.value_or(1'000'000s) + 3s;
  return more;
}

/// Prints the end of a row that was written, and returns its exit code.
int print_row_end(const Options& options, const SetRow& row, const json::object& result) {
  const auto text = [&result](std::string_view name) { return std::string{result.at(name).as_string()}; };
  const bool is_withdrawn = result.contains("plane") && text("plane") == "withdrawn";
  const std::string state = is_withdrawn ? "withdrawn" : text("state");
  if (options.json) print(json_text(result) + "\n");
  const int printed = finish_output();
  if (printed != kExitDone || state == "done") return printed;
  if (!options.json)
    print_error("rondo: " + typed(row.table) + " " + typed(row.key) + " is " + state + ": " + visible_text(text("note")) + "\n");
  return state == "parked" || is_withdrawn ? kExitParked : kExitFailed;
}

int write_and_wait(const Options& options, const SetRow& row, const std::string& command, json::object arguments) {
  Options more = options;
  more.patience = std::max(options.patience, *row.wait + 3s);
  arguments["wait_ms"] = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(*row.wait).count());
  const Result<std::unique_ptr<Backend>> backend = open_backend(more);
  if (!backend) return report(options, backend.error());
  const Result<json::object> result = (*backend)->call(command, arguments, {});
  if (result) return print_row_end(options, row, *result);
  return report(options, result.error());
}

int answer(Backend& backend, const Options& options, const std::string& command, const json::object& arguments, const Call& asked = {}) {
  if (command == "export") return print_export(backend, options, arguments);
  if (options.json) {
    const Result<json::object> result = print_json(backend, options, command, arguments, asked.count);
    return result ? finish(command, *result) : report(options, result.error());
  }
  if (command == "parked" || command == "rejected" || command == "show") {
    const bool is_sorted = command == "parked" && !arguments.contains("table");
    return print_list(backend, options, command, arguments, {.most = rows_of_screen(asked), .by_waiting_rows = is_sorted});
  }
  return print_text(backend, options, command, arguments, asked.wide);
}

int call(const Options& options, const std::string& command, const json::object& arguments, const Call& asked = {}) {
  if (command == "clear" && !may_clear(arguments)) {
    return report(options,
                  Status{StatusCode::InvalidArgument, "clear deletes the table's rows and what waits: nothing was done without --yes"});
  }
  const bool endless = command == "watch" || command == "trace";
  const Result<std::unique_ptr<Backend>> backend = open_backend(endless ? patient(options) : options);
  if (!backend) return report(options, backend.error());
  if (endless) return print_changes(**backend, options, command, arguments);
  const int code = answer(**backend, options, command, arguments, asked);
  const Status lacking = (*backend)->lacking();
  if (lacking.ok()) return code;
  const int incomplete = report(options, lacking);
  return code == kExitDone ? incomplete : code;
}

int show_version(const Options& options) {
  json::object versions{{"client", RONDO_VERSION}, {"daemon", nullptr}};
  Status away;
  if (!options.store.given()) {
    const Result<std::unique_ptr<Backend>> backend = open_backend(options);
    const Result<json::object> daemon = backend ? (*backend)->call("version", {}, {}) : failure(backend.error());
    if (daemon) {
      versions["daemon"] = *daemon;
    } else {
      away = daemon.error();
    }
  }
  if (options.json) {
    print(json_text(versions) + "\n");
  } else {
    print("rondo " RONDO_VERSION "\n");
    if (const json::object* const daemon = versions["daemon"].if_object()) {
      const auto text = [daemon](std::string_view name) {
        const json::value* const value = daemon->if_contains(name);
        return value != nullptr && value->is_string() ? std::string{value->get_string()} : std::string{"?"};
      };
      print(text("name") + " " + text("version") + "\n");
    }
  }
  const int printed = finish_output();
  return printed != kExitDone || away.ok() ? printed : report(options, away);
}

/// Prints the newest turns. The first call begins the daemon's record; it has nothing yet.
int show_turns(const Options& options, const Turns& asked) {
  const Result<std::unique_ptr<Backend>> backend = open_backend(options);
  if (!backend) return report(options, backend.error());
  const Result<json::object> begun = (*backend)->call("turns", {{"count", 1}}, {});
  if (!begun) return report(options, begun.error());
  const double recorded_s = begun->at("recorded_us").to_number<double>() / 1e6;
  const double asked_s = std::chrono::duration<double>(asked.recorded).count();
  std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(asked_s - recorded_s, 0.0, asked_s)));
  return answer(**backend, options, "turns", {{"count", static_cast<std::int64_t>(asked.count)}});
}

struct Run {
  const Options& options;

  int operator()(const Version&) const { return show_version(options); }
  int operator()(const LoadFile& load) const { return load_file(options, load); }
  int operator()(const FeedRoutes& feed) const { return feed_routes(options, feed); }
  int operator()(const ReadJournal& call) const { return read_journal(options, call); }
  int operator()(const ReplayRun& call) const { return replay_run(options, call); }
  int operator()(const CronCall& call) const { return cron(options, call); }
  int operator()(const WorkerCall& asked) const { return worker(options, asked); }
  int operator()(const JobCall& call) const { return job(options, call); }
  int operator()(const Top& top) const { return show_top(options, top); }
  int operator()(const Turns& asked) const { return show_turns(options, asked); }
  int operator()(const Dump& asked) const { return dump(options, asked); }
  int operator()(const Complete& complete) const { return print_offers(complete); }
  int operator()(const Completion& completion) const {
    print(completion_script(completion.shell));
    return finish_output();
  }
  int operator()(const ShowSchema& asked) const { return show_schema(options, asked); }
  int operator()(const Manual&) const {
    print(manual::man_page(program(), RONDO_VERSION));
    return finish_output();
  }
  int operator()(const Call& asked) const {
    json::object arguments;
    for (const auto& [name, text] : asked.arguments) arguments[name] = typed(text);
    for (const auto& [name, number] : asked.numbers)
      arguments[name] = static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
    if ((asked.command == "watch" || asked.command == "trace") && options.timeout) {
      arguments["milliseconds"] = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(*options.timeout).count());
    }
    return call(options, asked.command, arguments, asked);
  }
  int operator()(const OwnCall& asked) const {
    const Result<std::unique_ptr<Backend>> backend = open_backend(options);
    if (!backend) return report(options, backend.error());
    const Result<json::object> arguments = own_arguments(**backend, asked);
    if (!arguments) return report(options, arguments.error());
    return answer(**backend, options, asked.command, *arguments);
  }
  int operator()(const SetRow& row) const {
    json::object arguments{{"table", typed(row.table)}, {"key", typed(row.key)}};
    if (!row.is_delete) {
      warn_of_unknown_fields(row);
      arguments["fields"] = typed_fields(row);
      if (row.replace) arguments["replace"] = true;
      json::array unset;
      for (const std::string& name : row.unset) unset.push_back(json::array{json::string{typed(name)}, ""});
      if (!unset.empty()) arguments["unset"] = std::move(unset);
    }
    const std::string command = row.is_delete ? "del" : "set";
    return row.wait ? write_and_wait(options, row, command, std::move(arguments)) : call(options, command, arguments);
  }
  int operator()(const SendEvent& sent) const {
    const SetRow& row = sent.event;
    return call(options, "send",
                {{"table", typed(row.table)}, {"op", typed(sent.op)}, {"key", typed(row.key)}, {"fields", typed_fields(row)}});
  }

 private:
  static json::array typed_fields(const SetRow& row) {
    json::array fields;
    for (const auto& [name, value] : row.fields) fields.push_back(json::array{json::string{typed(name)}, json::string{typed(value)}});
    return fields;
  }
};

}  // namespace

/// Each command checks the members of an answer that decide something. Access to all others throws if their kind is wrong. Which exception
/// is thrown depends on the version of Boost: system_error, or a logic_error such as out_of_range or invalid_argument.
int run(const Options& options) {
  const auto wrong_shape = [&options](const std::exception& wrong) {
    return report(options, {StatusCode::DataLoss, std::string{"the answer makes no sense: "} + wrong.what()});
  };
  try {
    return std::visit(Run{options}, options.action);
  } catch (const boost::system::system_error& wrong) {
    return wrong_shape(wrong);
  } catch (const std::logic_error& wrong) {
    return wrong_shape(wrong);
  }
}

}  // namespace rondo::cli
