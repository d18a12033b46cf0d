// With journal_options.cc the only translation unit that includes CLI11.
#include "options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "exit_code.h"
#include "rondo/admin/suggest.h"

namespace rondo::cli {
namespace {

constexpr const char* kFooter =
    "Without --socket: $RONDO_SOCKET, else /run/rondo/rondod.sock, else $XDG_RUNTIME_DIR/rondo/rondod.sock.\n"
    "With --store a Redis is asked and no daemon is needed: set, del, get, keys, load, feed, watch, pending, clear, doctor.\n"
    "With --store file:///PATH the file of a stopped daemon is looked at: doctor, tables, keys, get, pending, export.\n"
    "In tables, keys, names and values \\xHH stands for one byte.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage or argument, 3 a replay came out different, 69 no daemon, 75 try again later, 78 bad "
    "input file.";

// Commands that only a daemon answers, and those that only a store does.
constexpr std::array<std::string_view, 7> kDaemonOnly{"tables", "why", "parked", "sources", "ports", "stats", "commands"};
// Those that read a file of their own.
constexpr std::array<std::string_view, 2> kOfJournal{"journal", "replay"};
constexpr std::array<std::string_view, 5> kStoreOnly{"watch", "pending", "clear", "doctor", "export"};
constexpr std::array<std::string_view, 6> kOfFile{"doctor", "tables", "keys", "get", "pending", "export"};

struct Parser {
  CLI::App app{"Command line of rondod, the Rondo daemon", "rondo"};
  Options options;
  // Where CLI11 leaves words before they become an action.
  Call call;
  SetRow row;
  std::vector<std::string> assignments;
  LoadFile load;
  FeedRoutes feed;
  std::string table;
  std::string key;
  double patience_seconds = 0;  // 0: not given.
  std::string separator;
  std::string kind;

  Parser() {
    app.require_subcommand(1);
    app.fallthrough();
    app.footer(kFooter);
    app.set_version_flag("--version", "rondo " RONDO_VERSION);
    app.add_option("--socket", options.socket, "The daemon's admin socket")->type_name("PATH");
    app.add_flag("--json", options.json, "Print the result as JSON");
    app.add_option("--timeout", patience_seconds, "Give up after this many seconds of silence; 30, or 5 with --store")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    add_store_options();
    add_row_commands();
    add_report_commands();
    add_store_commands();
    add_load();
    add_feed();
    add_journal_commands(app, options);
  }

  CLI::App* add(const std::string& name, const std::string& help) { return app.add_subcommand(name, help); }

  void table_and_key(CLI::App* command, bool key_required) {
    command->add_option("TABLE", table, "Table, such as ROUTE_TABLE")->required();
    command->add_option("KEY", key, "Key, such as 10.0.0.0/24")->required(key_required);
  }

  /// A command whose answer is shown as it comes.
  void add_call(const std::string& name, const std::string& help, bool with_table, bool with_key, bool required) {
    CLI::App* const command = add(name, help);
    if (with_table) command->add_option("TABLE", table, "Table, such as ROUTE_TABLE")->required(required);
    if (with_key) command->add_option("KEY", key, "Key, such as 10.0.0.0/24")->required(required);
    command->callback([this, name] {
      call.command = name;
      if (!table.empty()) call.arguments.emplace_back("table", table);
      if (app.get_subcommand(name)->get_option_no_throw("KEY") != nullptr && app.get_subcommand(name)->count("KEY") != 0) {
        call.arguments.emplace_back("key", key);
      }
      options.action = call;
    });
  }

  void add_row_commands() {
    CLI::App* const set = add("set", "Set fields of a row; the other fields stay");
    table_and_key(set, true);
    set->add_option("FIELD=VALUE", assignments, "Fields to set");
    set->callback([this] { set_row(); });
    add_call("del", "Delete a row", true, true, true);
    add_call("get", "Show a row", true, true, true);
    add_call("keys", "List the keys of a table", true, false, true);
    add_call("tables", "List the tables with their sizes", false, false, false);
  }

  void add_report_commands() {
    add_call("why", "Say why a row is not done yet: the chain of what it waits for", true, true, true);
    add_call("parked", "What waits for which fact; with TABLE its waiting rows", true, false, false);
    add_call("sources", "Everything that takes turns, with its figures", false, false, false);
    add_call("ports", "Ports and their state", false, false, false);
    add_call("stats", "Figures of the daemon", false, false, false);
    add_call("commands", "Commands the daemon knows", false, false, false);
    add("version", "Version of this program and of the daemon")->callback([this] { options.action = Version{}; });
  }

