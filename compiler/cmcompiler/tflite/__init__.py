"""The bytes of a `.tflite` file as a typed program."""
