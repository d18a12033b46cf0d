// ToldEvents: compares the writes of a life to a Queue or a Channel with the events that its listener received: the checkers of the two
// kinds of tables whose events are not settled. Events are numbered in the order of writing, from 0.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rondo/sim/checker.h"

namespace rondo::swarm {

class ToldEvents : public sim::Checker {
 public:
  /// Returns the number of the next event, which the caller is about to write.
  std::uint64_t next();
  /// Records the end or the refusal of its write. 'refused': it had no effect.
  void ended(std::uint64_t number, bool is_done, bool refused);
  /// The listener received the event.
  virtual void heard(std::uint64_t number) = 0;

  Status see(const sim::World& world, const sim::Event& event) override;
  Status after_turn(const sim::World& world) override;

 protected:
  enum class End : std::uint8_t { Open, Done, Refused, Unknown };
  struct Entry {
    End end = End::Open;
    bool was_heard = false;
    bool was_skipped = false;      // A later one was received, and no gap was reported.
    std::uint32_t written_in = 0;  // The number of the writing process.
    std::uint32_t heard_in = 0;
  };
  virtual void was_done(std::uint64_t number) { static_cast<void>(number); }
  virtual void process_begins() {}
  void fail(std::uint64_t number, const char* what);
  /// True if the event may be received now: this program wrote it, this process has not received it, and it is later than all events that
  /// this process received.
  bool is_in_order(std::uint64_t number);

  std::vector<Entry> entries_;
  std::uint64_t first_ = 0;  // Earlier events were deleted with the tables.
  std::uint64_t from_ = 0;   // The next event received in this process must have this number or a higher one.
  std::uint32_t process_ = 0;

 private:
  Status wrong_;
};

/// Each accepted entry is delivered in order, and once to each process that reads it.
class ToldQueue final : public ToldEvents {
 public:
  std::string_view name() const noexcept override { return "queue"; }
  void heard(std::uint64_t number) override;
  Status at_rest(const sim::World& world) override;

  /// kept(): entries that a later process received than their writer. again(): entries that one process received and a later process
  /// received again. dealt_with(): received entries that a later process did not receive again although it came to rest.
  std::uint64_t kept() const noexcept { return kept_; }
  std::uint64_t again() const noexcept { return again_; }
  std::uint64_t dealt_with() const;

 private:
  std::uint64_t kept_ = 0;
  std::uint64_t again_ = 0;
};

/// Events arrive in order, and a gap is reported where one is missing.
class ToldChannel final : public ToldEvents {
 public:
  std::string_view name() const noexcept override { return "channel"; }
  void heard(std::uint64_t number) override;
  void gap();
  Status at_rest(const sim::World& world) override;

  std::uint64_t gaps() const noexcept { return gaps_; }

 private:
  void was_done(std::uint64_t number) override;
  void process_begins() override;

  std::uint64_t excused_ = 0;  // Events before this one may be missing: nothing listened, or a gap was reported since.
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::swarm
