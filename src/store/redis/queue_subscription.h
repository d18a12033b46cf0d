// QueueSubscription: consumes a Queue as SONiC's ConsumerTable does: it delivers every operation in order, and applies a Set or Delete to
// the row when the entry is handed out.
#pragma once

#include "store/redis/single_consumer_subscription.h"

namespace rondo::redis {

class QueueSubscription final : public SingleConsumerSubscription {
 public:
  using SingleConsumerSubscription::SingleConsumerSubscription;

 protected:
  void write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) override;
  void write_recover(std::span<const std::string> fields) override;
  void write_count() override;
  bool write_keep(std::uint64_t number, std::size_t left) override;
  const Shape& popped_shape() const override { return shape::kPoppedQueue; }
  const Shape& recovered_shape() const override { return shape::kRecoveredQueue; }
  void read_popped(const Reply& content, Batch& batch) override;
  std::vector<Batch> read_recovered(const Reply& content) override;
  void complete(Batch& batch) override;

 private:
  void complete_fenced(const Batch& batch);
};

}  // namespace rondo::redis
