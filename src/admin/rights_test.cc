// Rights of callers: members of a group that may only read, members of the socket's group, and others. Method: real sockets, and threads
// that change their user and groups, which needs root; and a session with a read-only caller, which does not.
#include <grp.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>

#include "admin/admin_socket_kit.h"
#include "admin/bulk_writer.h"
#include "admin/session.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kReaders = 54321;
constexpr std::uint32_t kWriters = 54322;
constexpr std::uint32_t kNobody = 65534;

class AdminRights : public AdminSocket {
 protected:
  AdminRights() {
    add("write", {}, [this](const Arguments&, Reply reply) {
      ++written;
      reply.finish();
    });
    EXPECT_TRUE(commands
                    .add({.name = "read", .help = "for the test", .arguments = {}, .effect = CommandEffect::Reads},
                         [](const Arguments&, Reply reply) { reply.finish(); })
                    .ok());
  }
  std::atomic<int> written = 0;
};

// The kernel's system calls change only the calling thread; the C library's functions change all threads.
void become(std::uint32_t group, const std::vector<gid_t>& others) {
  ASSERT_EQ(::syscall(SYS_setgroups, others.size(), others.data()), 0);
  ASSERT_EQ(::syscall(SYS_setresgid, group, group, group), 0);
  ASSERT_EQ(::syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
}

TEST_F(AdminRights, MembersOfTheReadGroupReadAndOthersAreDeniedLinux) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  options.read_group = kReaders;
  open();
  ASSERT_EQ(::chown(options.path.c_str(), 0, kWriters), 0);
  with_caller([this] {
    const auto as = [](std::uint32_t group, const std::vector<gid_t>& others, const std::function<void()>& work) {
      std::thread thread([&] {
        become(group, others);
        work();
      });
      thread.join();
    };
    for (const bool is_first : {true, false}) {
      // More groups than the first system call has room for.
      std::vector<gid_t> groups;
      for (gid_t group = 60000; group < 60000U + (is_first ? 0U : 100U); ++group) groups.push_back(group);
      groups.push_back(kReaders);
      as(kNobody, groups, [this] {
        const auto client = connect();
        EXPECT_TRUE(client->call("read", {}).has_value());
        EXPECT_TRUE(client->call("version", {}).has_value());
        const auto refused = client->call("write", {});
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code(), StatusCode::PermissionDenied);
        EXPECT_THAT(std::string{refused.error().message()}, AllOf(HasSubstr("'write' writes"), HasSubstr("user 65534 may only read")));
        BulkWriter writer(*client);
        EXPECT_TRUE(writer.begin("T").ok());
        EXPECT_TRUE(writer.row(BulkOp::Set, "k", {}).ok());
        static_cast<void>(writer.end());
        const auto totals = writer.finish();
        EXPECT_TRUE(!totals || totals->accepted == 0);
      });
    }
    as(kReaders, {}, [this] { EXPECT_TRUE(connect()->call("read", {}).has_value()) << "as the group of its own"; });
    EXPECT_EQ(written, 0);
    as(kNobody, {kReaders, kWriters}, [this] { EXPECT_TRUE(connect()->call("write", {}).has_value()); });
    as(kWriters, {}, [this] { EXPECT_TRUE(connect()->call("write", {}).has_value()); });
    EXPECT_EQ(written, 2);
    as(kNobody, {kNobody}, [this] {
      const auto denied = connect()->call("read", {});
      ASSERT_FALSE(denied.has_value());
      EXPECT_EQ(denied.error().code(), StatusCode::PermissionDenied);
      EXPECT_THAT(std::string{denied.error().message()}, HasSubstr("in none of the groups"));
    });
    EXPECT_TRUE(connect()->call("write", {}).has_value()) << "root";
  });
  EXPECT_THAT(rows, IsEmpty());
  EXPECT_EQ(server->stats().denied_connections, 1U);
  EXPECT_THAT(notices, ElementsAre(AdminNotice::Kind::Denied));
}

TEST_F(AdminRights, WithoutAReadGroupTheFilesRightsDecide) {
  open();
  struct stat status {};
  ASSERT_EQ(::stat(options.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  with_caller([this] { EXPECT_TRUE(connect()->call("write", {}).has_value()); });
}

class ReadingSession : public AdminRights {
 protected:
  /// The answer of the session.
  std::string answer_of(const std::string& bytes) {
    const Caller reader{.user = 1000, .process = 1, .role = Role::Viewer};
    AdminServerStats stats;
    AdminSession session(
        commands, std::make_unique<CountingSink>(rows), options, stats, [] {}, nullptr, reader);
    session.input().append(bytes);
    while (session.has_step()) session.step();
    return std::string{session.output().view()};
  }
};

TEST_F(ReadingSession, ACommandThatDeclaresNothingCountsAsWriting) {
  EXPECT_THAT(answer_of(request_of(R"({"id":1,"command":"echo","text":"x"})")),
              AllOf(HasSubstr("permission-denied"), HasSubstr("command 'echo' writes, and user 1000 may only read")));
  EXPECT_THAT(answer_of(request_of(R"({"id":1,"command":"read"})")), HasSubstr("\"ok\":true"));
  const std::string listed = answer_of(request_of(R"({"id":1,"command":"commands"})"));
  EXPECT_THAT(listed, AllOf(HasSubstr(R"("name":"read","help":"for the test","arguments":[],"writes":false)"),
                            HasSubstr(R"("name":"write","help":"for the test","arguments":[],"writes":true)")));
}

}  // namespace
}  // namespace rondo
