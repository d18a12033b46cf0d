// `rondo worker` with real commands: those that fork, ignore SIGTERM, print gigabytes, never end, are not found or not allowed.
#include "worker_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::Eq;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(WorkerOnLinux, ACommandRunsWithItsArgumentsAndItsOutputIsTheLogOfTheRun) {
  start_server();
  start_worker("[command.echo]\nprogram = \"/bin/echo\"\narguments = [\"hello\", \"{run}\"]\n");
  const std::int64_t id = run("echo");
  EXPECT_EQ(end("echo", id), "succeeded");
  EXPECT_EQ(log_of(id), "hello " + std::to_string(id) + "\n");
}

}  // namespace
}  // namespace rondo::jobs
