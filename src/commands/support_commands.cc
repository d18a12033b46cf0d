// The commands for a support bundle (rondo dump): health, log. Their answers hold no secrets.
#include <sys/utsname.h>

#include <string>
#include <utility>

#include "admin/secrets.h"
#include "commands/answers.h"
#include "commands/context.h"
#include "commands/long_waits.h"
#include "commands/recent_log.h"
#include "orch/reports_health.h"
#include "rondo/admin/limits.h"
#include "rondo/journal/journal.h"
#include "rondo/sched/scheduler.h"

namespace rondo::commands {

namespace {

namespace json = boost::json;

/// Present troubles, each as a text; if there are none: "healthy". Rows that stand rejected or refused are troubles. Notes are useful to an
/// operator and need no repair: settings in use, and past events such as an older incident.
void command_health(Context& context, Reply reply) {
  Runtime& runtime = context.runtime;
  json::array troubles;
  if (const Status store = runtime.store().health(); !store.ok()) troubles.push_back(sentence("store: " + hide_secrets(store.message())));
  const StoreReport report = runtime.store().report();
  for (const std::string& trouble : report.troubles) troubles.push_back(sentence(hide_secrets(trouble)));
  runtime.scheduler().for_each_source([&troubles](const Source& source) {
    if (const auto* const part = dynamic_cast<const ReportsHealth*>(&source); part != nullptr && !part->health().ok()) {
      troubles.push_back(sentence(std::string{source.name()} + ": " + std::string{part->health().message()}));
    }
  });
  for (const std::string& still : runtime.standstills(limits::kAdminPageRows)) troubles.push_back(sentence(still));
  json::array notes;
  for (const std::string& note : report.notes) notes.push_back(sentence(hide_secrets(note)));
  for (const std::string& why : policy_warnings(runtime.scheduler().policy().settings())) notes.push_back(sentence("policy: " + why));
  const auto count = [&notes](std::uint64_t number, std::string_view what) {
    if (number != 0) notes.push_back(sentence(std::to_string(number) + " " + std::string{what}));
  };
  const JournalStats journal = Journal::stats_of(runtime);
  if (!journal.last_error.ok()) troubles.push_back(sentence("journal: " + std::string{journal.last_error.message()}));
  count(journal.write_errors, "writes of the journal failed since the start");
  count(journal.dropped, "records of the journal were dropped since the start");
  for (const ConsumerStats& table : runtime.consumers()) {
    if (troubles.size() >= limits::kAdminPageRows) continue;
    if (const std::string still = standstill_text(table); !still.empty()) troubles.push_back(sentence(still));
    if (const std::string silent = unanswered_text(table); !silent.empty()) troubles.push_back(sentence(silent));
    if (const std::string held = hold_text(table); !held.empty()) notes.push_back(sentence(held));
    if (table.rejected_rows != 0) {
      troubles.push_back(sentence("rows of " + table.table + " that stand rejected: " + std::to_string(table.rejected_rows) +
                                  "; the newest of them: " + hide_secrets(table.standing_reject)));
    }
    if (table.delayed_rows != 0) {
      troubles.push_back(sentence("rows of " + table.table + " that are refused and tried again: " + std::to_string(table.delayed_rows) +
                                  "; the first of them: " + hide_secrets(table.first_delay)));
    }
  }
  report_long_waits(runtime, notes);
  context.incidents.check(runtime, context.failures);
  context.incidents.report(runtime.clock().now(), troubles, notes);
  if (context.options.add_health) context.options.add_health(troubles, notes);
  for (json::array* const texts : {&troubles, &notes}) {
    for (json::value& one : *texts) make_visible(one);
  }
  utsname system{};
  ::uname(&system);
  reply.finish(json::object{{"healthy", troubles.empty()},
                            {"troubles", std::move(troubles)},
                            {"notes", std::move(notes)},
                            {"kernel", json::object{{"system", text(system.sysname)},
                                                    {"release", text(system.release)},
                                                    {"version", text(system.version)},
                                                    {"machine", text(system.machine)}}}});
}

void command_log(Context& context, Reply reply) {
  const RecentLog* const log = context.options.log;
  answer_each(std::move(reply), log == nullptr ? std::vector<std::string>{} : log->lines(), [](const std::string& line) {
    return json::object{{"line", text(hide_secrets(line))}};
  });
}

}  // namespace

void add_support_commands(StandardAdder& commands) {
  commands.add({"health", "Known troubles, notes, and the kernel", {}, CommandEffect::Reads}, command_health);
  commands.add({"log", "The newest lines of the daemon's log, without secrets", {}, CommandEffect::Reads}, command_log);
}

}  // namespace rondo::commands
