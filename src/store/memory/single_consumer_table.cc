#include "store/memory/single_consumer_table.h"

#include <utility>

namespace rondo::store {

class SingleConsumerTable::Consumer final : public Subscription {
 public:
  explicit Consumer(std::shared_ptr<SingleConsumerTable> table) : table_(std::move(table)) { table_->has_consumer_ = true; }
  ~Consumer() override {
    table_->wake_ = nullptr;
    table_->has_consumer_ = false;
  }
  void on_ready(std::function<void()> wake) override {
    table_->wake_ = std::move(wake);
    if (!empty()) table_->became_ready();
  }
  std::size_t take(std::size_t max, std::vector<Change>& out) override { return table_->pop(max, out); }
  bool empty() const override { return table_->waiting() == 0; }
  std::size_t depth() const override { return table_->waiting(); }
  bool take_gap() override { return false; }
  void ack(const Change& change) override { table_->ack(change); }
  void requeue(std::string_view key) override { table_->requeue(key); }
  bool caught_up() const override { return table_->caught_up(); }
  bool has_fetched(std::string_view key) const override { return table_->waits(key); }
  void next_arrivals(std::size_t max, std::vector<Arrival>& out) const override { table_->next_arrivals(max, out); }

 private:
  std::shared_ptr<SingleConsumerTable> table_;
};

Result<std::unique_ptr<Subscription>> SingleConsumerTable::subscribe(const SubscribeOptions& options) {
  if (has_consumer_) return failure(has_consumer(spec()));
  begin(options);
  return std::make_unique<Consumer>(std::static_pointer_cast<SingleConsumerTable>(shared_from_this()));
}

}  // namespace rondo::store
