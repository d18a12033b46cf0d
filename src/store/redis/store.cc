// See rondo/store/redis_store.h.
#include "rondo/store/redis_store.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/sched/timer.h"
#include "rondo/store/redis_limits.h"
#include "store/completions.h"
#include "store/redis/channel_subscription.h"
#include "store/redis/connection.h"
#include "store/redis/epoch.h"
#include "store/redis/lease.h"
#include "store/redis/name_roots.h"
#include "store/redis/queue_subscription.h"
#include "store/redis/reader.h"
#include "store/redis/report.h"
#include "store/redis/sentinel_finder.h"
#include "store/redis/staged_subscription.h"
#include "store/redis/watched_subscription.h"
#include "store/redis/writer.h"
#include "store/subscription_handle.h"
#include "store/table_rules.h"

namespace rondo {

namespace {

using redis::Connection;
using redis::RemoteSubscription;
using redis::Reply;

/// The channel on which Redis reports changed keys to a RESP2 client that requested it.
constexpr std::string_view kInvalidations = "__redis__:invalidate";
constexpr Duration kTick = 1s;

bool is_popped(const RemoteSubscription& subscription) {
  return subscription.spec().kind == TableKind::Staged || subscription.spec().kind == TableKind::Queue;
}

redis::ConnectionOptions connection_options(const RedisStoreOptions& options, std::string_view role, bool subscriber) {
  return {.name = options.name + ":" + std::string{role},
          .priority = options.priority,
          .connect_timeout = options.connect_timeout,
          // WAIT answers late by design.
          .answer_timeout = options.answer_timeout + (options.replicas > 0 && !subscriber ? options.replicas_timeout : Duration{0}),
          .backoff_low = options.backoff_low,
          .backoff_high = options.backoff_high,
          .seed = options.seed + (subscriber ? 1 : 0),
          .subscriber = subscriber,
          .master_only = !options.address.sentinels.empty()};
}

}  // namespace

struct RedisStore::Impl final : Connection::User {
  Impl(Scheduler& on, RedisStoreOptions given)
      : scheduler(on),
        options(std::move(given)),
        completions(on, options.name, options.priority),
        commands(on, options.address, connection_options(options, "commands", false), *this),
        events(on, options.address, connection_options(options, "events", true), *this),
        link{on, commands, events, options, stats},
        writer(commands, completions, stats, options),
        reader(commands, completions, options.scan_keys_max),
        epoch(commands, stats, [this](bool while_connected) { failed_over(while_connected); }),
        lease(link, {.granted = [this] { lease_granted(); }, .paused = [this] { lease_paused(); }}),
        timer(options.name + ":tick", options.priority, [this] { tick(); }) {
    link.on_fenced = [this] { lease.fenced(); };
    on.add(timer);
    timer.arm_every(kTick, on.now() + kTick);
    if (options.address.sentinels.empty()) {
      commands.start();
      events.start();
      return;
    }
    finder = std::make_unique<redis::SentinelFinder>(on, connection_options(options, "sentinel", false), options.address,
                                                     [this](const RedisAddress& master) { found_master(master); });
    finder->find();
  }

  redis::Target* find(std::string_view table) {
    const auto found = tables.find(table);
    return found == tables.end() ? nullptr : &found->second;
  }

  // --- Connection::User
  void connected(Connection& connection) override;
  void lost(Connection& connection, const Status& why, bool was_connected) override;
  void message(const Reply& message) override;
  void before_send(Connection& connection) override {
    if (&connection != &commands) return;
    go_on();
    writer.send();
  }

  /// Called with the master's address from the Sentinels.
  void found_master(const RedisAddress& master);
  /// Called when the server, or its data, is not the one seen before.
  void failed_over(bool while_connected);

  bool is_consumed() const;
  void lease_granted();
  void lease_paused();

