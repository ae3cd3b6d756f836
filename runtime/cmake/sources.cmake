# The files of the runtime library, for every build of it: bare metal, host, Zephyr.

get_filename_component(CMRT_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

include("${CMAKE_CURRENT_LIST_DIR}/float.cmake")

# All files with kernels: the runtime's own, and those of CMRT_KERNELS.
function(cmrt_kernels files)
    set(patterns "${CMRT_ROOT}/kernels/*.c")
    foreach(folder IN LISTS CMRT_KERNELS)
        list(APPEND patterns "${folder}/*.c")
    endforeach()
    file(GLOB found CONFIGURE_DEPENDS ${patterns})
    set(${files} ${found} PARENT_SCOPE)
endfunction()

# One version of each microkernel: of the folders isa/scalar up to isa/${highest}, the last one that has
# the file.
function(cmrt_microkernels files highest)
    set(names)
    foreach(isa IN ITEMS scalar dsp mve)
        file(GLOB found CONFIGURE_DEPENDS "${CMRT_ROOT}/isa/${isa}/*.c")
        foreach(file IN LISTS found)
            get_filename_component(name "${file}" NAME_WE)
            set(microkernel_${name} "${file}")
            list(APPEND names ${name})
        endforeach()
        if(isa STREQUAL highest)
            break()
        endif()
    endforeach()
    list(REMOVE_DUPLICATES names)
    set(chosen)
    foreach(name IN LISTS names)
        list(APPEND chosen "${microkernel_${name}}")
    endforeach()
    set(${files} ${chosen} PARENT_SCOPE)
endfunction()

# Compiles for speed what loops over elements; the rest is compiled for size. Kernels of int8 leave such loops to
# microkernels.
function(cmrt_optimize)
    foreach(file IN LISTS ARGN)
        file(STRINGS "${file}" calls REGEX "cm_isa_[a-z0-9_]+_s8" LIMIT_COUNT 1)
        if(NOT calls OR file MATCHES "/isa/")
            set_property(SOURCE "${file}" APPEND PROPERTY COMPILE_OPTIONS -O2)
        endif()
    endforeach()
endfunction()
