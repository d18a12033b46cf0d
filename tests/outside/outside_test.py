#!/usr/bin/env python3
"""Builds the project of this folder as a user of Rondo does, outside of the tree, in a folder whose name contains a blank, and runs it.

Usage: outside_test.py WAY --source RONDO --build BUILD [--cmake CMAKE] [--cxx COMPILER] [--components a,b] [--launcher WORDS] [--rondo PROGRAM]

WAY is one of
  subdirectory  add_subdirectory, -O2; checks the size of the stripped static program. Several files are compiled as one, which takes a
                third of the time; a static program is not smaller for it, because it links larger members
  packager      the whole project without a preset, CMAKE_BUILD_TYPE=Release, shared libraries, as a packager builds it: the installed
                programs run, and the user's project links the installed libraries. Several files are compiled as one here, too
  package       find_package, from what BUILD installs; each compiler
  pkg-config    the same without CMake
  example       examples/load_balancer by find_package: its simulation, and its daemon (load_balancer.py); needs --rondo. And the project of
                docs/guide/your-first-controller.md
BUILD is a build folder of Rondo whose libraries are built. Each compiler's strict warnings are errors. Prints how long each step takes.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import load_balancer  # noqa: E402

STRICT = {
    "g++": "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wuseless-cast -Wduplicated-cond -Wlogical-op "
           "-Wnull-dereference -Werror",
    # All warnings except those about older standards, padding, and plain pointers (argv).
    "clang++-19": "-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-c++20-compat -Wno-padded -Wno-unsafe-buffer-usage -Werror",
}
SIZE_MAX = 1_500_000  # Bytes of the stripped program with three tables, linked statically with Rondo at -O2.


def run(what, *words, environment=None, fails=False):
    """Returns the output of a command; ends the test if its success differs from the expected one."""
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in words], env={**os.environ, **(environment or {})}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{what}: {time.monotonic() - begin:.1f} s", flush=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{shlex.join(str(word) for word in words)}\n{done.stdout}\n{what}: ended with {done.returncode}")
    return done.stdout


def compilers():
    for name in STRICT:
        if shutil.which(name):
            yield name
        else:
            print(f"{name} is not installed: its warnings are not checked")


def copy_project(folder):
    project = os.path.join(folder, "a project")
    shutil.copytree(os.path.dirname(os.path.abspath(__file__)), project)
    return project


def run_programs(folder, components, libraries=None):
    environment = {"LD_LIBRARY_PATH": libraries} if libraries else None
    run("three_tables", os.path.join(folder, "three_tables"), environment=environment)
    for component in components:
        arguments = []
        if component == "durable":
            arguments = [os.path.join(tempfile.mkdtemp(dir=folder), "tables.rondo")]
        run(f"with_{component}", os.path.join(folder, f"with_{component}"), *arguments, environment=environment)


def check_size(program):
    stripped = program + ".stripped"
    run("strip", "strip", "-o", stripped, program)
    size = os.path.getsize(stripped)
    print(f"three_tables, stripped: {size} bytes")
    if size > SIZE_MAX:
        sys.exit(f"three_tables has {size} bytes when it is stripped; {SIZE_MAX} are promised")


def configure(options, project, build, *settings):
    return ["cmake configure", options.cmake, "-G", "Ninja", "-S", project, "-B", build, *settings]


def subdirectory(options, folder):
    project = copy_project(folder)
    source = os.path.join(folder, "rondo tree")
    os.symlink(options.source, source)
    build = os.path.join(folder, "a build")
    settings = [f"-DOUTSIDE_SOURCE={source}", f"-DOUTSIDE_WARNINGS={';'.join(STRICT['g++'].split())}", "-DCMAKE_BUILD_TYPE=Release",
                "-DCMAKE_CXX_FLAGS_RELEASE=-O2", f"-DCMAKE_CXX_COMPILER={options.cxx}", "-DRONDO_TOGETHER=ON"]
    if options.launcher:
        settings.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={options.launcher}")
        # Paths relative to the temporary folder, so that the next run finds the cached objects.
        os.environ.update(CCACHE_BASEDIR=folder, CCACHE_NOHASHDIR="1")
    program = os.path.join(build, "three_tables")
    run(*configure(options, project, build, *settings))
    run("build", options.cmake, "--build", build, "--target", "three_tables")
    run("three_tables", program)
    check_size(program)
    run(*configure(options, project, os.path.join(folder, "fetched"), *settings, "-DOUTSIDE_FETCH=ON"))


def packager(options, folder):
    project = copy_project(folder)
    build = os.path.join(options.build, "packager")  # Within the tree, so that a compiler cache knows its paths.
    prefix = os.path.join(folder, "a prefix")
    run(*configure(options, options.source, build, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", f"-DCMAKE_CXX_COMPILER={options.cxx}",
                   f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DRONDO_BUILD_TESTS=OFF", "-DRONDO_BUILD_BENCH=OFF", "-DRONDO_BUILD_EXAMPLES=OFF",
                   "-DRONDO_TOGETHER=ON"))
    run("build", options.cmake, "--build", build)
    run("install", options.cmake, "--install", build)
    for name in ("rondod", "rondo"):
        run(f"{name} --version", os.path.join(prefix, "bin", name), "--version")
    user = os.path.join(folder, "a user's build")
    run(*configure(options, project, user, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={options.cxx}"))
    run("the user's build", options.cmake, "--build", user, "--target", "three_tables")
    run("three_tables", os.path.join(user, "three_tables"))
    if "librondo.so.0.1" not in run("dynamic section", "readelf", "-d", os.path.join(user, "three_tables")):
        sys.exit("three_tables does not need librondo.so.0.1 when the library is shared")


def install(options, folder):
    """Uses the installed development files from a folder that was moved after the installation."""
    first = os.path.join(folder, "first prefix")
    prefix = os.path.join(folder, "a prefix")
    run("install", options.cmake, "--install", options.build, "--component", "development", "--prefix", first)
    os.rename(first, prefix)
    for place, _, names in os.walk(prefix):
        for name in names:
            if not name.endswith((".cmake", ".pc")):
                continue
            with open(os.path.join(place, name), encoding="utf-8") as file:
                text = file.read()
            for path in (first, options.source, options.build):
                if path in text:
                    sys.exit(f"{name} names {path}: what is installed cannot be moved")
    return prefix


def package(options, folder):
    project = copy_project(folder)
    prefix = install(options, folder)
    for compiler in compilers():
        build = os.path.join(folder, f"build with {compiler}")
        run(*configure(options, project, build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}",
                       f"-DOUTSIDE_COMPONENTS={';'.join(options.components)}", f"-DOUTSIDE_WARNINGS={';'.join(STRICT[compiler].split())}"))
        run(f"build with {compiler}", options.cmake, "--build", build)
        run_programs(build, options.components)
    check_missing(options, folder, project, prefix)


def check_missing(options, folder, project, prefix):
    """find_package reports a missing component and the reason."""
    text = run(*configure(options, project, os.path.join(folder, "without"), f"-DCMAKE_PREFIX_PATH={prefix}",
                          "-DOUTSIDE_COMPONENTS=imaginary"), fails=True)
    if "Rondo's component imaginary is missing: there is no such component" not in " ".join(text.split()):
        sys.exit(f"find_package does not say what is wrong with the component 'imaginary':\n{text}")
    left_out = [name for name in ("durable", "jobs", "mariadb", "postgresql", "redis", "zmq") if name not in options.components]
    for name in left_out:
        text = run(*configure(options, project, os.path.join(folder, "without"), f"-DCMAKE_PREFIX_PATH={prefix}",
                              f"-DOUTSIDE_COMPONENTS={name}"), fails=True)
        if f"Rondo's component {name} is missing:" not in " ".join(text.split()) or "when this Rondo was built" not in " ".join(text.split()):
            sys.exit(f"find_package does not say why the component {name} is missing:\n{text}")


def pkg_config(options, folder):
    project = copy_project(folder)
    prefix = install(options, folder)
    places = [place for place, folders, _ in os.walk(prefix) if os.path.basename(place) == "pkgconfig"]
    environment = {"PKG_CONFIG_PATH": places[0]}
    for compiler in compilers():
        build = os.path.join(folder, f"build with {compiler}")
        os.mkdir(build)
        for name, module in [("three_tables", "rondo")] + [(f"with_{each}", f"rondo-{each}") for each in options.components]:
            words = shlex.split(run(f"pkg-config {module}", "pkg-config", "--static", "--cflags", "--libs", f"{module} >= 0.1",
                                    environment=environment))
            run(f"{compiler} {name}", compiler, "-std=c++20", *STRICT[compiler].split(), os.path.join(project, f"{name}.cc"), "-o",
                os.path.join(build, name), *words)
        run_programs(build, options.components)


def example(options, folder):
    project = os.path.join(folder, "a project")
    shutil.copytree(os.path.join(options.source, "examples", "load_balancer"), project)
    prefix = install(options, folder)
    build = os.path.join(folder, "a build")
    run(*configure(options, project, build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={options.cxx}",
                   "-DCMAKE_CXX_FLAGS=" + STRICT["g++"]))
    run("build", options.cmake, "--build", build)
    print(run("simulation", "ctest", "--test-dir", build, "--verbose", "--no-tests=error"))
    load_balancer.check(os.path.join(build, "load_balancer"), options.rondo, folder)
    first_controller(options, folder, prefix)


def first_controller(options, folder, prefix):
    """The guide's first page: its CMake code, the example that its code is cut from, and the output that it shows."""
    with open(os.path.join(options.source, "docs", "guide", "your-first-controller.md"), encoding="utf-8") as file:
        page = file.read()
    project = os.path.join(folder, "first controller")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(page.split("```cmake\n")[1].split("```")[0])
    shutil.copy(os.path.join(options.source, "examples", "01_two_orchs.cc"), os.path.join(project, "main.cc"))
    build = os.path.join(project, "build")
    run(*configure(options, project, build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={options.cxx}"))
    run("build the first controller", options.cmake, "--build", build)
    printed = run("the first controller", os.path.join(build, "first_controller"))
    if f"```\n{printed}```" not in page:
        sys.exit(f"the first controller does not print what the guide says, but\n{printed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["subdirectory", "packager", "package", "pkg-config", "example"])
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--components", default="")
    parser.add_argument("--launcher", default="")
    parser.add_argument("--rondo", default="rondo")
    options = parser.parse_args()
    options.components = [name for name in options.components.split(",") if name]
    with tempfile.TemporaryDirectory(prefix="rondo outside ") as folder:
        {"subdirectory": subdirectory, "packager": packager, "package": package, "pkg-config": pkg_config, "example": example}[options.way](options, folder)


if __name__ == "__main__":
    main()
