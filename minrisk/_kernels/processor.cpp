// What this processor can run, asked before any of the other modules is loaded.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(_MSC_VER) && defined(_M_X64)
#include <windows.h>
#endif

namespace {

// Return the names of the modules of machine code that this processor can run, the fastest first.
PyObject *levels(PyObject *, PyObject *) {
#if defined(_MSC_VER) && defined(_M_X64)
    if (IsProcessorFeaturePresent(PF_AVX512F_INSTRUCTIONS_AVAILABLE))
        return Py_BuildValue("(sss)", "x86_64_v4", "x86_64_v3", "x86_64_v2");
    if (IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE))
        return Py_BuildValue("(ss)", "x86_64_v3", "x86_64_v2");
    return Py_BuildValue("(s)", "x86_64_v2");
#elif defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) return Py_BuildValue("(sss)", "x86_64_v4", "x86_64_v3", "x86_64_v2");
    if (v3) return Py_BuildValue("(ss)", "x86_64_v3", "x86_64_v2");
    return Py_BuildValue("(s)", "x86_64_v2");
#else
    return Py_BuildValue("(s)", "any");
#endif
}

PyMethodDef methods[] = {{"levels", levels, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_processor", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__processor() { return PyModuleDef_Init(&definition); }
