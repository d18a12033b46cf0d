// NameRoots: the names under which the tables of a store keep hashes in Redis. Two tables share keys if a name of one is a name of the
// other, or begins with it and the separator: "A" and "A:b", and "A" and "_A", because a Staged table A stages rows under "_A:". Two
// Watched tables may: who reads the shorter name sees the rows of both, as other subscribers of keyspace events do.
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
  /// The table of a root that shares keys with 'root', unless both are Watched.
  const std::string* find_table(const std::string& root, TableKind kind) const;

  struct Table {
    std::string name;
    TableKind kind = TableKind::Staged;
  };
  char separator_;
  std::map<std::string, Table, std::less<>> tables_;  // By root.
};

}  // namespace rondo::redis
