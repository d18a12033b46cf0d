// The component postgresql: a store is opened without a server, for which it waits.
#include <cstdio>

#include "rondo/jobs/postgresql.h"

int main() {
  const auto store = rondo::jobs::make_postgresql_job_store("postgresql://me@/jobs?host=/nonexistent");
  const auto wrong = rondo::jobs::make_postgresql_job_store("postgresql://me@/jobs?nothing=1");
  if (!store || wrong || wrong.error().code() != rondo::StatusCode::InvalidArgument) return 1;
  std::puts("postgresql: the store waits for its server");
  return 0;
}
