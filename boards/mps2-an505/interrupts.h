/* External interrupts of the IoT kit and of the board (AN505, "Interrupt map"). */
#define CM_INTERRUPTS 92