  // --- both connections
  void come_up();
  void go_down();
  using Prefixes = std::set<std::string, std::less<>>;
  void track(const RemoteSubscription& subscription);
  void start_tracking(const Prefixes& prefixes);
  void stop_tracking();
  void bring_online(const std::shared_ptr<RemoteSubscription>& subscription);
  void ask_channel(const std::string& channel);
  void check_unconfirmed();
  void subscribed(std::string_view channel);
  void invalidated(const Reply& keys);
  void tick();
  void report_unreachable();
  /// Why the connections are not usable; ok if they are.
  Status connection_trouble() const {
    if (finder != nullptr && !commands.is_connected() && !finder->trouble().ok()) return finder->trouble();
    if (!commands.is_connected()) return commands.trouble();
    if (link.up) return {};
    return events.trouble().ok() ? Status{StatusCode::Unavailable, "subscribing"} : events.trouble();
  }
  /// Continues the work for which subscriptions had no time in an earlier turn.
  void go_on();
  Status trouble_of_tables();
  std::vector<std::shared_ptr<RemoteSubscription>> living();

  std::shared_ptr<RemoteSubscription> find_or_make(redis::Target& target);
  void adopt(const std::shared_ptr<RemoteSubscription>& subscription);

  Scheduler& scheduler;
  const RedisStoreOptions options;
  RedisStoreStats stats;
  store::Completions completions;
  Connection commands;
  Connection events;
  std::unique_ptr<redis::SentinelFinder> finder;
  redis::Link link;
  redis::Writer writer;
  redis::Reader reader;
  redis::Epoch epoch;
  redis::Lease lease;
  TimerSource timer;
  std::map<std::string, redis::Target, std::less<>> tables;
  redis::NameRoots roots{options.separator};
  std::map<std::string, std::shared_ptr<RemoteSubscription>, std::less<>>
      popped;                                                    // The subscriptions of Staged and Queue tables that ever had a consumer.
  std::vector<std::weak_ptr<RemoteSubscription>> subscriptions;  // All subscriptions that may be open.
  std::set<std::string, std::less<>> channels;                   // Channels with a confirmed subscription.
  std::map<std::string, Instant, std::less<>> unconfirmed;       // Channels whose subscription is not confirmed yet, and since when.
  Prefixes tracked;                                              // The prefixes that Redis tracks; none covers another.
  bool unreachable_reported = false;
  std::int64_t events_id = 0;  // The server's id of our events connection.
};

// --- connections

void RedisStore::Impl::connected(Connection& connection) {
  if (&connection == &commands) {
    tracked.clear();
    if (commands.greeting().ended_earlier) ++stats.fenced;
    if (!commands.greeting().refused.ok()) ++stats.unfenced;
    epoch.ask();
    lease.ask(is_consumed());
  } else {
    channels.clear();
    unconfirmed.clear();
    events_id = 0;
    events.out().command({"CLIENT", "ID"});
    ask_channel(std::string{kInvalidations});
    for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
      if (!subscription->channel().empty()) ask_channel(std::string{subscription->channel()});
    }
    events.wake();
  }
  if (commands.is_connected() && channels.contains(kInvalidations)) come_up();
}

void RedisStore::Impl::lost(Connection& connection, const Status& why, bool was_connected) {
  if (&connection == &commands) {
    writer.lost();
    reader.lost(why);
    epoch.lost();
    lease.lost();
  } else {
    channels.clear();  // Otherwise the commands connection, if it reconnects first, would assume a subscription and redirect reports to a
                       // closed client.
    unconfirmed.clear();
    events_id = 0;
  }
  if (was_connected) go_down();
  if (finder != nullptr) finder->find();
}

void RedisStore::Impl::found_master(const RedisAddress& master) {
  for (Connection* const connection : {&commands, &events}) {
    const bool moved = !(connection->address() == master);
    connection->set_address(master);
    if (moved) connection->give_up({StatusCode::Unavailable, "the master is elsewhere now"});
    connection->start();
  }
}

void RedisStore::Impl::failed_over(bool while_connected) {
  if (while_connected) {  // Otherwise come_up() has done it.
    for (const std::shared_ptr<RemoteSubscription>& subscription : living()) bring_online(subscription);
  }
  if (options.on_failover) link.call("on_failover", [this] { options.on_failover(stats.epoch); });
}

