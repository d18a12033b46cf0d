#include "rondo/jobs/workers.h"

#include <utility>

#include "jobs/commands/parts.h"
#include "jobs/workers/workers_impl.h"

namespace rondo::jobs {

Workers::Workers(Runtime& runtime, Jobs& jobs) : Workers(runtime, jobs, WorkersOptions{}) {}
Workers::Workers(Runtime& runtime, Jobs& jobs, const WorkersOptions& options) : impl_(std::make_unique<Impl>(runtime, jobs, options)) {}
Workers::~Workers() = default;

const WorkersStats& Workers::stats() const noexcept { return impl_->stats; }
Status Workers::health() const { return impl_->health(); }

Status Workers::add_commands(CommandRegistry& registry) {
  Impl* const parts = impl_.get();
  Status added =
      registry.add({.name = "worker-orders",
                    .help = "For worker programs: connect, and receive orders",
                    .arguments = {{"worker", ArgumentKind::Text, true, "Name of the worker"},
                                  {"places", ArgumentKind::Integer, true, "Runs that it takes at a time"},
                                  {"offers", ArgumentKind::Fields, true, "Its commands, each with the runs that it takes at a time"},
                                  {"runs", ArgumentKind::Fields, false, "Runs that it has, each with its command"},
                                  {"more", ArgumentKind::Flag, false, "It has further runs: the next reports have them"}},
                    .effect = CommandEffect::Works},
                   [parts](const Arguments& arguments, Reply reply) { parts->connect(arguments, std::move(reply)); });
  if (!added.ok()) return added;
  added = registry.add({.name = "worker-report",
                        .help = "For worker programs: report what became of runs",
                        .arguments = {{"session", ArgumentKind::Text, true, "From the answer of worker-orders"},
                                      {"events", ArgumentKind::Rows, true, "started, progress and end of runs; log for a reader; checked"},
                                      {"places", ArgumentKind::Integer, false, "With offers: the runs that it takes at a time from now on"},
                                      {"offers", ArgumentKind::Fields, false, "Its commands from now on, as in worker-orders"},
                                      {"runs", ArgumentKind::Fields, false, "Further runs that it has, as in worker-orders"},
                                      {"more", ArgumentKind::Flag, false, "With runs: there are further ones"},
                                      {"trouble", ArgumentKind::Text, false, "Why it cannot write its state; empty: it can"}},
                        .effect = CommandEffect::Works,
                        .is_reported = false},
                       [parts](const Arguments& arguments, Reply reply) { parts->report(arguments, std::move(reply)); });
  if (!added.ok()) return added;
  added = registry.add({.name = "workers", .help = "List the workers with their commands", .effect = CommandEffect::Reads},
                       [parts](const Arguments&, Reply reply) {
                         if (parts->remote.is_standby()) return reply.fail({StatusCode::FailedPrecondition, std::string{kAskOwner}});
                         parts->list(std::move(reply));
                       });
  if (!added.ok()) return added;
  return registry.add({.name = "job-log",
                       .help = "Show the log of a run that a worker carried out",
                       .arguments = {{"run", ArgumentKind::Integer, true, "Number of the run"},
                                     {"from", ArgumentKind::Integer, false, "First byte; default: 0"},
                                     {"wait", ArgumentKind::Flag, false, "Wait until there is more, or the run ends"},
                                     {"worker", ArgumentKind::Text, false, "The worker of the piece before; default: any"}},
                       .effect = CommandEffect::Reads,
                       .keeps_to_group = true},
                      within_group(parts->jobs, [parts](const Arguments& arguments, Reply reply) {
                        if (parts->remote.is_standby()) return reply.fail({StatusCode::FailedPrecondition, std::string{kAskOwner}});
                        parts->read_log(arguments, std::move(reply));
                      }));
}

}  // namespace rondo::jobs
