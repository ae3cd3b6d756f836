/* What MLPerf Tiny's benchmark/api asks of a submission: a model as its benchmark declares it, on a board
   as its port does. */
#include "api/submitter_implemented.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "api/internally_implemented.h"
#include "benchmark.h"
#include "port.h"

#if EE_CFG_ENERGY_MODE == 1
#error "th_timestamp would have to pulse a pin of your board: energy mode is not supported"
#endif

namespace
{

using benchmark::Data;

constexpr size_t ELEMENTS = benchmark::ROWS * benchmark::COLUMNS * benchmark::CHANNELS;
constexpr size_t LOADED_BYTES = ELEMENTS * (benchmark::DATA == Data::FLOATS ? sizeof(float) : 1);

/* The model's input, kept because a run may overwrite its own. */
benchmark::Input input[ELEMENTS];

/* Whether each loaded number turns into the element at its own place. */
constexpr bool IS_IN_PLACE = sizeof input == LOADED_BYTES && benchmark::CHANNEL_STEP == 1 &&
                             benchmark::COLUMN_STEP == benchmark::CHANNELS &&
                             benchmark::ROW_STEP == benchmark::COLUMNS * benchmark::CHANNELS;

/* What the runner has loaded; the distance of an autoencoder's output is measured from it. */
uint8_t separate[IS_IN_PLACE ? 1 : LOADED_BYTES];
uint8_t *const loaded = IS_IN_PLACE ? reinterpret_cast<uint8_t *>(input) : separate;

float scores[benchmark::OUTPUTS];

float number_at(size_t index)
{
    if (benchmark::DATA == Data::FLOATS) {
        float number;
        std::memcpy(&number, loaded + index * sizeof number, sizeof number);
        return number;
    }
    int byte = benchmark::DATA == Data::SIGNED_BYTES ? static_cast<int8_t>(loaded[index]) : loaded[index];
    return static_cast<float>(byte - benchmark::ZERO) * benchmark::SCALE;
}

/* Turns logits into probabilities. */
void take_softmax()
{
    float largest = scores[0], sum = 0;
    for (float score : scores)
        largest = score > largest ? score : largest;
    for (float &score : scores)
        sum += score = std::exp(score - largest);
    for (float &score : scores)
        score /= sum;
}

float mean_squared_distance()
{
    float sum = 0;
    for (size_t i = 0; i < benchmark::OUTPUTS; ++i) {
        float distance = scores[i] - number_at(i);
        sum += distance * distance;
    }
    return sum / static_cast<float>(benchmark::OUTPUTS);
}

/* As "%0.3f", which C libraries may lack. */
void print_thousandths(float number)
{
    if (number < 0) {
        th_printf("-");
        number = -number;
    }
    constexpr float MOST = 4e6F;
    auto thousandths = static_cast<unsigned long>((number < MOST ? number : MOST) * 1000.0F + 0.5F);
    unsigned fraction = static_cast<unsigned>(thousandths % 1000);
    th_printf("%lu.%u%u%u", thousandths / 1000, fraction / 100, fraction / 10 % 10, fraction % 10);
}

void print_unsigned(unsigned long number, unsigned base, int width)
{
    char digits[3 * sizeof number];
    int count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    for (int missing = width - count; missing > 0; --missing)
        port_send('0');
    while (count > 0)
        port_send(digits[--count]);
}

void print_signed(long number)
{
    if (number < 0)
        port_send('-');
    print_unsigned(number < 0 ? 0UL - static_cast<unsigned long>(number) : static_cast<unsigned long>(number),
                   10, 0);
}

void print_text(const char *text)
{
    while (*text != '\0')
        port_send(*text++);
}

} // namespace

