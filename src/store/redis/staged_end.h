// StagedEnd: consumes a Staged table as SONiC's ConsumerStateTable does, so that its producers and ours can feed it.
#pragma once

#include "store/redis/popped_end.h"

namespace rondo::redis {

class StagedEnd final : public PoppedEnd {
 public:
  using PoppedEnd::PoppedEnd;

 protected:
  void write_pop(std::size_t max, std::uint64_t number, const std::vector<std::uint64_t>& done) override;
  void write_recover() override;
  void write_count() override { link().commands.out().command({"SCARD", keys().pending}); }
  void read_popped(const Reply& content, Batch& batch) override;
  std::vector<Batch> read_recovered(const Reply& content) override;

 private:
  bool renames() const noexcept { return rename_in_ == 0; }
  // Staged hashes that become new rows are renamed, and read by us, which is cheaper for Redis; for rows that exist it is dearer. Learnt
  // from what the last pop met.
  unsigned rename_in_ = 0;  // Pops until it is tried again.
};

}  // namespace rondo::redis