  void add_store_options() {
    StoreChoice& store = options.store;
    app.add_option("--store", store.where,
                   "Tables on a Redis: redis://, rediss://, unix:// or redis+sentinel://, or a database's name such as APPL_DB; or "
                   "file:///PATH")
        ->type_name("URL");
    app.add_option("--database-config", store.database_config, "SONiC's database_config.json, for --store APPL_DB")->type_name("FILE");
    app.add_option("--namespace", store.name_space, "Of SONiC's global database_config file, such as asic0")->type_name("NAME");
    app.add_option("--container", store.container, "Likewise, such as dpu0")->type_name("NAME");
    app.add_option("--separator", separator, "Between table and key: ':', or what the database has")->check(CLI::IsMember({":", "|"}));
    app.add_option("--kind", kind, "How the table is written or watched; default: staged, and watched for watch")
        ->check(CLI::IsMember({"staged", "watched", "queue", "channel"}));
  }

  void add_store_commands() {
    add_call("pending", "Keys of a table on a store that wait for its consumer", true, false, true);
    add_call("watch", "Print the rows of a table on a store, and then what changes", true, false, true);
    app.get_subcommand("watch")
        ->add_option_function<std::uint64_t>(
            "--count", [this](std::uint64_t most) { call.arguments.emplace_back("count", std::to_string(most)); }, "End after N changes")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    add_call("clear", "Delete all of a table on a store: rows, and what waits for its consumer", true, false, true);
    app.get_subcommand("clear")->add_flag_callback(
        "--yes", [this] { call.arguments.emplace_back("yes", "yes"); }, "Do not ask");
    add_call("export", "Print the rows of a daemon's file as JSON that load takes", true, false, false);
    add_call("doctor", "Say whether a store's server is fit to hold tables, and what to change", false, false, false);
    app.get_subcommand("doctor")->add_flag_callback(
        "--stock-peers", [this] { call.arguments.emplace_back("stock_peers", "yes"); },
        "Programs built on SONiC's own library share the tables");
  }

  /// What is left to do when all words are known.
  void finish() {
    const std::string_view command = app.get_subcommands().front()->get_name();
    StoreChoice& store = options.store;
    if (store.given() && std::ranges::find(kOfJournal, command) != kOfJournal.end()) {
      throw CLI::ValidationError("--store", "'" + std::string{command} + "' reads a journal; leave --store away");
    }
    if (store.is_file()) {
      if (std::ranges::find(kOfFile, command) == kOfFile.end()) {
        throw CLI::ValidationError("--store", "a file can only be looked at: doctor, tables, keys, get, pending, export");
      }
    } else if (command == "export") {
      throw CLI::ValidationError("export", "needs --store file:///PATH");
    } else if (store.given() && std::ranges::find(kDaemonOnly, command) != kDaemonOnly.end()) {
      throw CLI::ValidationError("--store", "'" + std::string{command} + "' is a daemon's to answer; leave --store away");
    }
    if (!store.given()) {
      const bool only = std::ranges::find(kStoreOnly, command) != kStoreOnly.end();
      if (only) throw CLI::ValidationError(std::string{command}, "needs --store URL");
      const bool of_config = !store.database_config.empty() || !store.name_space.empty() || !store.container.empty();
      const bool store_option = of_config || !separator.empty() || !kind.empty();
      if (store_option)
        throw CLI::ValidationError("--database-config, --namespace, --container, --separator, --kind", "go with --store URL");
    }
    if (!separator.empty()) store.separator = separator.front();
    const std::map<std::string_view, TableKind> kinds{
        {"staged", TableKind::Staged}, {"watched", TableKind::Watched}, {"queue", TableKind::Queue}, {"channel", TableKind::Channel}};
    if (const auto found = kinds.find(kind); found != kinds.end()) store.kind = found->second;
    if (patience_seconds <= 0) patience_seconds = store.given() ? 5 : 30;
    options.patience = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(patience_seconds, 1e6)));
  }

  void add_load() {
    CLI::App* const command = add("load", "Write the rows of a JSON file in the form of SONiC's swssconfig");
    command->add_option("FILE", load.file, "[{\"TABLE:key\": {\"field\": \"value\"}, \"OP\": \"SET\"}, ...]; - is standard input")
        ->required();
    command->add_flag("--dry-run", load.dry_run, "Print the rows instead of writing them");
    command->callback([this] { options.action = load; });
  }

