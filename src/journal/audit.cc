#include "journal/audit.h"
#include "sched/wait_bound.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>

#include "journal/walk.h"
#include "rondo/base/limits.h"
#include "rondo/sched/policy.h"

namespace rondo::journal {

namespace {

/// Measurements of one part of a run.
struct Part {
  std::optional<PolicySettings> settings;
  PriorityUses uses{};
  Duration longest_gap{0};
};

struct Member {
  unsigned priority = 0;
  std::uint32_t weight = 1;
  std::string name;
  std::optional<Instant> ready;  // Since when it waits.
  bool known = false;            // The whole wait since 'ready' was for its turn and is in this part.
};

/// Follows the records of turns and reports to the present pass.
class Follower {
 public:
  virtual ~Follower() = default;

  void follow(const JournalWalk& walk) {
    const JournalRecord& record = walk.record();
    const bool follows = walk.raw().number == last_number_ + 1 && walk.missing() == 0;
    last_number_ = walk.raw().number;
    missed(walk.missing());
    if (record.kind == Kind::Started || !follows) time_is_known_ = record.kind == Kind::Started;
    if (record.time != Instant{} && record.kind != Kind::Link) {
      now_ = record.time;
      time_is_known_ = true;
    }
    if (record.kind == Kind::Started) {
      begin_run();
      begin_part(record.policy.get());
    } else if (!follows || record.kind == Kind::Lost) {
      running_ = 0;
      begin_part(settings_ ? &*settings_ : nullptr);
    }
    switch (record.kind) {
      case Kind::Policy: begin_part(record.policy.get()); break;
      case Kind::SourceAdded: add(record); break;
      case Kind::Weight: weigh(record); break;
      case Kind::SourceRemoved: remove(record.source); break;
      case Kind::Woken: wake(record.source); break;
      case Kind::TurnBegins: begin_turn(walk); break;
      case Kind::TurnEnds: end_turn(record); break;
      default: break;
    }
  }

 protected:
  virtual void run_begins() {}
  virtual void missed(std::uint64_t) {}
  virtual void part_begins(const PolicySettings* settings) = 0;
  virtual void members_are(unsigned priority, std::uint32_t sources, std::uint64_t weights) = 0;
  virtual void waited(const JournalWalk& walk, const Member& member, Duration wait, Duration gap) = 0;
  virtual void took(unsigned priority, Duration cost, std::uint64_t items) = 0;

 private:
  void begin_run() {
    members_.clear();
    sources_.fill(0);
    weights_.fill(0);
    running_ = 0;
    ready_ = 0;
    run_begins();
  }

  /// An open turn continues and counts in the new part, as it does in the scheduler.
  void begin_part(const PolicySettings* settings) {
    settings_ = settings == nullptr ? std::nullopt : std::optional{*settings};
    for (auto& [number, member] : members_) member.known = false;
    part_begins(settings);
    for (unsigned p = 0; p < limits::kPriorities; ++p) {
      if (sources_[p] > 0) members_are(p, sources_[p], weights_[p]);
    }
  }

  void add(const JournalRecord& record) {
    if (record.priority >= limits::kPriorities) return;
    members_[record.source] = {.priority = record.priority, .weight = 1, .name = std::string{record.name}, .ready = {}, .known = false};
    members_are(record.priority, ++sources_[record.priority], ++weights_[record.priority]);
  }

  void weigh(const JournalRecord& record) {
    const auto member = members_.find(record.source);
    if (member == members_.end()) return;
    const unsigned p = member->second.priority;
    weights_[p] += record.count - member->second.weight;
    member->second.weight = static_cast<std::uint32_t>(record.count);
    members_are(p, sources_[p], weights_[p]);
  }

  void remove(std::uint32_t number) {
    const auto member = members_.find(number);
    if (member == members_.end()) return;
    if (member->second.ready) --ready_;
    --sources_[member->second.priority];
    weights_[member->second.priority] -= member->second.weight;
    members_.erase(member);
  }

  void wake(std::uint32_t number) {
    const auto member = members_.find(number);
    if (member == members_.end() || member->second.ready) return;
    if (ready_ == 0 && running_ == 0) charged_until_ = now_;
    member->second.ready = now_;
    member->second.known = time_is_known_;
    ++ready_;
  }

  void begin_turn(const JournalWalk& walk) {
    running_ = walk.record().source;
    began_ = now_;
    const auto member = members_.find(running_);
    if (member == members_.end()) return;
    priority_ = member->second.priority;
    if (!member->second.ready) {
      waited(walk, member->second, Duration{-1}, Duration{0});
      charged_until_ = began_;  // The time before this turn is unknown.
      return;
    }
    --ready_;
    const Duration wait = began_ - *member->second.ready;
    waited(walk, member->second, member->second.known ? wait : Duration{-1}, began_ - charged_until_);
    member->second.ready.reset();
  }

  void end_turn(const JournalRecord& record) {
    if (running_ == 0) return;
    // Limited like the times of a record, so that differences never overflow.
    now_ = std::min(began_ + record.span, Instant::from_nanoseconds(kTimeMost));
    took(priority_, now_ - std::min(charged_until_, began_), record.count);
    charged_until_ = now_;
    const auto member = members_.find(running_);
    if (record.flag && member != members_.end()) {
      member->second.ready = now_;
      member->second.known = true;
      ++ready_;
    }
    running_ = 0;
  }

