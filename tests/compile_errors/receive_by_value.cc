// Must not compile, and the error must show the form of a handler of messages: this one takes its message by value.
#include "rondo/message/messaging_orch.h"

struct Reload {};

class Routes final : public rondo::MessagingOrch {
 public:
  explicit Routes(rondo::Runtime& runtime) : MessagingOrch(runtime, "routes", rondo::Priority::p1) { receive<&Routes::reload>(); }

 private:
  void reload(Reload) {}
};
