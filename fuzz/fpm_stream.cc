// fpm_stream: no bytes on an FPM session may cause a read outside them, an endless loop, or a row that the tables refuse to hold. Cuts the
// input into frames, decodes their messages, gives them to a RouteBook and writes its rows into an embedded store. The second book has
// limits of a few, so that most inputs reach them; in the end nothing is counted that is not there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fpm/frame_reader.h"
#include "fpm/route_book.h"
#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/test_source.h"

namespace {

using namespace rondo;

void must_hold(bool condition) {
  if (!condition) std::abort();
}

/// Returns false at the first malformed message.
bool take(const fpm::Frame& frame, fpm::RouteBook& book, fpm::Decoded& decoded) {
  netlink::MessageReader messages{frame.content};
  for (netlink::Message message; messages.next(message);) {
    fpm::decode(message, fpm::HopWeights::MinusOne, decoded);
    switch (decoded.kind) {
      case fpm::Decoded::Kind::Route:
        must_hold(decoded.route.prefix.length <= decoded.route.prefix.address.size() * 8);
        must_hold(!decoded.route.prefix.has_host_bits());
        book.apply(decoded.route);
        break;
      case fpm::Decoded::Kind::Nexthop:
        must_hold(decoded.nexthop.id != 0);
        book.apply(decoded.nexthop);
        break;
      case fpm::Decoded::Kind::Skipped: book.skip(decoded.skip); break;
      case fpm::Decoded::Kind::Malformed: return false;
    }
  }
  return !messages.is_malformed();
}

/// True if the session survives.
bool take_frames(fpm::FrameReader& reader, fpm::RouteBook& book, fpm::Decoded& decoded) {
  for (fpm::Frame frame;;) {
    const Result<bool> found = reader.next(frame);
    if (!found || (*found && !take(frame, book, decoded))) return false;
    if (!*found) return true;
  }
}

void write_all(fpm::RouteBook& book) {
  while (book.has_unwritten() || book.is_sweeping()) must_hold(book.write(64).refused.ok());
  must_hold(book.write(64).refused.ok());
  must_hold(book.figures().unwritten == 0);
}

/// Two sessions of the same bytes, and then the removal of everything.
void run(std::span<const std::uint8_t> data, fpm::BookOptions options) {
  sim::World world{1};
  Scheduler scheduler{world.clock(), world.reactor(), test::policy()};
  const std::unique_ptr<Store> store = make_memory_store(scheduler);
  for (const char* const table : {"ROUTE_TABLE", "NEXTHOP_GROUP_TABLE"}) must_hold(store->declare({.name = table}).ok());
  options.device_name = [](std::uint32_t device) { return device < 100 ? "swp" + std::to_string(device) : ""; };
  options.vrf_name = [](std::uint32_t table) { return table % 2 == 0 ? "Vrf" + std::to_string(table) : ""; };
  fpm::RouteBook book{*store, std::move(options)};
  fpm::FrameReader reader;
  fpm::Decoded decoded;
  std::vector<fpm::Programmed> programmed;
  for (int session = 0; session < 2; ++session) {
    book.begin_session();
    reader.clear();
    for (std::span<const std::uint8_t> rest = data; !rest.empty();) {
      const std::span<std::byte> room = reader.room();
      const std::size_t length = std::min(rest.size(), room.size());
      std::memcpy(room.data(), rest.data(), length);
      reader.add(length);
      rest = rest.subspan(length);
      if (!take_frames(reader, book, decoded)) break;
    }
    write_all(book);
    programmed.clear();
    book.take_programmed(
        64, [](std::string_view, const Prefix& prefix, std::string_view, bool, const IpAddress&) { return prefix.length % 2 == 0; },
        programmed);
    const fpm::BookFigures figures = book.figures();
    must_hold(figures.routes <= book.options().routes_max && figures.members <= book.options().members_max);
    must_hold(figures.hop_lists <= figures.routes && figures.without_room <= figures.routes);
  }
  book.begin_session();
  book.sweep(true);
  write_all(book);
  const fpm::BookFigures figures = book.figures();
  must_hold(figures.routes == 0 && figures.groups == 0 && figures.stale == 0 && figures.waiting == 0);
  must_hold(figures.hop_lists == 0 && figures.members == 0 && figures.without_room == 0 && figures.unanswered == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run({data, size}, {});
  run({data, size}, {.routes_max = 6, .nexthops_max = 3, .members_max = 5, .answers = true});
  return 0;
}
