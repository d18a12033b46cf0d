// Readings: what the agent decides by that is in no row: what an earlier run left in the data plane, and which rows have come and are
// handled. Each is read, or taken from a recorded run, and written into the journal. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/recorded_restart.h"
#include "journal/recorder.h"

namespace rondo::switch_agent {

class Readings {
 public:
  /// Each may be null: without a journal nothing is written, and without a recorded run each function calls its 'read'.
  Readings(JournalRecorder* journal, RecordedRestart* recorded) : journal_(journal), recorded_(recorded) {}

  bool is_recorded() const noexcept { return recorded_ != nullptr; }
  /// A setting, which a replay reads for itself.
  void set(std::string_view name, std::uint64_t value) {
    if (journal_ != nullptr) journal_->note(name, std::to_string(value));
  }
  void link(const LinkEvent& event) {
    if (journal_ != nullptr) journal_->link(event);
  }
  struct Found {
    std::uint64_t objects = 0;
    std::vector<NexthopEntry> nexthops;  // And groups, among the objects.
  };
  template <class Read>
  Found found(const Read& read) {
    Found found = recorded_ != nullptr ? Found{recorded_->found(), recorded_->nexthops()} : read();
    if (journal_ != nullptr) journal_->kernel_found(found.objects, found.nexthops);
    return found;
  }
  /// A text under a name, before the first turn; empty: none.
  template <class Read>
  std::string note(std::string_view name, const Read& read) {
    std::string text = recorded_ != nullptr ? recorded_->note(name) : read();
    if (journal_ != nullptr && !text.empty()) journal_->note(name, text);
    return text;
  }
  /// True if the rows that this turn looks at have come and are handled. A replay has no store that could tell what waits in it.
  template <class Read>
  bool are_handled(const Read& read) {
    const bool are_handled = recorded_ != nullptr ? recorded_->rows_are_handled() : read();
    if (journal_ != nullptr) journal_->restart_look(are_handled);
    return are_handled;
  }
  /// What this turn deletes.
  template <class Read>
  std::vector<DeleteOrder> unwanted(const Read& read) {
    std::vector<DeleteOrder> orders = recorded_ != nullptr ? recorded_->unwanted() : read();
    if (journal_ != nullptr) journal_->unwanted(orders);
    return orders;
  }
  /// Objects that differ from their orders: a replay calls 'repair' with those that were written with drifted().
  void on_drift(RecordedRestart::OnDrift repair) {
    if (recorded_ != nullptr) recorded_->on_drift(std::move(repair));
  }
  void drifted(DriftKind kind, std::span<const DeleteOrder> objects) {
    if (journal_ != nullptr) journal_->drifted(kind, objects);
  }

 private:
  JournalRecorder* const journal_;
  RecordedRestart* const recorded_;
};

}  // namespace rondo::switch_agent
