# In place of Zephyr's own package: the documented functions that the module and its samples use, and no
# others. What it needs to know comes in STANDIN_CONFIG (a .config), STANDIN_AUTOCONF (the same as a
# header), STANDIN_DEVICETREE (a header), STANDIN_MEMORY (a linker script's MEMORY) and STANDIN_FLAGS.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
foreach(language C CXX ASM)
    set(CMAKE_${language}_COMPILER_FORCED TRUE)
    set(CMAKE_${language}_COMPILER_ID GNU)
    set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
endforeach()
project(standin C CXX ASM)
get_filename_component(STANDIN "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

file(STRINGS "${STANDIN_CONFIG}" lines REGEX "^CONFIG_")
foreach(line IN LISTS lines)
    string(REGEX MATCH "^(CONFIG_[A-Z0-9_]+)=\"?([^\"]*)\"?$" match "${line}")
    set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

# As cmake/compiler/gcc/compiler_flags.cmake has them, and every warning an error.
separate_arguments(flags UNIX_COMMAND "${STANDIN_FLAGS}")
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE
    ${flags} -imacros "${STANDIN_AUTOCONF}" -ffreestanding -fno-common -fno-pic -fno-pie
    -fno-strict-aliasing -fno-asynchronous-unwind-tables -fno-reorder-functions -ffunction-sections
    -fdata-sections -Wall -Wextra -Wformat -Wformat-security -Wpointer-arith -Wno-pointer-sign
    -Wno-unused-but-set-variable -Werror
    $<$<COMPILE_LANGUAGE:C>:-std=c17 -Os -Werror=implicit-int>
    $<$<COMPILE_LANGUAGE:CXX>:-std=c++17 -Os -fno-exceptions -fno-rtti>)
target_include_directories(zephyr_interface INTERFACE "${STANDIN}/include" "${STANDIN_DEVICETREE}")

function(zephyr_library_named name)
    add_library(${name} STATIC)
    target_link_libraries(${name} PUBLIC zephyr_interface)
    set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY STANDIN_LIBRARIES ${name})
endfunction()

function(zephyr_library_sources)
    target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()

function(zephyr_library_sources_ifdef feature)
    if(${${feature}})
        zephyr_library_sources(${ARGN})
    endif()
endfunction()

# Zephyr's go by way of a library of their own, so that they follow those of zephyr_interface.
function(zephyr_library_compile_options)
    string(SHA256 name "${ARGN}")
    add_library(options_${name} INTERFACE)
    target_compile_options(options_${name} INTERFACE ${ARGN})
    target_link_libraries(${ZEPHYR_CURRENT_LIBRARY} PRIVATE options_${name})
endfunction()

function(zephyr_include_directories)
    target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()

function(zephyr_linker_sources location)
    if(NOT location MATCHES "^(RODATA|SECTIONS)$")
        message(FATAL_ERROR "the stand-in's link script has no place for ${location}")
    endif()
    foreach(file IN LISTS ARGN)
        get_filename_component(file "${file}" ABSOLUTE)
        file(APPEND "${CMAKE_BINARY_DIR}/snippets/${location}.ld" "#include \"${file}\"\n")
    endforeach()
endfunction()

# Chosen nodes are labels, and properties of nodes are those that STANDIN_DEVICETREE/dts.cmake sets.
include("${STANDIN_DEVICETREE}/dts.cmake")

function(dt_chosen result)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROPERTY" "")
    get_property(node GLOBAL PROPERTY "DT_CHOSEN|${arg_PROPERTY}")
    set(${result} "${node}" PARENT_SCOPE)
endfunction()

function(dt_prop result)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "PATH;PROPERTY" "")
    get_property(value GLOBAL PROPERTY "DT_PROP|${arg_PATH}|${arg_PROPERTY}")
    set(${result} "${value}" PARENT_SCOPE)
endfunction()

file(WRITE "${CMAKE_BINARY_DIR}/snippets/RODATA.ld" "")
file(WRITE "${CMAKE_BINARY_DIR}/snippets/SECTIONS.ld" "")
add_library(app STATIC)
target_link_libraries(app PUBLIC zephyr_interface)

# $ZEPHYR_BASE/scripts/zephyr_module.py finds these folders in module.yml.
foreach(module IN LISTS EXTRA_ZEPHYR_MODULES)
    add_subdirectory("${module}/zephyr" modules/cmbuild)
endforeach()

function(standin_link)
    set(script "${CMAKE_BINARY_DIR}/linker.ld")
    execute_process(
        COMMAND ${CMAKE_C_COMPILER} -E -P -x c -imacros "${STANDIN_AUTOCONF}"
            -I "${STANDIN}/include" -I "${STANDIN_DEVICETREE}" -I "${CMAKE_BINARY_DIR}/snippets"
            "${STANDIN}/linker.ld" -o "${script}"
        COMMAND_ERROR_IS_FATAL ANY)
    get_property(libraries GLOBAL PROPERTY STANDIN_LIBRARIES)
    add_executable(zephyr "${STANDIN}/kernel.c")
    set_target_properties(zephyr PROPERTIES SUFFIX .elf RUNTIME_OUTPUT_DIRECTORY zephyr)
    target_link_options(zephyr PRIVATE ${flags} -nostartfiles --specs=nano.specs -T "${script}"
        -Wl,--gc-sections -Wl,-z,noexecstack -Wl,--orphan-handling=error -Wl,--fatal-warnings)
    target_link_libraries(zephyr PRIVATE zephyr_interface
        -Wl,--whole-archive app ${libraries} -Wl,--no-whole-archive m)
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL standin_link)
