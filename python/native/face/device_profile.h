// python/native/face/device_profile.h: what kernels need on a device, and how long their launches take.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

extern const char kProfileDoc[], kFunctionFactsDoc[], kPtxForDoc[], kCubinsInDoc[];
/// profile(call): calls it, and gives (launches, untimed).
PyObject* profile(PyObject*, PyObject* call);
/// function_facts(device, ptx)
PyObject* function_facts(PyObject*, PyObject* args);
/// ptx_for(capability, ptx)
PyObject* ptx_for(PyObject*, PyObject* args);
/// cubins_in(folder)
PyObject* cubins_in(PyObject*, PyObject* folder);

} // namespace tilewright::face
