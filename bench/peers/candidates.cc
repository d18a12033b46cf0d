// The loops that take part: Rondo, and the peers whose packages were installed at build time (deps/apt.txt, [peers]).
#include <algorithm>
#include <iterator>

#include "peers/loop.h"

namespace rondo::bench {

namespace {
void append(Candidates& all, Candidates more) { std::ranges::move(more, std::back_inserter(all)); }
}  // namespace

Candidates candidates(unsigned work) {
  Candidates all = bare_loops();
  append(all, rondo_loops());
#ifdef RONDO_PEER_SD_EVENT
  append(all, sd_event_loops());
#endif
#ifdef RONDO_PEER_GLIB
  append(all, glib_loops());
#endif
#ifdef RONDO_PEER_LIBEVENT
  append(all, libevent_loops());
#endif
#ifdef RONDO_PEER_ASIO
  append(all, asio_loops());
#endif
  std::erase_if(all, [work](const Candidate& candidate) { return (candidate.works & work) == 0; });
  return all;
}

std::vector<std::string> missing_peers() {
  std::vector<std::string> missing;
#ifndef RONDO_PEER_SD_EVENT
  missing.emplace_back("sd-event: not built, package libsystemd-dev is missing");
#endif
#ifndef RONDO_PEER_GLIB
  missing.emplace_back("GLib: not built, package libglib2.0-dev is missing");
#endif
#ifndef RONDO_PEER_LIBEVENT
  missing.emplace_back("libevent: not built, package libevent-dev is missing");
#endif
#ifndef RONDO_PEER_ASIO
  missing.emplace_back("Boost.Asio: not built, package libboost1.81-dev is missing");
#endif
  return missing;
}

}  // namespace rondo::bench
