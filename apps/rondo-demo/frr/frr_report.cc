#include "rondo-demo/frr/frr_report.h"

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>

namespace rondo::demo {

namespace {

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }
double ms(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }
unsigned long long number(std::uint64_t value) { return value; }

}  // namespace

std::string to_text(const FrrReport& r) {
  char text[1024];
  std::snprintf(text, sizeof text,
                "routes          %llu from BGP, %llu equal in the kernel%s\n"
                "load            %.1f s from the start of FRR on the box\n"
                "                rondod installs %.0f routes/s, zebra %.0f; rondod's last route comes %.0f ms after zebra's\n"
                "BGP to kernel   p50 %.0f us, p99 %.0f us of %llu routes that arrive alone; p50 %.0f ms, p99 %.0f ms in the load\n"
                "                rondod's route comes p50 %.0f us, p99 %.0f us after zebra's own\n"
                "kill -9         %llu of %llu packets lost, %llu changes in the kernel, %.0f ms until zebra had sent its routes again\n"
                "cable pulled    %.1f ms until packets to each destination were answered, %llu lost\n",
                number(r.routes), number(r.verified_equal), r.verified_equal == r.routes ? "" : " - NOT EQUAL", r.load_seconds,
                r.routes_per_second, r.zebra_routes_per_second, ms(r.last_behind_zebra), us(r.single_ns.quantile(0.5)),
                us(r.single_ns.quantile(0.99)), number(r.single_ns.count()), us(r.load_ns.quantile(0.5)) / 1000,
                us(r.load_ns.quantile(0.99)) / 1000, us(r.behind_zebra_ns.quantile(0.5)), us(r.behind_zebra_ns.quantile(0.99)),
                number(r.packets_lost_at_restart), number(r.packets_at_restart), number(r.needless_changes), ms(r.reconciled),
                ms(r.failover), number(r.packets_lost_at_failover));
  return text;
}

std::string to_json(const FrrReport& r) {
  namespace json = boost::json;
  const auto times = [](const Histogram& ns) { return json::object{{"p50", us(ns.quantile(0.5))}, {"p99", us(ns.quantile(0.99))}}; };
  return json::serialize(json::object{{"routes", r.routes},
                                      {"verified_equal", r.verified_equal},
                                      {"load_seconds", r.load_seconds},
                                      {"load_bgp_to_kernel_us", times(r.load_ns)},
                                      {"routes_per_second", r.routes_per_second},
                                      {"zebra_routes_per_second", r.zebra_routes_per_second},
                                      {"last_behind_zebra_ms", ms(r.last_behind_zebra)},
                                      {"bgp_to_kernel_us", times(r.single_ns)},
                                      {"behind_zebra_us", times(r.behind_zebra_ns)},
                                      {"needless_changes", r.needless_changes},
                                      {"packets_at_restart", r.packets_at_restart},
                                      {"packets_lost_at_restart", r.packets_lost_at_restart},
                                      {"reconciled_ms", ms(r.reconciled)},
                                      {"failover_us", ms(r.failover) * 1000},
                                      {"packets_lost_at_failover", r.packets_lost_at_failover}}) +
         "\n";
}

}  // namespace rondo::demo
