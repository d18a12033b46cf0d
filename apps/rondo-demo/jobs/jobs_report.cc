#include "rondo-demo/jobs/jobs_report.h"

#include <algorithm>
#include <boost/json.hpp>
#include <climits>
#include <cstdio>
#include <set>

namespace rondo::demo {

namespace {

/// Adds the runs of one job. Returns when the last of those began that needed one attempt.
Result<WallTime> add_job(jobs::JobStore& store, const DueJob& job, JobsReport& report) {
  std::set<WallTime> open;
  for (std::uint64_t i = 0; i < job.count; ++i) open.insert(job.first + job.period * static_cast<std::int64_t>(i));
  report.due += job.count;
  WallTime last;
  std::int64_t before = INT64_MAX;
  for (;;) {
    constexpr std::size_t kPage = 1000;
    const Result<std::vector<jobs::JobRun>> page = store.runs(job.name, before, kPage);
    if (!page) return failure(page.error());
    for (const jobs::JobRun& run : *page) {
      ++report.run_rows;
      report.attempts[run.id] = run.attempt;
      if (open.erase(run.scheduled) == 0) ++report.duplicates;
      if (run.state != jobs::RunState::Succeeded || !run.begun) {
        ++report.unfinished;
        continue;
      }
      if (run.attempt <= 1) last = std::max(last, *run.begun);
      report.lateness_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (*run.begun - run.due).count())));
    }
    if (page->size() < kPage) break;
    before = page->back().id;
  }
  report.missing += open.size();
  return last;
}

std::string text_of(const ExecutorsReport& report) {
  char text[640];
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::snprintf(text, sizeof text,
                "dispatched      %llu orders at %zu executors for %llu attempts, %llu twice\n"
                "                %llu orders without a run, %llu runs without an order\ncallbacks       %llu results\n"
                "killed executor %llu orders: %llu runs ended there, %llu were retried\n"
                "hung executor   %llu orders: %llu runs ended there, %llu were retried\n"
                "drained one     %llu orders while it was drained\n",
                number(report.dispatched), report.executors, number(report.attempts), number(report.dispatched_twice),
                number(report.without_row), number(report.without_order), number(report.callbacks), number(report.killed.all),
                number(report.killed.ended_there), number(report.killed.retried), number(report.hanging.all),
                number(report.hanging.ended_there), number(report.hanging.retried), number(report.while_drained));
  return text;
}

boost::json::object json_of(const ExecutorOrders& orders) {
  return {{"orders", orders.all}, {"ended_there", orders.ended_there}, {"retried", orders.retried}};
}

void add_json(const ExecutorsReport& report, boost::json::object& object) {
  object["executors"] = report.executors;
  object["attempts"] = report.attempts;
  object["dispatched"] = report.dispatched;
  object["callbacks"] = report.callbacks;
  object["dispatched_twice"] = report.dispatched_twice;
  object["orders_without_run"] = report.without_row;
  object["runs_without_order"] = report.without_order;
  object["dispatched_while_drained"] = report.while_drained;
  object["killed_executor"] = json_of(report.killed);
  object["hanging_executor"] = json_of(report.hanging);
}

}  // namespace

Result<JobsReport> read_report(jobs::JobStore& store, const std::vector<DueJob>& jobs, std::size_t burst) {
  JobsReport report;
  WallTime first = jobs.front().first;
  WallTime last = first;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Result<WallTime> began = add_job(store, jobs[i], report);
    if (!began) return failure(began.error());
    if (i >= burst) continue;
    first = std::min(first, jobs[i].first);
    last = std::max(last, *began);
  }
  const double seconds = std::chrono::duration<double>(last - first).count();
  report.triggers_per_second = seconds > 0 ? static_cast<double>(burst) / seconds : 0;
  return report;
}

std::string to_text(const JobsReport& report) {
  char text[512];
  const auto ms = [&report](double share) { return static_cast<double>(report.lateness_ns.quantile(share)) / 1e6; };
  std::snprintf(text, sizeof text,
                "due runs        %llu\nrun rows        %llu (%llu missing, %llu duplicates, %llu without success)\n"
                "found at start  %llu runs without an end\nburst           %.0f triggers a second\n"
                "lateness        p50 %.2f ms, p99 %.2f ms, max %.2f ms (with the restart)\n",
                static_cast<unsigned long long>(report.due), static_cast<unsigned long long>(report.run_rows),
                static_cast<unsigned long long>(report.missing), static_cast<unsigned long long>(report.duplicates),
                static_cast<unsigned long long>(report.unfinished), static_cast<unsigned long long>(report.recovered),
                report.triggers_per_second, ms(0.5), ms(0.99), static_cast<double>(report.lateness_ns.max()) / 1e6);
  std::string all = text + (report.executors ? text_of(*report.executors) : std::string{});
  if (!report.schedulers) return all;
  all += "schedulers      " + std::to_string(report.schedulers->schedulers) + ", hand-over after";
  for (const Duration handover : report.schedulers->handovers) all += " " + std::to_string(handover / 1ms) + " ms";
  return all + "\n";
}

std::string to_json(const JobsReport& report) {
  namespace json = boost::json;
  json::object object{{"due", report.due},
                      {"run_rows", report.run_rows},
                      {"missing", report.missing},
                      {"duplicates", report.duplicates},
                      {"unfinished", report.unfinished},
                      {"recovered", report.recovered},
                      {"triggers_per_second", report.triggers_per_second},
                      {"lateness_us", json::object{{"p50", report.lateness_ns.quantile(0.5) / 1000},
                                                   {"p99", report.lateness_ns.quantile(0.99) / 1000},
                                                   {"max", report.lateness_ns.max() / 1000}}}};
  if (report.executors) add_json(*report.executors, object);
  if (report.schedulers) {
    object["schedulers"] = report.schedulers->schedulers;
    json::array& handovers = object["handover_ms"].emplace_array();
    for (const Duration handover : report.schedulers->handovers) handovers.push_back(handover / 1ms);
  }
  return json::serialize(object) + "\n";
}

}  // namespace rondo::demo
