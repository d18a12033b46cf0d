#include "rondo/orch/batch.h"

#include "orch/consumer.h"
#include "rondo/base/assert.h"

namespace rondo {

void Batch::expect_open(std::size_t index) const {
  RONDO_EXPECT(index < changes_.size(), "a handler of batches answers change " + std::to_string(index) + " of a batch of " +
                                            std::to_string(changes_.size()) + " changes of " + quoted(consumer_.table()));
  RONDO_EXPECT(answered_[index] == 0,
               "a handler of batches answers the change of " + quoted(consumer_.table()) + " " + quoted(changes_[index].key()) + " twice");
}

void Batch::answer(std::size_t index, const Outcome& outcome) {
  expect_open(index);
  answered_[index] = 1;
  consumer_.answer(rows_[index], changes_[index], outcome);
}

void Batch::done(std::size_t index) {
  expect_open(index);
  answered_[index] = 1;
  consumer_.answer_done(rows_[index]);
}

Ticket Batch::Item::stage() const { return batch_.stage(index_); }

Ticket Batch::stage(std::size_t index) {
  expect_open(index);
  answered_[index] = 1;
  return consumer_.ordered(rows_[index], generations_[index]);
}

}  // namespace rondo
