// The component sim: a program runs in a simulated world, with crashes.
#include <cstdio>
#include <memory>
#include <string_view>

#include "rondo/rondo.h"
#include "rondo/sim/world.h"

namespace {

class Counter final : public rondo::Orch {
 public:
  explicit Counter(rondo::Runtime& runtime) : Orch(runtime, "counter", rondo::Priority::p1) {
    consume("PORT", this, &Counter::set, &Counter::remove);
  }
  std::size_t sets() const { return sets_; }

 private:
  rondo::Outcome set(std::string_view, const rondo::Fields&) {
    ++sets_;
    return rondo::Outcome::done();
  }
  rondo::Outcome remove(std::string_view) { return rondo::Outcome::done(); }
  std::size_t sets_ = 0;
};

}  // namespace

int main() {
  rondo::sim::World world({.seed = 7, .store = rondo::sim::StoreKind::Remote});
  const Counter* counter = nullptr;
  world.start([&counter](rondo::Runtime& runtime) -> std::shared_ptr<void> {
    counter = &runtime.add<Counter>();
    return nullptr;
  });
  world.set("PORT", "eth0", {{"mtu", "1500"}});
  if (!world.come_to_rest()) {
    std::fputs(world.report().c_str(), stderr);
    return 1;
  }
  if (counter->sets() == 0) return 2;
  std::puts("sim: a simulated life came to rest");
  return 0;
}
