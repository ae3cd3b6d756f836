# cmbuild_add_model: adds a model to an application.

set(CMBUILD_COMMAND "cmbuild" CACHE STRING "what runs cmbuild: a program, or several words separated by ;")

set_property(GLOBAL PROPERTY CMBUILD_MODULE "${CMAKE_CURRENT_LIST_DIR}/..")

# cmbuild_add_model(TARGET MODEL [NAME name] [SAMPLES N] [IO program|int8|uint8|int16] [FEED whole|rows] [KEEP_STATE])
#
# Adds a model to TARGET, usually `app`; as many models as one likes. MODEL is the folder of a package written
# by `cmbuild package --as zephyr`, which needs no Python; or a program (.pte, .tflite) or any other model that
# cmbuild accepts, which the build then packages for the kernels of this configuration.
#
#   NAME:    the prefix of everything that the model defines; by default that of the package, or the name of the
#            file or model, with `model_` before it if it would collide: string.pte becomes model_string.
#   SAMPLES: number of test vectors, if the build packages the model.
#   IO:      int8, uint8 and int16 omit quantize and dequantize at the model's inputs and outputs.
#   FEED:    rows takes inputs and hands out images row by row.
#   KEEP_STATE: LSTMs of a .tflite go on where the run before ended.
#
# Include "NAME.h", and "cmbuild/arena.h" to place the arena as the configuration says.
function(cmbuild_add_model target model)
    cmake_parse_arguments(PARSE_ARGV 2 arg "KEEP_STATE" "NAME;SAMPLES;IO;FEED" "")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "cmbuild_add_model: unknown argument ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT CONFIG_CMBUILD)
        message(FATAL_ERROR "cmbuild_add_model: the configuration needs CONFIG_CMBUILD=y")
    endif()

    # path.py:callable names a function in a file.
    string(REGEX MATCH "^(.+\\.py)(:.+)?$" is_python "${model}")
    set(file "${model}")
    if(is_python)
        set(file "${CMAKE_MATCH_1}")
        set(callable "${CMAKE_MATCH_2}")
    endif()
    get_filename_component(path "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(IS_DIRECTORY "${path}")
        set(folder "${path}")
        _cmbuild_check_package("${folder}" name)
    else()
        set(name "${arg_NAME}")
        if(NOT name)
            _cmbuild_name_of("${file}" name)
        endif()
    endif()
    if(arg_NAME AND NOT arg_NAME STREQUAL name)
        message(FATAL_ERROR
            "cmbuild_add_model: ${folder} is called ${name}: cmbuild package --name ${arg_NAME} --as zephyr")
    endif()
    get_property(names GLOBAL PROPERTY CMBUILD_MODELS)
    if(name IN_LIST names)
        message(FATAL_ERROR "cmbuild_add_model: a model called ${name} has already been added; NAME sets another")
    endif()
    if(NOT IS_DIRECTORY "${path}")
        set(folder "${CMAKE_CURRENT_BINARY_DIR}/cmbuild/${name}")
        set(needed)
        if(EXISTS "${path}")
            set(needed "${path}")
            set(model "${path}${callable}")
        endif()
        _cmbuild_package("${folder}" "${model}" "${name}" "${needed}")
    endif()

    file(GLOB kernels CONFIGURE_DEPENDS "${folder}/kernels/*.c") # of the project's own
    set(sources ${kernels} "${folder}/${name}.c" "${folder}/${name}_plan.c" "${folder}/${name}_vectors.c")
    get_property(options GLOBAL PROPERTY CMBUILD_FLOAT_OPTIONS)
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS ${options})
    target_sources(${target} PRIVATE ${sources} "${folder}/${name}_weights.S" "${folder}/${name}_vectors.S")
    target_include_directories(${target} PRIVATE "${folder}")
    foreach(data IN ITEMS weights vectors)
        set_property(SOURCE "${folder}/${name}_${data}.S" APPEND PROPERTY
            OBJECT_DEPENDS "${folder}/${name}_${data}.bin")
    endforeach()
    set_property(GLOBAL APPEND PROPERTY CMBUILD_MODELS "${name}")
    set_property(GLOBAL APPEND PROPERTY CMBUILD_HEADERS
        "${folder}/${name}_plan.h" "${folder}/${name}_vectors.h")
    if(NOT names)
        cmake_language(EVAL CODE "cmake_language(DEFER CALL _cmbuild_finish [[${target}]])")
    endif()
