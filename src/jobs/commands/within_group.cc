// parts.h: commands about one job, for callers that may see and command the jobs of one group of executors alone.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "jobs/commands/parts.h"
#include "jobs/for_caller.h"
#include "jobs/handler_names.h"

namespace rondo::jobs {

namespace json = boost::json;

namespace {

/// A call that waits for the store.
struct Held {
  CommandHandler handler;
  json::object arguments;
  Reply reply;
};

/// 'asked': what the caller named, for an error.
void check_job(Jobs& jobs, const std::string& name, const std::string& asked, const std::shared_ptr<Held>& held) {
  ForCaller(jobs)->find(name, [asked, held](const Result<StoredJob>& stored) {
    const std::string& group = held->reply.caller().group;
    if (!stored && stored.error().code() != StatusCode::NotFound) return held->reply.fail(stored.error());
    if (!stored || !stored->job.handler.starts_with(handlers_of(group)))
      return held->reply.fail({StatusCode::NotFound, "group '" + group + "' has no " + asked});
    held->handler(Arguments{held->arguments}, held->reply);
  });
}

void check_run(Jobs& jobs, std::int64_t run, const std::shared_ptr<Held>& held) {
  ForCaller(jobs)->find_run(run, [&jobs, run, held](const Result<JobRun>& found) {
    const std::string& group = held->reply.caller().group;
    if (!found && found.error().code() != StatusCode::NotFound) return held->reply.fail(found.error());
    // A run of another group looks like none.
    const std::string asked = "run " + std::to_string(run);
    if (!found) return held->reply.fail({StatusCode::NotFound, "group '" + group + "' has no " + asked});
    check_job(jobs, found->job, asked, held);
  });
}

}  // namespace

CommandHandler within_group(Jobs& jobs, CommandHandler handler) {
  return [&jobs, handler = std::move(handler)](const Arguments& arguments, const Reply& reply) {
    if (reply.caller().group.empty()) return handler(arguments, reply);
    const auto held = std::make_shared<Held>(Held{handler, arguments.json(), reply});
    arguments.has("run") ? check_run(jobs, arguments.integer("run", 0), held)
                         : check_job(jobs, arguments.text("name"), "job '" + arguments.text("name") + "'", held);
  };
}

}  // namespace rondo::jobs
