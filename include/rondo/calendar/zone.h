// Zone: the offsets of a time zone from UTC, from a file of the system's tz database (TZif, RFC 8536). ZoneDirectory: reads these files by
// name and reads a file again when it changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::calendar {

/// Seconds since 1970-01-01 00:00:00 UTC, or, where a name says local, of a clock that shows local time.
using Seconds = std::int64_t;

/// A time zone as a list of spans with a constant offset, which covers all of WallTime. After the last change in the file the POSIX rule at
/// its end applies. Immutable: any thread. About 30 KB for a zone with daylight saving time.
class Zone {
 public:
  /// A time span with one offset: calendar/zone_span.h, which is no part of the interface.
  struct Span;

  /// The zone without changes whose offset is 0.
  static const Zone& utc();
  /// Parses the bytes of a TZif file of version 1 to 4. InvalidArgument with the reason for other bytes, and for files that count leap
  /// seconds. O(bytes).
  static Result<Zone> parse(std::string_view name, std::string_view bytes);

  const std::string& name() const noexcept { return name_; }
  const std::vector<Span>& spans() const noexcept { return *spans_; }
  /// Index of the span that contains 'at'. O(log spans).
  std::size_t span_at(Seconds at) const noexcept;
  /// Local time minus UTC at 'at', in seconds. O(log spans).
  std::int32_t offset_at(Seconds at) const noexcept;
  /// The first instant whose local time is 'local' or later: the first of two, and the end of a gap. O(log spans).
  Seconds first_at(Seconds local) const noexcept;

 private:
  Zone(std::string_view name, std::vector<Span> spans);

  std::string name_;
  std::shared_ptr<const std::vector<Span>> spans_;
};

/// The zones of one directory in the layout of the tz database. A zone that callers hold stays valid and unchanged after its file has
/// changed. One thread.
class ZoneDirectory {
 public:
  explicit ZoneDirectory(std::string path = "/usr/share/zoneinfo");
  ~ZoneDirectory();
  ZoneDirectory(const ZoneDirectory&) = delete;
  ZoneDirectory& operator=(const ZoneDirectory&) = delete;

  /// The zone of that name ("Europe/Berlin"). The first call reads the file, later calls return the same zone until refresh(). "UTC" needs
  /// no file. InvalidArgument if 'name' cannot be a name of a zone or the file is not TZif, NotFound if there is no such file.
  Result<std::shared_ptr<const Zone>> find(std::string_view name);

  /// Checks the files of all zones that find() returned, and reads the changed ones again. Returns the names of zones whose spans changed,
  /// in order: a caller then computes its times again. A file that has disappeared or is not TZif leaves its zone unchanged. One stat a
  /// zone.
  std::vector<std::string> refresh();

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

}  // namespace rondo::calendar
