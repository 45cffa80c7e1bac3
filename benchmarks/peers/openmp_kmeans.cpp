// benchmarks/peers/openmp_kmeans.cpp: the nearest of K means for each 2-D point, as a person who knows OpenMP and
// AVX-512 writes it.
#include <immintrin.h>

#include <cmath>
#include <cstdint>

// Points are n x 2 float64, means count x 2; labels get the index of the nearest mean, the first of equals.
extern "C" void kmeans2d(const double* points, std::int64_t n, const double* means, std::int64_t count,
                         std::int64_t* labels) {
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const std::int64_t blocks = n / 8;
#pragma omp parallel for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
        const __m512d low = _mm512_loadu_pd(points + 16 * b);
        const __m512d high = _mm512_loadu_pd(points + 16 * b + 8);
        const __m512d x = _mm512_permutex2var_pd(low, even, high);
        const __m512d y = _mm512_permutex2var_pd(low, odd, high);
        __m512d best = _mm512_set1_pd(INFINITY);
        __m512i label = _mm512_setzero_si512();
        for (std::int64_t k = 0; k < count; ++k) {
            const __m512d dx = _mm512_sub_pd(x, _mm512_set1_pd(means[2 * k]));
            const __m512d dy = _mm512_sub_pd(y, _mm512_set1_pd(means[2 * k + 1]));
            const __m512d distance = _mm512_fmadd_pd(dx, dx, _mm512_mul_pd(dy, dy));
            const __mmask8 nearer = _mm512_cmp_pd_mask(distance, best, _CMP_LT_OQ);
            best = _mm512_mask_mov_pd(best, nearer, distance);
            label = _mm512_mask_set1_epi64(label, nearer, k);
        }
        _mm512_storeu_si512(labels + 8 * b, label);
    }
    for (std::int64_t i = blocks * 8; i < n; ++i) {
        double best = INFINITY;
        labels[i] = 0;
        for (std::int64_t k = 0; k < count; ++k) {
            const double dx = points[2 * i] - means[2 * k];
            const double dy = points[2 * i + 1] - means[2 * k + 1];
            if (dx * dx + dy * dy < best) {
                best = dx * dx + dy * dy;
                labels[i] = k;
            }
        }
    }
}
