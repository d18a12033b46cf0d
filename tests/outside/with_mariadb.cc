// The component mariadb: a store is opened without a server, for which it waits.
#include <cstdio>

#include "rondo/jobs/mariadb.h"

int main() {
  const auto store = rondo::jobs::make_mariadb_job_store("mariadb://me@/jobs?socket=/nonexistent");
  const auto wrong = rondo::jobs::make_mariadb_job_store("mariadb://me@/jobs?nothing=1");
  if (!store || wrong || wrong.error().code() != rondo::StatusCode::InvalidArgument) return 1;
  std::puts("mariadb: the store waits for its server");
  return 0;
}