bool RedisStore::Impl::is_consumed() const {
  return std::ranges::any_of(popped, [](const auto& known) { return known.second->is_open(); });
}

void RedisStore::Impl::lease_granted() {
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
    if (!is_popped(*subscription)) continue;
    bring_online(subscription);
    subscription->notify_again();
  }
}

void RedisStore::Impl::lease_paused() {
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
    if (is_popped(*subscription)) subscription->go_offline();
  }
}

void RedisStore::Impl::come_up() {
  if (link.up) return;
  link.up = true;
  ++stats.connects;
  if (!tracked.empty()) {  // The commands connection was not lost; it must redirect its reports to the new events connection.
    stop_tracking();
    tracked.clear();
  }
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) bring_online(subscription);
}

void RedisStore::Impl::go_down() {
  if (!link.up) return;
  link.up = false;
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) subscription->go_offline();
}

void RedisStore::Impl::bring_online(const std::shared_ptr<RemoteSubscription>& subscription) {
  if (!link.up || !subscription->is_open()) return;
  if (is_popped(*subscription) && !lease.allows()) return;
  if (subscription->spec().kind == TableKind::Watched) {
    track(*subscription);
    subscription->go_online();
  } else if (channels.contains(subscription->channel())) {
    subscription->go_online();
  }
}

/// Redis refuses overlapping prefixes (of tables "A" and "A:B"). The shortest prefix covers the others, and invalidated() separates the
/// tables.
void RedisStore::Impl::track(const RemoteSubscription& subscription) {
  const std::string& prefix = subscription.keys().rows;
  if (std::ranges::any_of(tracked, [&prefix](const std::string& known) { return prefix.starts_with(known); })) return;
  const bool anew = std::erase_if(tracked, [&prefix](const std::string& known) { return known.starts_with(prefix); }) > 0;
  tracked.insert(prefix);
  if (!anew) return start_tracking({prefix});
  stop_tracking();
  start_tracking(tracked);
  for (const std::shared_ptr<RemoteSubscription>& each : living()) {  // Changes made in between were not reported.
    if (each->spec().kind == TableKind::Watched && each.get() != &subscription) static_cast<redis::WatchedSubscription&>(*each).resync();
  }
}

void RedisStore::Impl::start_tracking(const Prefixes& prefixes) {
  redis::Commands& out = commands.out();
  out.begin(6 + 2 * prefixes.size()).word("CLIENT").word("TRACKING").word("ON").word("REDIRECT").number(events_id).word("BCAST");
  for (const std::string& prefix : prefixes) out.word("PREFIX").word(prefix);
  commands.expect(1, redis::shape::kText, [this](const Reply& reply, const Status&) {
    // Without tracking, changes would be missed. The store prefers to disconnect and to report the reason in health().
    if (reply.is_error()) commands.give_up(status_of(reply, "client tracking, which Watched tables need (Redis 6 or newer)"));
  });
}

void RedisStore::Impl::stop_tracking() {
  commands.out().command({"CLIENT", "TRACKING", "OFF"});
  commands.expect(1, redis::shape::kText, {});
}

void RedisStore::Impl::message(const Reply& message) {
  if (message.kind() == Reply::Kind::Integer) {
    events_id = message.integer();
    return;
  }
  const std::span<const Reply> parts = message.items();
  if (parts.size() != 3) return;
  if (parts[0].text() == "subscribe") return subscribed(parts[1].text());
  if (parts[0].text() != "message") return;
  if (parts[1].text() == kInvalidations) return invalidated(parts[2]);
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
    if (subscription->channel() == parts[1].text() && subscription->is_open()) subscription->message(parts[2].text());
  }
}

void RedisStore::Impl::ask_channel(const std::string& channel) {
  events.out().command({"SUBSCRIBE", channel});
  unconfirmed.try_emplace(channel, scheduler.now());
}

