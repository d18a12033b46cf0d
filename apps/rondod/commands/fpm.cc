// The command fpm, the FPM server's member of stats, and its lines in health.
#include <algorithm>
#include <string>

#include "base/counted.h"
#include "commands/answers.h"
#include "rondo/dataplane/limits.h"
#include "rondod/commands/commands.h"

namespace rondo::daemon {

namespace {

constexpr std::size_t kTablesShown = 16;

namespace json = boost::json;
using commands::microseconds;
using commands::sentence;
using commands::text;

json::object skipped_json(const fpm::BookFigures& book) {
  json::object skipped;
  for (std::size_t i = 1; i < fpm::kSkips; ++i) skipped[to_string(static_cast<fpm::Skip>(i))] = book.skipped[i];
  return skipped;
}

/// The name of the device that has the table, which may be no name of a VRF; empty if there is none. 'vrf_table' is 0 for a device that is
/// not a VRF.
std::string device_of_table(const CommandContext& context, std::uint32_t table) {
  std::string found;
  if (table == 0) return found;
  context.agent->port_ids().for_each_device([&](const std::string& name, const switch_agent::PortIds::Device& device) {
    if (device.vrf_table == table) found = name;
  });
  return found;
}

/// Messages of tables of no VRF. zebra also sends rondod's own routes back that it does not ignore, such as blackholes.
std::map<std::uint32_t, std::uint64_t> unknown_tables(const CommandContext& context, const fpm::BookFigures& book) {
  auto unknown = book.unknown_tables;
  unknown.erase(context.config.table);
  return unknown;
}

/// The list is short: most switches have none.
json::array unknown_tables_json(const CommandContext& context, const fpm::BookFigures& book) {
  json::array tables;
  for (const auto& [table, messages] : unknown_tables(context, book)) {
    if (tables.size() == kTablesShown) break;
    tables.push_back(json::object{{"table", table}, {"device", text(device_of_table(context, table))}, {"messages", messages}});
  }
  return tables;
}

/// A note. It is a trouble if zebra has sent nothing about [fpm] table, not even a connected route.
void add_tables_health(const CommandContext& context, const fpm::BookFigures& book, const std::string& who, json::array& troubles,
                       json::array& notes) {
  const auto unknown = unknown_tables(context, book);
  if (unknown.empty()) return;
  const auto& [table, messages] = *unknown.begin();
  const std::string device = device_of_table(context, table);
  const std::string others = unknown.size() == 1 ? "" : " and of " + counted(unknown.size() - 1, "other");
  const std::string skipped = who + counted(messages, "message") + " about table " + std::to_string(table) +
                              (device.empty() ? "" : " of the device " + device) + others +
                              (messages == 1 ? " was skipped" : " were skipped");
  const std::string vrfs = "no VRF is known to have it: a VRF has a row of VRF_TABLE, or a device whose name begins with Vrf";
  const bool has_taken = book.routes > book.stale || book.written != 0 || book.skipped[static_cast<std::size_t>(fpm::Skip::Kernel)] != 0;
  if (has_taken) return notes.push_back(sentence(skipped + ", because " + vrfs));
  const std::string own = std::to_string(context.config.fpm.table);
  troubles.push_back(sentence(skipped + ", and zebra has sent nothing about table " + own + ". [fpm] table is " + own +
                              ", and must be the table of zebra: 254, or its option -R. Or the table is that of a VRF, but " + vrfs));
}

/// A resend that does not end removes nothing.
void add_resend_health(const CommandContext& context, const fpm::ServerFigures& figures, const std::string& who, json::array& troubles) {
  if (!figures.is_late) return;
  const auto seconds = (context.runtime.clock().now() - figures.since) / std::chrono::seconds{1};
  const std::string partial =
      figures.partial == 0 ? "" : ", and an incomplete frame of " + counted(figures.partial, "byte") + " waits for its end";
  troubles.push_back(
      sentence(who + "zebra connected " + std::to_string(seconds) + " s ago, and " +
               (figures.messages == 0 ? "has sent no message" : "its resend has not ended") + partial + "; " +
               counted(figures.book.stale, "route that it has not sent again stays", "routes that it has not sent again stay") +
               " until the resend ends"));
}

void add_rows_health(const fpm::ServerFigures& figures, const std::string& who, json::array& troubles, json::array& notes) {
  const fpm::BookFigures& book = figures.book;
  if (figures.refuses) {
    troubles.push_back(sentence(who + "the store refused " + counted(book.refused_later, "write") + " of rows since the start (" +
                                book.refusal + "); each is tried again"));
  }
  if (book.other_rows_unknown != 0) {
    troubles.push_back(sentence(who + counted(book.other_rows_unknown, "row of ROUTE_TABLE is", "rows of ROUTE_TABLE are") +
                                " beyond the limit of those that it knows and spares: a route of zebra for one of "
                                "their prefixes overwrites the row"));
  }
  if (book.conflicts != 0) {
    notes.push_back(sentence(who + counted(book.conflicts, "route of zebra is", "routes of zebra are") +
                             " not written, because ROUTE_TABLE has a row of another writer for the prefix, such as " + book.conflict +
                             "; `rondo del` of that row gives zebra's route its place"));
  }
  if (book.repaired != 0) {
    notes.push_back(sentence(who + std::to_string(book.repaired) + " of its rows " + (book.repaired == 1 ? "was" : "were") +
                             " changed or deleted by others since the start" +
                             (book.last_repaired.empty() ? "" : ", the last one " + book.last_repaired) + ", and written again"));
  }
}

}  // namespace

json::value fpm_json(const CommandContext& context) {
  if (context.fpm == nullptr) return nullptr;
  const fpm::ServerFigures figures = context.fpm->figures();
  const fpm::BookFigures& book = figures.book;
  const bool connected = !figures.peer.empty();
  return json::object{
      {"endpoint", text(figures.endpoint)},
      {"peer", text(figures.peer)},
      {"session_s", connected ? json::value(microseconds(context.runtime.clock().now() - figures.since) / 1e6) : json::value(nullptr)},
      {"resync", to_string(figures.resync)},
      {"sessions", figures.sessions},
      {"resyncs", figures.resyncs},
      {"malformed", figures.malformed},
      {"refused_connections", figures.refused},
      {"last_end", sentence(figures.last_end)},
      {"bytes", figures.bytes},
      {"frames", figures.frames},
      {"routes_set", figures.routes_set},
      {"routes_deleted", figures.routes_deleted},
      {"nexthops_set", figures.nexthops_set},
      {"nexthops_deleted", figures.nexthops_deleted},
      {"answers", figures.answers},
      {"unanswered", book.unanswered},
      {"skipped", skipped_json(book)},
      {"longest_wait_us", microseconds(book.longest_wait)},
      {"routes", book.routes},
      {"stale", book.stale},
      {"silent", book.silent},
      {"unwritten", book.unwritten},
      {"waiting", book.waiting},
      {"without_room", book.without_room},
      {"left_out", book.left_out},
      {"nexthops", book.nexthops},
      {"hop_lists", book.hop_lists},
      {"members", book.members},
      {"groups", book.groups},
      {"vrfs", book.vrfs},
      {"unknown_tables", unknown_tables_json(context, book)},
      {"written", book.written},
      {"deleted", book.deleted},
      {"unchanged", book.unchanged},
      {"store_refused", book.refused},
      {"store_refused_later", book.refused_later},
      {"to_repeat", book.to_repeat},
      {"repaired", book.repaired},
      {"comparisons", figures.comparisons},
      {"other_rows", book.other_rows},
      {"other_rows_unknown", book.other_rows_unknown},
      {"conflicts", book.conflicts},
      {"rejects_as_blackholes", book.rejects_as_blackholes}};
}

void add_fpm_health(const CommandContext& context, json::array& troubles, json::array& notes) {
  if (context.fpm == nullptr) return;
  const fpm::ServerFigures figures = context.fpm->figures();
  const std::string who = "FPM at " + figures.endpoint + ": ";
  if (figures.peer.empty()) {
    const std::string why = figures.last_end.empty() ? "it has not connected since the start" : figures.last_end;
    troubles.push_back(
        sentence(who + "zebra is not connected (" + why + "); its " + counted(figures.book.routes, "route stays", "routes stay")));
  }
  constexpr unsigned kRivals = 3;
  if (figures.replaced >= kRivals) {
    troubles.push_back(
        sentence(who + std::to_string(figures.replaced) +
                 " sessions in a row were replaced by another connection, so two programs connect: only one zebra may use it"));
  }
  if (figures.malformed != 0) {
    notes.push_back(
        sentence(who + counted(figures.malformed, "session was", "sessions were") + " closed for malformed input since the start"));
  }
  if (figures.refused != 0) {
    notes.push_back(sentence(who + counted(figures.refused, "connection was", "connections were") +
                             " refused since the start; the newest, because " + figures.last_refusal));
  }
  if (figures.book.without_room != 0) {
    troubles.push_back(sentence(who + counted(figures.book.without_room, "route waits", "routes wait") +
                                " for fpm:limit, because it holds as many next hops as it may"));
  }
  if (figures.book.left_out != 0) {
    troubles.push_back(sentence(who + counted(figures.book.left_out, "route or next hop was", "routes or next hops were") +
                                " left out, because it holds as many as it may; zebra must send this again when there is room"));
  }
  if (const std::uint64_t refused = figures.book.skipped[static_cast<std::size_t>(fpm::Skip::Members)]; refused != 0) {
    notes.push_back(sentence(who + counted(refused, "route or group", "routes or groups") + " with more than " +
                             std::to_string(limits::kGroupMembers) + " next hops " + (refused == 1 ? "was" : "were") +
                             " refused since the start"));
  }
  add_resend_health(context, figures, who, troubles);
  add_rows_health(figures, who, troubles, notes);
  if (!figures.peer.empty()) add_tables_health(context, figures.book, who, troubles, notes);
  if (figures.resync == fpm::Resync::Silent && figures.book.silent != 0) {
    notes.push_back(sentence(who + counted(figures.book.silent, "route") +
                             " of protocols that zebra has sent nothing of since it connected " +
                             (figures.book.silent == 1 ? "stays" : "stay") + " for wait_s"));
  }
  if (const std::size_t waiting = figures.book.waiting - std::min(figures.book.waiting, figures.book.without_room); waiting != 0) {
    notes.push_back(sentence(who + counted(waiting, "route waits", "routes wait") + " for a next hop or a device that is not known"));
  }
}

void count_absent(const CommandContext& context, Reply reply, AbsentCounted end, fpm::RouteBook::Absent absent) {
  if (!reply.wanted()) return;
  if (context.fpm == nullptr || !context.fpm->count_absent(absent)) return end(std::move(reply), absent);
  reply.next_turn([&context, end = std::move(end), absent = std::move(absent)](Reply later) mutable {
    count_absent(context, std::move(later), std::move(end), std::move(absent));
  });
}

void add_fpm_command(DaemonAdder& commands) {
  commands.add({"fpm", "The FPM server: its session, what zebra sent and what became of it", {}, CommandEffect::Reads},
               [](CommandContext& context, Reply reply) {
                 if (context.fpm != nullptr) {
                   return count_absent(context, std::move(reply), [&context](Reply end, const fpm::RouteBook::Absent& absent) {
                     json::object answer = fpm_json(context).as_object();
                     answer["absent"] = absent.routes;
                     answer["first_absent"] = text(absent.first);
                     end.finish(answer);
                   });
                 }
                 reply.fail(Status{StatusCode::Unimplemented,
                                   "this rondod has no FPM server: set enabled = true in the section [fpm] of its configuration"});
               });
}

}  // namespace rondo::daemon
