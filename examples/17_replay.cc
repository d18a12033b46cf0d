// A recorded day of your own daemon, run again. The journal records what came in (changes, answers of the device, the clock) and what was
// decided. A replay gives the same to the same Orchs, without the device, and compares each decision: in a debugger it shows a user's
// fault, and before a release it shows what a changed Orch would have decided otherwise.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/replay/replay.h"
#include "rondo/sched/executor.h"

using namespace rondo;

// region: device
/// One call of a name server, and in 'status' its result.
struct Update {
  std::string name;
  std::string address;  // Empty: remove the name.
  Status status = {};
};

/// Encodes calls for the journal. Without a codec a replay ends at the first answer.
OperationCodec<Update> codec() {
  return {.encode_order = [](const Update& update, std::string& to) { to += update.name + " " + update.address; },
          .encode_answer = [](const Update&, std::string&) {},  // There is no result but the status.
          .decode_answer = [](std::string_view, Update&) { return true; }};
}
// endregion

// region: orch
class Names final : public Orch {
 public:
  /// 'retry' is a decision that this program changes between two versions.
  Names(Runtime& runtime, Executor<Update>& server, Duration retry) : Orch(runtime, "names", Priority::p1), server_(server), retry_(retry) {
    consume("HOST", this, &Names::set, &Names::remove);
  }

 private:
  Outcome set(std::string_view name, const Fields& fields) {
    const Result<std::string> address = fields.text("address");
    return address ? update(name, *address) : Outcome::reject(address.error());
  }
  Outcome remove(std::string_view name) { return update(name, ""); }
  Outcome update(std::string_view name, std::string address) {
    return stage_on(server_, 0, Update{std::string{name}, std::move(address)}, [this](const Update& answer) {
      return answer.status.ok() ? Outcome::done() : Outcome::retry_after(retry_, answer.status);
    });
  }

  Executor<Update>& server_;
  Duration retry_;
};
// endregion

/// The program itself, for a day and for its replay: the same Orchs in the same order.
struct Daemon {
  Daemon(RuntimeOptions options, Duration retry, std::function<void(std::span<Update>)> apply)
      : runtime(std::move(options)),
        server(runtime.scheduler(), std::move(apply), {.name = "server", .target = "the name server"}, codec()) {
    runtime.add<Names>(server, retry);
  }
  Runtime runtime;
  Executor<Update> server;
};

// region: day
bool record_day(const std::string& file) {
  const SystemClock clock;
  auto journal = Journal::open({.file = file}, clock);
  if (!journal) return false;
  RuntimeOptions options;
  options.clock = &clock;
  options.observer = std::move(*journal);
  unsigned calls = 0;
  Daemon daemon(std::move(options), 1ms, [&calls](std::span<Update> updates) {
    for (Update& update : updates) {
      if (++calls % 3 == 0) update.status = Status{StatusCode::Unavailable, "the name server is busy"};
    }
  });
  // endregion
  for (int host = 0; host < 20; ++host) {
    const std::string number = std::to_string(host);
    if (!daemon.runtime.table("HOST").set("host" + number, {{"address", "10.0.0." + number}}).ok()) return false;
  }
  const auto is_at_rest = [&daemon] {
    const ConsumerStats now = daemon.runtime.consumers().front();
    return now.queued == 0 && now.in_flight == 0 && now.parked == 0;
  };
  const Instant end = clock.now() + 10s;
  for (daemon.runtime.run_until_idle(); !is_at_rest() && clock.now() < end; daemon.runtime.run_until_idle()) {
    daemon.runtime.scheduler().wait(end);
  }
  return is_at_rest();
}

// region: replay
/// Runs the day again with a program that retries after 'retry'. No call reaches a name server.
Result<replay::ReplayReport> run_again(const std::string& file, Duration retry) {
  auto replay = replay::Replay::open({file});
  if (!replay) return failure(replay.error());
  Daemon daemon((*replay)->runtime_options(), retry, [](std::span<Update>) { std::puts("never called"); });
  return (*replay)->run(daemon.runtime);
}
// endregion

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("rondo-example-replay-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "day.journal").string();
  const bool recorded = record_day(file);
  const auto same = run_again(file, 1ms);
  const auto changed = run_again(file, 2ms);
  std::filesystem::remove_all(folder);
  if (!recorded || !same || !changed) return 1;
  std::printf("the same program: %s, %zu decisions\n", same->same ? "equal" : "different", static_cast<std::size_t>(same->outcomes));
  std::printf("a changed one: expected '%s', came '%s'\n", changed->expected.c_str(), changed->came.c_str());
  return same->same && same->outcomes > 20 && !changed->same ? 0 : 1;
}
