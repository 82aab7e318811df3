# SPDX-License-Identifier: Apache-2.0
"""Builds the library from the tree that this file belongs to: "scripts/conan", or "conan create packaging/conan".

GLib, libzookeeper-mt, GnuTLS and Cyrus SASL are those of the system, as Debian's development packages install them.
"""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir
from conan.tools.gnu import PkgConfig


class CuratorConan(ConanFile):
    name = "curator-c"
    description = "Apache Curator's lock recipes for C"
    license = "Apache-2.0"
    topics = ("zookeeper", "lock", "mutex", "semaphore", "distributed")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tls": [True, False], "sasl": [True, False]}
    default_options = {"shared": True, "tls": True, "sasl": True}

    def _tree(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(self._tree(), "include", "curator", "version.h"))
        number = [re.search(rf"CURATOR_{part}_VERSION (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "MICRO")]
        suffix = re.search(r'CURATOR_VERSION_SUFFIX "(.*)"', header).group(1)
        self.version = ".".join(number) + suffix

    def export_sources(self):
        patterns = ["CMakeLists.txt", "LICENSE", "NOTICE", "CHANGELOG.md", "cmake/*", "compat/*", "docs/*", "include/*",
                    "packaging/*", "src/*", "testing/*", "tools/*"]
        for pattern in patterns:
            copy(self, pattern, src=self._tree(), dst=self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        toolchain.cache_variables["CURATOR_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["CMAKE_INSTALL_LIBDIR"] = "lib"
        toolchain.cache_variables["CURATOR_TLS"] = "ON" if self.options.tls else "OFF"
        toolchain.cache_variables["CURATOR_SASL"] = "ON" if self.options.sasl else "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        for name in ("LICENSE", "NOTICE"):
            copy(self, name, src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes these files for its users. zkflock needs the shared library.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        if self.options.shared:
            rm(self, "libcurator.a", os.path.join(self.package_folder, "lib"))
        else:
            rm(self, "*.so*", os.path.join(self.package_folder, "lib"))
            rmdir(self, os.path.join(self.package_folder, "bin"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "curator")
        PkgConfig(self, "gio-2.0").fill_cpp_info(self.cpp_info.components["gio"], is_system=True)
        library = self.cpp_info.components["curator"]
        library.set_property("cmake_target_name", "curator::curator")
        library.set_property("pkg_config_name", "curator")
        library.libs = ["curator"]
        library.requires = ["gio"]
        if not self.options.shared:
            library.system_libs = ["zookeeper_mt", "pthread", "dl"]
            library.system_libs += ["sasl2"] if self.options.sasl else []
        zoolock = self.cpp_info.components["zoolock"]
        zoolock.set_property("cmake_target_name", "curator::zoolock")
        zoolock.set_property("pkg_config_name", "curator-zoolock")
        zoolock.libs = ["curator-zoolock"]
        zoolock.includedirs = ["include", "include/curator/compat"]
        zoolock.system_libs = ["zookeeper_mt", "pthread"]
        zoolock.requires = ["curator"]
        testing = self.cpp_info.components["testing"]
        testing.set_property("cmake_target_name", "curator::testing")
        testing.set_property("pkg_config_name", "curator-testing")
        testing.libs = ["curator-testing"]
        testing.system_libs = ["pthread"]
        testing.requires = ["gio"]
