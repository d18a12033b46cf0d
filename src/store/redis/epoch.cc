#include "store/redis/epoch.h"

#include <string>
#include <utility>

#include "store/redis/scripts.h"
#include "store/redis/table_keys.h"

namespace rondo::redis {

void Epoch::ask() {
  const std::string& run_id = commands_.greeting().run_id;
  if (asking_ || refused_ || run_id.empty()) return;
  asking_ = true;
  commands_.out().command({"EVAL", kMarkEpoch, "1", kEpochKey, run_id, std::to_string(number_)});
  commands_.expect(1, shape::kCount, [this](const Reply& reply, const Status&) { answered(reply); });
}

void Epoch::answered(const Reply& reply) {
  asking_ = false;
  refused_ = reply.kind() != Reply::Kind::Integer;
  stats_.epoch = refused_ ? 0 : static_cast<std::uint64_t>(reply.integer());
  const std::string& run_id = commands_.greeting().run_id;
  const bool other_server = !run_id_.empty() && run_id_ != run_id;
  const bool other_number = number_ != 0 && stats_.epoch != 0 && number_ != stats_.epoch;
  const std::string before = std::exchange(run_id_, run_id);
  if (stats_.epoch != 0) number_ = stats_.epoch;
  if (other_server) {
    stats_.last_failover = "another server process answers (run id " + run_id + ", before " + before + ")";
  } else if (other_number) {
    stats_.last_failover = "the same server process answers, without the epoch that it had: its data was deleted or replaced";
  }
  const bool while_connected = std::exchange(seen_here_, true);
  if (!other_server && !other_number) return;
  ++stats_.failovers;
  changed_(while_connected);
}

}  // namespace rondo::redis