  void add_feed() {
    CLI::App* const group = add("feed", "Write many rows: a whole routing table");
    group->require_subcommand(1);
    CLI::App* const routes = group->add_subcommand("routes", "Routes from files, or made up with the prefix lengths of the real Internet");
    routes->add_option("FILE", feed.files,
                       "Lines of: prefix | prefix TAB origin | second TAB A|W TAB peer TAB prefix TAB origin; may be gzip");
    routes->add_option("--synthetic", feed.synthetic, "Make this many IPv4 routes")->type_name("N")->check(CLI::NonNegativeNumber);
    routes->add_option("--synthetic6", feed.synthetic6, "Make this many IPv6 routes")->type_name("N")->check(CLI::NonNegativeNumber);
    routes->add_option("--seed", feed.seed, "Of the made-up routes and of the order")
        ->type_name("S")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    routes->add_option("--groups", feed.groups, "Next-hop groups of a family")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, static_cast<int>(feed::kGroupsMax)));
    routes
        ->add_option_function<std::string>(
            "--order",
            [this](const std::string& order) {
              feed.order_given = true;
              feed.order = order == "sorted" ? Order::Sorted : order == "shuffled" ? Order::Shuffled : Order::AsIs;
            },
            "shuffled, sorted or as-is; default: made-up routes shuffled, files as they are")
        ->check(CLI::IsMember({"shuffled", "sorted", "as-is"}));
    routes->add_option("--also", feed.also, "Feed these after the routes, in this order: nexthops, neighbors, interfaces, ports, or all")
        ->delimiter(',')
        ->check(CLI::IsMember({"nexthops", "neighbors", "interfaces", "ports", "all"}));
    routes->add_option("--port-prefix", feed.ports.prefix, "Port names begin with this")->capture_default_str();
    routes->add_option("--port-first", feed.ports.first, "Number of the first of the 8 ports")
        ->capture_default_str()
        ->check(CLI::Range(0, 1000000));
    routes->add_option("--port-step", feed.ports.step, "Step between port numbers")->capture_default_str()->check(CLI::Range(1, 1000000));
    routes->add_option("--mtu", feed.mtu, "Of the ports")->capture_default_str()->check(CLI::Range(68, 65535));
    routes->add_flag("--withdraw", feed.withdraw, "Delete these routes instead");
    routes->add_flag("--dry-run", feed.dry_run, "Print the rows instead of writing them");
    routes->callback([this] { feed_routes(); });
  }

  void set_row() {
    row.table = table;
    row.key = key;
    for (const std::string& assignment : assignments) {
      const std::size_t equals = assignment.find('=');
      if (equals == std::string::npos) throw CLI::ValidationError("FIELD=VALUE", "'" + assignment + "' has no '='");
      row.fields.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
    }
    options.action = row;
  }

  void feed_routes() {
    const bool made_up = feed.synthetic != 0 || feed.synthetic6 != 0;
    if (made_up != feed.files.empty()) {
      throw CLI::ValidationError("feed routes",
                                 made_up ? "takes either files or --synthetic, not both" : "needs a FILE, --synthetic or --synthetic6");
    }
    if (!feed.order_given && made_up) feed.order = Order::Shuffled;
    options.action = feed;
  }

  /// The word that was meant to be a command, if the error is about one.
  std::string suggestion(int argc, const char* const* argv) const {
    if (!app.get_subcommands().empty()) return {};
    bool value = false;  // The word belongs to the option before it.
    std::vector<std::string_view> names;
    std::vector<std::string> kept;
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) kept.push_back(command->get_name());
    names.assign(kept.begin(), kept.end());
    for (const char* const word : std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0)) {
      const bool is_value = std::exchange(value, false);
      if (*word == '-') {
        const CLI::Option* const option = app.get_option_no_throw(word);
        value = option != nullptr && option->get_items_expected_max() > 0;
        continue;
      }
      if (is_value) continue;
      for (const std::string_view name : names) {
        if (name == word) return {};
      }
      return "unknown command '" + std::string{word} + "'" + did_you_mean(word, names) + "\n";
    }
    return {};
  }
};

std::string usage_error(const Parser& parser, const CLI::Error& error, int argc, const char* const* argv) {
  const std::string unknown = parser.suggestion(argc, argv);
  if (!unknown.empty()) return "rondo: " + unknown + "Run 'rondo --help' for the commands.\n";
  return std::string{"rondo: "} + error.what() + "\nRun 'rondo --help' or 'rondo COMMAND --help' for usage.\n";
}

}  // namespace

Parsed parse_command_line(int argc, const char* const* argv) {
  Parser parser;
  Parsed parsed;
  parsed.finished = true;
  try {
    parser.app.parse(argc, argv);
    parser.finish();
    parsed.options = parser.options;
    parsed.finished = false;
  } catch (const CLI::CallForHelp&) {
    parsed.text = parser.app.help();  // Of the command that was named.
  } catch (const CLI::CallForVersion& version) {
    parsed.text = std::string{version.what()} + "\n";
  } catch (const CLI::Error& error) {
    parsed.exit_code = kExitUsage;
    parsed.text = usage_error(parser, error, argc, argv);
  }
  return parsed;
}

}  // namespace rondo::cli
