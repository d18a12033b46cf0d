// RowPersister: keeps the content of one table beyond this process. The tables of the embedded store report to it what must exist after a
// restart; the durable store (store/durable) writes it to its log. Scheduler's thread. A persister must not call the table.
#pragma once

#include <cstddef>

#include "rondo/store/change.h"

namespace rondo::store {

class RowPersister {
 public:
  virtual ~RowPersister() = default;
  /// The row in the state that it has once everything written so far has been popped.
  virtual void keep(const Record& row) = 0;
  /// The row was deleted, but the consumer has not yet acknowledged the Delete. Only the key of the record is used.
  virtual void keep_delete(const Record& key) = 0;
  /// The consumer has acknowledged a Delete that it took; 'deleted' is a copy of it. The persister forgets the key, unless a newer Delete
  /// of it has been kept since.
  virtual void delete_acked(const Record& deleted) = 0;
  /// The persister forgets the key.
  virtual void forget(const Record& key) = 0;
  /// Queue: keeps one more entry.
  virtual void append(const Change& entry) = 0;
  /// Queue: the consumer has acknowledged an entry that it took; 'entry' is a copy of it. All earlier entries count as acknowledged, too: a
  /// consumer that has ended took those without a report.
  virtual void entry_acked(const Change& entry) = 0;
};

}  // namespace rondo::store
