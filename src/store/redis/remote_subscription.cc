#include "store/redis/remote_subscription.h"

#include "base/log.h"
#include "base/thrown.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo::redis {

namespace {
/// Keys of another type that are remembered.
constexpr std::size_t kOtherTypes = 64;
}  // namespace

void Link::call(std::string_view name, const std::function<void()>& function) const {
  const Status thrown = contained(name, [&] { return function(), Status{}; });
  if (!thrown.ok()) Log(scheduler.clock()).error("a function of RedisStoreOptions threw", {{"why", thrown}});
}

void RemoteSubscription::ask(std::size_t answers, const Shape& shape, std::function<void(const Reply&)> on_reply, bool each) {
  auto guarded = [end = weak_from_this(), asked = generation_, on_reply = std::move(on_reply)](const Reply& reply, const Status&) {
    if (const std::shared_ptr<RemoteSubscription> self = end.lock(); self != nullptr && self->generation_ == asked) {
      on_reply(reply);
      self->note_caught_up();
    }
  };
  if (each) {
    link_.commands.expect_each(answers, shape, std::move(guarded));
  } else {
    link_.commands.expect(answers, shape, std::move(guarded));
  }
}

void RemoteSubscription::note_type(std::string_view key, bool is_other) {
  if (!is_other) {
    if (const auto it = other_types_.find(key); it != other_types_.end()) other_types_.erase(it);
  } else if (other_types_.size() < kOtherTypes) {
    other_types_.emplace(key);
  }
}

Status RemoteSubscription::trouble_of_types() const {
  if (other_types_.empty()) return {};
  const std::string others = other_types_.size() == 1 ? "" : ", and " + std::to_string(other_types_.size() - 1) + " more such keys";
  const Status first = not_a_row(keys().rows + *other_types_.begin(), spec().name);
  return {first.code(), std::string{first.message()} + others};
}

Status not_a_row(std::string_view key, std::string_view table) {
  return {StatusCode::FailedPrecondition, "the key " + quoted(key) + " is not a hash, so table " + quoted(table) + " has no such row"};
}

Record record_of(std::string_view key, const Reply& fields) {
  const std::span<const Reply> items = fields.items();
  if (items.size() < 2) return {};
  std::vector<Field> list;
  list.reserve(items.size() / 2);
  // A row beyond the limit is rejected, and its remaining fields would only take memory.
  for (std::size_t i = 0, bytes = 0; i + 1 < items.size() && bytes <= limits::kRecordBytes; i += 2) {
    if (items[i].text() == kNoField && items[i + 1].text() == kNoField) continue;
    list.push_back({items[i].text(), items[i + 1].text()});
    bytes += list.back().name.size() + list.back().value.size();
  }
  return Record::make(key, list);
}

bool is_of_other_type(const Reply& answer) { return answer.is_error() && answer.text().starts_with("WRONGTYPE"); }

Result<Record> row_of(std::string_view key, const Reply& answer) {
  if (!answer.is_error()) return record_of(key, answer);
  if (is_of_other_type(answer)) return Record{};
  return failure(status_of(answer, "reading " + quoted(key)));
}

}  // namespace rondo::redis
