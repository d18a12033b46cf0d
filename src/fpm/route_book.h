// RouteBook: what zebra asks for, by VRF and prefix, and what of it is written in ROUTE_TABLE and NEXTHOP_GROUP_TABLE. It takes changes as
// fast as they arrive and merges them by VRF and prefix; write() then writes only rows that differ from what is written. So a resend of a
// full table writes nothing, and a deletion with a new route for the prefix is one change. After begin_session(), rows that the session
// does not name are stale; sweep() removes them. After a restart of zebra each routing protocol sends its routes in its own time, so a
// protocol is silent until the session has named one of its routes in the VRF, and its stale routes can be spared. Next hops, whose numbers
// zebra counts over all VRFs, are resolved into sets of named devices (hop_sets.h) when a route is written.
//
// Limits: a route whose next hops find no room has a row that waits for the group "fpm:limit", and keeps its earlier next hops until then.
// It is taken up when a route with other next hops has given up its place. So no route looks done while it is not.
//
// Owner: a row belongs to FPM if its nexthop_group begins with "fpm:". The book takes over such rows of an earlier run, and no others. It
// knows the keys of the other rows of ROUTE_TABLE, and does not write a row of zebra's over one of them: the route is in conflict until
// that row is deleted (docs/adr/0027-rows-of-fpm.md).
//
// A row of FPM must stay as the book wrote it. Three sources report a difference: the changes that the consumers of the tables take
// (route_taken, group_taken), a reading of all rows (row_reader.h), and a write that the store refuses after it accepted it. A row that
// differs is deleted and written again, in one step for its consumer. A reading arrives later than it was made: of a row that was written
// since the reading began, or that changed otherwise while its page was on its way (late_reports.h), it says nothing.
//
// Cost: O(1) for a route, and O(log(other rows)) for its first row if there are others. Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/row_index.h"
#include "base/slab.h"
#include "fpm/answer.h"
#include "fpm/decode.h"
#include "fpm/hop_lists.h"
#include "fpm/hop_sets.h"
#include "fpm/limits.h"
#include "fpm/quota.h"
#include "fpm/sources.h"
#include "fpm/vrf_slots.h"
#include "fpm/write_order.h"
#include "orch/late_reports.h"

namespace rondo::fpm {

struct BookOptions {
  std::string routes = "ROUTE_TABLE";
  std::string groups = "NEXTHOP_GROUP_TABLE";
  /// The table of zebra whose routes are those of the default VRF.
  std::uint32_t table = 254;
  /// Returns the VRF that has a table of the kernel; empty if no VRF is known to have it, and then its routes are skipped.
  VrfSlots::NameOf vrf_name = {};
  std::size_t routes_max = limits::kFpmRoutes;
  std::size_t nexthops_max = limits::kFpmNexthops;
  std::size_t members_max = limits::kFpmMembers;
  std::size_t other_rows_max = limits::kFpmOtherRows;
  /// True if routes wait for take_programmed() after their rows are written.
  bool answers = false;
  /// Returns the name of zebra's device; empty if it is unknown, and then devices_changed() is called when it has one.
  std::function<std::string(std::uint32_t device)> device_name = {};
};

struct BookFigures {
  std::size_t routes = 0;     // Held, including stale ones.
  std::size_t stale = 0;      // Not sent again in this session.
  std::size_t silent = 0;     // Of these, routes of protocols that have sent none in this session.
  std::size_t unwritten = 0;  // Rows whose newest state is not written.
  std::size_t waiting = 0;    // Routes whose next hop or device is unknown. Their rows wait too.
  std::size_t nexthops = 0;
  std::size_t hop_lists = 0;                // Distinct lists of next hops within route messages.
  std::size_t members = 0;                  // Next hops of these lists, and members of groups.
  std::size_t without_room = 0;             // Routes that wait for fpm:limit, because their next hops find no room.
  std::size_t left_out = 0;                 // Routes and next hops of this session that are not kept; zebra must send them again.
  std::size_t unanswered = 0;               // Routes that wait for the data plane, so that zebra can be told.
  std::size_t groups = 0;                   // Rows of NEXTHOP_GROUP_TABLE.
  std::size_t vrfs = 0;                     // VRFs with routes, except the default one.
  std::uint64_t written = 0;                // Sets of routes written.
  std::uint64_t deleted = 0;                // Deletes of routes written.
  std::uint64_t unchanged = 0;              // Changes that left the row as it was written.
  std::uint64_t refused = 0;                // Times that the store refused a write; it was repeated.
  std::uint64_t refused_later = 0;          // Writes that the store accepted and then refused, or whose end is unknown.
  std::size_t to_repeat = 0;                // Of these, rows that are not written again yet.
  std::string refusal;                      // The newest reason.
  std::uint64_t repaired = 0;               // Rows written again because they were not as FPM wrote them.
  std::string last_repaired;                // The key of the newest one.
  std::size_t other_rows = 0;               // Rows of ROUTE_TABLE that FPM did not write.
  std::size_t other_rows_unknown = 0;       // Further ones beyond the limit, as the last reading found them.
  std::size_t conflicts = 0;                // Routes without a row, because another row has their key.
  std::string conflict;                     // The key of one of them.
  std::uint64_t rejects_as_blackholes = 0;  // Unreachable and prohibit routes, which become blackholes.
  Duration longest_wait{0};                 // From a change to having written its row, while the store accepted rows.
  std::array<std::uint64_t, kSkips> skipped{};
  /// Tables of no known VRF, and the messages of this session that were skipped for it.
  std::map<std::uint32_t, std::uint64_t> unknown_tables;
};

class RouteBook {
 public:
  /// 'store' must outlive the book; both tables are declared.
  RouteBook(Store& store, BookOptions options);
  ~RouteBook();
  RouteBook(const RouteBook&) = delete;
  RouteBook& operator=(const RouteBook&) = delete;

