#include "store/redis/lease.h"

#include <utility>

#include "base/thrown.h"
#include "rondo/base/assert.h"
#include "store/redis/lease_holder.h"
#include "store/redis/scripts.h"
#include "store/redis/table_keys.h"

namespace rondo::redis {

namespace {
std::string value_of(std::uint64_t token, std::string_view holder) { return std::to_string(token) + " " + std::string{holder}; }
/// The value itself if it does not begin with a token: another program wrote it.
std::string_view holder_of(std::string_view value) {
  const std::size_t space = value.find(' ');
  const bool has_token = space != std::string_view::npos && value.find_first_not_of("0123456789") == space;
  return has_token ? value.substr(space + 1) : value;
}
}  // namespace

Lease::Lease(Link& link, Hooks hooks)
    : link_(link), hooks_(std::move(hooks)), me_(link.options.lease_holder.empty() ? process_lease_holder() : link.options.lease_holder) {
  const Duration lease = link.options.lease;
  RONDO_EXPECT(lease == Duration{} || lease >= kShortestRedisLease,
               "RedisStoreOptions::lease is " + std::to_string(lease / 1ms) + " ms; it is 0, or at least 3000");
  if (lease == Duration{}) return;
  state_.state = RedisLease::State::Asking;
  link_.fence = value_of(0, me_);  // A value that no store holds, so that the fence refuses everything until the lease is granted.
  link_.taken_until = Instant{};
}

void Lease::ask(bool wanted) {
  using State = RedisLease::State;
  state_.wanted = wanted;
  if (is_off() || asking_ || released_ || !link_.commands.is_connected()) return;
  if (state_.state == State::Lost || state_.state == State::Refused) return;
  if (!wanted && !held_) return;
  if (held_ && link_.scheduler.clock().now() < next_) return;
  if (!held_ && !may_take()) return;
  send({});
}

bool Lease::may_take() {
  bool may = true;
  may_take_thrown_ = contained("RedisStoreOptions::may_take_lease", [&] {
    may = !link_.options.may_take_lease || link_.options.may_take_lease();
    return Status{};
  });
  return may_take_thrown_.ok() && may;
}

void Lease::send(std::string_view gone_holder) {
  asking_ = true;
  Commands& out = link_.commands.out();
  out.begin(9).word("EVAL").word(kTakeLease).word("2").word(kLeaseKey).word(kEpochKey);
  out.word(me_).number(link_.options.lease / std::chrono::milliseconds{1}).number(state_.token).word(gone_holder);
  link_.commands.expect(1, shape::kLease, [this, sent = link_.scheduler.clock().now()](const Reply& reply, const Status&) {
    asking_ = false;
    if (!released_) answered(reply, sent);
  });
}

void Lease::answered(const Reply& reply, Instant sent) {
  if (reply.is_error()) {
    trouble_ = status_of(reply, "the lease of the database");
    if (trouble_.code() == StatusCode::FailedPrecondition) {
      trouble_ = {trouble_.code(), std::string{trouble_.message()} +
                                       "; another program wrote it, and no row is consumed until it is deleted (redis-cli -n " +
                                       std::to_string(link_.options.address.database) + " DEL, and the key)"};
    }
    // A later attempt may take it; a held lease may be renewed until it ends. Only a server that forbids the script will go on refusing.
    if (trouble_.code() != StatusCode::PermissionDenied) return expire();
    link_.fence.clear();
    state_.refused = trouble_.message();
    move_to(RedisLease::State::Refused, {});
    return hooks_.granted();
  }
  trouble_ = {};
  const auto token = static_cast<std::uint64_t>(reply.items()[0].integer());
  if (token != 0) {
    state_.damage = reply.items()[1].text();
    return grant(token, sent);
  }
  held_by_another(reply.items()[1].text());
}

/// A lease that could not be renewed until its end, or that the server does not know any more, is not held.
void Lease::expire() {
  const bool may_be_ours = held_ && link_.taken_until > link_.scheduler.clock().now();
  if (state_.state != RedisLease::State::Held || may_be_ours) return;
  held_ = false;
  move_to(RedisLease::State::Asking, {});
  hooks_.paused();
}

void Lease::grant(std::uint64_t token, Instant sent) {
  const Instant now = link_.scheduler.clock().now();
  const bool lapsed = link_.taken_until <= now;
  state_.token = token;
  link_.fence = value_of(token, me_);
  link_.taken_until = sent + link_.options.lease;
  next_ = sent + link_.options.lease / 3;
  const bool begins = !std::exchange(held_, true);
  move_to(RedisLease::State::Held, me_);
  if (begins || lapsed) hooks_.granted();
}

void Lease::held_by_another(std::string_view value) {
  const std::string holder{holder_of(value)};
  if (state_.token != 0) {  // This store held the lease: the other store now owns what it has taken since.
    held_ = false;
    link_.taken_until = Instant{};
    move_to(RedisLease::State::Lost, holder);
    return hooks_.paused();
  }
  move_to(RedisLease::State::Standby, holder);
  // One attempt for each holder: if the server still refuses, the lease expires by itself.
  if (tried_ == value || !is_gone(holder)) return;
  tried_ = value;
  send(tried_);
}

void Lease::lost() {
  held_ = asking_ = releasing_ = false;
  if (state_.state == RedisLease::State::Refused) state_.state = RedisLease::State::Asking;
}

void Lease::fenced() {
  if (!std::exchange(held_, false)) return;
  hooks_.paused();
  ask(true);
}

bool Lease::release() {
  if (!std::exchange(released_, true) && held_ && link_.commands.is_connected()) {
    held_ = false;
    hooks_.paused();
    releasing_ = true;
    link_.commands.out().command({"EVAL", kReleaseLease, "1", kLeaseKey, link_.fence});
    link_.commands.expect(1, shape::kCount, [this](const Reply&, const Status&) { releasing_ = false; });
  }
  return !releasing_;
}

Status Lease::trouble() const {
  if (state_.state == RedisLease::State::Lost) {
    return {StatusCode::Unavailable, "the lease of the database was lost to " + describe_holder(state_.holder)};
  }
  if (allows()) return {};
  return may_take_thrown_.ok() ? trouble_ : may_take_thrown_;
}

void Lease::move_to(RedisLease::State state, std::string holder) {
  const bool changed = state_.state != state || state_.holder != holder;
  state_.state = state;
  state_.holder = std::move(holder);
  state_.described = state_.holder.empty() ? std::string{} : describe_holder(state_.holder);
  if (changed && link_.options.on_lease) link_.call("on_lease", [this] { link_.options.on_lease(state_); });
}

}  // namespace rondo::redis
