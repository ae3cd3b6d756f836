#error abs_out is built only if a program needs it
