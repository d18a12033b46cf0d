// Calls whose answer is shown as it comes.
#include "actions.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <string>

#include "exit_code.h"
#include "render.h"
#include "rondo/admin/text.h"
#include "socket_path.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// True when standard output took it.
bool print(const std::string& text) { return std::fwrite(text.data(), 1, text.size(), stdout) == text.size(); }

int finish_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? kExitDone : kExitFailed; }

/// What was typed as JSON text: \xHH stays a byte, and bytes that JSON cannot carry become one.
std::string typed(const std::string& word) { return escape_text(unescape_text(word)); }

/// Rows go out as they arrive, then the rest of the result: one object on one line, whatever its length.
int print_json(AdminClient& client, const Options& options, const std::string& command, const json::object& arguments) {
  std::uint64_t rows = 0;
  const Result<json::object> result = client.call(
      command, arguments, [&rows](const json::value& row) { print((rows++ == 0 ? "{\"rows\":[" : ",") + json::serialize(row)); });
  if (!result) return report(options, result.error());
  json::object rest = *result;
  if (rows == 0) {
    print(json::serialize(rest) + "\n");
  } else {
    rest.erase("rows");
    const std::string others = json::serialize(rest);
    print((rest.empty() ? "]" : "],") + others.substr(1) + "\n");
  }
  return finish_output();
}

int print_text(AdminClient& client, const Options& options, const std::string& command, const json::object& arguments) {
  if (command == "keys") {
    const Result<json::object> result = client.call(command, arguments, [](const json::value& row) {
      const json::value* const key = row.is_object() ? row.get_object().if_contains("key") : nullptr;
      print((key != nullptr && key->is_string() ? std::string{key->get_string()} : json::serialize(row)) + "\n");
    });
    return result ? finish_output() : report(options, result.error());
  }
  const Result<json::object> result = client.call(command, arguments);
  if (!result) return report(options, result.error());
  const std::string text = render_result(command, *result, wants_color(STDOUT_FILENO));
  const json::value* const rows = result->if_contains("rows");
  if (text.empty() && rows != nullptr && ::isatty(STDOUT_FILENO) == 1) std::fputs("(none)\n", stderr);
  print(text);
  return finish_output();
}

int call(const Options& options, const std::string& command, const json::object& arguments) {
  const Result<std::unique_ptr<AdminClient>> client = connect(options);
  if (!client) return report(options, client.error());
  return options.json ? print_json(**client, options, command, arguments) : print_text(**client, options, command, arguments);
}

int show_version(const Options& options) {
  json::object versions{{"client", RONDO_VERSION}, {"daemon", nullptr}};
  const Result<std::unique_ptr<AdminClient>> client = connect(options);
  if (client) {
    const Result<json::object> daemon = (*client)->call("version", {});
    if (!daemon) return report(options, daemon.error());
    versions["daemon"] = *daemon;
  }
  if (options.json) {
    print(json::serialize(versions) + "\n");
  } else {
    print("rondo " RONDO_VERSION "\n");
    const json::object* const daemon = versions["daemon"].if_object();
    const auto text = [daemon](std::string_view name) {
      const json::value* const value = daemon->if_contains(name);
      return value != nullptr && value->is_string() ? std::string{value->get_string()} : std::string{"?"};
    };
    print(daemon == nullptr ? "no daemon answers\n" : text("name") + " " + text("version") + "\n");
  }
  return finish_output();
}

struct Run {
  const Options& options;

  int operator()(const Version&) const { return show_version(options); }
  int operator()(const LoadFile& load) const { return load_file(options, load); }
  int operator()(const FeedRoutes& feed) const { return feed_routes(options, feed); }
  int operator()(const Call& asked) const {
    json::object arguments;
    for (const auto& [name, text] : asked.arguments) arguments[name] = typed(text);
    return call(options, asked.command, arguments);
  }
  int operator()(const SetRow& row) const {
    json::array fields;
    for (const auto& [name, value] : row.fields) fields.push_back(json::array{json::string{typed(name)}, json::string{typed(value)}});
    return call(options, "set", {{"table", typed(row.table)}, {"key", typed(row.key)}, {"fields", fields}});
  }
};

}  // namespace

int report(const Options& options, const Status& why, int code) {
  if (options.json) {
    const json::object error{{"error", json::object{{"code", to_string(why.code())}, {"message", visible_text(why.message())}}}};
    std::fprintf(stderr, "%s\n", json::serialize(error).c_str());
  } else {
    std::fprintf(stderr, "rondo: %s\n", visible_text(why.message()).c_str());
  }
  return code >= 0 ? code : exit_code(why.code());
}

Result<std::unique_ptr<AdminClient>> connect(const Options& options) {
  std::string tried;
  for (const std::string& path : socket_candidates(options.socket)) {
    Result<std::unique_ptr<AdminClient>> client = AdminClient::connect(path, options.patience);
    if (client) return client;
    if (client.error().code() == Code::PermissionDenied || client.error().code() == Code::InvalidArgument) return client;
    tried.append(tried.empty() ? "" : "; ").append(client.error().message());
  }
  return failure(Code::Unavailable, "no daemon answers: " + tried);
}

int run(const Options& options) { return std::visit(Run{options}, options.action); }

}  // namespace rondo::cli
