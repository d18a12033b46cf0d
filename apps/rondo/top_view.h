// What `rondo top` shows, as lines: of the newest frame of the daemon, and of what happened since the one before. The first frame shows the
// averages since the daemon's start. Knows no terminal.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "options.h"

namespace rondo::cli {

class TopView {
 public:
  explicit TopView(SourceOrder order) : order_(order) {}

  /// An answer of the daemon's command `top`, with its rows. One of a daemon that was started anew begins again.
  void take(boost::json::object frame);
  void sort_by(SourceOrder order) noexcept { order_ = order; }
  SourceOrder order() const noexcept { return order_; }

  /// At most 'most' lines; sources that do not fit are left out, at least one is shown. 'color': titles are set off.
  std::vector<std::string> lines(std::size_t most, bool color, const std::string& note) const;

 private:
  std::vector<std::string> head() const;
  std::vector<std::string> tables() const;
  std::vector<std::string> facts() const;
  std::vector<std::string> sources() const;
  double seconds() const;
  /// How much 'name' grew a second between the frames, in 'now' and the object of the same name before it.
  double rate(const boost::json::object& now, const boost::json::object* before, std::string_view name) const;

  SourceOrder order_;
  boost::json::object before_;
  boost::json::object now_;
};

}  // namespace rondo::cli
