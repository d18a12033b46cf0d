// The file of a durable store as it lies there, for looking at it while no process has it: what is in it, and what of it is damaged.
// Nothing is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/store/store.h"

namespace rondo {

struct DurableFileTable {
  TableSpec spec;
  std::size_t rows = 0;
  std::size_t deletes = 0;  // Staged: not dealt with.
  std::size_t entries = 0;  // Queue: likewise.
};

struct DurableFile {
  std::uint64_t groups = 0;  // Entries of the log.
  std::uint64_t bytes = 0;
  std::vector<std::string> damage;  // What is lost; empty when the file is whole.
  std::vector<DurableFileTable> tables;
};

/// Reads the whole file. 'each', if given, is called for everything a new process would be told: rows as Sets, Deletes, a Queue's entries,
/// table by table. The errors are those of DurableStore::open(). O(file).
Result<DurableFile> read_durable_file(const std::string& path,
                                      const std::function<void(const TableSpec& table, const Change& change)>& each = {});

}  // namespace rondo
