# An image whose executor is ExecuTorch's own runtime: its headers, its libraries, the kernels of the program.

enable_language(CXX)

set(EXECUTORCH_INCLUDES "" CACHE STRING "folders of its public headers")
set(EXECUTORCH_DEFINITIONS "" CACHE STRING "as it was compiled with itself")
set(EXECUTORCH_LIBRARIES "" CACHE STRING "its libraries, in any order")
set(EXECUTORCH_WHOLE_LIBRARIES "" CACHE STRING "those that register kernels of their own accord")
set(EXECUTORCH_SOURCES "" CACHE STRING "generated C++ that registers the kernels of the program")
set(METHOD_POOL_BYTES 0 CACHE STRING "for what loading makes; 0: all the memory that is left")
set(TEMPORARY_POOL_BYTES 0 CACHE STRING "for what kernels ask for; as much again if the other is 0")

# ExecuTorch uses neither exceptions nor RTTI, and no thread-safe statics.
set(cxx_options -std=c++17 -O2 -g -fno-exceptions -fno-rtti -fno-unwind-tables -fno-asynchronous-unwind-tables
    -fno-threadsafe-statics -ffunction-sections -fdata-sections)

function(cmrt_executorch name)
    target_sources(${name} PRIVATE ${EXECUTORCH_SOURCES})
    target_include_directories(${name} SYSTEM PRIVATE ${EXECUTORCH_INCLUDES})
    target_compile_definitions(${name} PRIVATE
        C10_USING_CUSTOM_GENERATED_MACROS ${EXECUTORCH_DEFINITIONS}
        CM_METHOD_POOL_BYTES=${METHOD_POOL_BYTES} CM_TEMPORARY_POOL_BYTES=${TEMPORARY_POOL_BYTES})
    target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${cxx_options};${CMRT_SANITIZE}>")
    set_source_files_properties(executorch_executor.cpp executorch_platform.cpp PROPERTIES
        COMPILE_OPTIONS "-Wall;-Wextra;-Wconversion;-ffile-prefix-map=${CMRT_ROOT}=runtime")
    set_source_files_properties(${EXECUTORCH_SOURCES} PROPERTIES COMPILE_OPTIONS -w)
    target_link_libraries(${name} PRIVATE
        -Wl,--whole-archive ${EXECUTORCH_WHOLE_LIBRARIES} -Wl,--no-whole-archive
        -Wl,--no-as-needed -Wl,--start-group ${EXECUTORCH_LIBRARIES} -Wl,--end-group)
endfunction()
