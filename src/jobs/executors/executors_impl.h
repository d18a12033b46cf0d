// Executors::Impl: which executors there are, and which run is where. Scheduler thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/executors/executors.h"
#include "jobs/handler_names.h"
#include "jobs/pools.h"
#include "jobs/remote_runs.h"
#include "jobs/routing.h"
#include "rondo/admin/command.h"
#include "rondo/sched/timer.h"

namespace rondo::jobs::executors {

/// The answer of a standby to executors.
inline constexpr std::string_view kAtStandby = "another scheduler runs the jobs at present";

/// An address of a group.
struct Node {
  Dialect dialect = Dialect::Classic;
  bool is_manual = false;    // The settings name it. Otherwise it is one that registers.
  bool is_drained = false;   // It gets no further run. Such a node is not forgotten.
  bool has_left = false;     // It has taken leave, and has not registered since.
  Instant heard = {};        // Its last registration or answer.
  std::string trouble = {};  // Why the last call to it failed; empty: it did not, or it has registered since.
  std::size_t accepted = 0;
  std::size_t refused = 0;
};

struct Group {
  ExecutorGroup settings;
  std::map<std::string, Node> nodes;  // By address.
  Router router;
  bool is_restored = false;                   // The nodes of an earlier process are known. Before that none are stored.
  std::optional<Instant> starved_since = {};  // Since when runs wait, because no node can take one.
};

struct Lane;

/// A part of a run, at one executor. A run that is no broadcast has one.
struct Shard {
  enum class Stage : std::uint8_t {
    Waits,     // It waits for other runs of the job at the executor.
    InLine,    // It waits for other orders.
    Placed,    // It waits until the store has its address.
    Sent,      // The executor has not answered the order.
    Silent,    // The executor did not answer the order. It may have the run.
    Accepted,  // The executor has it.
    Ended,
  };
  std::string address;
  Stage stage = Stage::Waits;
  Lane* lane = nullptr;              // In which it has a place, while it is Placed or Sent.
  std::string path = {};             // To which it was sent.
  bool is_asked_again = false;       // It was sent to the path of another dialect before.
  Instant since = {};                // The begin of the stage.
  std::optional<Instant> idle = {};  // The executor has said since then that it does nothing for the job.
  Status status = {};                // How it ended.
  std::string note = {};
  bool is_discarded = false;  // By Overlap::Discard.
  std::optional<WallTime> begun = {};
  std::optional<WallTime> ended = {};
};

/// An attempt of a run that is open here.
struct OpenRun {
  AsyncRun open;
  std::string group;
  std::int64_t job = 0;
  std::int64_t log_time_ms = 0;  // See RunOrder.
  std::vector<Shard> shards = {};
  bool is_recorded = false;             // The store has its addresses. Before that nothing is sent.
  bool is_recording = false;            // It is about to have them.
  std::optional<Instant> stop_by = {};  // It was told to stop.
  Instant next_kill = {};               // When the executors are told again.
};

/// An answer to a callback that waits until the ends in it are stored, or until it is late.
struct HeldCallback {
  DoorAnswer answer;
  std::set<std::int64_t> runs;
  Instant until;
};

/// A result for a run of an earlier process that has not begun here.
struct EarlyResult {
  std::set<std::string> groups;
  CallbackItem item;
};

/// Orders that wait: the highest priority first, then the oldest.
struct Lane {
  struct Order {
    std::int64_t run;
    std::uint32_t attempt;
    std::size_t shard;
  };
  std::size_t most = 0;  // Orders without an answer.
  std::size_t in_flight = 0;
  std::map<std::string, std::map<std::pair<int, std::uint64_t>, Order>> lines;  // By address.
};

/// A run that was told to stop, and may still go on at its executor.
struct Unresolved {
  std::string group;
  std::int64_t log_id;
  Instant until;  // It counts no longer than this.
};

/// What a job has at an address: runs, each with the number of its shard.
struct AtAddress {
  using Part = std::pair<std::int64_t, std::size_t>;
  std::set<Part> waiting;  // Stage::Waits.
  std::set<Part> taken;    // From Stage::InLine on.
  std::set<Part> told;     // The executor has taken an order to stop these.
  std::size_t kills = 0;   // Orders to stop without an answer: they stop all runs of the job, so nothing is sent meanwhile.
};

/// A piece of a log that a reader may go on from.
struct LogPlace {
  std::int64_t log_id;
  std::string address;
  std::int64_t line;  // Lines before it.
  std::size_t begin;  // Their bytes.
  std::string text;
  bool is_end = false;  // The executor called it the end when the run had ended.
  Instant used;
};

/// A reader of a log.
struct LogRead {
  Reply reply;
  JobRun run;
  std::size_t shard;
  std::string group;
  bool wait;
  std::size_t from;  // The byte at which the reader goes on.
  Instant until;
  std::int64_t line = 0;  // Lines before the next question.
  std::size_t begin = 0;  // Their bytes.
};

struct Executors::Impl {
  Impl(Runtime& runtime, Jobs& jobs, ExecutorSettings settings, Call call);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // --- nodes (nodes.cc)
  /// True while another scheduler has claimed the jobs.
  /// When this scheduler takes the jobs over, reads the nodes again, which the former owner has stored.
  void follow_takeover();
  void registered(Registered registered, const DoorAnswer& answer);
  /// A call of an executor was refused.
  void call_refused(const std::string& what);
  Status may_register(const Group& group, const Registration& what) const;
  /// PermissionDenied for an IP address in none of the networks. A name is checked when a connection is made.
  Status check_network(const Address& address) const;
  /// Null: there is none.
  Node* node(const std::string& group, const std::string& address);
  /// A call to it has failed: it gets no run until it registers, or answers a probe.
  void failed(const std::string& group, const std::string& address, const Status& why);
  /// It registers or answers.
  void is_well(const std::string& group, const std::string& address);
  bool is_healthy(const Node& node) const;
  /// Those that may get a run of the job, in the order of their addresses. Whether they are idle is only known for Route::Busyover.
  /// Executors where a stopped run of the job may go on count as unhealthy if there are others. 'only': JobRun::address.
  std::vector<Candidate> candidates(const Group& group, std::int64_t job, Route route, const std::string& only) const;
  /// The nodes of a group have changed: has the store remember them, in the next turn.
  void remember(const std::string& group) {
    changed_groups.insert(group);
    find_room();
  }
  /// Has the store remember the nodes of the groups that have changed.
  void store_nodes();
  /// The same for one group whose nodes are restored. If the store cannot, tick() tries again.
  void store_nodes_of(const std::string& group, Jobs::Done<bool> done = {});
  /// Asks the store for the nodes of a group. 'then' is called when they are restored, or with the reason why they cannot be.
  void read_nodes(const std::string& group, std::function<void(const Status& read)> then = {});
  /// The nodes that an earlier process knew are used until they would have registered again.
  void restore_nodes(const std::string& group, std::string_view text);
  void list(Reply reply) const;
  boost::json::object counts() const;
  /// The answer comes when the store has the switch. If the store fails, the switch holds until this program ends, or the store has it.
  void drain(const Arguments& arguments, const Reply& reply);
  void drain(const std::string& group, const std::string& address, bool is_drained, const Reply& reply);
  Status health() const;
  /// The last call of an executor that was refused; empty: none was lately.
  std::string refusal() const;

