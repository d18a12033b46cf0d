// Examines the file of a durable store while no process has it open: its content and its damage. Changes nothing.
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
  std::size_t deletes = 0;  // Staged: not confirmed with Subscription::ack().
  std::size_t entries = 0;  // Queue: not confirmed with Subscription::ack().
};

struct DurableFile {
  std::uint64_t groups = 0;  // Groups of writes in the log.
  std::uint64_t bytes = 0;
  std::vector<std::string> damage;  // What is lost; empty if the file is undamaged.
  std::vector<DurableFileTable> tables;
};

/// Checks an existing file as DurableStore::open() does first: FailedPrecondition or DataLoss if that would refuse it, Unavailable while a
/// process has it open. Ok if there is no file yet, or an empty one. Does not read the rows.
Status check_durable_file(const std::string& path);

/// Reads the whole file. 'each', if given, is called for everything that a new process would deliver, table by table: rows as Sets,
/// Deletes, and the entries of a Queue. Errors as DurableStore::open(). O(file).
Result<DurableFile> read_durable_file(const std::string& path,
                                      const std::function<void(const TableSpec& table, const Change& change)>& each = {});

}  // namespace rondo
