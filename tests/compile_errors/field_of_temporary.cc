// Must not compile: the string is destroyed before the field that views it.
#include <string>
#include <vector>

#include "rondo/store/record.h"

void add(std::vector<rondo::Field>& fields, int mtu) { fields.push_back({"mtu", std::to_string(mtu)}); }
