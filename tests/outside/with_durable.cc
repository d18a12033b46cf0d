// The component durable: a table in a file survives its runtime. Argument: the file, which must not exist.
#include <cstdio>
#include <memory>
#include <utility>

#include "rondo/rondo.h"
#include "rondo/store/durable_store.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const auto open = [path = argv[1]](rondo::Scheduler& scheduler) -> std::unique_ptr<rondo::Store> {
    auto opened = rondo::DurableStore::open(scheduler, {.path = path});
    return opened ? std::move(*opened) : nullptr;
  };
  {
    rondo::Runtime runtime({.store = open});
    if (!runtime.table("PORT").set("eth0", {{"mtu", "1500"}}).ok()) return 1;
    runtime.run_until_idle();
  }
  rondo::Runtime again({.store = open});
  if (again.store().tables().empty()) return 2;
  std::puts("durable: the table is in its file");
  return 0;
}
