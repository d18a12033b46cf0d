// A store answers as the store in SQLite does. Method: random calls to one of each, whose answers are compared after each call. Numbers of
// runs may differ, so a run is compared by the order in which it was added. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/sanitized.h"
#include "base/testing/temporary_folder.h"
#include "jobs/job_store.h"
#include "rondo/base/random.h"
#include "rondo/jobs/job_store.h"

namespace rondo::jobs::store_model {

inline WallTime at(std::uint64_t second) { return WallTime::from_nanoseconds(static_cast<std::int64_t>(second) * 1'000'000'000); }
inline std::string text_of(const std::optional<WallTime>& time) { return time ? std::to_string(time->nanoseconds() / 1'000'000'000) : "-"; }

/// A store with the places of its runs in the order in which they were added.
struct Numbered {
  std::shared_ptr<JobStore> store;
  std::vector<std::int64_t> runs = {};
  std::map<std::int64_t, std::size_t> places = {};

  void add(std::int64_t id) {
    places[id] = runs.size();
    runs.push_back(id);
  }
  std::string text(const JobRun& run) const {
    std::string text = "run " + std::to_string(places.at(run.id)) + " of " + run.job + ": " + text_of(run.scheduled) + " " +
                       text_of(run.due) + " " + std::string{to_string(run.band)} + " " + std::string{to_string(run.state)} + " " +
                       std::to_string(run.attempt) + " " + std::to_string(run.missed) + " " + text_of(run.begun) + " " +
                       text_of(run.ended) + " '" + run.note + "' '" + run.worker + "' " + std::to_string(run.is_killed) + " '" +
                       run.parameters.value_or("none") + "' parents";
    for (const std::int64_t parent : run.parents) text += " " + std::to_string(places.at(parent));
    return text + (run.rerun_of == 0 ? "" : " again " + std::to_string(places.at(run.rerun_of))) + "\n";
  }
  std::string text(const Result<std::vector<JobRun>>& runs_read) const {
    std::string all;
    for (const JobRun& run : runs_read.value()) all += text(run);
    return all;
  }
  static std::string text(const Result<std::vector<StoredJob>>& jobs) {
    std::string all;
    for (const StoredJob& one : jobs.value()) {
      all += one.job.name + " " + one.job.handler + " " + std::to_string(one.is_running) + " " + text_of(one.next) + " " +
             one.job.stop_note + "\n";
    }
    return all;
  }
  /// All that can be read.
  std::string text(const std::vector<std::string>& names) const {
    std::string all = "jobs\n" + text(store->list("", 100)) + "due\n" + text(store->due(at(60), {}, 100)) + "unfinished\n" +
                      text(store->unfinished(0, 1'000)) + "failures\n" + text(store->failures(at(20), INT64_MAX, 5, "")) + "of g\n" +
                      text(store->failures(at(0), INT64_MAX, 100, "g"));
    for (const std::string& name : names) {
      all += "children of " + name + "\n" + text(store->children(name)) + "runs\n" + text(store->runs(name, INT64_MAX, 1'000));
      if (const auto last = store->last_ended(name).value()) all += "last " + text(*last);
      const auto job = store->find(name);
      if (!job) continue;
      const auto instants = store->instants(job->id, at(0), at(100), 1'000).value();
      for (const WallTime instant : instants) all += text_of(instant) + " ";
      if (const auto removed = store->removed_instants(job->id).value())
        all += "removed " + text_of(removed->first) + " " + text_of(removed->last);
      all += "\n";
    }
    return all;
  }
};

class Model {
 public:
  Model(std::uint64_t seed, std::shared_ptr<JobStore> one, std::shared_ptr<JobStore> other)
      : random_(seed), both_{Numbered{std::move(one)}, Numbered{std::move(other)}} {}

  void step() {
    switch (random_.below(12)) {
      case 0: return put();
      case 1: return start_or_stop();
      case 2:
        if (random_.chance(0.2)) each([name = name()](Numbered& in) { return in.store->remove(name).to_string().substr(0, 9); });
        return;
      case 3:
      case 4:
      case 5: return plan();
      case 6: return add();
      case 7:
      case 8: return finish();
      case 9: return note();
      case 10: return forget();
      default: return plan_and_undo();
    }
  }
  void compare() { ASSERT_EQ(both_[0].text(kNames), both_[1].text(kNames)) << random_.describe(); }

 private:
  std::string name() { return kNames[random_.below(kNames.size())]; }
  std::optional<WallTime> time() { return random_.chance(0.2) ? std::nullopt : std::optional{at(random_.below(80))}; }
  /// Calls both; the answers must be the same.
  template <class Call>
  void each(Call call) {
    const std::string first = call(both_[0]);
    EXPECT_EQ(first, call(both_[1])) << random_.describe();
  }

  void put() {
    Job job{.name = name(), .handler = random_.chance(0.5) ? "h" : "g/x", .note = std::to_string(random_.below(9))};
    for (const std::string& parent : kNames) {
      if (random_.chance(0.2)) job.parents.push_back(parent);
    }
    each([&, next = time()](Numbered& in) { return in.store->put(job, next)->job.note; });
  }
  void start_or_stop() {
    each([name = name(), is_running = random_.chance(0.7), next = time()](Numbered& in) {
      return in.store->set_running(name, is_running, next, "why").to_string().substr(0, 9);
    });
  }
  /// Plans of some jobs, each with runs of others below.
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, JobRun>>>> drawn_plans() {
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, JobRun>>>> plans(random_.between(1, 3));
    for (auto& [job, runs] : plans) {
      job = name();
      runs.resize(random_.below(6));
      for (std::size_t i = 0; i < runs.size(); ++i) {
        JobRun& run = runs[i].second;
        runs[i].first = i == 0 ? job : name();
        run = {.scheduled = at(random_.below(40)), .due = at(random_.below(60)), .missed = random_.below(3), .note = "n"};
        for (std::size_t parent = 0; parent < i; ++parent) {
          if (random_.chance(0.4)) run.parents.push_back(static_cast<std::int64_t>(parent));
        }
        if (random_.chance(0.1)) run.state = RunState::Skipped, run.ended = at(random_.below(60));
      }
    }
    return plans;
  }
  std::string store_plans(Numbered& in, const std::vector<std::pair<std::string, std::vector<std::pair<std::string, JobRun>>>>& drawn,
                          const std::vector<std::optional<WallTime>>& nexts, bool is_undone) {
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const auto job = in.store->find(drawn[i].first);
      if (!job) return "no job";
      plans.push_back({.job_id = job->id, .next = nexts[i]});
      for (const auto& [of, run] : drawn[i].second) {
        const auto owner = in.store->find(of);
        if (!owner) return "no job";
        plans.back().runs.push_back(run);
        plans.back().runs.back().job_id = owner->id;
      }
    }
    const Status stored = in.store->atomically([&] {
      Status planned = in.store->plan(plans);
      return planned.ok() && is_undone ? Status{StatusCode::Cancelled, "undone"} : planned;
    });
    if (is_undone) return std::string{to_string(stored.code())};
    std::string added;
    for (const Plan& plan : plans) {
      for (const JobRun& run : plan.runs) {
        added += run.id == 0 ? "-" : "+";
        if (run.id != 0) in.add(run.id);
      }
    }
    return added;
  }
  void plan() { plan(false); }
  void plan_and_undo() { plan(true); }
  void plan(bool is_undone) {
    const auto drawn = drawn_plans();
    std::vector<std::optional<WallTime>> nexts;
    for (std::size_t i = 0; i < drawn.size(); ++i) nexts.push_back(time());
    each([&](Numbered& in) { return store_plans(in, drawn, nexts, is_undone); });
  }
  void add() {
    JobRun run{.scheduled = at(random_.below(40)), .due = at(5), .band = random_.chance(0.5) ? Band::Manual : Band::Backfill};
    if (random_.chance(0.5)) run.parameters = std::string{"\0\xff", 2};
    const std::size_t count = both_[0].runs.size();
    const std::size_t again = count > 0 && random_.chance(0.3) ? random_.below(count) : count;
    each([&, of = name()](Numbered& in) -> std::string {
      const auto job = in.store->find(of);
      if (!job) return "no job";
      std::vector<JobRun> runs(2, run);
      for (JobRun& one : runs) one.job_id = job->id;
      if (again < count) runs[1].rerun_of = in.runs[again];
      EXPECT_TRUE(in.store->add_runs(runs).ok());
      std::string added;
      for (const JobRun& one : runs) {
        added += one.id == 0 ? "-" : "+";
        if (one.id != 0) in.add(one.id);
      }
      return added;
    });
  }
  void finish() {
    if (both_[0].runs.empty()) return;
    std::vector<std::pair<std::size_t, RunEnd>> ends(random_.between(1, 8));
    for (auto& [place, end] : ends) {
      place = random_.below(both_[0].runs.size());
      end = {.state = static_cast<RunState>(random_.below(7)),
             .due = at(random_.below(60)),
             .attempt = static_cast<std::uint32_t>(random_.below(4)),
             .begun = time(),
             .ended = at(random_.below(60)),
             .note = "e",
             .is_withdrawn = random_.chance(0.2)};
      if (random_.chance(0.4)) end.next = at(random_.below(80));
    }
    each([&](Numbered& in) {
      std::vector<RunEnd> own;
      for (const auto& [place, end] : ends) {
        own.push_back(end);
        own.back().id = in.runs[place];
      }
      return in.store->finish(own).to_string();
    });
  }
  void note() {
    if (both_[0].runs.empty()) return;
    const std::size_t place = random_.below(both_[0].runs.size());
    each([&, kills = random_.chance(0.3)](Numbered& in) {
      return (kills ? in.store->note_killed(in.runs[place]) : in.store->note_worker(in.runs[place], "w" + std::to_string(place)))
          .to_string();
    });
  }
  void forget() {
    const std::size_t max = random_.between(1, 10);
    each([&, by_age = random_.chance(0.5), before = at(random_.below(40))](Numbered& in) {
      if (by_age) return std::to_string(in.store->forget(before, max).value());
      while (in.store->forget_beyond(8, max).value()) {  // In which order jobs are trimmed is not promised.
      }
      return std::string{};
    });
  }

  const std::vector<std::string> kNames{"a", "b", "c/d", "e"};
  Random random_;
  std::array<Numbered, 2> both_;
};

/// 'made' returns a new store.
inline void compare_with_sqlite(const std::function<std::shared_ptr<JobStore>(const std::string& name)>& made) {
  for (std::uint64_t seed = 1; seed <= plain_or_sanitized(4U, 1U) && !testing::Test::HasFailure(); ++seed) {
    const TemporaryFolder folder;
    Model model(seed, make_sqlite_job_store(folder.file("jobs.db")).value(), made("model_" + std::to_string(seed)));
    for (int step = 0; step < 200 && !testing::Test::HasFailure(); ++step) {
      model.step();
      model.compare();
    }
  }
}

}  // namespace rondo::jobs::store_model