/// The server answers PING, so that the connection is not silent, and yet a subscription may never be confirmed.
void RedisStore::Impl::check_unconfirmed() {
  const auto is_late = [&](const auto& one) { return scheduler.now() - one.second >= options.answer_timeout; };
  const auto late = std::ranges::find_if(unconfirmed, is_late);
  if (late == unconfirmed.end() || !events.is_connected()) return;
  events.give_up({StatusCode::DeadlineExceeded, "the server has not confirmed the subscription to '" + late->first + "' for " +
                                                    std::to_string(options.answer_timeout / 1ms) + " ms"});
}

void RedisStore::Impl::subscribed(std::string_view channel) {
  if (const auto asked = unconfirmed.find(channel); asked != unconfirmed.end()) unconfirmed.erase(asked);
  if (!channels.emplace(channel).second) return;
  if (channel == kInvalidations) {
    if (commands.is_connected()) come_up();
    return;
  }
  if (!link.up) return;
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
    if (subscription->channel() == channel) bring_online(subscription);
  }
}

void RedisStore::Impl::invalidated(const Reply& keys) {
  if (keys.is_nil()) {  // All keys: FLUSHDB or FLUSHALL.
    for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
      if (subscription->spec().kind == TableKind::Watched) static_cast<redis::WatchedSubscription&>(*subscription).resync();
    }
    return;
  }
  const std::vector<std::shared_ptr<RemoteSubscription>> all = living();
  for (const Reply& key : keys.items()) {
    for (const std::shared_ptr<RemoteSubscription>& subscription : all) {
      if (subscription->spec().kind != TableKind::Watched || !key.text().starts_with(subscription->keys().rows)) continue;
      static_cast<redis::WatchedSubscription&>(*subscription).changed(key.text().substr(subscription->keys().rows.size()));
    }
  }
  for (const std::shared_ptr<RemoteSubscription>& subscription : all) {
    if (subscription->spec().kind == TableKind::Watched) static_cast<redis::WatchedSubscription&>(*subscription).fetch();
  }
}

/// Without this line a program that starts with an unreachable server would seem to hang.
void RedisStore::Impl::report_unreachable() {
  if (stats.connects != 0 || !options.log_unreachable || std::exchange(unreachable_reported, true)) return;
  Log(scheduler.clock())
      .warn("Redis is not usable yet, retrying", {{"server", options.address.to_string()}, {"why", connection_trouble()}});
}

void RedisStore::Impl::tick() {
  check_unconfirmed();
  if (!link.up) return report_unreachable();
  epoch.ask();
  lease.ask(is_consumed());
  writer.tick();
  for (auto& [name, target] : tables) {
    if (target.is_full()) writer.ask_waiting(target);  // size() returns this count, too.
  }
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
    if (subscription->is_open()) subscription->tick();
  }
}

/// Names each table that has trouble, up to a few.
Status RedisStore::Impl::trouble_of_tables() {
  constexpr std::size_t kNamed = 4;
  Status first;
  std::string others;
  std::size_t found = 0;
  for (const std::shared_ptr<RemoteSubscription>& subscription : living()) {
    Status trouble = subscription->is_open() ? subscription->trouble() : Status{};
    if (trouble.ok()) continue;
    if (++found == 1) {
      first = std::move(trouble);
    } else if (found <= kNamed) {
      others.append("; ").append(trouble.message());
    }
  }
  if (found > kNamed) others.append("; and ").append(std::to_string(found - kNamed)).append(" more tables");
  return others.empty() ? first : Status{first.code(), std::string{first.message()} + others, first.origin_errno()};
}

void RedisStore::Impl::go_on() {
  for (const std::weak_ptr<RemoteSubscription>& known : std::exchange(link.unfinished, {})) {
    if (const std::shared_ptr<RemoteSubscription> subscription = known.lock()) subscription->go_on();
  }
}

// --- subscriptions

std::vector<std::shared_ptr<RemoteSubscription>> RedisStore::Impl::living() {
  std::vector<std::shared_ptr<RemoteSubscription>> all;
  for (const std::weak_ptr<RemoteSubscription>& known : subscriptions) {
    if (std::shared_ptr<RemoteSubscription> subscription = known.lock()) all.push_back(std::move(subscription));
  }
  return all;
}