  /// Sets the time from which and until which rows wait, for BookFigures::longest_wait. It must not decrease.
  void set_now(Instant now) noexcept {
    now_ = now;
    sets_.set_now(now);
  }
  /// zebra sends everything again: its numbers of next hops begin anew, and every route is stale.
  void begin_session();
  /// Takes a change. Never refuses: what has no effect is counted by its reason.
  void apply(const RouteChange& change);
  void apply(const NexthopChange& change);
  void skip(Skip why) { ++figures_.skipped[static_cast<std::size_t>(why)]; }
  /// A device has a name now, so next hops may be resolved.
  void devices_changed();
  /// The store has lost its rows, as a Redis that was emptied: the rows of this session's routes are written again. O(groups).
  void rows_were_lost();

  // --- the rows as the tables hold them (route_book_rows.cc)

  /// A reading of all rows begins, groups before routes. A row of FPM that the book does not know is taken over, and is stale. A row that
  /// differs from what the book wrote before begin_reading(), or is missing when end_reading() is called, is written again.
  void begin_reading();
  /// The tables cannot be read: nothing is known of an earlier run.
  void give_up_reading() { sets_.give_up_reading(); }
  /// Called when a page of rows is asked for, and when all its rows were given to read_group() or read_route().
  void begin_page() { reports_.begin_page(); }
  void end_page() { reports_.end_page(); }
  /// What has changed meanwhile is not known row by row: the page must not be read, and the reading begins again.
  bool is_page_void() const noexcept { return reports_.is_page_void(); }
  void read_group(const Record& row);
  void read_route(const Record& row);
  void end_reading();
  /// The consumer of ROUTE_TABLE or NEXTHOP_GROUP_TABLE takes a change of any writer. Returns whether write() has something to do.
  bool route_taken(const Change& change);
  bool group_taken(const Change& change);
  /// True if repeat_refused() has something to do: rows whose write the store refused after it had accepted it.
  bool has_refused() const noexcept { return !refused_.empty() || sets_.has_refused() || refused_deletes_; }
  /// Has them written again. Returns whether Deletes are among them whose rows only a reading finds.
  bool repeat_refused();
  std::uint64_t refused_later() const noexcept { return figures_.refused_later; }
  /// True if 'key' is a row of ROUTE_TABLE that FPM did not write, and zebra has a route for it.
  bool is_in_conflict(std::string_view key) const;
  /// True if 'key' is a row that the book wrote.
  bool owns_route(std::string_view key) const;
  bool owns_group(std::string_view key) const { return sets_.has_row(key); }

  /// Writes at most 'most' rows, and returns how many of them it examined. An error of the store leaves the rest for later.
  struct Written {
    std::size_t rows = 0;
    Status refused;
  };
  Written write(std::size_t most);
  bool has_unwritten() const noexcept {
    return !order_.empty() || examined_ < routes_.limit() || retried_ < routes_.limit() || is_judging() || reports_.has_removed() ||
           sets_.has_repairs();
  }

  /// Begins the removal of stale routes, without those of silent protocols unless 'all': write() removes them step by step until
  /// is_sweeping() is false.
  void sweep(bool all) noexcept {
    swept_ = 0;
    sweeps_all_ = all;
  }
  bool is_sweeping() const noexcept { return swept_ < routes_.limit(); }
  void stop_sweep() noexcept { swept_ = UINT32_MAX; }

