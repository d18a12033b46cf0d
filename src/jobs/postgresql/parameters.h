// Values and Rows in PostgreSQL's binary format, which carries any byte and any time. One thread.
#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>
#include <vector>

#include "jobs/server/values.h"

namespace rondo::jobs::postgresql {

/// The parameters of a statement for libpq.
class Parameters {
 public:
  explicit Parameters(const server::Values& values);

  int size() const noexcept { return static_cast<int>(types_.size()); }
  const Oid* types() const noexcept { return types_.data(); }
  std::vector<const char*> pointers() const;
  std::vector<int> lengths() const;

 private:
  std::vector<Oid> types_;
  std::vector<std::optional<std::string>> bytes_;
};

server::Rows rows_of(const PGresult* result);

}  // namespace rondo::jobs::postgresql