  // --- runs (placing.cc)
  bool has_room(Group& group, std::int64_t run);
  /// For the run, or without a number for each run of the group.
  std::string why_no_room(const Group& group, std::int64_t run = 0) const;
  /// RemoteHandler::check_address.
  Result<std::string> check_address(const Group& group, const std::string& address) const;
  /// RemoteHandler::parts. After a restart of this program only the addresses of a run that has ended are known.
  std::vector<RunPart> parts_of(const JobRun& run) const;
  /// True if the run was sent to executors, or was about to be, before the start.
  bool has_begun(std::int64_t run) const;
  void begin(const std::string& group, const AsyncRun& run);
  /// The addresses for an attempt; empty: there is none at present.
  std::vector<Shard> place(Group& group, const AsyncRun& run, const JobRun& row);
  void link(OpenRun run, std::string_view addresses);
  /// Has the store record the addresses of a run, and then sends its placed shards.
  void record(std::int64_t run);
  void send_placed(OpenRun& run);

  // --- orders (orders.cc)
  void send(OpenRun& run, std::size_t shard);
  /// What the answer to an order says about the executor. The run may have ended before it.
  void take_answer(const std::string& group, const std::string& address, const Result<http::ClientAnswer>& answer, Duration took);
  void answered(std::int64_t run, std::uint32_t attempt, std::size_t shard, const Result<http::ClientAnswer>& answer);
  /// The executor certainly does not have it.
  void unsent(std::int64_t run, std::size_t shard, const Status& why);
  void accepted(OpenRun& run, std::size_t shard);

