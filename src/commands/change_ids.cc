#include "commands/change_ids.h"

#include <algorithm>
#include <utility>

namespace rondo::commands {

namespace {

using What = RowEvent::What;

void append(ChangeIds::Ids& to, const ChangeIds::Ids& more) {
  to.insert(to.end(), more.begin(), more.end());
  if (to.size() > ChangeIds::kMerged) to.erase(to.begin(), to.end() - ChangeIds::kMerged);
}

ChangeIds::Ids joined(ChangeIds::Ids older, const ChangeIds::Ids& newer) {
  append(older, newer);
  return older;
}

}  // namespace

void ChangeIds::Changes::add(ChangeOp op, const Ids& ids) {
  if (op == ChangeOp::Delete) append(of_delete, std::exchange(of_set, {}));
  append(op == ChangeOp::Delete ? of_delete : of_set, ids);
}

void ChangeIds::Changes::put_back(ChangeOp op, const Ids& ids) {
  // A Delete that came after a Set has replaced it.
  Ids& to = op == ChangeOp::Delete || !of_delete.empty() ? of_delete : of_set;
  to = joined(ids, to);
}

ChangeIds::Ids ChangeIds::Changes::take(ChangeOp op) {
  Ids ids = std::exchange(of_delete, {});
  if (op != ChangeOp::Delete) append(ids, std::exchange(of_set, {}));
  return ids;
}

ChangeIds::Ids ChangeIds::take_handled(ChangeOp op) { return flight_ ? *std::exchange(flight_, std::nullopt) : waiting_.take(op); }

ChangeIds::Ids ChangeIds::waiting() const { return joined(waiting_.of_delete, waiting_.of_set); }

ChangeIds::Ids ChangeIds::heard(const RowEvent& event, const std::function<std::uint64_t()>& next_id) {
  Ids ids;
  switch (event.what) {
    case What::Taken:
      taken_ = staged_.take(event.op);
      if (taken_.empty()) taken_ = {next_id()};
      waiting_.add(event.op, taken_);
      return taken_;
    case What::Retried:
      ids = waiting_.take(event.op);
      waiting_.put_back(event.op, ids);
      return ids;
    case What::Redone: waiting_.put_back(event.op, done_); return done_;
    case What::Ordered: flight_ = take_handled(event.op); return *flight_;
    case What::Parked:
    case What::Delayed:
    case What::Superseded:
    case What::Again:
      ids = take_handled(event.op);
      waiting_.put_back(event.op, ids);
      return ids;
    case What::Replaced:  // The Set behind the Delete stands for both.
      ids = take_handled(event.op);
      waiting_.put_back(ChangeOp::Set, ids);
      return ids;
    case What::Rejected:
      if (event.row != RowEvent::kNoRow) return take_handled(event.op);
      // It was taken, and did not merge.
      std::erase_if(waiting_.of_set, [this](std::uint64_t id) { return std::ranges::find(taken_, id) != taken_.end(); });
      return taken_;
    case What::Done:
      ids = take_handled(event.op);
      done_ = event.op == ChangeOp::Set ? ids : Ids{};
      return ids;
    default: return {};
  }
}

}  // namespace rondo::commands
