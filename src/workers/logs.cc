// parts.h: the log of a run is kept by its worker. A reader's question goes to the worker as an order, and the answer comes as an event.
#include <utility>

#include "commands/answers.h"
#include "rondo/workers/limits.h"
#include "workers/parts.h"

namespace rondo::jobs {

namespace json = boost::json;

void Workers::Parts::read_log(const Arguments& arguments, Reply reply) {
  const std::int64_t run = arguments.integer("run", 0);
  const std::int64_t from = arguments.integer("from", 0);
  if (run < 1 || from < 0) return reply.fail({StatusCode::InvalidArgument, "run is at least 1, and from at least 0"});
  if (readers.size() >= limits::kLogReaders)
    return reply.fail({StatusCode::ResourceExhausted, std::to_string(limits::kLogReaders) + " readers of logs wait for workers"});
  LogReader reader{.reply = std::move(reply),
                   .run = run,
                   .from = from,
                   .waits = arguments.flag("wait"),
                   .worker = {},
                   .others = {},
                   .until = runtime.scheduler().now() + options.log_wait};
  // The worker that has the run answers alone; of a run that has ended any worker may have the log.
  const auto placed = runs.find(run);
  for (const auto& [name, worker] : workers) {
    if (worker.orders && (placed == runs.end() || placed->second.worker == name)) reader.others.push_back(name);
  }
  const std::int64_t request = ++last_request;
  readers.emplace(request, std::move(reader));
  ask_next(request);
}

void Workers::Parts::ask_next(std::int64_t request) {
  LogReader& reader = readers.at(request);
  // Its worker gets the order first: ask_held() follows.
  if (const auto placed = runs.find(reader.run); placed != runs.end() && placed->second.open && !placed->second.is_recorded) return;
  while (!reader.others.empty()) {
    reader.worker = std::move(reader.others.back());
    reader.others.pop_back();
    const auto worker = workers.find(reader.worker);
    if (worker == workers.end() || !worker->second.orders) continue;
    worker->second.orders->row(json::object{
        {"log",
         json::object{
             {"request", request}, {"run", reader.run}, {"from", reader.from}, {"bytes", limits::kLogPiece}, {"wait", reader.waits}}}});
    worker->second.orders->flush();
    return;
  }
  const std::int64_t run = reader.run;
  Reply reply = std::move(readers.extract(request).mapped().reply);
  reply.fail({StatusCode::NotFound, "no connected worker has a log of the run " + std::to_string(run)});
}

void Workers::Parts::ask_held(std::int64_t run) {
  std::vector<std::int64_t> held;
  for (const auto& [request, reader] : readers) {
    if (reader.run == run && reader.worker.empty()) held.push_back(request);
  }
  for (const std::int64_t request : held) ask_next(request);
}

void Workers::Parts::leave_readers(const std::string& worker) {
  std::vector<std::int64_t> asked;
  for (const auto& [request, reader] : readers) {
    if (reader.worker == worker) asked.push_back(request);
  }
  for (const std::int64_t request : asked) ask_next(request);
}

}  // namespace rondo::jobs