  // --- ends (ends.cc)
  /// All changes of a stage: keeps 'at_addresses' and the places in lanes.
  void set_stage(const OpenRun& run, std::size_t index, Shard& shard, Shard::Stage stage);
  void end_shard(OpenRun& run, std::size_t shard, Status status, std::string note);
  /// Ends a run if all of its shards have ended. The run may be gone afterwards.
  void finish_if_ended(std::int64_t run);
  static void end_run(const OpenRun& run);
  OpenRun& add_run(OpenRun run);
  /// Removes an open run.
  OpenRun take_run(std::int64_t run);
  /// AsyncRun::on_stop.
  void stop(std::int64_t run);
  /// Has the next runs of the job go to other executors than that of a stopped shard, if there are any.
  void avoid(const OpenRun& run, std::size_t shard);
  /// Tells the executor of a shard to stop it, unless other runs of the job are there that were not told to stop: all of them would end.
  void kill(OpenRun& run, std::size_t shard);
  /// In the next turn more may be sent or begin.
  void find_room() { room_timer.arm_at(runtime.scheduler().now()); }
  void use_room();
  /// Posts to an executor of the group, with the fields 'trace'. 'done' is called in a later turn, also with an error of the call.
  void post(const Group& group, const std::string& address, std::string_view path, std::string body, http::CallDone done,
            const std::vector<http::Field>& trace = {});
  /// Ends the calls that could not begin.
  void end_refused();

  // --- other runs of the job at the same executor (overlap.cc)
  /// Applies Job::overlap to a run before it is sent. False: it ends, and 'run' is put back.
  bool apply_overlap(OpenRun& run);
  /// The runs of the job with a shard at the address that has not ended, without 'run'.
  std::set<std::int64_t> others(const OpenRun& run, const std::string& address) const;
  /// Gives the waiting shards of the job there a place in a lane, as many as may run beside each other.
  void send_next(const std::pair<std::int64_t, std::string>& job_and_address);

  // --- lanes (lanes.cc)
  /// Has an order wait in the lane of its job, until serve().
  void enter_lane(OpenRun& run, std::size_t shard);
  /// Sends the orders that have room. Any run may be gone afterwards.
  void serve(Lane& lane);
  /// The next order that has room; it leaves the line. Empty: there is none.
  std::optional<Lane::Order> next_order(Lane& lane);
  void leave_lane(Shard& shard);

  // --- callbacks (callbacks.cc)
  void called_back(const CalledBack& results, const DoorAnswer& answer);
  enum class Taken : std::uint8_t {
    Done,     // The answer to its callback waits for nothing.
    Waits,    // The answer waits until stored() is called for the run.
    Dropped,  // There is no room for the result: the executor must send it again.
  };
  Taken take(const std::set<std::string>& groups, const CallbackItem& item);
  /// False if the run is certainly of another group.
  bool may_be_of(const std::set<std::string>& groups, std::int64_t run) const;
  /// Keeps a result for a run that has not begun here. False: there is no room.
  bool keep_early(const std::set<std::string>& groups, const CallbackItem& item);
  /// True if the end of the attempt is on its way into the store. Then stored() is called when it is there.
  bool waits_for_store(std::int64_t run, std::uint32_t attempt);
  /// A failure that an executor reports is the end of a run that was told to stop.
  void forget_unresolved(const std::set<std::string>& groups, const CallbackItem& item);
  /// No answer to a callback waits for the run any more.
  void stored(std::int64_t run);
  /// Answers the callbacks whose ends were not stored in time: their executors must send them again.
  void answer_late(Instant now);
  /// Results for runs that will not begin here.
  void drop_early();