  /// True if the data plane has a route of the VRF (empty: the default one) that refers to the group 'set' and has this preferred source,
  /// or that drops its packets.
  using IsProgrammed =
      std::function<bool(std::string_view vrf, const Prefix& prefix, std::string_view set, bool blackhole, const IpAddress& source)>;
  /// Asks for at most 'most' routes of this session whose rows are written, in turns, and appends those that are programmed. Each is
  /// returned once, and again after zebra has sent it again.
  void take_programmed(std::size_t most, const IsProgrammed& is_programmed, std::vector<Programmed>& programmed);
  /// Routes of this session that the data plane does not have as zebra sent them, for whatever reason.
  struct Absent {
    std::size_t routes = 0;
    std::string first;  // The key of one of them.
    std::uint32_t next = 0;
  };
  /// Counts them in steps of at most 'most' places. Returns whether there are more.
  bool count_absent(std::size_t most, const IsProgrammed& is_programmed, Absent& absent) const;
  /// True if take_programmed() has routes to ask for.
  bool has_unanswered() const noexcept { return !asked_for_.empty(); }
  /// True if something was left out in this session and there is room now: more than a sixteenth of each limit is free.
  bool wants_resend() const noexcept;
  /// Compares the tables that zebra has named with their VRFs. Returns whether zebra must send everything again, because a table has
  /// another VRF by now. O(VRFs).
  bool vrfs_have_changed() {
    vrfs_.check();
    return vrfs_.wants_resend();
  }

  const BookOptions& options() const noexcept { return options_; }
  std::size_t unwritten() const noexcept { return order_.size(); }
  std::size_t stale() const noexcept { return stale_; }
  std::size_t silent() const noexcept { return vrfs_.silent(); }
  BookFigures figures() const;

 private:
  enum class Aim : std::uint8_t { Row, NoRow };
  /// Why a route has no usable next hops.
  enum class Lack : std::uint8_t { Nothing, Room, TooMany };
  struct Route {
    Prefix prefix;
    std::uint16_t vrf = VrfSlots::kDefault;
    std::uint8_t loss = 0;  // The number of the last loss of rows before its row was written.
    Way way = Way::Unicast;
    std::uint8_t protocol = 0;
    std::uint8_t written_protocol = 0;
    Aim aim = Aim::NoRow;
    bool used = false;          // The place has a route.
    bool waiting = false;       // Counted in 'waiting_'.
    bool black = false;         // The written row has blackhole=true.
    bool unanswered = false;    // Valid while 'session' is the book's: zebra is to be told when the data plane has it.
    bool asked_for = false;     // In 'asked_for_'. It stays when the place is freed.
    bool refused = false;       // In 'refused_'. It stays, too.
    bool differs = false;       // The written row is not as it was written: it is deleted and written again.
    std::uint8_t reading = 0;   // The newest reading that found the row, or before whose end it was written.
    Lack lack = Lack::Nothing;  // Valid, like 'inline_hops', while 'session' is the book's.
    Sources::Number source = Sources::kNone;
    Sources::Number written_source = Sources::kNone;
    std::uint32_t nexthop = 0;                    // zebra's number; 0: 'inline_hops'.
    std::uint32_t inline_hops = HopLists::kNone;  // The route refers to this list.
    std::uint32_t written = HopSets::kNone;       // The set that the written row names.
    std::uint32_t session = 0;
  };
  struct Nexthop {
    NexthopChange content;
    std::uint32_t set = HopSets::kNone;  // Valid while 'epoch' is the book's.
    std::uint64_t epoch = 0;
  };
  /// What a route's next hops are.
  struct Target {
    enum class Kind : std::uint8_t { Set, Waits, Unusable } kind = Kind::Waits;
    std::uint32_t set = HopSets::kNone;
    Skip why = Skip::None;
  };

