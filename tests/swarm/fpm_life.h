// FpmLife: a random life of the FPM server and the switch agent behind it. A zebra sends next hops, groups and routes, connects anew,
// breaks off anywhere, sends again, falls silent and lies; ports lose their carrier, orders fail, the store refuses writes that it had
// accepted, a user deletes and changes rows of FPM and has a row that zebra announces later, the process ends. When the world has
// calmed down, a zebra sends all that it has in one session: then the tables and the kernel are as that session says, and the rows of a
// user are as they were.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "base/unique_fd.h"
#include "fpm/frame_reader.h"
#include "life.h"
#include "zebra.h"

namespace rondo::swarm {

class FpmLife final : public Life {
 public:
  /// A server that is not as it should be, so that a test sees that the checks find it.
  enum class Broken : std::uint8_t { No, TakesOneDeviceForAnother, NeverSweeps, AnswersNothing, NeverLooksAtRows };

  explicit FpmLife(std::uint64_t seed, Broken broken = Broken::No);
  ~FpmLife() override;
  sim::World& world() override { return *world_; }
  void act() override;
  void calm_down() override;
  /// Every port comes up: the kernel must match the tables exactly.
  void end() override;

 private:
  struct Process;
  class UserRows;
  static sim::WorldOptions drawn_world(Random& random, std::uint64_t seed);

  void begin_box();
  void set_user_rows();
  void operate();
  void operate_session();
  void operate_box();
  void meddle_with_rows();
  void change_user_row();
  void remove_left_rows();

  // --- zebra's end of the connection.
  bool connect();
  void disconnect();
  void send(std::size_t most);
  void listen();

  // --- the clean session.
  void settle();
  void wait_until_settled();
  bool is_settled() const;
  bool has_user_row(const std::string& row) const { return user_.routes.contains(row); }
  std::string unsettled() const;
  void read_rows();

  Status check();
  std::string rows_wrong() const;
  std::string kernel_wrong() const;
  std::string pending_rows() const;
  std::string unanswered() const;

  Random random_;
  const Broken broken_;
  std::unique_ptr<sim::World> world_;
  sim::FaultPlan faults_;
  bool is_calm_ = false;
  std::weak_ptr<Process> process_;
  std::unique_ptr<Zebra> zebra_;
  bool has_vrf_ = false;
  std::size_t routes_max_ = 0;  // The server's limit.
  bool has_changed_ = false;    // The session has changed something since it sent everything.
  bool is_whole_ = false;       // Every port has been up since the last change.
  switch_agent::DesiredState user_;
  switch_agent::Lines rejects_;
  UniqueFd session_;
  int server_end_ = -1;
  std::string unsent_;
  fpm::FrameReader reader_;
  std::set<std::pair<std::string, bool>>
      told_;             // Prefix, and whether it is of Vrf1: the server said in this session that the kernel has it.
  std::string trouble_;  // Why the clean session did not come to its end.
  using Rows = std::map<std::string, std::map<std::string, std::string>>;
  std::array<Rows, 2> rows_;       // Rows of routes and of groups.
  std::string user_row_;           // A row of the user for a prefix that zebra may have; empty: none.
  std::uint64_t comparisons_ = 0;  // The server's count when the clean session began.
};

}  // namespace rondo::swarm
