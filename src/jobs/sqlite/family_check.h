// FamilyCheck: which jobs of a database never run because of the jobs above them, for the doctor. Another program may have written the
// definitions and the table of parents. O(jobs + parents). One thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/named_few.h"
#include "rondo/jobs/job.h"

namespace rondo::jobs::sqlite {

class FamilyCheck {
 public:
  /// The parents of a job that cannot be read are unknown.
  void add(const StoredJob& stored);

  /// "'b': there is no job 'a'".
  NamedFew without_parent() const;
  /// "a -> b -> a", from a parent to its child.
  NamedFew cycles() const;
  /// 'stored' has pairs of a parent and a child; the child is empty if there is no such job.
  NamedFew differences(const std::set<std::pair<std::string, std::string>>& stored) const;

 private:
  /// Follows the parents of 'name' up to jobs that are done, and adds the cycle that it meets.
  void climb(const std::string& name, std::set<std::string>& done, NamedFew& found) const;

  std::map<std::string, std::vector<std::string>> parents_;  // Of each job that can be read.
  std::set<std::string> unreadable_;
};

}  // namespace rondo::jobs::sqlite
