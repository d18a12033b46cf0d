// `rondo journal audit`: compares every wait of a recorded run with the bound that its policy promises.
#include <boost/json.hpp>
#include <cstdio>
#include <string>

#include "base/counted.h"
#include "commands/actions.h"
#include "journal/audit.h"
#include "journal/opened.h"
#include "journal/read_progress.h"
#include "journal/walk.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

double microseconds(Duration span) { return std::chrono::duration<double, std::micro>(span).count(); }

json::object to_json(const journal::AuditReport& report) {
  json::object result{{"runs", report.runs},
                      {"parts", report.parts},
                      {"waits", report.waits},
                      {"unbounded", report.unbounded},
                      {"unknown", report.unknown},
                      {"missing", report.missing},
                      {"worst", report.worst},
                      {"worst_source", escape_text(report.worst_source)},
                      {"violations", report.violations}};
  if (report.first) {
    result["first"] = json::object{{"record", report.first->record},
                                   {"time", journal::stamp(report.first->wall)},
                                   {"source", escape_text(report.first->source)},
                                   {"priority", report.first->priority},
                                   {"waited_us", microseconds(report.first->waited)},
                                   {"bound_us", microseconds(report.first->bound)}};
  }
  return result;
}

std::string render(const journal::AuditReport& report) {
  std::string text = counted(report.waits, "wait held against its bound", "waits held against their bounds") + ", " +
                     std::to_string(report.violations) + " longer; " + std::to_string(report.unbounded) + " have no bound, of " +
                     std::to_string(report.unknown) + " the beginning is not known\n";
  if (report.missing > 0) text += counted(report.missing, "record is", "records are") + " missing: what waited then is not known\n";
  if (!report.worst_source.empty()) {
    char worst[32];
    std::snprintf(worst, sizeof worst, "%.3f", report.worst);
    text.append("nearest: '").append(visible_text(report.worst_source)).append("' waited ").append(worst).append(" of its bound\n");
  }
  if (report.first) {
    char times[96];
    std::snprintf(times, sizeof times, "waited %.1f us, and its bound is %.1f us", microseconds(report.first->waited),
                  microseconds(report.first->bound));
    text.append("first: ").append(journal::stamp(report.first->wall)).append(" record ").append(std::to_string(report.first->record));
    text.append(" '").append(visible_text(report.first->source)).append("' of priority ").append(std::to_string(report.first->priority));
    text.append(" ").append(times).append("\n");
  }
  return text;
}

journal::AuditReport audit_of(const OpenedJournal& opened, const ReadJournal& call) {
  constexpr unsigned kPasses = 2;
  ReadProgress progress(opened, call, ReadProgress::Answer::Follows, kPasses);
  progress.line().leave_nothing();
  return journal::audit(opened.files(), progress.hears());
}

}  // namespace

int audit_journal(const Options& options, const ReadJournal& call) {
  OpenedJournal opened(options, call);
  if (const auto code = opened.failed()) return *code;
  if (!options.json) opened.report_trouble();
  const journal::AuditReport report = audit_of(opened, call);
  if (options.json) {
    json::object result = to_json(report);
    result["trouble"] = opened.trouble();
    print(json_text(result) + "\n");
  } else {
    opened.report_trouble();
    print(render(report));
  }
  return finish_output(report.violations > 0 ? kExitDifferent : kExitDone);
}

}  // namespace rondo::cli
