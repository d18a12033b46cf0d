#include "arguments/commands.h"

#include <algorithm>

#include "arguments/job_commands.h"
#include "feed/next_hops.h"

namespace rondo::cli {
namespace {

using manual::Argument;
using manual::Command;
using manual::Daemon;
using manual::File;
using manual::Nobody;
using manual::Option;
using manual::Redis;
using manual::Word;

Argument table(bool required = true) {
  return {.name = "TABLE", .help = "Table, such as ROUTE_TABLE", .word = Word::Table, .required = required};
}
Argument key() { return {.name = "KEY", .help = "Key, such as 10.0.0.0/24", .word = Word::Key}; }
/// The option --wait of commands that write a row.
Option wait(std::string_view help =
                "End when the row is done (0), rejected (1) or waits for facts (4); at most so long (75); "
                "a number needs the =, as in --wait=3") {
  return {.name = "--wait",
          .value = "SECONDS",
          .help = help,
          .word = Word::Seconds,
          .low = 0.001,
          .high = 1e6,
          .fallback = "30",
          .value_optional = true};
}
Option count(std::string_view what) { return {.name = "--count", .value = "N", .help = what, .word = Word::Number, .low = 1}; }

/// The options of a command that can have more rows than a screen.
std::vector<Option> list_options() {
  return {count("Show at most N rows; default: a screenful on a terminal, else all"),
          {.name = "--all", .value = {}, .help = "Show all rows, also on a terminal"}};
}

std::vector<Command> row_commands() {
  return {
      {.name = "set",
       .help = "Set fields of a row; the other fields stay",
       .arguments = {table(),
                     key(),
                     {.name = "FIELD=VALUE", .help = "Fields to set", .word = Word::Field, .required = false, .many = true}},
       .options = {wait(),
                   {.name = "--replace", .value = {}, .help = "The row has these fields and no others"},
                   {.name = "--unset", .value = "FIELD", .help = "Fields to remove, separated by commas; the others stay", .list = true}},
       .answered_by = Daemon | Redis,
       .examples = {{"rondo set ROUTE_TABLE 10.0.0.0/24 nexthop_group=102", "A route to the next-hop group 102:"},
                    {"rondo set --wait ROUTE_TABLE 10.0.0.0/24 nexthop_group=102", "The same, and what became of it:"}}},
      {.name = "del", .help = "Delete a row", .arguments = {table(), key()}, .options = {wait()}, .answered_by = Daemon | Redis},
      {.name = "get",
       .help = "Show a row as its consumer has taken it",
       .arguments = {table(), key()},
       .answered_by = Daemon | Redis | File},
      {.name = "keys",
       .help = "List the keys of a table",
       .arguments = {table(), {.name = "PATTERN", .help = "Only keys that match: * and ?", .word = Word::Key, .required = false}},
       .options = {count("At most so many")},
       .answered_by = Daemon | Redis | File},
      {.name = "show",
       .help = "List the rows of a table with their states and fields",
       .arguments = {table(), {.name = "PATTERN", .help = "Only keys that match: * and ?", .word = Word::Key, .required = false}},
       .options = list_options(),
       .answered_by = Daemon,
       .examples = {{"rondo show ROUTE_TABLE '10.*'", "Routes, what they ask for and what became of them:"}}},
      {.name = "tables", .help = "List the tables with their sizes", .answered_by = Daemon | File},
      {.name = "schema",
       .help = "Tables of rondod and their fields: values, defaults, units, allowed combinations; no daemon is needed",
       .arguments = {table(false)},
       .options = {{.name = "--markdown", .value = {}, .help = "All tables as a page of the guide"}},
       .answered_by = Nobody,
       .examples = {{"rondo schema ROUTE_TABLE", "What a route may say:"}}},
      {.name = "load",
       .help = "Write the rows of a JSON file in the form of SONiC's swssconfig",
       .arguments = {{.name = "FILE",
                      .help = "[{\"TABLE:key\": {\"field\": \"value\"}, \"OP\": \"SET\"}, ...]; - is standard input",
                      .word = Word::File}},
       .options = {wait("Then print what became of the rows: all installed (0), one rejected (1) or waiting (4); at most so long (75); "
                        "a number needs the =, as in --wait=3"),
                   {.name = "--dry-run", .value = {}, .help = "Print the rows instead of writing them; with the options below as --diff"},
                   {.name = "--diff", .value = {}, .help = "Print what would change: rows added (+), changed (~), removed (-), and fields"},
                   {.name = "--changes", .value = {}, .help = "Read the rows first, and write only what differs"},
                   {.name = "--replace",
                    .value = {},
                    .help = "The same as --changes, and rows that are SET get exactly the fields of the file"},
                   {.name = "--atomic", .value = {}, .help = "The same as --changes, all rows or none; for a file of some hundred rows"}},
       .answered_by = Daemon | Redis,
       .examples = {{"rondo load --diff --replace rows.json", "What a file would change:"},
                    {"rondo load --wait rows.json", "Write a file, and say what became of its rows:"}}},
  };
}

std::vector<Command> audit_commands() {
  return {
      {.name = "diff",
       .help = "How the data plane differs from what the rows ask for",
       .details =
           "The daemon reads the data plane back now. A difference is shown when two readings, 200 ms apart, have it. At most 1000 of\n"
           "addresses, neighbours, next hops and routes each are shown. Nothing is repaired.",
       .arguments = {table(false)},
       .answered_by = Daemon},
      {.name = "verify",
       .help = "Check that the data plane is as the rows ask; exit code 1 if it is not",
       .arguments = {table(false)},
       .answered_by = Daemon,
       .examples = {{"rondo verify ROUTE_TABLE || rondo resync ROUTE_TABLE", "In a script:"}}},
      {.name = "resync",
       .help = "Repair the differences in the data plane now",
       .details = "What is missing or changed is ordered again, what no row asks for is deleted. Ports, LAGs and VLANs are shown and "
                  "not changed. "
                  "Routes that\n"
                  "come back with their repaired next hops are no difference any more: 'diff' before counts them.",
       .arguments = {table(false)},
       .answered_by = Daemon},
  };
}

std::vector<Command> report_commands() {
  return {
      {.name = "why",
       .help = "Say why a row is not done yet: what it waits for, down to what is missing",
       .details = "Each fact that a row waits for leads to the row that would make it true, and so on: a row that does not exist, a fact\n"
                  "that no Orch provides, or a cycle of rows that wait for each other.",
       .arguments = {table(), key()},
       .answered_by = Daemon,
       .examples = {{"rondo why ROUTE_TABLE 10.0.0.0/24", "Why a route is not in the kernel:"}}},
      {.name = "history",
       .help = "The last changes of a row, from the journal of the daemon: when, by whom, fields before and after",
       .arguments = {table(), key()},
       .options = {count("At most N changes, up to 100; default: 20")},
       .answered_by = Daemon},
      {.name = "parked",
       .help = "What waits for which fact; with TABLE its waiting rows",
       .details = "A row is counted once: under the first of the facts that it lacks. When that one holds, the row is tried again and "
                  "moves to the\n"
                  "next that is missing. With TABLE every row has all its facts.",
       .arguments = {table(false)},
       .options = list_options(),
       .answered_by = Daemon},
      {.name = "rejected",
       .help = "Rows whose newest change was rejected, and why",
       .details = "The reasons of 1000 rows of a table are kept. For other rows the answer says so; write the row again to get its reason.",
       .arguments = {table(false)},
       .options = list_options(),
       .answered_by = Daemon},
      {.name = "watch",
       .help = "Print what changes in a table, as it happens",
       .details =
           "With the daemon: each change as its consumer takes it. On a store: first the rows, then what changes. A line GAP says that\n"
           "changes were missed because they were not read fast enough. Ends when it is interrupted, after --count changes, or after\n"
           "--timeout seconds.",
       .arguments = {table(), {.name = "PATTERN", .help = "Only keys that match: * and ?", .word = Word::Key, .required = false}},
       .options = {count("End after N changes")},
       .answered_by = Daemon | Redis,
       .examples = {{"rondo --json watch PORT_TABLE 'Ethernet*'", "Changes of ports, a JSON object a line:"}}},
      {.name = "trace",
       .help = "Follow one row from now on: written, taken, parked on what, resolved by whom, ordered, done",
       .details = "Ends as watch does. Times count from the start of the trace.",
       .arguments = {table(), key()},
       .options = {count("End after N events")},
       .answered_by = Daemon,
       .examples = {{"rondo trace ROUTE_TABLE 10.0.0.0/24", "What becomes of a route while something else sets it:"}}},
      {.name = "top",
       .help = "Show the daemon at work, live: sources, what waits for what, rates",
       .details =
           "Keys: q quits, p or the space bar pauses, t n d r l w b sort by turns, name, depth, run share, longest turn, waiting time\n"
           "or busy time; ? says so on the screen. Up, down, page up, page down, home and end move through the sources; left and right\n"
           "(or < and >) through the columns that do not fit. Without a terminal it prints one frame as text.",
       .options = {{.name = "--every",
                    .value = "SECONDS",
                    .help = "Time between two frames",
                    .word = Word::Seconds,
                    .low = 0.1,
                    .high = 3600,
                    .fallback = "1"},
                   {.name = "--once", .value = {}, .help = "Print one frame and exit"},
                   {.name = "--batch", .value = "N", .help = "Print N frames as text and exit", .word = Word::Number, .low = 1},
                   {.name = "--sort",
                    .value = "COLUMN",
                    .help = "Sort the sources by this column",
                    .word = Word::Choice,
                    .fallback = "share",
                    .choices = {"name", "turns", "share", "longest", "depth", "waiting", "busy"}}},
       .answered_by = Daemon},
  };
}

std::vector<Command> figure_commands() {
  return {
      {.name = "sources",
       .help = "Everything that takes turns, busiest first",
       .options = {{.name = "--wide", .value = {}, .help = "Show all figures"}},
       .answered_by = Daemon},
      {.name = "turns",
       .help = "Which source had the newest turns, and when",
       .details =
           "The daemon records turns while they are asked for: the first call waits for a second, later ones within ten seconds do not.\n"
           "Consecutive turns of one source are one line. The turns of this connection are among them.",
       .options = {count("Show the newest N lines, at most 8192; default: 1000"),
                   {.name = "--for",
                    .value = "SECONDS",
                    .help = "Wait until the daemon has recorded for so long",
                    .word = Word::Seconds,
                    .low = 0,
                    .high = 9,
                    .fallback = "1"}},
       .answered_by = Daemon,
       .examples = {{"rondo turns --count 20", "The last turns:"}}},
      {.name = "ports", .help = "Ports and their state", .answered_by = Daemon},
      {.name = "stats", .help = "Figures of the daemon", .answered_by = Daemon},
      {.name = "fpm", .help = "The session with FRR's zebra, the routes that it sent, and what became of them", .answered_by = Daemon},
      {.name = "restart-check",
       .help = "Check whether a restart now would interrupt work, and which; exit code 1 if it would",
       .options = {{.name = "--skip-waiting", .value = {}, .help = "Do not count rows that wait for facts as a reason"}},
       .answered_by = Daemon,
       .examples = {{"rondo restart-check && systemctl restart rondod", "In a script:"}}},
      {.name = "resources",
       .help = "The objects in the data plane, beside the room for them that [resources] states",
       .answered_by = Daemon},
      {.name = "config", .help = "The daemon's configuration, without secrets", .answered_by = Daemon},
      {.name = "health", .help = "Show what is known to be wrong; exit code 1 if something is", .answered_by = Daemon},
      {.name = "confirm",
       .help = "Allow the deletions that the safety stop holds",
       .details =
           "rondo health tells what is held, such as much of what an earlier run left in the kernel and no row asks for, or many routes\n"
           "that zebra did not send again. The answer says what is deleted now. Ends with 1 if nothing is held.",
       .answered_by = Daemon},
      {.name = "log", .help = "The newest lines of the daemon's log", .answered_by = Daemon},
      {.name = "dump",
       .help = "Collect what a support request needs in one file",
       .details =
           "A tar file of JSON files: versions, the configuration, sources, tables, what is parked, ports, figures, limits, health, the\n"
           "newest lines of the log, the kernel. Passwords, keys and tokens are left out; rows of tables are not among it. Only its\n"
           "owner may read the file.",
       .arguments = {{.name = "FILE",
                      .help = "File to write; - is standard output. Default: rondo-dump-TIME.tar in this folder",
                      .word = Word::File,
                      .required = false}},
       .answered_by = Daemon,
       .examples = {{"rondo dump", "A support bundle:"}}},
      {.name = "commands", .help = "Commands the daemon knows", .answered_by = Daemon},
      {.name = "call",
       .help = "Call a command of the daemon by its name, including commands specific to this daemon",
       .details =
           "rondo commands lists the commands with their arguments. An argument of the kind fields takes NAME.FIELD=VALUE for each field.",
       .arguments = {{.name = "COMMAND", .help = "Command of the daemon", .word = Word::Command},
                     {.name = "NAME=VALUE", .help = "Arguments of the command", .word = Word::Parameter, .required = false, .many = true}},
       .answered_by = Daemon,
       .examples = {{"rondo call drain backend=b1", "A command that a daemon of one's own has:"}}},
      {.name = "version", .help = "Version of this program and of the daemon", .answered_by = Daemon | Redis | File},
  };
}

std::vector<Command> store_commands() {
  return {
      {.name = "send",
       .help = "Send an event to a channel on a store",
       .arguments = {{.name = "TABLE", .help = "Channel, such as RESTARTCHECK", .word = Word::Table},
                     {.name = "OP", .help = "What the event is, such as port_state_change"},
                     {.name = "DATA", .help = "Subject of the event"},
                     {.name = "FIELD=VALUE", .help = "Fields of the event", .word = Word::Field, .required = false, .many = true}},
       .answered_by = Redis,
       .examples = {{"rondo --store APPL_DB send RESTARTCHECK orchagent NoFreeze=false",
                     "An event for the programs that watch a channel:"}}},
      {.name = "pending",
       .help = "Keys of a table on a store that wait for its consumer",
       .details = "A daemon's file has unacknowledged Deletes, and the entries of a Queue with their fields.",
       .arguments = {table()},
       .answered_by = Redis | File},
      {.name = "clear",
       .help = "Delete a whole table on a store: its rows, and what waits for its consumer",
       .arguments = {table()},
       .options = {{.name = "--yes", .value = {}, .help = "Do not ask for confirmation"}},
       .answered_by = Redis},
      {.name = "export",
       .help = "Print the rows of a daemon, or of the file of one, as JSON that load takes",
       .details =
           "A running daemon exports the rows of all its tables, except the table that the switch agent writes for itself. The export\n"
           "of a file omits unacknowledged Deletes and the entries of a Queue, because load could not restore them: pending shows\n"
           "both. From a damaged file it prints the undamaged rows, reports the damage and ends with 1.",
       .arguments = {table(false)},
       .answered_by = Daemon | File,
       .examples = {{"rondo export >rows.json", "A backup of a running daemon:"}}},
      {.name = "doctor",
       .help = "Check whether a Redis is fit to hold tables and what to change, or whether a daemon's file is intact",
       .options = {{.name = "--stock-peers", .value = {}, .help = "Programs built on SONiC's own library share the tables"}},
       .answered_by = Redis | File},
  };
}

std::vector<Option> feed_options() {
  return {
      {.name = "--synthetic", .value = "N", .help = "Generate this many IPv4 routes", .word = Word::Number},
      {.name = "--synthetic6", .value = "N", .help = "Generate this many IPv6 routes", .word = Word::Number},
      {.name = "--seed", .value = "S", .help = "Seed for generated routes and for the shuffle", .word = Word::Number, .fallback = "1"},
      {.name = "--groups",
       .value = "N",
       .help = "Number of next-hop groups for each address family",
       .word = Word::Number,
       .low = 1,
       .high = feed::kGroupsMax,
       .fallback = "32"},
      {.name = "--order",
       .value = "ORDER",
       .help = "Order of the rows; default: generated routes are shuffled, files keep their order",
       .word = Word::Choice,
       .choices = {"shuffled", "sorted", "as-is"}},
      {.name = "--also",
       .value = "LIST",
       .help = "Feed these tables after the routes, in this order",
       .word = Word::Choice,
       .choices = {"nexthops", "neighbors", "interfaces", "ports", "all"},
       .list = true},
      {.name = "--port-prefix", .value = "NAME", .help = "Port names begin with this", .fallback = "Ethernet"},
      {.name = "--port-first",
       .value = "N",
       .help = "Number of the first of the 8 ports",
       .word = Word::Number,
       .high = 1e6,
       .fallback = "0"},
      {.name = "--port-step",
       .value = "N",
       .help = "Step between port numbers",
       .word = Word::Number,
       .low = 1,
       .high = 1e6,
       .fallback = "4"},
      {.name = "--mtu", .value = "BYTES", .help = "MTU of the ports", .word = Word::Number, .low = 68, .high = 65535, .fallback = "9100"},
      {.name = "--withdraw", .value = {}, .help = "Delete these routes instead"},
      {.name = "--dry-run", .value = {}, .help = "Print the rows instead of writing them"},
  };
}

Argument journal_files() { return {.name = "FILE", .help = "Files of one journal, in any order", .word = Word::File, .many = true}; }

std::vector<Command> journal_commands() {
  return {
      {.name = "journal",
       .help = "Read a journal; no daemon is needed",
       .answered_by = Nobody,
       .commands =
           {{.name = "tail",
             .help = "Show the last records",
             .details =
                 "With --follow it goes on with what is written, also into the file that takes the newest one's place when the journal\n"
                 "is rotated, until it is interrupted, terminated, or the reader closes the pipe: exit code 0.",
             .arguments = {journal_files()},
             .options = {{.name = "--lines", .value = "N", .help = "Number of records", .word = Word::Number, .low = 1, .fallback = "20"},
                         {.name = "--follow", .value = {}, .help = "Then show new records as they are written"}},
             .answered_by = Nobody},
            {.name = "grep",
             .help = "Show records that contain TEXT",
             .arguments = {{.name = "TEXT", .help = "Such as 10.0.0.0/24, rejected, or nexthop-group:102"}, journal_files()},
             .answered_by = Nobody},
            {.name = "explain",
             .help = "Show what happened to one key, with the times between",
             .arguments = {key(), journal_files()},
             .options = {{.name = "--table", .value = "TABLE", .help = "Only of this table", .word = Word::Table}},
             .answered_by = Nobody,
             .examples = {{"rondo journal explain 10.0.0.0/24 /var/log/rondo/day.journal", "What became of a route:"}}},
            {.name = "export",
             .help = "Print it in a text form of SONiC's",
             .arguments = {journal_files()},
             .options = {{.name = "--swss", .value = {}, .help = "swss.rec: the changes that were taken"},
                         {.name = "--retry", .value = {}, .help = "retry.rec: what was parked, resolved and retried"}},
             .answered_by = Nobody},
            {.name = "audit",
             .help = "Compare every wait for a turn with the bound that the policy promises",
             .details = "From the recorded turns: how long each source waited, and the longest that its policy allows. Ends with 3 if a\n"
                        "wait was longer, and names the first.",
             .arguments = {journal_files()},
             .answered_by = Nobody},
            {.name = "check", .help = "Check whether a journal is intact", .arguments = {journal_files()}, .answered_by = Nobody}}},
      {.name = "replay",
       .help = "Run a recorded day again, and show the first difference",
       .arguments = {journal_files()},
       .options = {{.name = "--run", .value = "N", .help = "Which run of the file; default: the last", .word = Word::Number, .low = 1}},
       .answered_by = Nobody},
  };
}

Argument expression() { return {.name = "EXPR", .help = "Expression, such as '30 2 * * 1-5', '0 0 12 ? * 6#3' or 'Mon..Fri 10:00'"}; }
Option dialect() {
  return {.name = "--dialect",
          .value = "NAME",
          .help = "Dialect of the expression; default: detected from its form",
          .word = Word::Choice,
          .choices = {"quartz", "spring", "unix", "unix6", "systemd", "robfig"}};
}

std::vector<Command> cron_commands() {
  return {
      {.name = "cron",
       .help = "When a cron expression fires; no daemon is needed",
       .answered_by = Nobody,
       .commands = {
           {.name = "next",
            .help = "Print the next instants in UTC, one a line; NEVER when none is left",
            .arguments = {expression()},
            .options = {dialect(),
                        {.name = "--zone",
                         .value = "ZONE",
                         .help = "Time zone, such as Europe/Berlin; one in the expression takes precedence",
                         .fallback = "UTC"},
                        {.name = "--from", .value = "INSTANT", .help = "After this instant (RFC 3339); default: now"},
                        {.name = "--count",
                         .value = "N",
                         .help = "Number of records",
                         .word = Word::Number,
                         .low = 1,
                         .high = 1e6,
                         .fallback = "10"},
                        {.name = "--excluded", .value = "DAYS", .help = "Without these days, such as 'SAT, SUN, 12-24..01-01, 2026-04-03'"},
                        {.name = "--dst",
                         .value = "RULE",
                         .help = "What to do with local times that the zone skips or repeats",
                         .word = Word::Choice,
                         .fallback = "vixie",
                         .choices = {"vixie", "quartz", "spring", "systemd"}}},
            .answered_by = Nobody,
            .examples = {{"rondo cron next '30 2 * * 1-5' --zone Europe/Berlin", "02:30 in Berlin on working days:"}}},
           {.name = "explain",
            .help = "Explain the expression in words",
            .arguments = {expression()},
            .options = {dialect()},
            .answered_by = Nobody,
            .examples = {{"rondo cron explain '0 0 12 ? * 6#3'", "What it means:"}}}}}};
}

std::vector<Command> program_commands() {
  return {
      {.name = "feed",
       .help = "Write many rows: a whole routing table",
       .answered_by = Daemon | Redis,
       .commands = {{.name = "routes",
                     .help = "Routes from files, or generated with the prefix lengths of the real Internet",
                     .arguments = {{.name = "FILE",
                                    .help =
                                        "Lines of: prefix | prefix TAB origin | second TAB A|W TAB peer TAB prefix TAB origin; may be gzip",
                                    .word = Word::File,
                                    .required = false,
                                    .many = true}},
                     .options = feed_options(),
                     .answered_by = Daemon | Redis,
                     .examples = {{"rondo feed routes --synthetic 1000000 --also all", "A million routes and what they need:"}}}}},
      {.name = "workers",
       .help = "List the workers of a daemon: commands, runs under way, free places, connected since",
       .answered_by = Daemon},
      {.name = "executors", .help = "List the executors of jobs: group, address, runs, why one gets no run", .answered_by = Daemon},
      {.name = "executor-drain",
       .help = "Give no further run to an executor of jobs",
       .details = "Its runs go on. The switch outlives the daemon.",
       .arguments = {{.name = "GROUP", .help = "Group of the executor"},
                     {.name = "ADDRESS", .help = "Its address, as rondo executors lists it"}},
       .options = {{.name = "--resume", .value = {}, .help = "Give it runs again"}},
       .answered_by = Daemon,
       .examples = {{"rondo executor-drain billing http://10.0.0.5:9999", "Before a deployment:"}}},
      {.name = "tokens", .help = "List the tokens of the API over HTTP", .answered_by = Daemon},
      {.name = "token-add",
       .help = "Make a token of the API over HTTP, and print it once",
       .details = "A viewer reads, a worker takes runs, an operator also writes, an admin makes tokens.\n"
                  "With --group a viewer or operator sees and commands only the jobs and executors of that group.",
       .arguments =
           {{.name = "NAME", .help = "Name of the token"},
            {.name = "ROLE", .help = "What it allows", .word = Word::Choice, .choices = {"viewer", "worker", "operator", "admin"}}},
       .options = {{.name = "--group", .value = "GROUP", .help = "The only group of executors that it is for"}},
       .answered_by = Daemon,
       .examples = {{"rondo token-add build-7 worker > token", "A token for a worker on another host:"},
                    {"rondo token-add billing operator --group billing > token", "For the team of one group of executors:"}}},
      {.name = "token-remove",
       .help = "Remove a token of the API over HTTP, and close its connections",
       .arguments = {{.name = "NAME", .help = "Name of the token"}},
       .answered_by = Daemon},
      {.name = "worker",
       .help = "Run commands for the jobs of a daemon, from a list of allowed ones",
       .details =
           "The commands are in a configuration file; packaging/worker.toml explains it. A worker ends on SIGTERM, and its commands with\n"
           "it. On SIGHUP it reads the file again: commands and places change, and commands that run go on.",
       .options = {{.name = "--config",
                    .value = "FILE",
                    .help = "The allowed commands and the worker's own settings",
                    .word = Word::File,
                    .fallback = "/etc/rondo/worker.toml"},
                   {.name = "--check-config", .value = {}, .help = "Check the file and exit"}},
       .answered_by = Daemon,
       .examples = {{"rondo worker --config /etc/rondo/worker.toml", "A worker of this host:"}}},
      {.name = "completion",
       .help = "Print the completion of a shell",
       .arguments = {{.name = "SHELL", .help = "Shell", .word = Word::Choice, .choices = {"bash", "zsh"}}},
       .answered_by = Nobody,
       .examples = {{"source <(rondo completion bash)", "Completion for this shell:"}}},
      {.name = "complete",
       .help = "Print candidates for the last word",
       .arguments = {{.name = "WORD", .help = "The words so far", .required = false, .many = true}},
       .answered_by = Nobody,
       .hidden = true},
      {.name = "manual", .help = "Print the manual page rondo(1)", .answered_by = Nobody, .hidden = true},
  };
}

std::vector<Option> global_options() {
  return {
      {.name = "--socket", .value = "PATH", .help = "The daemon's admin socket", .word = Word::File},
      {.name = "--url", .value = "URL", .help = "A daemon on another host: https://HOST:PORT, in place of --socket"},
      {.name = "--token-file", .value = "FILE", .help = "The token for --url, in the first line", .word = Word::File},
      {.name = "--ca-file",
       .value = "FILE",
       .help = "Who may sign the daemon's certificate; default: those of the system",
       .word = Word::File},
      {.name = "--json", .value = {}, .help = "Print the result as JSON"},
      {.name = "--timeout",
       .value = "SECONDS",
       .help = "Give up after this many seconds of silence; 30, or 5 with --store. watch and trace end after this time",
       .word = Word::Seconds,
       .low = 0.001},
      {.name = "--store",
       .value = "URL",
       .help = "Tables on a Redis: redis://, rediss://, unix:// or redis+sentinel://, or a database's name such as APPL_DB; or "
               "file:///PATH"},
      {.name = "--database-config", .value = "FILE", .help = "SONiC's database_config.json, for --store APPL_DB", .word = Word::File},
      {.name = "--namespace", .value = "NAME", .help = "Namespace in SONiC's global database_config file, such as asic0"},
      {.name = "--container", .value = "NAME", .help = "Container in SONiC's global database_config file, such as dpu0"},
      {.name = "--separator",
       .value = "C",
       .help = "Separator between table and key; default: ':', or that of the database",
       .word = Word::Choice,
       .choices = {":", "|"}},
      {.name = "--kind",
       .value = "KIND",
       .help = "How the table is written or watched; default: that of the database (CONFIG_DB: watched), else staged; for watch: watched",
       .word = Word::Choice,
       .choices = {"staged", "watched", "queue", "channel"}},
  };
}

manual::Program described() {
  manual::Program rondo{
      .name = "rondo",
      .summary = "command line of rondod, the Rondo daemon",
      .description =
          "rondo talks to a running rondod over its admin socket or HTTP, or, with --store, to a Redis or to the file of a stopped "
          "daemon.\n"
          "Data goes to standard output, everything else to standard error. Options may stand before or after the command. A key\n"
          "that begins with a dash goes after --.\n\n"
          "In tables, keys, names and values \\xHH stands for one byte, both typed and shown.\n\n"
          "With --json a command prints one object on one line; watch, trace, top and journal one for each change, event, frame, record "
          "or\n"
          "file; export and --dry-run an array with an entry a line. docs/schema describes them.",
      .options = global_options(),
      .exit_codes = {{"0", "done"},
                     {"1", "failed; doctor and health: something is wrong"},
                     {"2", "wrong usage or argument"},
                     {"3", "a replay came out different; a wait was longer than its bound"},
                     {"4", "set and del with --wait: the row waits for facts; the message names a refused row that it waits for"},
                     {"69", "no daemon (or Redis) answers"},
                     {"75", "try again later"},
                     {"78", "bad input file"}},
      .environment = {{"RONDO_SOCKET", "The daemon's admin socket, without --socket."},
                      {"NO_COLOR", "If set and not empty: no colour. TERM=dumb does the same."}},
      .files = {{"/run/rondo/rondod.sock",
                 "The admin socket, without --socket and RONDO_SOCKET; else $XDG_RUNTIME_DIR/rondo/rondod.sock."}},
      .see_also = {"rondod(8)", "rondod.toml(5)"},
  };
  for (auto part : {row_commands(), report_commands(), audit_commands(), figure_commands(), store_commands(), journal_commands(),
                    cron_commands(), job_commands(), program_commands()}) {
    rondo.commands.insert(rondo.commands.end(), part.begin(), part.end());
  }
  return rondo;
}

}  // namespace

const manual::Program& program() {
  static const manual::Program kProgram = described();
  return kProgram;
}

const manual::Command* find_command(const std::vector<std::string_view>& words) {
  const std::vector<manual::Command>* among = &program().commands;
  const manual::Command* found = nullptr;
  for (const std::string_view word : words) {
    const auto place = std::ranges::find(*among, word, &manual::Command::name);
    if (place == among->end()) return nullptr;
    found = &*place;
    among = &place->commands;
  }
  return found;
}

}  // namespace rondo::cli
