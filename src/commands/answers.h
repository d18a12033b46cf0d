// The building blocks of the commands' answers: texts, times and facts as JSON, and lists that are made one page a turn.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "rondo/admin/command.h"
#include "rondo/base/text.h"
#include "rondo/base/time.h"
#include "rondo/orch/fact.h"
#include "rondo/store/record.h"
#include "rondo/store/store.h"

namespace rondo::commands {

/// The bytes of a key, a name or a value. The reader can decode them.
inline boost::json::string text(std::string_view bytes) { return boost::json::string{escape_text(bytes)}; }
/// A text for people. Parts quoted from outside may be escaped already, and are not escaped again.
inline boost::json::string sentence(std::string_view words) { return boost::json::string{visible_text(words)}; }
inline double microseconds(Duration d) { return static_cast<double>(d.count()) / 1000.0; }
inline double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

/// A histogram of nanoseconds: {"count","sum_us","buckets"}, where a bucket is [us, number of the values up to it]. There is one for every
/// second power of two from a microsecond to 18 minutes.
template <class Of>
boost::json::object histogram_json(const Of& ns) {
  constexpr unsigned kFirst = 10;
  constexpr unsigned kLast = 40;
  boost::json::array buckets;
  for (unsigned bits = kFirst; bits <= kLast; bits += 2)
    buckets.push_back(boost::json::array{microseconds((std::uint64_t{1} << bits) - 1), ns.below_power(bits)});
  return {{"count", ns.count()}, {"sum_us", microseconds(ns.sum())}, {"buckets", std::move(buckets)}};
}

/// RFC 3339 in UTC, to the second or the microsecond.
std::string second_text(WallTime time);
std::string microsecond_text(WallTime time);

inline boost::json::object fact_json(const Fact& fact) { return {{"kind", text(fact.kind.name())}, {"key", text(fact.key)}}; }

template <class Facts>
boost::json::array facts_json(const Facts& facts) {
  boost::json::array array;
  for (const Fact& fact : facts) array.push_back(fact_json(fact));
  return array;
}

inline boost::json::array fields_json(const Fields& fields) {
  boost::json::array array;
  for (const Field field : fields) array.push_back(boost::json::array{text(field.name), text(field.value)});
  return array;
}

/// Store::get() for a command. An exception of 'use', such as one of a function of StandardCommandsOptions, becomes the command's answer:
/// one that left 'use' would quarantine the store.
void get_row(Store& store, std::string_view table, std::string_view key, Reply reply, GetDone use);

/// Answers with a row for each of 'items', made with its page: a long list takes many short turns. 'row' converts one item to a JSON
/// value.
template <class Item, class Row>
void answer_each(Reply reply, std::vector<Item> items, Row row) {
  auto all = std::make_shared<const std::vector<Item>>(std::move(items));
  reply.stream([all, row, next = std::size_t{0}](Reply& page) mutable {
    while (next < all->size() && !page.page_full()) page.row(row((*all)[next++]));
    return next < all->size();
  });
}

}  // namespace rondo::commands
