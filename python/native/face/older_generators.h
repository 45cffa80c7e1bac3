// python/native/face/older_generators.h: numpy.random.RandomState on MT19937: its words and the normal number that is
// left, where NumPy's own code has them. RandomState.get_state() and set_state() take 100 us each.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// reads_mt19937(): whether this NumPy has them where we look for them.
PyObject* reads_mt19937(PyObject*, PyObject*);
/// mt19937_state(generator): 624 words as uint32; int64: the place of the next word, 624 (all words are made), whether
/// a normal number is left, 2; and that number as float64. ValueError for other generators.
PyObject* mt19937_state(PyObject*, PyObject* generator);
/// set_mt19937_state(generator, words, places, left): 0. The second of the places says how many of the words are made;
/// the others are made here.
PyObject* set_mt19937_state(PyObject*, PyObject* const* args, Py_ssize_t count);

} // namespace tilewright::face
