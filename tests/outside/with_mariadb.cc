// The component mariadb: a store is opened without a server.
#include <cstdio>

#include "rondo/jobs/mariadb.h"

int main() {
  const auto store = rondo::jobs::make_mariadb_job_store("mariadb://me@/jobs?socket=/nonexistent");
  if (store || store.error().code() != rondo::StatusCode::Unavailable) return 1;
  std::puts("mariadb: the server is not reachable");
  return 0;
}
