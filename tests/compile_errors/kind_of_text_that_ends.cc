// Must not compile: the text may end before the kind of fact that is named by it.
#include <string>

#include "rondo/orch/constraint.h"

rondo::ConstraintKind kind_of(const std::string& text) { return rondo::ConstraintKind{text.c_str()}; }
