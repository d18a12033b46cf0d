// The component durable: a table in a file survives its runtime. Argument: the file, which must not exist.
#include <cstdio>
#include <memory>
#include <utility>

#include "rondo/rondo.h"
#include "rondo/store/durable_file.h"
#include "rondo/store/durable_store.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const char* const path = argv[1];
  {
    rondo::Runtime runtime({.store = [path](rondo::Scheduler& scheduler) -> std::unique_ptr<rondo::Store> {
      auto opened = rondo::DurableStore::open(scheduler, {.path = path});
      return opened ? std::move(*opened) : nullptr;
    }});
    if (!runtime.table("PORT").set("eth0", {{"mtu", "1500"}}).ok()) return 1;
    runtime.run_until_idle();
  }
  const auto file = rondo::read_durable_file(path);
  if (!file || file->tables.empty()) return 2;
  std::puts("durable: the table is in its file");
  return 0;
}
