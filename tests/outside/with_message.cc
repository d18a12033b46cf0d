// A program that links rondo::message: an Orch that is an agent.
#include <cstdio>
#include <string_view>

#include "rondo/message/messaging_orch.h"
#include "rondo/rondo.h"

namespace {

struct Question {
  int number = 0;
};

class Counter final : public rondo::MessagingOrch {
 public:
  explicit Counter(rondo::Runtime& runtime) : MessagingOrch(runtime, "counter", rondo::Priority::p1) { receive<&Counter::count>(); }
  int sum() const { return sum_; }

 private:
  void count(const Question& question) { sum_ += question.number; }
  int sum_ = 0;
};

}  // namespace

int main() {
  rondo::Runtime runtime;
  Counter& counter = runtime.add<Counter>();
  for (int number = 1; number <= 3; ++number) {
    if (!counter.address().post(Question{number}).ok()) return 1;
  }
  runtime.run_until_idle();
  std::printf("message: the numbers sum up to %d\n", counter.sum());
  return counter.sum() == 6 ? 0 : 2;
}