  // --- logs (logs.cc)
  /// Executors::read_log().
  bool read_log(const JobRun& run, std::int64_t from, bool wait, const std::string& address, const Reply& reply);
  /// Has the reader go on from the nearest place before its own. True: that has bytes for it, and it is answered.
  bool go_on(LogRead& read);
  void fetch(const std::shared_ptr<LogRead>& read);
  void take_log(const std::shared_ptr<LogRead>& read, LogPiece piece, const std::string& address);
  bool repeats_end(const LogRead& read, const LogPiece& piece, const std::string& address) const;
  /// Keeps a piece for the next answers, within limits::kExecutorLogKept and limits::kLogReaders.
  void keep_place(LogPlace place);
  void answer_log(LogRead& read, const std::string& address, std::string_view text);
  void end_read(LogRead& read, const Status& why);
  void leave(const LogRead& read);
  /// Readers that wait for more output.
  void continue_reads();

  // --- what time makes due (watching.cc)
  void tick();
  /// Ends what will not be called back any more.
  void end_lost(Instant now);
  /// Tells executors again to stop what they have not stopped.
  void repeat_kills(Instant now);
  /// Why no result of the shard is expected any more; empty: one is.
  std::string why_lost(const OpenRun& run, const Shard& shard, Instant now) const;
  /// Asks executors with runs whether they do anything for the jobs of these.
  void probe_jobs(Instant now);
  void job_probed(const std::string& group, std::int64_t job, const std::string& address, const Result<http::ClientAnswer>& answer);
  /// Asks executors that have failed, and those that do not register, whether they are there.
  void probe_nodes(Instant now);
  void forget_nodes(Instant now);

  Runtime& runtime;
  Jobs& jobs;
  RemoteRuns remote{jobs};
  const ExecutorSettings settings;
  const Call call;
  std::map<std::string, Group, std::less<>> groups;
  std::map<std::int64_t, OpenRun> runs;
  std::map<std::int64_t, std::vector<Shard>> retries;      // The shards of broadcasts that have failed, for a retry or a rerun.
  std::map<std::int64_t, std::vector<Shard>> shown;        // Those of broadcasts that have ended, for parts_of().
  std::map<std::int64_t, std::vector<EarlyResult>> early;  // By run.
  std::size_t early_results = 0;
  std::map<std::int64_t, HeldCallback> held;
  std::set<std::pair<std::int64_t, std::int64_t>> held_for;  // Runs, each with a callback in 'held' that waits for it.
  std::int64_t last_callback = 0;
  std::map<std::pair<std::int64_t, std::string>, AtAddress> at_addresses;  // By job and address.
  std::map<std::pair<std::int64_t, std::string>, Unresolved> unresolved;   // The same.
  std::set<std::pair<std::int64_t, std::string>> freed;                    // Where more may be sent: for use_room().
  std::set<std::int64_t> stopped;                                          // Runs that were told to stop: for use_room().
  std::size_t in_line = 0;                                                 // Orders in lanes without a place.
  PoolChoice lane_choice;
  Lane fast{.most = settings.fast_lane, .in_flight = 0, .lines = {}};
  Lane slow{.most = settings.slow_lane, .in_flight = 0, .lines = {}};
  std::map<std::string, std::size_t> in_flight;  // By address.
  std::uint64_t last_order = 0;
  std::set<std::string> changed_groups;
  std::map<std::uint32_t, std::size_t> readers;  // By user.
  std::string last_refusal;
  std::optional<Instant> last_refused;
  std::optional<Instant> told_refusal;
  std::vector<std::shared_ptr<LogRead>> waiting_reads;
  std::vector<LogPlace> log_places;                               // The one that was used last is the last one.
  std::tuple<std::string, std::int64_t, std::string> last_probe;  // The last job that was asked for.
  Instant next_job_probe;
  Instant next_node_probe;
  ExecutorStats stats;
  std::shared_ptr<Door> door;
  std::deque<std::pair<http::CallDone, Status>> refused_calls;  // For end_refused().
  TimerSource timer;
  bool was_standby = false;
  TimerSource refused_timer;
  TimerSource room_timer;
  /// For calls that come back later: it is gone with the Impl.
  std::shared_ptr<Impl*> self = std::make_shared<Impl*>(this);
};

/// Under which JobStore::remember() has the nodes of a group.
std::string key_of_nodes(std::string_view group);

/// True for JobRun::worker of a run at executors.
bool is_at_executors(std::string_view worker) noexcept;
/// Its addresses, and when the attempt was sent; empty if that is not known.
std::vector<std::string> addresses_in(std::string_view worker);
std::optional<WallTime> sent_in(std::string_view worker);

}  // namespace rondo::jobs::executors