  std::uint32_t find(std::uint16_t vrf, const Prefix& prefix) const;
  std::uint32_t find_or_add(std::uint16_t vrf, const Prefix& prefix);
  std::string key_of(const Route& route) const;
  std::string source_text(Sources::Number source) const;
  void queue(std::uint32_t place);
  void queue_in_bulk(std::uint32_t place) { order_.add(place, WriteOrder::kBulk, routes_[place].prefix.length, now_); }
  void note_wait();
  void touch(Route& route);
  void set_protocol(Route& route, std::uint8_t protocol);
  void remove_route(std::uint16_t vrf, const Prefix& prefix);
  void set_lack(Route& route, Lack lack);
  void ask_for(std::uint32_t place);
  bool is_there(std::uint32_t place, const IsProgrammed& is_programmed) const;
  void set_unanswered(Route& route, bool unanswered);
  static void reset(Route& route);
  void drop_hops(Route& route);
  void set_source(Route& route, const IpAddress& source);
  void set_written_source(Route& route, Sources::Number source);
  void take_hops(Route& route, const RouteChange& change);
  void leave_out();
  void forget_nexthop(std::uint32_t id);
  void retry_refused(std::size_t most);
  Target target_of(const Route& route);
  Target target_of_nexthop(std::uint32_t id);
  Target target_of_hops(const std::vector<Hop>& hops);
  bool collect(std::uint32_t id, std::uint16_t weight, bool within_group, std::vector<Hop>& hops) const;
  Target blackhole(Way way);
  Target waits_for(std::string_view name);
  Target waits_for(std::uint32_t id);
  Target waits_for_device(std::uint32_t device);
  Status write_route(std::uint32_t place);
  Status set_row(std::uint32_t place, const Target& target);
  Status delete_row(std::uint32_t place);
  void forget(std::uint32_t place);
  void note_waiting(Route& route, bool waits);
  void examine(std::size_t most);
  void sweep_some(std::size_t most);
  std::uint32_t find_key(std::string_view key) const;
  bool is_as_written(const Route& route, const Fields& fields) const;
  void adopt(const Record& row, std::string_view group);
  void repair(std::uint32_t place);
  bool note_other(std::string_view key);
  void forget_other(std::string_view key);
  bool settle_removed(const Change* next);
  bool delete_taken(std::string_view key);
  bool is_judging() const noexcept { return judged_ < routes_.limit() || judges_others_; }
  void judge(std::size_t most);
  void judge_others(std::size_t most);
  WriteDone set_ended(std::uint32_t place);
  WriteDone delete_ended(const std::string& key);
  void note_refusal(const Status& why);

  /// What the store's answers refer to: they may come after the book's end.
  struct Ends {
    RouteBook* book;
  };

  Store& store_;
  const BookOptions options_;
  VrfSlots vrfs_;
  LateReports reports_;
  HopSets sets_;
  Slab<Route> routes_;
  RowIndex by_prefix_;
  std::unordered_map<std::uint32_t, Nexthop> nexthops_;
  Quota members_;
  HopLists lists_;  // Of routes of this session.
  Sources sources_;
  WriteOrder order_;
  Instant now_;
  Instant accepts_since_;  // Rows that waited before this waited for the store.
  bool was_refused_ = false;
  const bool hears_ends_;                // The store may refuse a row after it accepted its write.
  std::deque<std::uint32_t> asked_for_;  // Routes, each once, some of which are answered by now.
  std::size_t unanswered_ = 0;
  std::uint32_t session_ = 0;
  std::uint8_t losses_ = 0;              // Of rows, modulo 256: each loss has all rows written again.
  std::uint64_t epoch_ = 1;              // Grows when a next hop changes that may be in use.
  bool has_forgotten_ = false;           // A next hop was deleted since 'epoch_' grew.
  std::uint32_t examined_ = UINT32_MAX;  // The walk that queues routes whose next hops changed.
  std::uint32_t swept_ = UINT32_MAX;     // The walk that removes stale routes.
  std::uint32_t retried_ = UINT32_MAX;   // The walk that takes up routes that waited for room.
  bool retries_again_ = false;           // Room came during that walk.
  bool sweeps_all_ = false;
  std::size_t stale_ = 0;
  std::size_t waiting_ = 0;
  std::size_t without_room_ = 0;
  std::size_t left_out_ = 0;
  std::shared_ptr<Ends> ends_;
  std::vector<std::uint32_t> refused_;                       // Routes whose Set the store refused, each once.
  bool refused_deletes_ = false;                             // The store refused a Delete whose key the book does not know any more.
  std::map<std::string, std::uint8_t, std::less<>> others_;  // Keys of rows that FPM did not write; the newest reading that found each.
  std::size_t others_unknown_ = 0;
  std::set<std::uint32_t> conflicts_;  // Routes that have no row because of one of these.
  std::uint8_t reading_ = 0;
  std::uint32_t judged_ = UINT32_MAX;  // The walk that finds rows which the last reading did not find.
  std::string judged_other_;           // The same for the other rows: the next key.
  bool judges_others_ = false;
  BookFigures figures_;
};

/// The name of a routing protocol by its number in the kernel, such as "bgp"; the number as text if it has no name.
std::string protocol_name(std::uint8_t protocol);

}  // namespace rondo::fpm