std::shared_ptr<RemoteSubscription> RedisStore::Impl::find_or_make(redis::Target& target) {
  switch (target.spec.kind) {
    case TableKind::Watched: return std::make_shared<redis::WatchedSubscription>(link, target);
    case TableKind::Channel: return std::make_shared<redis::ChannelSubscription>(link, target);
    case TableKind::Staged:
    case TableKind::Queue: break;
  }
  std::shared_ptr<RemoteSubscription>& subscription = popped[target.spec.name];
  if (subscription == nullptr && target.spec.kind == TableKind::Staged)
    subscription = std::make_shared<redis::StagedSubscription>(link, target);
  if (subscription == nullptr) subscription = std::make_shared<redis::QueueSubscription>(link, target);
  return subscription;
}

void RedisStore::Impl::adopt(const std::shared_ptr<RemoteSubscription>& subscription) {
  std::erase_if(subscriptions, [&subscription](const std::weak_ptr<RemoteSubscription>& known) {
    return known.expired() || known.lock() == subscription;
  });
  subscriptions.push_back(subscription);
  subscription->open();
  const std::string channel = subscription->channel();
  if (!channel.empty() && events.is_connected() && !channels.contains(channel)) {
    ask_channel(channel);
    events.wake();
  }
  lease.ask(is_consumed());
  bring_online(subscription);
}

// --- Store

RedisStore::RedisStore(Scheduler& scheduler, RedisStoreOptions options) {
  RONDO_EXPECT(options.pop_batch > 0 && options.pop_batch <= limits::kRedisPopKeys,
               "RedisStoreOptions::pop_batch is " + std::to_string(options.pop_batch) + "; it is from 1 to " +
                   std::to_string(limits::kRedisPopKeys) + " (limits::kRedisPopKeys)");
  RONDO_EXPECT(options.writes_max > 0, "RedisStoreOptions::writes_max is 0; it is at least 1");
  impl_ = std::make_unique<Impl>(scheduler, std::move(options));
}
RedisStore::~RedisStore() = default;

Status RedisStore::declare(const TableSpec& spec) {
  if (Status bad = store::check_spec(spec); !bad.ok()) return bad;
  if (const redis::Target* known = impl_->find(spec.name); known != nullptr) return store::check_same(known->spec, spec);
  if (impl_->tables.size() >= limits::kTables) {
    return {StatusCode::ResourceExhausted, "the store has " + std::to_string(limits::kTables) + " tables already"};
  }
  if (Status shared = impl_->roots.add(spec); !shared.ok()) return shared;
  const redis::TableKeys keys{spec.name, impl_->options.separator, impl_->options.address.database};
  impl_->tables.emplace(spec.name, redis::Target{spec, keys});
  return {};
}

std::vector<TableSpec> RedisStore::tables() const {
  std::vector<TableSpec> all;
  for (const auto& [name, target] : impl_->tables) all.push_back(target.spec);
  return all;
}

Status RedisStore::write(std::string_view table, Change change, WriteDone done) {
  Impl& parts = *impl_;
  store::expect_here(parts.scheduler, "write", table);
  redis::Target* const target = parts.find(table);
  if (target == nullptr) return store::no_such_table(table);
  if (Status bad = store::check_change(target->spec, change); !bad.ok()) return bad;
  if (Status bad = redis::check_text(target->spec.kind, change); !bad.ok()) return bad;
  const redis::Writer& writer = parts.writer;
  if (writer.unanswered() >= parts.options.writes_max || writer.unanswered_bytes() >= parts.options.write_bytes_max) {
    const std::string room = "table " + quoted(table) + ": " + std::to_string(writer.unanswered()) + " writes of " +
                             std::to_string(writer.unanswered_bytes()) + " bytes wait for their answers";
    if (parts.commands.is_connected()) return {StatusCode::ResourceExhausted, room};
    return {StatusCode::Unavailable, room + "; " + std::string{parts.commands.trouble().message()}};
  }
  if (target->is_full() && change.op() != ChangeOp::Delete) {
    parts.writer.ask_waiting(*target);
    return store::table_full(target->spec, change.key());
  }
  if (change.op() == ChangeOp::Set && target->spec.kind != TableKind::Queue) {
    change = Change{ChangeOp::Set, change.record().with_distinct_names()};
  }
  parts.writer.add(*target, std::move(change), std::move(done));
  return {};
}

