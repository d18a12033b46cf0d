// HopSets: the sets of next hops that routes of FPM use, each with one row of NEXTHOP_GROUP_TABLE. The name of a set follows from its
// content, not from zebra's number: the numbers change when zebra restarts, and then neither a row nor the kernel changes. Routes count
// their references; the row of a set without one is deleted. A row that is not as it was written is written again. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/slab.h"
#include "orch/late_reports.h"
#include "rondo/base/status.h"
#include "rondo/dataplane/ip.h"
#include "rondo/store/store.h"

namespace rondo::fpm {

/// Names of groups that begin with this belong to the FPM server, and so do the routes that name them.
inline constexpr std::string_view kOwned = "fpm:";

/// One next hop whose device has a name.
struct NamedHop {
  IpAddress gateway;
  std::string device;
  std::uint16_t weight = 1;
  bool onlink = false;
  friend auto operator<=>(const NamedHop&, const NamedHop&) = default;
};

class HopSets {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// 'table' must be declared in 'store', which must outlive the sets, as must 'reports'. 'on_refused' is called for each write that the
  /// store refuses after it accepted it.
  HopSets(Store& store, std::string_view table, LateReports& reports, std::function<void(const Status& why)> on_refused)
      : store_(store), table_(table), reports_(reports), on_refused_(std::move(on_refused)), ends_(std::make_shared<Ends>(Ends{this})) {}
  ~HopSets() { ends_->sets = nullptr; }
  HopSets(const HopSets&) = delete;
  HopSets& operator=(const HopSets&) = delete;

  /// The time must not decrease.
  void set_now(Instant now) noexcept { now_ = now; }
  /// Returns the set with these hops, which may be in any order and repeat. O(hops log sets).
  std::uint32_t find_or_add(std::vector<NamedHop> hops);
  /// Returns the set of this name without a row: routes that name it wait for a row, or need none.
  std::uint32_t find_or_add_name(std::string_view name);
  // --- the rows as the table holds them. See RouteBook.

  /// Until the reading ends, delete_unused() deletes nothing: the routes of an earlier run that name a set may not have been read yet.
  void begin_reading(std::uint8_t reading) {
    reading_ = reading;
    reads_ = true;
  }
  /// The tables cannot be read.
  void give_up_reading() { reads_ = false; }
  /// Takes over a row that an earlier run wrote; it is deleted at the next delete_unused() unless a route refers to it. A known row that is
  /// not as it was written is written again by repair().
  void read(const Record& row);
  /// Finds rows that are missing. O(sets).
  void end_reading();
  /// The consumer of the table takes this Set.
  void taken(const Change& change);
  /// Another program has deleted the row.
  void removed(std::string_view name);
  bool has_repairs() const noexcept { return !repairs_.empty(); }
  /// Writes rows that are not as they were written. Stops at the first error of Store::write(), which it returns.
  Status repair();
  bool has_refused() const noexcept { return !refused_.empty() || refused_deletes_; }
  std::size_t refused() const noexcept { return refused_.size(); }
  /// Has rows written again whose write the store refused. Returns whether it refused Deletes, too: a reading finds their rows.
  bool repeat_refused();
  /// Rows written again because they were not as they were written.
  std::uint64_t repaired() const noexcept { return repaired_; }
  bool has_row(std::string_view name) const;

  /// Writes the row of the set unless it is written, or was lost since. An error is that of Store::write().
  Status write(std::uint32_t set);
  /// The store has lost the rows. O(sets).
  void rows_were_lost();
  void refer(std::uint32_t set) { ++sets_[set].references; }
  /// The row may be deleted by the next delete_unused().
  void release(std::uint32_t set);
  /// Keeps the number of the set, but not its row, for a next hop of zebra that resolves to it.
  void hold(std::uint32_t set) { ++sets_[set].holders; }
  void let_go(std::uint32_t set);
  /// Deletes the rows of sets that no route refers to, and forgets those sets that are not held, too. Stops at the first error of
  /// Store::write(), which it returns.
  Status delete_unused();

  std::string_view name(std::uint32_t set) const noexcept { return sets_[set].name; }
  /// Sets with a row.
  std::size_t rows() const noexcept { return rows_; }

 private:
  struct Set {
    std::string name;
    std::string gateways;
    std::string devices;
    std::string weights;  // Empty: 1 each.
    std::string onlinks;  // Empty: false each.
    std::uint32_t references = 0;
    std::uint32_t holders = 0;
    bool has_row = false;  // The table should have a row.
    bool written = false;
    bool lost = false;         // After it was written: its consumer has the row, and the store does not have it as it was written.
    bool changed = false;      // Lost, and the store may have another row in its place.
    bool unused = false;       // In 'unused_'.
    std::uint8_t reading = 0;  // The newest reading that found the row, or before whose end it was written.
  };
  struct Ends {
    HopSets* sets;
  };
  std::uint32_t add(std::string name);
  std::optional<std::uint32_t> find_longer_name(const std::string& name, const Set& content) const;
  void note_unused(std::uint32_t set);
  static bool is_same(const Set& a, const Set& b) noexcept;
  static std::vector<Field> fields_of(const Set& set);
  static bool is_as_written(const Set& set, const Fields& fields);
  void differs(std::uint32_t set, bool changed);
  WriteDone ended(const std::string& name);
  void refuse(const std::string& name, const Status& why);

  Store& store_;
  const std::string table_;
  LateReports& reports_;
  const std::function<void(const Status&)> on_refused_;
  std::shared_ptr<Ends> ends_;  // The store's answers may come after the end of this object.
  Slab<Set> sets_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::vector<std::uint32_t> unused_;
  std::vector<std::uint32_t> repairs_;  // Sets that are lost, and must be written without a route that asks for it.
  std::vector<std::string> refused_;    // Names of rows whose write was refused.
  bool refused_deletes_ = false;        // Of names that are not known any more.
  Instant now_;
  std::uint8_t reading_ = 0;
  bool reads_ = false;
  std::uint64_t repaired_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace rondo::fpm
