# cmbuild_add_model: adds a model to an application.

set(CMBUILD_COMMAND "cmbuild" CACHE STRING "what runs cmbuild: a program, or several words separated by ;")

set_property(GLOBAL PROPERTY CMBUILD_MODULE "${CMAKE_CURRENT_LIST_DIR}/..")

# cmbuild_add_model(TARGET MODEL [SAMPLES N] [IO program|int8])
#
# Adds a model and its executor to TARGET, usually `app`. MODEL is the folder of a package written by
# `cmbuild package --as zephyr`, which needs no Python; or a program (.pte) or any other model that cmbuild
# accepts, which the build then packages for the kernels of this configuration.
#
#   SAMPLES: number of test vectors, if the build packages the model.
#   IO:      int8 omits quantize and dequantize at the model's inputs and outputs.
#
# An image has one model. Include "model.h" and "model_io.h" for its shapes, "cmrt/executor.h" to run it.
function(cmbuild_add_model target model)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "SAMPLES;IO" "")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "cmbuild_add_model: unknown argument ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT CONFIG_CMBUILD)
        message(FATAL_ERROR "cmbuild_add_model: the configuration needs CONFIG_CMBUILD=y")
    endif()
    get_property(taken GLOBAL PROPERTY CMBUILD_MODEL)
    if(taken)
        message(FATAL_ERROR "cmbuild_add_model: an image can have one model only; this one already has ${taken}")
    endif()
    set_property(GLOBAL PROPERTY CMBUILD_MODEL "${model}")
    get_property(module GLOBAL PROPERTY CMBUILD_MODULE)

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
        _cmbuild_check_package("${folder}")
    else()
        set(folder "${CMAKE_CURRENT_BINARY_DIR}/cmbuild/package")
        set(needed)
        if(EXISTS "${path}")
            set(needed "${path}")
            set(model "${path}${callable}")
        endif()
        _cmbuild_package("${folder}" "${model}" "${needed}")
    endif()

    file(GLOB kernels CONFIGURE_DEPENDS "${folder}/kernels/*.c") # of the project's own
    get_property(options GLOBAL PROPERTY CMBUILD_FLOAT_OPTIONS)
    set_property(SOURCE ${kernels} APPEND PROPERTY COMPILE_OPTIONS ${options})
    target_sources(${target} PRIVATE ${kernels}
        "${folder}/model.c" "${folder}/model.S" "${folder}/vectors.c" "${folder}/vectors.S"
        "${module}/src/check.c" "${module}/../runtime/runner/static_executor.c")
    target_include_directories(${target} PRIVATE "${folder}")
    set_property(SOURCE "${folder}/model.S" APPEND PROPERTY OBJECT_DEPENDS "${folder}/weights.bin")
    set_property(SOURCE "${folder}/vectors.S" APPEND PROPERTY OBJECT_DEPENDS "${folder}/vectors.bin")
    set_property(SOURCE "${module}/src/check.c" APPEND PROPERTY OBJECT_DEPENDS "${folder}/model_io.h")
    set_property(SOURCE "${module}/../runtime/runner/static_executor.c" APPEND PROPERTY
        OBJECT_DEPENDS "${folder}/model.h")
    set_property(SOURCE "${module}/../runtime/runner/static_executor.c" APPEND PROPERTY
        COMPILE_OPTIONS -include "${module}/include/cmbuild/arena.h")
endfunction()

# Checks that a package is complete and for these kernels, before anything is compiled.
function(_cmbuild_check_package folder)
    set(manifest "${folder}/package.json")
    if(NOT EXISTS "${manifest}")
        message(FATAL_ERROR "cmbuild_add_model: ${folder} is not a package: package.json not found")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
    file(READ "${manifest}" text)
    string(JSON count LENGTH "${text}" files)
    math(EXPR last "${count} - 1")
    foreach(index RANGE ${last})
        string(JSON name MEMBER "${text}" files ${index})
        string(JSON wanted GET "${text}" files "${name}")
        set(found "nothing")
        if(EXISTS "${folder}/${name}")
            file(SHA256 "${folder}/${name}" found)
        endif()
        if(NOT found STREQUAL wanted)
            message(FATAL_ERROR
                "cmbuild_add_model: ${folder}/${name} has changed since it was packaged; make the package again")
        endif()
    endforeach()
    string(JSON isa GET "${text}" isa)
    if(NOT isa STREQUAL CONFIG_CMBUILD_ISA)
        message(FATAL_ERROR "cmbuild_add_model: ${folder} is for ${isa}, the kernels are for "
            "${CONFIG_CMBUILD_ISA}: cmbuild package --target ${CONFIG_CMBUILD_CPU} --isa ${CONFIG_CMBUILD_ISA}")
    endif()
endfunction()

# Packages the model during the build, and again when the file `needed` changes.
function(_cmbuild_package folder model needed)
    set(options)
    if(arg_SAMPLES)
        list(APPEND options --samples "${arg_SAMPLES}")
    endif()
    if(arg_IO)
        list(APPEND options --io "${arg_IO}")
    endif()
    add_custom_command(
        OUTPUT "${folder}/model.c" "${folder}/model.h" "${folder}/model.S" "${folder}/weights.bin"
            "${folder}/model_io.h" "${folder}/vectors.c" "${folder}/vectors.S" "${folder}/vectors.bin"
        COMMAND ${CMBUILD_COMMAND} package "${model}" --as zephyr
            --target "${CONFIG_CMBUILD_CPU}" --isa "${CONFIG_CMBUILD_ISA}" ${options}
            --build-dir "${CMAKE_CURRENT_BINARY_DIR}/cmbuild/build" --output-dir "${folder}"
        DEPENDS ${needed}
        COMMENT "cmbuild: ${model} for ${CONFIG_CMBUILD_CPU} ${CONFIG_CMBUILD_ISA}"
        VERBATIM)
endfunction()
