// Migration: brings the tables of a database of jobs to the newest version. One thread.
#pragma once

#include <cstddef>
#include <span>

#include "jobs/server/database.h"
#include "rondo/base/result.h"

namespace rondo::jobs::server {

struct Migration {
  /// The statements from each version to the next one. The first ones make the table of the version.
  std::span<const std::span<const char* const>> steps;
  const char* count_tables;  // -1: there is the table of the version. Otherwise other tables are those of another program.
  const char* read_version;
  const char* write_version;  // $1
  const char* foreign;        // What is wrong if there are tables of another program.

  /// Takes the steps that the database has not had. 'locked' is called if there are some: it calls its argument when no other program does
  /// so. FailedPrecondition for a later version, or tables of another program.
  Status migrate(Database& database, const std::function<Status(const std::function<Status()>& take_steps)>& locked) const;

 private:
  /// The number of steps that the database has had.
  Result<std::size_t> version_of(Database& database) const;
  Status take_steps(Database& database) const;
};

}  // namespace rondo::jobs::server
