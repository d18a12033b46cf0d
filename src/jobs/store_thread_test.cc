// StoreThread with a store of its own: which works are one transaction, and which errors they share. The first work holds the thread until
// the others wait, so they are in one batch.
#include "jobs/store_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/testing/passing_job_store.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;

/// Counts transactions.
class CountingStore final : public test::PassingJobStore {
 public:
  explicit CountingStore(std::shared_ptr<JobStore> store) : PassingJobStore(*store), kept_(std::move(store)) {}
  Status atomically(const std::function<Status()>& work) override {
    ++transactions;
    return PassingJobStore::atomically(work);
  }
  int transactions = 0;

 private:
  std::shared_ptr<JobStore> kept_;
};

class StoreThreadTest : public ::testing::Test {
 protected:
  StoreThreadTest() {
    works->submit<bool>("hold", [this](JobStore&, Planner&) -> Result<bool> { return held.get_future().get(), true; }, {});
  }
  /// A work that keeps a text under 'key', and then returns 'error'.
  void submit(const std::string& key, Commit commit, const Status& error = {}) {
    works->submit<bool>(
        key,
        [key, error](JobStore& of, Planner&) -> Result<bool> {
          if (Status kept = of.remember(key, "kept"); !kept.ok()) return failure(std::move(kept));
          if (!error.ok()) return failure(error);
          return true;
        },
        [this](const Result<bool>& result) {
          answers.push_back(result.has_value());
          if (answers.size() == wanted) runtime.stop();
        },
        commit);
    ++wanted;
  }
  void run() {
    held.set_value();
    runtime.run();
  }
  std::string kept(const std::string& key) { return store->remembered(key).value(); }

  TemporaryFolder folder;
  std::promise<void> held;
  Runtime runtime;
  std::shared_ptr<CountingStore> store = std::make_shared<CountingStore>(make_sqlite_job_store((folder / "jobs.db").string()).value());
  std::unique_ptr<StoreThread> works = std::make_unique<StoreThread>(
      runtime.scheduler(), store, PlannerOptions{}, [](Duration) {}, [](const auto&, const auto&) {});
  std::vector<bool> answers;
  std::size_t wanted = 0;
};

TEST_F(StoreThreadTest, WorksThatCommitTogetherAreOneTransaction) {
  for (const std::string key : {"a", "b", "c"}) submit(key, Commit::Together);
  submit("d", Commit::Alone);
  submit("e", Commit::Together);
  run();
  EXPECT_THAT(answers, ElementsAre(true, true, true, true, true));
  EXPECT_EQ(store->transactions, 1);
  EXPECT_EQ(works->commits().count(), 2U) << "'a' to 'c', and 'e'";
  for (const std::string key : {"a", "b", "c", "d", "e"}) EXPECT_EQ(kept(key), "kept");
}

TEST_F(StoreThreadTest, AnErrorUndoesTheWorksOfItsTransactionAndNoOther) {
  submit("a", Commit::Alone);
  submit("b", Commit::Together);
  submit("c", Commit::Together, {StatusCode::Unavailable, "no disk"});
  submit("d", Commit::Together);
  submit("e", Commit::Alone);
  run();
  EXPECT_THAT(answers, ElementsAre(true, false, false, false, true));
  EXPECT_EQ(kept("a") + kept("b") + kept("c") + kept("d") + kept("e"), "keptkept");
}

TEST_F(StoreThreadTest, AnErrorOfAWorkAloneFailsNoOther) {
  submit("a", Commit::Alone, {StatusCode::Unavailable, "no disk"});
  submit("b", Commit::Alone);
  run();
  EXPECT_THAT(answers, ElementsAre(false, true));
}

}  // namespace
}  // namespace rondo::jobs
