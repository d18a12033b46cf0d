// RowKeeper: what keeps one table's content beyond this process. The tables of the embedded store tell it what is to be there after a
// restart; the durable store (store/durable) writes it down. Scheduler's thread; must not call back.
#pragma once

#include <cstddef>

#include "rondo/store/change.h"

namespace rondo::store {

class RowKeeper {
 public:
  virtual ~RowKeeper() = default;
  /// The row as it is when everything written so far has been popped.
  virtual void keep(const Record& row) = 0;
  /// There is no such row any more, but its consumer has yet to deal with that. Only the key counts.
  virtual void keep_delete(const Record& key) = 0;
  /// The consumer has dealt with a Delete that it took, a copy of 'deleted': nothing is to be known of the key, unless a newer Delete of it
  /// has been kept since.
  virtual void delete_was_dealt_with(const Record& deleted) = 0;
  /// Nothing is to be known of the key.
  virtual void forget(const Record& key) = 0;
  /// Queue: one more entry.
  virtual void append(const Change& entry) = 0;
  /// Queue: the consumer has dealt with an entry that it took, a copy of 'entry', and so with all before it: those that it did not speak of
  /// were taken by one that is gone.
  virtual void entry_was_dealt_with(const Change& entry) = 0;
};

}  // namespace rondo::store
