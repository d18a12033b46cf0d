// A program that links rondo::calendar.
#include <cstdio>

#include "rondo/calendar/cron.h"
#include "rondo/calendar/rfc3339.h"

int main() {
  const auto cron = rondo::calendar::Cron::parse("30 2 * * 1-5");
  if (!cron) return 1;
  const auto next = cron->next(rondo::calendar::Zone::utc(), rondo::calendar::DstRule::Vixie, rondo::WallTime{});
  if (!next) return 1;
  std::printf("%s\n", rondo::calendar::format_rfc3339(*next).c_str());
}
