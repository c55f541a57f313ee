# One INTERFACE target carries what every target of ours is compiled with.
option(TAILRACE_WERROR "Treat warnings as errors" ON)
option(TAILRACE_TESTS "Build the tests" ON)
option(TAILRACE_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
set(TAILRACE_SANITIZE "" CACHE STRING "Sanitizers: 'address;undefined' or 'thread'")

add_library(tailrace_flags INTERFACE)
target_compile_features(tailrace_flags INTERFACE c_std_11)
target_compile_definitions(tailrace_flags INTERFACE _GNU_SOURCE
    TAILRACE_VERSION="${PROJECT_VERSION}")
target_include_directories(tailrace_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tailrace_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Wundef
    -Wimplicit-fallthrough -fno-common -fno-omit-frame-pointer
    # clang does not take the comments in uthash's hash functions for an answer; gcc checks us.
    $<$<C_COMPILER_ID:Clang>:-Wno-implicit-fallthrough>
    # gcc's guess at -O2 does not see that a value is read only where the call that fills it in gave ERR_OK.
    $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    # assert() is for our own bugs and stays on in release builds too.
    -UNDEBUG)
if(TAILRACE_WERROR)
    target_compile_options(tailrace_flags INTERFACE -Werror)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(tailrace_flags INTERFACE -fstack-protector-strong
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    target_link_options(tailrace_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
foreach(sanitizer IN LISTS TAILRACE_SANITIZE)
    target_compile_options(tailrace_flags INTERFACE -fsanitize=${sanitizer})
    target_link_options(tailrace_flags INTERFACE -fsanitize=${sanitizer})
endforeach()
if(TAILRACE_SANITIZE)
    target_compile_options(tailrace_flags INTERFACE -fno-sanitize-recover=all)
endif()
if(TAILRACE_FUZZ)
    target_compile_options(tailrace_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tailrace_library(NAME SOURCES... LINK targets...): one static library for each folder.
function(tailrace_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC tailrace_flags ${ARG_LINK})
endfunction()
