// Must not compile: the text may be destroyed before the kind of fact that it names.
#include <string>

#include "rondo/orch/fact.h"

rondo::FactKind kind_of(const std::string& text) { return rondo::FactKind{text.c_str()}; }