  std::optional<PolicySettings> settings_;
  std::unordered_map<std::uint32_t, Member> members_;
  std::array<std::uint32_t, limits::kPriorities> sources_{};
  std::array<std::uint64_t, limits::kPriorities> weights_{};
  std::uint32_t running_ = 0;
  unsigned priority_ = 0;
  std::uint64_t ready_ = 0;
  std::uint64_t last_number_ = 0;
  Instant now_;                 // The scheduler's reading; in a turn, the turn's beginning.
  bool time_is_known_ = false;  // False after missing records, until a record contains a time.
  Instant began_;
  Instant charged_until_;
};

/// The first pass: measures what each part's bound is computed from.
class Measure final : public Follower {
 public:
  std::vector<Part> parts;
  std::uint64_t runs = 0;

 private:
  void run_begins() override { ++runs; }
  void part_begins(const PolicySettings* settings) override {
    parts.emplace_back();
    if (settings != nullptr) parts.back().settings = *settings;
  }
  void members_are(unsigned priority, std::uint32_t sources, std::uint64_t weights) override {
    if (parts.empty()) part_begins(nullptr);
    PriorityUse& use = parts.back().uses[priority];
    use.sources = std::max(use.sources, sources);
    use.weights = std::max(use.weights, weights);
    // The journal does not record which sources number their arrivals, so each counts as one that does. Under Tie::Arrival only a source
    // that is alone in its priority has a bound then.
    use.numbered = true;
  }
  void waited(const JournalWalk&, const Member&, Duration, Duration gap) override {
    if (!parts.empty()) parts.back().longest_gap = std::max(parts.back().longest_gap, gap);
  }
  void took(unsigned priority, Duration cost, std::uint64_t items) override {
    if (parts.empty()) return;
    PriorityUse& use = parts.back().uses[priority];
    const auto count = static_cast<std::int64_t>(std::clamp<std::uint64_t>(items, 1, kTimeMost));
    use.longest = std::max(use.longest, cost);
    use.longest_item = std::max(use.longest_item, Duration{cost.count() / count + (cost.count() % count > 0 ? 1 : 0)});
    use.items = std::max(use.items, count);
    // A turn is limited to the rest of its quota. A source that ignores the limit can exceed the quota by all but one of its items.
    if (parts.back().settings && count > parts.back().settings->budgets[priority]) {
      use.overdraft = std::max(use.overdraft, count - 1);
    }
  }
};

/// The second pass: compares every wait with its bound.
class Compare final : public Follower {
 public:
  explicit Compare(const std::vector<Part>& parts) : parts_(parts) {}
  AuditReport report;

 private:
  void missed(std::uint64_t records) override { report.missing += records; }
  void part_begins(const PolicySettings*) override { ++part_; }
  void members_are(unsigned, std::uint32_t, std::uint64_t) override { part_ = std::max<std::size_t>(part_, 1); }
  void took(unsigned, Duration, std::uint64_t) override {}
  void waited(const JournalWalk& walk, const Member& member, Duration wait, Duration) override {
    // A file that lost records since the first pass may have more parts.
    const Part* const part = part_ == 0 || part_ > parts_.size() ? nullptr : &parts_[part_ - 1];
    if (wait < Duration{0} || part == nullptr || !part->settings) {
      ++report.unknown;
      return;
    }
    const Duration promised = wait_bound(*part->settings, part->uses, Priority{member.priority}, member.weight);
    if (promised == Duration::max()) {
      ++report.unbounded;
      return;
    }
    ++report.waits;
    const Duration bound = promised + std::min(part->longest_gap, Duration::max() - promised);
    if (bound > Duration{0}) {
      const double ratio = static_cast<double>(wait.count()) / static_cast<double>(bound.count());
      if (ratio > report.worst) report.worst_source = member.name;
      report.worst = std::max(report.worst, ratio);
    }
    if (wait <= bound) return;
    ++report.violations;
    if (!report.first) report.first = {walk.raw().number, walk.wall(), member.name, member.priority, wait, bound};
  }

  const std::vector<Part>& parts_;
  std::size_t part_ = 0;
};

/// Returns the number of records.
std::uint64_t read(const JournalFiles& files, Follower& follower, JournalWalk::OnRecords on_records) {
  for (const auto& reader : files.readers) reader->go_to(0);
  std::uint64_t records = 0;
  JournalWalk walk(files.readers);
  walk.on_progress(std::move(on_records));
  for (; walk.next(); ++records) follower.follow(walk);
  return records;
}

}  // namespace

AuditReport audit(const JournalFiles& files, const JournalWalk::OnRecords& on_records) {
  // Both passes read the same blocks, even if a journal is being written.
  Measure measure;
  const std::uint64_t first = read(files, measure, on_records);
  Compare compare(measure.parts);
  JournalWalk::OnRecords on_second;
  if (on_records) on_second = [&on_records, first](std::uint64_t done) { on_records(first + done); };
  read(files, compare, std::move(on_second));
  compare.report.runs = measure.runs;
  compare.report.parts = measure.parts.size();
  return std::move(compare.report);
}

Result<AuditReport> audit(const std::vector<std::string>& paths) {
  const Result<JournalFiles> files = JournalFiles::open(paths);
  if (!files) return failure(Status{files.error()});
  return audit(*files);
}

}  // namespace rondo::journal
