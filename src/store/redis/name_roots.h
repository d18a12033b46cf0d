// NameRoots: the names under which the tables of a store keep hashes in Redis. Two tables share keys if a name of one is a name of the
// other, or begins with it and the separator: "A" and "A:b", and "A" and "_A", because a Staged table A stages rows under "_A:".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/store/store.h"

namespace rondo::redis {

class NameRoots {
 public:
  explicit NameRoots(char separator) : separator_(separator) {}

  /// InvalidArgument, with both names, if the table would share keys with one that was added before. O(length of the name * log(tables)).
  Status add(const TableSpec& spec);

 private:
  const std::string* find_table(const std::string& root) const;

  char separator_;
  std::map<std::string, std::string, std::less<>> tables_;  // By root.
};

}  // namespace rondo::redis
