// The main job beside FRR: two FRR routers in network namespaces speak BGP, and rondod takes the routes of one of them over FPM into the
// kernel. rondod is killed with SIGKILL and started again, and a cable is pulled, while packets follow the routes. Needs root. Exit codes:
// 0 the kernel equals what BGP announced, and the restart changed and lost nothing; 1 otherwise; 2 wrong usage.
#pragma once

#include <string>

namespace rondo::demo {

int frr_main(int argc, const char* const* argv, const std::string& rondod);

}  // namespace rondo::demo
