#include "jobs/executors/executors.h"

#include <boost/json.hpp>
#include <random>
#include <utility>

#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

namespace {

constexpr Duration kTick = 1s;

}  // namespace

Executors::Impl::Impl(Runtime& of_runtime, Jobs& of_jobs, ExecutorSettings of_settings, Call of_call)
    : runtime(of_runtime),
      jobs(of_jobs),
      settings(std::move(of_settings)),
      call(std::move(of_call)),
      timer("executors", Priority{56}, [this] { tick(); }),
      refused_timer("executors:refused", Priority{56}, [this] { end_refused(); }),
      room_timer("executors:room", Priority{56}, [this] { use_room(); }) {
  std::random_device seeds;
  for (const ExecutorGroup& group : settings.groups) {
    Group& made = groups.try_emplace(group.name, Group{.settings = group, .nodes = {}, .router = Router{seeds()}}).first->second;
    const Dialect dialect = group.is_orth ? Dialect::Orth : Dialect::Classic;
    for (const std::string& address : group.addresses) made.nodes.try_emplace(address, Node{.dialect = dialect, .is_manual = true});
    remote.handle(handlers_of(group.name),
                  {.basic = {.begin = [this, name = group.name](const AsyncRun& run) { begin(name, run); },
                             .has_room = [this, &made](std::int64_t run) { return has_begun(run) || has_room(made, run); }},
                   .has_begun = [this](std::int64_t run) { return has_begun(run); },
                   .applies_overlap = true,
                   .why_no_room = [this, &made](std::int64_t run) { return why_no_room(made, run); },
                   .check_address = [this, &made](const std::string& address) { return check_address(made, address); },
                   .parts = [this](const JobRun& run) { return parts_of(run); }});
  }
  jobs.wait_for_handlers(std::string{kExecutorHandlers}, [](std::string_view handler) {
    return "no group of executors in the configuration serves " + std::string{handler};
  });
  door = std::make_shared<Door>(
      settings.groups,
      Door::Home{.registered = [this](Registered of, const DoorAnswer& answer) { registered(std::move(of), answer); },
                 .called_back = [this](const CalledBack& results, const DoorAnswer& answer) { called_back(results, answer); },
                 .refused = [this](const std::string& what) { call_refused(what); }});
  for (const auto& [name, group] : groups) read_nodes(name);
  runtime.scheduler().add(timer);
  runtime.scheduler().add(refused_timer);
  runtime.scheduler().add(room_timer);
  timer.arm_every(kTick, runtime.scheduler().now() + kTick);
}

Executors::Impl::~Impl() {
  for (auto& [id, run] : runs) run.open.leave();
  for (const auto& [name, group] : groups) jobs.remove_handler(handlers_of(name));
}

Executors::Executors(Runtime& runtime, Jobs& jobs, ExecutorSettings settings, Call call)
    : impl_(std::make_unique<Impl>(runtime, jobs, std::move(settings), std::move(call))) {}
Executors::~Executors() = default;

const ExecutorStats& Executors::stats() const noexcept { return impl_->stats; }
boost::json::object Executors::counts() const { return impl_->counts(); }
Status Executors::health() const { return impl_->health(); }
std::string Executors::refusal() const { return impl_->refusal(); }

bool Executors::read_log(const JobRun& run, std::int64_t from, bool wait, const std::string& address, const Reply& reply) {
  return impl_->read_log(run, from, wait, address, reply);
}

http::GateHandler Executors::door() {
  return [door = impl_->door](http::Request request, http::Answer answer, http::HttpGate& gate) {
    door->handle(std::move(request), std::move(answer), gate);
  };
}

http::BodyLimit Executors::body_limit() {
  return [door = impl_->door](const http::Request& head) { return door->body_limit(head); };
}

Status Executors::add_commands(CommandRegistry& registry) {
  Impl* const parts = impl_.get();
  Status added =
      registry.add({.name = "executors", .help = "List the executors of jobs", .effect = CommandEffect::Reads, .keeps_to_group = true},
                   [parts](const Arguments&, Reply reply) { parts->list(std::move(reply)); });
  if (!added.ok()) return added;
  return registry.add({.name = "executor-drain",
                       .help = "Give no further run to an executor, or give it runs again",
                       .arguments = {{"group", ArgumentKind::Text, true, "Name of the group"},
                                     {"address", ArgumentKind::Text, true, "Address of the executor"},
                                     {"resume", ArgumentKind::Text, false, "yes: give it runs again"}},
                       .keeps_to_group = true},
                      [parts](const Arguments& arguments, Reply reply) { parts->drain(arguments, std::move(reply)); });
}

}  // namespace rondo::jobs::executors