void th_load_tensor()
{
    size_t bytes = ee_get_buffer(loaded, LOADED_BYTES);
    if (bytes != LOADED_BYTES) {
        th_printf("e-[Loaded %u bytes, expected %u]\r\n", static_cast<unsigned>(bytes),
                  static_cast<unsigned>(LOADED_BYTES));
        return;
    }
    size_t index = 0;
    for (size_t row = 0; row < benchmark::ROWS; ++row)
        for (size_t column = 0; column < benchmark::COLUMNS; ++column)
            for (size_t channel = 0; channel < benchmark::CHANNELS; ++channel) {
                size_t place = row * benchmark::ROW_STEP + column * benchmark::COLUMN_STEP +
                               channel * benchmark::CHANNEL_STEP;
                input[place] = benchmark::to_input(number_at(index++));
            }
}

void th_infer()
{
    std::memcpy(benchmark::input(), input, sizeof input);
    if (!benchmark::run()) {
        th_printf("e-[The model does not run]\r\n");
        return;
    }
    for (size_t i = 0; i < benchmark::OUTPUTS; ++i)
        scores[i] = benchmark::from_output(benchmark::output()[i]);
    if (benchmark::HAS_LOGITS)
        take_softmax();
}

void th_results()
{
    th_printf("m-results-[");
    if (benchmark::IS_AUTOENCODER)
        print_thousandths(mean_squared_distance());
    else
        for (size_t i = 0; i < benchmark::OUTPUTS; ++i) {
            if (i > 0)
                th_printf(",");
            print_thousandths(scores[i]);
        }
    th_printf("]\r\n");
}

void th_timestamp(void)
{
    th_printf(EE_MSG_TIMESTAMP, static_cast<unsigned long>(port_microseconds()));
}

void th_timestamp_initialize(void)
{
    th_printf(EE_MSG_TIMESTAMP_MODE);
    th_timestamp();
}

void th_serialport_initialize(void)
{
    port_start();
}

void th_final_initialize(void)
{
    if (!benchmark::start())
        th_printf("e-[The model does not start]\r\n");
}

void th_pre()
{
}

void th_post()
{
}

void th_command_ready(char volatile *message)
{
    ee_serial_command_parser_callback(const_cast<char *>(message));
}

char th_getchar()
{
    return port_receive();
}

void th_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    th_vprintf(format, arguments);
    va_end(arguments);
}

/* The conversions of the benchmark: %s, %c, %d, %i, %u, %x, with `l`, `z` and zeros before. Returns 0. */
int th_vprintf(const char *format, va_list arguments)
{
    for (; *format != '\0'; ++format) {
        if (*format != '%') {
            port_send(*format);
            continue;
        }
        int width = 0;
        bool is_long = false;
        for (++format; *format >= '0' && *format <= '9'; ++format)
            width = 10 * width + (*format - '0');
        for (; *format == 'l' || *format == 'z'; ++format)
            is_long = true;
        switch (*format) {
        case 's':
            print_text(va_arg(arguments, const char *));
            break;
        case 'c':
            port_send(static_cast<char>(va_arg(arguments, int)));
            break;
        case 'd':
        case 'i':
            print_signed(is_long ? va_arg(arguments, long) : va_arg(arguments, int));
            break;
        case 'u':
        case 'x':
            print_unsigned(is_long ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned),
                           *format == 'x' ? 16 : 10, width);
            break;
        case '\0':
            return 0;
        default:
            port_send(*format);
        }
    }
    return 0;
}

int th_strncmp(const char *first, const char *second, size_t most)
{
    return std::strncmp(first, second, most);
}

char *th_strncpy(char *to, const char *from, size_t most)
{
    return std::strncpy(to, from, most);
}

size_t th_strnlen(const char *text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length] != '\0')
        ++length;
    return length;
}

char *th_strcat(char *to, const char *from)
{
    return std::strcat(to, from);
}

char *th_strtok(char *text, const char *separators)
{
    return std::strtok(text, separators);
}

int th_atoi(const char *text)
{
    return std::atoi(text);
}

void *th_memset(void *to, int byte, size_t bytes)
{
    return std::memset(to, byte, bytes);
}

void *th_memcpy(void *to, const void *from, size_t bytes)
{
    return std::memcpy(to, from, bytes);
}