Result<std::unique_ptr<Subscription>> RedisStore::subscribe(std::string_view table, const SubscribeOptions& options) {
  redis::Target* const target = impl_->find(table);
  if (target == nullptr) return failure(store::no_such_table(table));
  const std::shared_ptr<RemoteSubscription> subscription = impl_->find_or_make(*target);
  if (subscription->is_open()) return failure(store::has_consumer(target->spec));
  subscription->use(options);
  impl_->adopt(subscription);
  return store::subscription_of(subscription, [](RemoteSubscription& closing) { closing.close(); });
}

void RedisStore::get(std::string_view table, std::string_view key, GetDone done) {
  store::expect_here(impl_->scheduler, "get", table);
  const redis::Target* const target = impl_->find(table);
  if (target == nullptr) return impl_->completions.post(std::move(done), failure(store::no_such_table(table)));
  impl_->reader.get(*target, key, std::move(done));
}

void RedisStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  store::expect_here(impl_->scheduler, "scan", table);
  const redis::Target* const target = impl_->find(table);
  if (target == nullptr) return impl_->completions.post(std::move(done), failure(store::no_such_table(table)));
  impl_->reader.scan(*target, cursor, max, std::move(done));
}

void RedisStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  Impl& parts = *impl_;
  store::expect_here(parts.scheduler, "scan_written", table);
  const redis::Target* const target = parts.find(table);
  if (target == nullptr) return parts.completions.post(std::move(done), failure(store::no_such_table(table)));
  if (Status bad = store::check_scan_written(target->spec); !bad.ok()) return parts.completions.post(std::move(done), failure(bad));
  if (!parts.commands.is_connected()) return parts.reader.scan_written(*target, cursor, max, std::move(done));
  parts.writer.when_answered([&parts, target, from = std::string{cursor}, max, done = std::move(done)](const Status& lost) {
    if (!lost.ok()) return parts.completions.post(done, failure(lost));
    parts.reader.scan_written(*target, from, max, done);
  });
}

Result<Store::Size> RedisStore::size(std::string_view table) const {
  const redis::Target* const target = impl_->find(table);
  if (target == nullptr) return failure(store::no_such_table(table));
  Size size;
  const auto subscription = impl_->popped.find(table);
  size.staged = target->waiting + (subscription == impl_->popped.end() ? 0 : subscription->second->fetched());
  return size;
}

Status RedisStore::health() const {
  if (Status trouble = impl_->connection_trouble(); !trouble.ok() || !impl_->commands.is_connected()) return trouble;
  if (!impl_->writer.trouble().ok()) return impl_->writer.trouble();
  if (Status trouble = impl_->lease.trouble(); !trouble.ok()) return trouble;
  return impl_->trouble_of_tables();
}

StoreReport RedisStore::report() const { return redis::report_of(impl_->stats, impl_->lease.state(), impl_->options.address.to_string()); }

std::size_t RedisStore::unfinished() const { return unanswered(); }
bool RedisStore::release() { return impl_->lease.release(); }

Status RedisStore::finish() {
  const std::string what = " accepted writes without an answer from " + impl_->options.address.to_string();
  return unanswered() == 0 ? Status{} : Status{StatusCode::DataLoss, std::to_string(unanswered()) + what};
}

const RedisStoreStats& RedisStore::stats() const noexcept { return impl_->stats; }
std::size_t RedisStore::unanswered() const noexcept { return impl_->writer.unanswered(); }
const RedisLease& RedisStore::lease() const noexcept { return impl_->lease.state(); }

void RedisStore::set_passwords(const std::string& password, const std::string& sentinel_password) {
  for (Connection* const connection : {&impl_->commands, &impl_->events}) {
    RedisAddress address = connection->address();
    address.password = password;
    connection->set_address(std::move(address));
  }
  if (impl_->finder) impl_->finder->set_passwords(password, sentinel_password);
}

}  // namespace rondo
