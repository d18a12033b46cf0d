// The component postgresql: a store is opened without a server.
#include <cstdio>

#include "rondo/jobs/postgresql.h"

int main() {
  const auto store = rondo::jobs::make_postgresql_job_store("postgresql://me@/jobs?host=/nonexistent");
  if (store || store.error().code() != rondo::StatusCode::Unavailable) return 1;
  std::puts("postgresql: the server is not reachable");
  return 0;
}
