#include "rondo/dataplane/dataplane.h"

#include "dataplane/learned.h"
#include "dataplane/missing_subnet.h"
namespace rondo {

DataPlane::~DataPlane() = default;

Status DataPlane::claim() {
  if (is_claimed_.exchange(true)) {
    return {StatusCode::AlreadyExists, "the data plane (" + describe() + ") has an owner in this process, for instance another Switch"};
  }
  Status reserved = reserve();
  if (!reserved.ok()) is_claimed_ = false;
  return reserved;
}

void DataPlane::release() noexcept {
  unreserve();
  is_claimed_ = false;
}

Status DataPlane::reserve() { return {}; }

std::uint8_t DataPlane::protocol() const noexcept { return 0; }

Result<std::unique_ptr<Source>> DataPlane::watch_objects(Scheduler&, Priority, ObjectHandler) { return std::unique_ptr<Source>{}; }

Result<std::unique_ptr<NeighborWatch>> DataPlane::watch_neighbors(Scheduler&, Priority, std::function<void(const NeighborEvent&)>) {
  return failure(StatusCode::Unimplemented, "this data plane learns no neighbours");
}

void DataPlane::copy_subnets_to(std::uint32_t) {}

std::vector<MissingSubnet> DataPlane::missing_subnets() const { return {}; }

Result<std::vector<FdbEntry>> DataPlane::fdb() { return std::vector<FdbEntry>{}; }

Result<std::unique_ptr<FdbWatch>> DataPlane::watch_fdb(Scheduler&, Priority, std::function<void(const FdbEvent&)>) {
  return failure(StatusCode::Unimplemented, "the bridges of this data plane learn nothing");
}

}  // namespace rondo
