// SingleConsumerTable: the common part of Staged and Queue tables: one consumer pops, and the work that it leaves stays for the next
// consumer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "store/memory/memory_table.h"

namespace rondo::store {

class SingleConsumerTable : public MemoryTable {
 public:
  using MemoryTable::MemoryTable;
  Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options = {}) final;

 protected:
  /// Called when a consumer subscribes.
  virtual void begin(const SubscribeOptions& options) { static_cast<void>(options); }
  /// See Subscription.
  virtual void requeue(std::string_view key) { static_cast<void>(key); }
  virtual bool caught_up() const { return true; }
  virtual void next_arrivals(std::size_t max, std::vector<Subscription::Arrival>& out) const {
    static_cast<void>(max);
    static_cast<void>(out);
  }
  /// At most 'max' keys (Staged) or entries (Queue).
  virtual std::size_t pop(std::size_t max, std::vector<Change>& out) = 0;
  virtual std::size_t waiting() const = 0;
  /// True if a change of 'key' is among those that pop() would return. O(1).
  virtual bool waits(std::string_view key) const {
    static_cast<void>(key);
    return false;
  }
  /// See Subscription.
  virtual void ack(const Change& change) = 0;
  /// Call this when waiting() has become 1.
  void became_ready() const {
    if (wake_) wake_();
  }

 private:
  class Consumer;
  bool has_consumer_ = false;
  std::function<void()> wake_;
};

}  // namespace rondo::store
