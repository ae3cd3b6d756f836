# An image for a board: start-up, the board's code, the library, and the image's own sources.

include("${CMAKE_CURRENT_LIST_DIR}/options.cmake")

set(CMRT_BOARD "" CACHE PATH "folder of the board")
set(CMRT_LIBRARY "" CACHE FILEPATH "libcmrt.a for the board's CPU")
set(CMRT_LINK_SCRIPT "" CACHE FILEPATH "the board's own, or made from cortexm/link.ld.j2")

function(cmrt_firmware name)
    file(GLOB board CONFIGURE_DEPENDS "${CMRT_BOARD}/*.c")
    if(NOT board)
        set(board "${CMRT_ROOT}/cortexm/reset_state/board.c")
    endif()
    file(GLOB assembly CONFIGURE_DEPENDS "${CMRT_BOARD}/*.S")
    add_executable(${name} ${ARGN} ${board} ${assembly})
    cmrt_options(${name})
    target_include_directories(${name} PRIVATE "${CMRT_BOARD}")
    target_link_libraries(${name} PRIVATE "${CMRT_LIBRARY}")
    if(CMAKE_CROSSCOMPILING)
        file(GLOB startup CONFIGURE_DEPENDS "${CMRT_ROOT}/cortexm/*.c" "${CMRT_ROOT}/cortexm/*.S")
        target_sources(${name} PRIVATE ${startup})
        set_target_properties(${name} PROPERTIES
            SUFFIX .elf
            LINK_DEPENDS "${CMRT_LINK_SCRIPT}")
        target_link_options(${name} PRIVATE
            -T "${CMRT_LINK_SCRIPT}" -Wl,--gc-sections -Wl,-z,noexecstack ${TARGET_LINK_OPTIONS})
        target_link_libraries(${name} PRIVATE ${TARGET_LIBRARIES})
    else()
        target_link_options(${name} PRIVATE ${CMRT_SANITIZE} -Wl,--gc-sections)
        target_link_libraries(${name} PRIVATE m)
    endif()
endfunction()
