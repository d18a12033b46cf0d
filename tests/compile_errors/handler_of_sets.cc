// Must not compile, and the error must show the form of a handler of Sets: this one lacks the fields.
#include "rondo/orch/orch.h"

class Routes final : public rondo::Orch {
 public:
  explicit Routes(rondo::Runtime& runtime) : Orch(runtime, "routes", rondo::Priority::p1) {
    consume("ROUTE", this, &Routes::set, &Routes::remove);
  }

 private:
  rondo::Outcome set(std::string_view) { return rondo::Outcome::done(); }
  rondo::Outcome remove(std::string_view) { return rondo::Outcome::done(); }
};
