// ToldEvents: what a life wrote to a Queue or a Channel beside what its listener was handed: the checkers of the two kinds of tables whose
// events owe no outcome. Events are numbered as they are written, from 0.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rondo/sim/checker.h"

namespace rondo::swarm {

class ToldEvents : public sim::Checker {
 public:
  /// One more is about to be written: its number.
  std::uint64_t next();
  /// How its write ended, or was refused. 'refused': nothing of it was done.
  void ended(std::uint64_t number, bool is_done, bool refused);
  /// The listener was handed it.
  virtual void heard(std::uint64_t number) = 0;

  Status see(const sim::World& world, const sim::Event& event) override;
  Status after_turn(const sim::World& world) override;

 protected:
  enum class End : std::uint8_t { Open, Done, Refused, Unknown };
  struct Entry {
    End end = End::Open;
    bool was_heard = false;
    bool was_skipped = false;      // A later one was heard, and nobody said that some are missing.
    std::uint32_t written_in = 0;  // Numbers of processes.
    std::uint32_t heard_in = 0;
  };
  virtual void was_done(std::uint64_t number) { static_cast<void>(number); }
  virtual void process_begins() {}
  void fail(std::uint64_t number, const char* what);
  /// Of what may be heard: it was written by this program, is new to this process, and is behind all that this process has heard.
  bool is_in_order(std::uint64_t number);

  std::vector<Entry> entries_;
  std::uint64_t first_ = 0;  // What was before has gone with the tables.
  std::uint64_t from_ = 0;   // In this process the next that is heard has this number or a higher one.
  std::uint32_t process_ = 0;

 private:
  Status wrong_;
};

/// Each entry that was accepted is handed out, in order, and once by each process that it meets.
class ToldQueue final : public ToldEvents {
 public:
  std::string_view name() const noexcept override { return "queue"; }
  void heard(std::uint64_t number) override;
  Status at_rest(const sim::World& world) override;

  /// Entries that a later process was handed than the one that wrote them; and of those that one was handed, how many a later one was
  /// handed again, and how many not though it came to rest.
  std::uint64_t kept() const noexcept { return kept_; }
  std::uint64_t again() const noexcept { return again_; }
  std::uint64_t dealt_with() const;

 private:
  std::uint64_t kept_ = 0;
  std::uint64_t again_ = 0;
};

/// Events come in order, and where one is missing a gap is told.
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

  std::uint64_t excused_ = 0;  // Those before may be missing: nobody listened, or a gap was told since.
  std::uint64_t gaps_ = 0;
};

}  // namespace rondo::swarm
