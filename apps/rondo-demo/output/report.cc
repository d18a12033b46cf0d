#include "rondo-demo/output/report.h"

#include <boost/json.hpp>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fstream>

namespace rondo::demo {

namespace {

[[gnu::format(printf, 2, 3)]] void line(std::string& text, const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  if (length > 0) text.append(buffer, std::min(sizeof buffer - 1, static_cast<std::size_t>(length))).append("\n");
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

void add_ports(std::string& text, const PortEvents& ports) {
  line(text, "port events         %llu, from the kernel's word to the handler p50 %.0f us, p99 %.0f us, max %.0f us (%llu unseen)",
       static_cast<unsigned long long>(ports.count), us(ports.handled_ns.quantile(0.5)), us(ports.handled_ns.quantile(0.99)),
       us(ports.handled_ns.max()), static_cast<unsigned long long>(ports.unseen));
  line(text, "                    from the cable's move: p50 %.0f us, p99 %.0f us", us(ports.cable_ns.quantile(0.5)),
       us(ports.cable_ns.quantile(0.99)));
}

void add_flap(std::string& text, const RouteFlap& flap) {
  line(text, "flap of routes      %llu withdrawn and announced again, %llu times, in %.2f s", static_cast<unsigned long long>(flap.routes),
       static_cast<unsigned long long>(flap.rounds), flap.seconds);
  line(text, "                    %llu rows written, %llu done, and %llu superseded by a newer one of their key",
       static_cast<unsigned long long>(flap.written), static_cast<unsigned long long>(flap.done),
       static_cast<unsigned long long>(flap.superseded()));
  line(text, "                    %llu turns of the routes, the longest %.0f us", static_cast<unsigned long long>(flap.turns),
       flap.longest_turn_us);
  add_ports(text, flap.ports);
}

boost::json::object quantiles(const Histogram& times) {
  return {{"p50", us(times.quantile(0.5))}, {"p99", us(times.quantile(0.99))}, {"max", us(times.max())}};
}

boost::json::object json_of(const RouteFlap& flap) {
  return {{"routes", flap.routes},
          {"rounds", flap.rounds},
          {"rows_written", flap.written},
          {"rows_done", flap.done},
          {"rows_superseded", flap.superseded()},
          {"turns", flap.turns},
          {"longest_turn_us", flap.longest_turn_us},
          {"port_event_us", quantiles(flap.ports.handled_ns)},
          {"cable_to_handler_us", quantiles(flap.ports.cable_ns)},
          {"port_events", flap.ports.count},
          {"port_events_unseen", flap.ports.unseen},
          {"seconds", flap.seconds}};
}

}  // namespace

std::string to_text(const Report& r) {
  std::string text;
  line(text, "data plane          %s", r.dataplane.c_str());
  line(text, "routes              %llu asked, %zu equal in the data plane%s", static_cast<unsigned long long>(r.routes), r.comparison.equal,
       r.comparison.all_equal() ? "" : " - NOT EQUAL");
  if (!r.comparison.all_equal()) {
    line(text, "                    %zu missing, %zu unasked, %zu wrong groups, %zu groups with wrong members", r.comparison.missing,
         r.comparison.unasked, r.comparison.wrong_group, r.comparison.wrong_members);
    for (const std::string& example : r.comparison.examples) line(text, "                    %s", example.c_str());
  }
  line(text, "fed                 %.0f rows a second", r.feed_rows_per_second);
  line(text, "programmed          %.0f routes a second", r.routes_per_second);
  if (r.baseline_per_second) {
    line(text, "bare netlink loop   %.0f routes a second: this run reached %.0f %% of it", *r.baseline_per_second,
         100.0 * r.routes_per_second / *r.baseline_per_second);
  }
  add_ports(text, r.ports);
  line(text, "longest turn        %.0f us (%s), %.0f us of them on a CPU", r.longest_turn_us, r.longest_turn_of.c_str(),
       r.longest_turn_cpu_us);
  line(text, "                    %llu of %llu turns above 5 ms", static_cast<unsigned long long>(r.long_turns),
       static_cast<unsigned long long>(r.turns));
  line(text, "parked              %llu at the peak; %llu retried, first one %.0f us after its fact at the latest",
       static_cast<unsigned long long>(r.parked_peak), static_cast<unsigned long long>(r.retried), r.resolve_us);
  line(text, "put back            %llu routes that the kernel had dropped with their group", static_cast<unsigned long long>(r.put_back));
  line(text, "lost wake-ups       %llu (the sweep found)", static_cast<unsigned long long>(r.sweep_rescues));
  line(text, "memory of rondod    %.0f MiB at the peak, %.0f bytes a route", static_cast<double>(r.peak_rss_bytes) / (1024.0 * 1024.0),
       r.routes == 0 ? 0.0 : static_cast<double>(r.peak_rss_bytes) / static_cast<double>(r.routes));
  if (r.sample_runs > 0) {
    line(text, "jobs beside them    %llu runs of sample jobs, p99 %.2f ms late", static_cast<unsigned long long>(r.sample_runs),
         r.sample_late_us / 1000.0);
  }
  if (r.flap) add_flap(text, *r.flap);
  line(text, "took                %.1f s", r.seconds);
  return text;
}

std::string to_json(const Report& r) {
  boost::json::object object{{"dataplane", r.dataplane},
                             {"routes", r.routes},
                             {"verified_equal", r.comparison.equal},
                             {"all_equal", r.comparison.all_equal()},
                             {"routes_per_second", r.routes_per_second},
                             {"netlink_floor_per_second", nullptr},
                             {"port_event_us", quantiles(r.ports.handled_ns)},
                             {"cable_to_handler_us", quantiles(r.ports.cable_ns)},
                             {"port_events", r.ports.count},
                             {"port_events_unseen", r.ports.unseen},
                             {"longest_turn_us", r.longest_turn_us},
                             {"longest_turn_cpu_us", r.longest_turn_cpu_us},
                             {"longest_turn_of", r.longest_turn_of},
                             {"turns", r.turns},
                             {"long_turns", r.long_turns},
                             {"peak_rss_bytes", r.peak_rss_bytes},
                             {"parked_peak", r.parked_peak},
                             {"resolve_us", r.resolve_us},
                             {"retried", r.retried},
                             {"put_back", r.put_back},
                             {"sweep_rescues", r.sweep_rescues},
                             {"feed_rows_per_second", r.feed_rows_per_second},
                             {"seconds", r.seconds}};
  if (r.baseline_per_second) object["netlink_floor_per_second"] = *r.baseline_per_second;
  if (r.flap) object["route_flap"] = json_of(*r.flap);
  return boost::json::serialize(object);
}

Status write_json(const Report& report, const std::string& path) {
  std::ofstream file(path);
  file << to_json(report) << '\n' << std::flush;
  return file ? Status{} : status_from_errno(errno != 0 ? errno : EIO, "writing '" + path + "'");
}

}  // namespace rondo::demo
