/* The yardstick in C: plain logistic SGD over CSR rows, float64 weights, one exp a row. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define SGD(NAME, VALUE)                                                                      \
    void NAME(size_t rows, const uint64_t *restrict indptr, const uint32_t *restrict indices, \
              const VALUE *restrict values, const double *restrict y,                         \
              double *restrict weights, double eta)                                           \
    {                                                                                         \
        for (size_t t = 0; t < rows; t++) {                                                   \
            uint64_t begin = indptr[t], end = indptr[t + 1];                                  \
            double p = 0.0;                                                                   \
            for (uint64_t k = begin; k < end; k++)                                            \
                p += weights[indices[k]] * values[k];                                         \
            double step = eta * y[t] / (1.0 + exp(y[t] * p));                                 \
            for (uint64_t k = begin; k < end; k++)                                            \
                weights[indices[k]] += step * values[k];                                      \
        }                                                                                     \
    }

SGD(sgd_float32, float)
SGD(sgd_float64, double)
