// ChannelTable: delivers events to the current subscribers; stores nothing. A send costs one reference for each subscription.
#pragma once

#include <vector>

#include "store/memory/memory_table.h"

namespace rondo::store {

class ChannelTable final : public MemoryTable {
 public:
  using MemoryTable::MemoryTable;

  Status write(Change change) override;
  Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options = {}) override;
  Record get(std::string_view) const override { return {}; }
  Result<RowPage> scan(std::string_view, std::size_t) const override { return RowPage{}; }
  Store::Size size() const override { return {0, 0}; }

 private:
  class Listener;
  std::vector<Listener*> listeners_;
};

}  // namespace rondo::store