endfunction()

# Writes what goes through all models of an image: checks, the shell's list, the runner's model.
function(_cmbuild_finish target)
    get_property(module GLOBAL PROPERTY CMBUILD_MODULE)
    get_property(names GLOBAL PROPERTY CMBUILD_MODELS)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/cmbuild/models")
    string(TOUPPER "${CONFIG_CMBUILD_ISA}" isa)
    set(includes)
    set(checks)
    set(vectors)
    set(models)
    set(arenas)
    foreach(name IN LISTS names)
        string(TOUPPER "${name}" macro)
        string(APPEND includes "#include \"${name}_plan.h\"\n#include \"${name}_vectors.h\"\n")
        string(APPEND checks
"#ifndef ${macro}_ISA_${isa}
#error \"${name} was planned for other kernels than these: package it with --isa ${CONFIG_CMBUILD_ISA}\"
#endif
#if ${macro}_NEEDS_FLOAT && !defined(CONFIG_CMBUILD_FLOAT)
#error \"${name} computes in float: it needs CONFIG_CMBUILD_FLOAT=y\"
#endif
")
        string(APPEND vectors "extern const struct cm_vectors ${name}_vectors;\n")
        string(APPEND models
            "    {\"${name}\", &${name}_program, &${name}_vectors, ${name}_op_name},\n")
        string(APPEND arenas "    uint8_t ${name}[${macro}_ARENA_BYTES];\n")
    endforeach()
    file(CONFIGURE OUTPUT "${folder}/models.c" @ONLY CONTENT
"/* The models of this image. */
@includes@
@checks@
#ifdef CONFIG_CMBUILD_SHELL
#include \"cmbuild/arena.h\"
#include \"cmbuild/models.h\"

@vectors@
const struct cmbuild_model cmbuild_models[] = {
@models@    {0},
};

static CMBUILD_ARENA union {
@arenas@} arena __attribute__((aligned(16)));
uint8_t *const cmbuild_shell_arena = (uint8_t *)&arena;
#endif
")
    target_sources(${target} PRIVATE "${folder}/models.c")
    get_property(headers GLOBAL PROPERTY CMBUILD_HEADERS)
    set_property(SOURCE "${folder}/models.c" APPEND PROPERTY OBJECT_DEPENDS "${headers}")

    if(CONFIG_CMBUILD_RUNNER)
        list(LENGTH names count)
        if(count GREATER 1)
            message(FATAL_ERROR "cmbuild_add_model: CONFIG_CMBUILD_RUNNER checks one model; there are ${count}: ${names}")
        endif()
        set(name "${names}")
        file(CONFIGURE OUTPUT "${folder}/model.h" @ONLY CONTENT
"/* The runner's model. */
#include \"cmbuild/arena.h\"
#include \"cmrt/vectors.h\"
#include \"@name@_plan.h\"

extern const struct cm_vectors @name@_vectors;

#define CM_MODEL_PROGRAM @name@_program
#define CM_MODEL_ARENA_BYTES @macro@_ARENA_BYTES
#define CM_MODEL_VECTORS @name@_vectors
#define CM_ARENA CMBUILD_ARENA
")
        set(runner "${module}/../runtime/runner/static_executor.c" "${module}/../runtime/vectors/host.c")
        target_sources(${target} PRIVATE ${runner})
        target_include_directories(${target} PRIVATE "${folder}")
        set_property(SOURCE ${runner} APPEND PROPERTY OBJECT_DEPENDS "${headers}")
    endif()
endfunction()

# Checks that a package is complete and for these kernels, before anything is compiled; its name.
function(_cmbuild_check_package folder result)
    set(manifest "${folder}/package.json")
    if(NOT EXISTS "${manifest}")
        message(FATAL_ERROR "cmbuild_add_model: ${folder} is not a package: package.json not found")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
    file(READ "${manifest}" text)
    string(JSON count LENGTH "${text}" files)
    math(EXPR last "${count} - 1")
    foreach(index RANGE ${last})
        string(JSON file MEMBER "${text}" files ${index})
        string(JSON wanted GET "${text}" files "${file}")
        set(found "nothing")
        if(EXISTS "${folder}/${file}")
            file(SHA256 "${folder}/${file}" found)
        endif()
        if(NOT found STREQUAL wanted)
            message(FATAL_ERROR
                "cmbuild_add_model: ${folder}/${file} has changed since it was packaged; make the package again")
        endif()
    endforeach()
    string(JSON isa GET "${text}" isa)
    if(NOT isa STREQUAL CONFIG_CMBUILD_ISA)
        message(FATAL_ERROR "cmbuild_add_model: ${folder} is for ${isa}, the kernels are for "
            "${CONFIG_CMBUILD_ISA}: cmbuild package --target ${CONFIG_CMBUILD_CPU} --isa ${CONFIG_CMBUILD_ISA} --as zephyr")
    endif()
    string(JSON model GET "${text}" model)
    if(NOT EXISTS "${folder}/${model}_plan.c")
        message(FATAL_ERROR "cmbuild_add_model: ${folder} is not for Zephyr: cmbuild package --as zephyr")
    endif()
    set(${result} "${model}" PARENT_SCOPE)
endfunction()

# The name of the package that is made of a model.
function(_cmbuild_name_of file result)
    get_filename_component(stem "${file}" NAME_WE)
    if(NOT PYTHON_EXECUTABLE)
        find_package(Python3 REQUIRED COMPONENTS Interpreter)
        set(PYTHON_EXECUTABLE "${Python3_EXECUTABLE}")
    endif()
    get_property(module GLOBAL PROPERTY CMBUILD_MODULE)
    execute_process(
        COMMAND "${PYTHON_EXECUTABLE}" -B "${module}/cmake/package_name.py" "${stem}"
        OUTPUT_VARIABLE name
        OUTPUT_STRIP_TRAILING_WHITESPACE
        COMMAND_ERROR_IS_FATAL ANY)
    set(${result} "${name}" PARENT_SCOPE)
endfunction()

# Packages the model during the build, and again when the file `needed` changes.
function(_cmbuild_package folder model name needed)
    set(options)
    foreach(option IN ITEMS SAMPLES IO FEED)
        if(arg_${option})
            string(TOLOWER "--${option}" flag)
            list(APPEND options ${flag} "${arg_${option}}")
        endif()
    endforeach()
    if(arg_KEEP_STATE)
        list(APPEND options --keep-state)
    endif()
    set(files)
    foreach(suffix IN ITEMS .c .h _plan.c _plan.h _weights.S _weights.bin
            _vectors.c _vectors.h _vectors.S _vectors.bin)
        list(APPEND files "${folder}/${name}${suffix}")
    endforeach()
    add_custom_command(
        OUTPUT ${files}
        COMMAND ${CMBUILD_COMMAND} package "${model}" --as zephyr --name "${name}"
            --target "${CONFIG_CMBUILD_CPU}" --isa "${CONFIG_CMBUILD_ISA}" ${options}
            --build-dir "${CMAKE_CURRENT_BINARY_DIR}/cmbuild/build" --output-dir "${folder}"
        DEPENDS ${needed}
        COMMENT "cmbuild: ${model} for ${CONFIG_CMBUILD_CPU} ${CONFIG_CMBUILD_ISA}"
        VERBATIM)
endfunction()
