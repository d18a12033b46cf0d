// The main job of the scheduler of jobs: a rondod that only schedules gets many jobs that are due in one second, then a steady rate of
// runs. In the middle of it rondod is killed with SIGKILL and started again; with a database server another rondod takes over, and is then
// stopped with SIGSTOP. At the end the database is read: each due run must exist exactly once. With executors each attempt must have
// arrived at one of them at most once, and the last one of each run must have arrived. Exit codes: 0 it does, 1 it does not or a step
// failed, 2 wrong usage.
#pragma once

#include <string>

namespace rondo::demo {

int jobs_main(int argc, const char* const* argv, const std::string& rondod);

}  // namespace rondo::demo
