// python/native/face/stayed_calls.h: calls that NumPy is known to serve best, told apart in C.
#pragma once

#include <vector>

#include "python/native/face/signature.h"

namespace tilewright::face {

/// The last calls that stayed with NumPy. Python decides which; here one is found again in some 10 ns.
class StayedCalls {
  public:
    /// `key`: what is the same in all such calls, a value an argument: (shape, dtype) of an array, (class, value) of a
    /// word or number whose value counts, (shape, dtype, None) of an array of this rank that is no larger, (int, None,
    /// size) of a whole number that is no larger, the class of an object, or what the argument or its code object is.
    /// `names`: those of the last arguments, by keyword. `run`: what runs them. False with a TypeError for other
    /// objects.
    bool add(PyObject* key, PyObject* names, PyObject* run);
    void clear();
    bool empty() const { return calls_.empty(); }
    /// What runs such a call; null where it is not among them.
    Ref find(const RawCall& call) const;
    int traverse(visitproc visit, void* arg) const;

    /// Of a key, which keeps alive what it names. An array has the shape of the first object, and the second one as its
    /// dtype; a value is of a class and equal to the second one; a number is an int of at most that size.
    struct Part {
        enum class Kind { array, array_within, value, number_within, type, itself } kind;
        PyObject *first, *second;
        std::vector<npy_intp> shape;
        long long size = 0;
    };

  private:
    struct Call {
        Ref key, names, run;
        /// The tuple of a call that gave `names` in this order: code gives the same one each time.
        mutable Ref names_seen;
        Py_ssize_t named;
        std::vector<Part> parts;
        bool is_like(const RawCall& given) const;
    };
    std::vector<Call> calls_;
    std::size_t next_ = 0;          ///< the place of the next one, where there are as many as are kept
    mutable std::size_t found_ = 0; ///< the one that was found last
};

} // namespace tilewright::face
