# arm-none-eabi-gcc for @CPU@.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a program does not link without a board
foreach(language IN ITEMS C CXX ASM)
    set(CMAKE_${language}_FLAGS_INIT "@FLAGS@")
endforeach()
