// Must not compile, and the error must show the form of a handler of messages: this one takes its message by value.
#include "rondo/orch/orch.h"

struct Reload {};

class Routes final : public rondo::Orch {
 public:
  explicit Routes(rondo::Runtime& runtime) : Orch(runtime, "routes", rondo::Priority::p1) { receive<&Routes::reload>(); }

 private:
  void reload(Reload) {}
};
