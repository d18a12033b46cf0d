#include "store/redis/shape.h"

#include <algorithm>
#include <span>
#include <string>

namespace rondo::redis {

namespace {

using Kind = Reply::Kind;

bool is_text(const Reply& reply) { return reply.kind() == Kind::Text || reply.kind() == Kind::State; }
bool is_count(const Reply& reply) { return reply.kind() == Kind::Integer && reply.integer() >= 0; }
bool is_list(const Reply& reply) { return reply.kind() == Kind::List; }
bool is_list_of(const Reply& reply, std::size_t together) { return is_list(reply) && reply.items().size() % together == 0; }
bool are_texts(const Reply& reply) { return is_list(reply) && std::ranges::all_of(reply.items(), is_text); }
bool is_row(const Reply& reply) { return are_texts(reply) && reply.items().size() % 2 == 0; }

/// True for a script's answer of this form: a count, and a list of groups of 'together' items, each of which fits.
template <class Fits>
bool is_count_and_groups(const Reply& reply, std::size_t together, const Fits& fits) {
  const std::span<const Reply> parts = reply.items();
  if (parts.size() < 2 || !is_count(parts[0]) || !is_list_of(parts[1], together)) return false;
  const std::span<const Reply> items = parts[1].items();
  for (std::size_t i = 0; i < items.size(); i += together) {
    if (!fits(items.subspan(i, together))) return false;
  }
  return true;
}

/// True for the further parts of a recovery's answer: the names of damaged fields, and the number of fields that were read.
bool has_end_of_recovery(const Reply& reply) {
  const std::span<const Reply> parts = reply.items();
  return parts.size() == 4 && are_texts(parts[2]) && is_count(parts[3]);
}

/// A batch number, far below the value at which the counter would wrap.
bool is_batch_number(const Reply& reply) {
  const std::string_view digits = reply.text();
  return !digits.empty() && digits.size() <= 15 && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }) &&
         digits.front() != '0';
}

bool is_popped_staged(const Reply& reply) {
  return reply.items().size() == 2 && is_count_and_groups(reply, 3, [](std::span<const Reply> entry) {
           const Reply& set = entry[2];
           return is_text(entry[0]) && !is_list(entry[1]) && (set.is_nil() || set.kind() == Kind::Integer || is_row(set));
         });
}
bool is_popped_queue(const Reply& reply) {
  return reply.items().size() == 2 &&
         is_count_and_groups(reply, 3, [](std::span<const Reply> entry) { return std::ranges::all_of(entry, is_text); });
}
bool is_recovered_staged(const Reply& reply) {
  return has_end_of_recovery(reply) &&
         is_count_and_groups(reply, 3, [](std::span<const Reply> batch) { return is_batch_number(batch[0]) && are_texts(batch[1]); });
}
bool is_recovered_queue(const Reply& reply) {
  return has_end_of_recovery(reply) &&
         is_count_and_groups(reply, 2, [](std::span<const Reply> batch) { return is_batch_number(batch[0]) && are_texts(batch[1]); });
}
bool is_page(const Reply& reply) {
  return reply.items().size() == 2 && is_text(reply.items()[0]) && !reply.items()[0].text().empty() && are_texts(reply.items()[1]);
}
bool is_written(const Reply& reply) {
  if (!is_list_of(reply, 3)) return false;
  const std::span<const Reply> items = reply.items();
  for (std::size_t i = 0; i < items.size(); i += 3) {
    const bool has_rows = (is_row(items[i + 1]) || items[i + 1].is_nil()) && (is_row(items[i + 2]) || items[i + 2].is_nil());
    if (!is_count(items[i]) || !has_rows) return false;
  }
  return true;
}

bool is_lease(const Reply& reply) {
  const std::span<const Reply> items = reply.items();
  return items.size() == 2 && is_count(items[0]) && is_text(items[1]) && (items[0].integer() != 0 || !items[1].text().empty());
}

}  // namespace

namespace shape {

const Shape kAny{"an answer", [](const Reply&) { return true; }};
const Shape kCount{"a count", is_count};
const Shape kText{"a text", is_text};
const Shape kRow{"fields with their values", is_row};
const Shape kNames{"a list of names", are_texts};
const Shape kPage{"a cursor with a list of keys", is_page};
const Shape kTransaction{"the answers of a transaction", [](const Reply& reply) { return !reply.items().empty(); }};
const Shape kWritten{"rows with what is staged for them", is_written};
const Shape kPoppedStaged{"entries of a table", is_popped_staged};
const Shape kPoppedQueue{"entries of a queue", is_popped_queue};
const Shape kRecoveredStaged{"batches of a table", is_recovered_staged};
const Shape kRecoveredQueue{"batches of a queue", is_recovered_queue};
const Shape kLease{"a lease or its holder", is_lease};

}  // namespace shape

std::string describe(const Reply& reply) {
  switch (reply.kind()) {
    case Kind::Nil: return "nil";
    case Kind::Text: return "a text of " + std::to_string(reply.text().size()) + " bytes";
    case Kind::State: return "a state";
    case Kind::Error: return "an error";
    case Kind::Integer: return "the number " + std::to_string(reply.integer());
    case Kind::List: return "a list of " + std::to_string(reply.items().size());
  }
  return "nothing";
}

}  // namespace rondo::redis
